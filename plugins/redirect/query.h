/* plugins/redirect/query.h - what a rule may ask of a query: "page&lang=en&!preview" */
#ifndef REDIRECT_QUERY_H
#define REDIRECT_QUERY_H

#include <stdbool.h>

#include "plugins/redirect/pool.h"

/* Conditions as they lie in a pool; length 0: none. */
struct conditions {
    uint32_t offset, length;
};

/* `text`: parts joined by "&": "key" is there, "key=value" is there, "!key" is not. Keys and values
 * are compared as path.h says. NULL, or what is wrong. */
const char *query_compile(weir_string text, struct pool *pool, struct conditions *conditions);

/* Whether all of them hold for the query, which is as it came and without "?". */
bool query_holds(const struct conditions *conditions, const struct pool *pool, weir_string query);

#endif
