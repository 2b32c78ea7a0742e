/* plugins/redirect/rule_set.h - how a set of rules lies in memory, for those who make and search it
 */
#ifndef REDIRECT_RULE_SET_H
#define REDIRECT_RULE_SET_H

#include "plugins/redirect/index.h"
#include "plugins/redirect/query.h"
#include "plugins/redirect/rules.h"
#include "plugins/redirect/target.h"

/* Kinds of keys. Those of rules lead to the first and last of a list in the order of numbers;
 * PATTERN has the beginning that the patterns have in common. HOST and WILDCARD (without its star,
 * with the dot) lead to a host. */
enum { EXACT, HOST, WILDCARD, PREFIX = INDEX_BEGINNINGS, PATTERN };

/* In the pool; its place there is what keys and other rules name. */
struct rule {
    uint32_t next; /* with the same key; INDEX_NONE */
    uint32_t number, line;
    uint32_t pattern; /* its number, of a regex */
    uint16_t status;
    bool has_target;
    struct conditions conditions;
    struct target target;
};

/* One host of the rules. */
struct rule_host {
    uint16_t exact_longest, prefix_longest;
    uint32_t beginnings; /* bit n: patterns have beginnings of n bytes */
};

enum { ANY_HOST = 0 };

struct rules {
    bool trailing_slash;
    struct pool pool;
    struct index index;
    uint32_t *list; /* places of the rules, by number */
    uint32_t count, capacity;
    pcre2_code **patterns;
    uint32_t pattern_count, pattern_capacity;
    struct rule_host *hosts; /* ANY_HOST is always there */
    uint32_t host_count, host_capacity;
    uint32_t wildcard_longest;
    uint32_t longest; /* of all prefixes and beginnings */
};

static inline struct rule *rule_at(const struct rules *rules, uint32_t place)
{
    return pool_at(&rules->pool, place);
}

#endif
