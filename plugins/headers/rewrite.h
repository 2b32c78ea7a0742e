/* plugins/headers/rewrite.h - puts something else into values where a text or a pattern is found */
#ifndef HEADERS_REWRITE_H
#define HEADERS_REWRITE_H

#include "plugins/headers/headers.h"

struct rewrite;

/* [main] Of { find | pattern, replace }; a mistake is reported: NULL. */
struct rewrite *rewrite_make(const weir_section *section);
void rewrite_free(struct rewrite *rewrite); /* NULL is ignored */

/* Everywhere in the value. 1: *length bytes of `to`, which has room for *length; 0: it is found
 * nowhere; WEIR_TOO_MUCH: no room, or the pattern took too long. */
weir_result rewrite_apply(const struct rewrite *rewrite, weir_string value, char *to,
                          size_t *length);

#endif
