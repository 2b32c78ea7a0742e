/* core/base/memory.c - the only allocator, and the arena that lives as long as one exchange */
#include "core/base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *next;
    uint64_t bytes[];
};

enum { ARENA_BLOCK_BYTES = 4096 };

static void *check(void *memory, size_t size)
{
    if (!memory && size) {
        fprintf(stderr, "weir: out of memory (%zu bytes)\n", size);
        abort();
    }
    return memory;
}

void *memory_allocate(size_t size)
{
    return check(malloc(size), size);
}

void *memory_zeroed(size_t size)
{
    return check(calloc(1, size), size);
}

void *memory_resize(void *memory, size_t size)
{
    return check(realloc(memory, size), size);
}

void memory_free(void *memory)
{
    free(memory);
}

char *memory_copy_string(weir_string string)
{
    char *copy = memory_allocate(string.length + 1);
    if (string.length)
        memcpy(copy, string.bytes, string.length);
    copy[string.length] = 0;
    return copy;
}

void arena_init(struct arena *arena, void *first_block, size_t size)
{
    uintptr_t start = ((uintptr_t)first_block + 7) & ~(uintptr_t)7;
    arena->next = (uint8_t *)start;
    arena->limit = (uint8_t *)first_block + size;
    arena->blocks = NULL;
}

void arena_deinit(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        memory_free(arena->blocks);
        arena->blocks = next;
    }
}

void *arena_allocate_slow(struct arena *arena, size_t size)
{
    size_t usable = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
    struct arena_block *block = memory_allocate(sizeof *block + usable);
    block->next = arena->blocks;
    arena->blocks = block;
    uint8_t *bytes = (uint8_t *)block->bytes;
    /* Go on in whichever block has more room left. */
    if (usable - size > (size_t)(arena->limit - arena->next)) {
        arena->next = bytes + size;
        arena->limit = bytes + usable;
    }
    return bytes;
}

weir_string arena_copy(struct arena *arena, weir_string string)
{
    if (!string.length)
        return (weir_string){"", 0};
    char *copy = arena_allocate(arena, string.length);
    memcpy(copy, string.bytes, string.length);
    return (weir_string){copy, string.length};
}

weir_string arena_format(struct arena *arena, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = arena_allocate(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return (weir_string){text, (size_t)length};
}
