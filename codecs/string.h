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

#endif
