/* plugins/redirect/rules.h - a set of rules, and which of them a request meets
 *
 * Hosts first: the request's own, then wildcards, the longest first, then rules for any host. For
 * each of them: the exact path, then prefixes, the longest first, then patterns in the order of
 * their numbers. Rules alike in all that are tried in the order of their numbers too. A rule whose
 * conditions do not hold, or whose Location may not be made, is passed over for the next. */
#ifndef REDIRECT_RULES_H
#define REDIRECT_RULES_H

#include <stdbool.h>

#include "abi/weir.h"

enum { REQUEST_MOST = 8192 }; /* bytes of path and query together; longer ones meet no rule */

struct rules;

/* A rule as it is written. Empty: not written. */
struct rule_text {
    weir_string kind;   /* exact (also when empty), prefix, regex */
    weir_string host;   /* name, *.name; empty: any */
    weir_string path;   /* or the pattern */
    weir_string when;   /* query.h */
    weir_string to;     /* target.h */
    weir_string status; /* empty: 301; 4xx and 5xx have no `to` */
    weir_string query;  /* keep (also when empty), drop, replace */
    uint32_t line;
};

enum { MISTAKE_BYTES = 200 };

struct rule_mistake {
    const weir_string *part; /* of the rule_text */
    char why[MISTAKE_BYTES];
};

/* trailing_slash: a path that meets no rule is tried once more with or without its last slash. */
struct rules *rules_new(bool trailing_slash);

/* Rules are numbered from 0. False: `mistake` says why it is none. */
bool rules_add(struct rules *rules, const struct rule_text *text, struct rule_mistake *mistake);

/* No more are added: gives back what was kept for that. */
void rules_finish(struct rules *rules);
void rules_free(struct rules *rules); /* NULL is ignored */

uint32_t rules_count(const struct rules *rules);
uint32_t rules_line(const struct rules *rules, uint32_t number);
size_t rules_bytes(const struct rules *rules); /* that they hold */

/* What one thread needs to look up. */
struct lookup;
struct lookup *lookup_new(const struct rules *rules);
void lookup_free(struct lookup *lookup); /* NULL is ignored */

/* How often a pattern was given up because it took too many steps. */
uint64_t lookup_over_limit(const struct lookup *lookup);

struct rule_answer {
    uint32_t number, status;
    weir_string location; /* empty: the status alone. Valid until the next look-up */
};

/* `authority` and `target`, path and query, are as they came. Takes a bounded time. */
bool rules_find(const struct rules *rules, struct lookup *lookup, weir_string authority,
                weir_string target, struct rule_answer *answer);

#endif
