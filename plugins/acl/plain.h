/* plugins/acl/plain.h - hosts and paths in the forms in which they are compared
 *
 * Servers differ in how they read a path, so there are two readings of it. What is denied is denied
 * in either reading; what is allowed must be allowed in both. */
#ifndef ACL_PLAIN_H
#define ACL_PLAIN_H

#include <stdbool.h>

#include "abi/weir.h"

enum { HOST_BYTES = 256 }; /* no name is longer */

/* Without what stands before a @ and without a port; lower case, %XX decoded, no dot at the end;
 * addresses as they are usually written, those of IPv4 that are mapped into IPv6 as IPv4. Returns
 * the length; 0: there is none, or it is too long for a name. */
size_t plain_host(weir_string authority, char to[HOST_BYTES]);

/* 0: none is said, or not one. */
uint32_t plain_port(weir_string authority);

/* The path alone, without query. To `to`, which has room for as many bytes; returns the length.
 *   decoded  %XX is decoded once, unless it is a slash or backslash
 *   resolved %XX is decoded until there is none; then it ends at a NUL, \ is /, and ;parameters,
 *            empty segments, . and .. are gone */
size_t plain_decoded(weir_string path, char *to);
size_t plain_resolved(weir_string path, char *to);

#endif
