/* core/base/string.h - views of bytes: compare, parse numbers, take authorities apart
 *
 * Nothing here allocates or changes its input. */
#ifndef CORE_BASE_STRING_H
#define CORE_BASE_STRING_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "abi/weir.h"

static inline bool string_equal(weir_string a, weir_string b)
{
    return a.length == b.length && (!a.length || !memcmp(a.bytes, b.bytes, a.length));
}

static inline weir_string string_of(const char *text)
{
    return (weir_string){text, strlen(text)};
}

/* ASCII only, as field names, schemes and host names want it. */
bool string_equal_nocase(weir_string a, weir_string b);
char character_lower(char c);

/* RFC 9110 5.6.2: what names of fields and methods are made of; not empty. */
bool string_is_token(weir_string string);
/* RFC 9110 5.5: what a field's value may hold: anything but control characters other than tabs. */
bool string_is_field_value(weir_string string);

/* Plain decimal digits only, at least one, at most `most`. */
bool string_to_number(weir_string string, uint64_t most, uint64_t *number);

/* The reverse, of any number; returns where the digits end, at most 20 further on. */
static inline char *string_put_number(char *at, uint64_t number)
{
    char *end = at + 1;
    for (uint64_t left = number; left >= 10; left /= 10)
        end++;
    for (char *digit = end; digit > at; number /= 10)
        *--digit = (char)('0' + number % 10);
    return end;
}

weir_string string_trim(weir_string string); /* spaces and tabs at both ends */

/* The next element of a comma-separated list, trimmed, empty ones skipped; false at its end.
 * *rest is what follows; start with the whole value. */
bool string_next_element(weir_string *rest, weir_string *element);

/* host, host:port, [address] or [address]:port (RFC 3986 3.2.2, 3.2.3), without user information.
 * `host` loses its brackets; `port` is 1..65535, or 0 when there is none (also after a bare colon).
 * False when it is anything else: empty host, a colon in a host without brackets, a port that is
 * zero, too large or not digits, bytes that no host may have. */
struct authority {
    weir_string host;
    uint16_t port;
    bool bracketed; /* an IPv6 literal */
};
bool authority_parse(weir_string text, struct authority *authority);

#endif
