/* codecs/string.h - comparing the strings of abi/, for all codecs */
#ifndef CODECS_STRING_H
#define CODECS_STRING_H

#include <stdbool.h>
#include <string.h>

#include "abi/weir.h"

static inline bool string_is(weir_string a, weir_string b)
{
    return a.length == b.length && !memcmp(a.bytes, b.bytes, a.length);
}

/* Whatever case `a` is in; `lower` is in lower case. */
static inline bool string_is_nocase(weir_string a, weir_string lower)
{
    if (a.length != lower.length)
        return false;
    for (size_t i = 0; i < a.length; i++) {
        char c = a.bytes[i];
        if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != lower.bytes[i])
            return false;
    }
    return true;
}

#endif
