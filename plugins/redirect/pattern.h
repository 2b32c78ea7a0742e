/* plugins/redirect/pattern.h - one regular expression, and matching it in bounded time
 *
 * A pattern is matched against a path in its normal form (path.h), from its beginning: as if it
 * began with "^". Everything of PCRE2 but UTF and \C is there. */
#ifndef REDIRECT_PATTERN_H
#define REDIRECT_PATTERN_H

#include <stdbool.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "abi/weir.h"

enum {
    PATTERN_GROUPS = 31,    /* that a pattern may have */
    PATTERN_BEGINNING = 31, /* bytes of its beginning that are told */
    PATTERN_STEPS = 10000   /* that one match may take */
};

/* NULL: `why`, of at least 160 bytes, says what is wrong with it. */
pcre2_code *pattern_compile(weir_string text, char *why);
void pattern_free(pcre2_code *pattern);
size_t pattern_bytes(const pcre2_code *pattern);

/* The number of the group of that name or number; -1: there is none. */
int pattern_group(const pcre2_code *pattern, weir_string name);

/* The bytes with which everything begins that the pattern matches, at most PATTERN_BEGINNING;
 * returns how many. */
size_t pattern_beginning(weir_string text, char *to);

/* What a thread needs to match. */
struct matcher {
    pcre2_match_data *data;
    pcre2_match_context *context;
};

enum pattern_answer { PATTERN_MISSES, PATTERN_MATCHES, PATTERN_OVER_LIMIT };

void matcher_init(struct matcher *matcher);
void matcher_deinit(struct matcher *matcher);

/* After PATTERN_MATCHES, begin and end of group i are groups[2 * i] and [2 * i + 1], both
 * PCRE2_UNSET when it took no part. */
enum pattern_answer pattern_match(const pcre2_code *pattern, struct matcher *matcher,
                                  weir_string path, const size_t **groups);

#endif
