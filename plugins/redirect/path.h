/* plugins/redirect/path.h - how paths, queries and hosts are compared, and how they are passed on
 *
 * Two paths are the same when their normal forms are, byte by byte. In the normal form %XX of a
 * letter, a digit, "-", ".", "_" or "~" is that byte; every other %XX has upper-case digits; bytes
 * that a URI cannot hold, a "%" without two digits behind it among them, are written as %XX.
 * Nothing else is changed: "//" stays, "." and ".." are names like any other, %2F is no slash. */
#ifndef REDIRECT_PATH_H
#define REDIRECT_PATH_H

#include <stdbool.h>

#include "abi/weir.h"

enum { HOST_MOST = 255 };

bool path_is_normal(weir_string raw);

/* Writes the normal form, at most three times as long, and returns its length. */
size_t path_normalize(weir_string raw, char *to);

/* Whether raw's normal form is this one. */
bool path_equal(weir_string raw, weir_string normal);

/* Where in raw the byte is that became the one at this place of the normal form; raw's length when
 * that is its end or behind it. */
size_t path_raw_offset(weir_string raw, size_t normal_offset);

/* Writes what came from a client so that it can stand in a Location: what must not (controls,
 * blanks, quotes, "<", ">", "\", "#" and all beyond ASCII) as %XX, the rest as it came. At most
 * three times as long. */
size_t path_pass_on(weir_string raw, char *to);

/* Writes the host of an authority in lower case, without port and final dot; 0: it has none, or is
 * longer than HOST_MOST. `to` has room for HOST_MOST. */
size_t path_host(weir_string authority, char *to);

#endif
