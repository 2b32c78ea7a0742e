/* plugins/auth-basic/allocate.h - memory, or the end: without it nothing can be decided */
#ifndef PLUGINS_AUTH_BASIC_ALLOCATE_H
#define PLUGINS_AUTH_BASIC_ALLOCATE_H

#include <stdlib.h>
#include <string.h>

#include "abi/weir.h"

/* Zeroed. */
static inline void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        abort();
    return memory;
}

/* With a NUL behind it. */
static inline char *allocate_copy(weir_string text)
{
    char *copy = allocate(text.length + 1, 1);
    if (text.length)
        memcpy(copy, text.bytes, text.length);
    return copy;
}

#endif
