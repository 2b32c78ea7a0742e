/* core/base/memory.c - the only allocator, and the arena that lives as long as one exchange */
#include "core/base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *next;
    size_t usable;
    uint64_t bytes[];
};

enum { ARENA_BLOCK_BYTES = 4096 - sizeof(struct arena_block), ARENA_BLOCKS_KEPT = 128 };

/* Each thread keeps a few blocks of the usual size, so that a busy worker does not allocate. */
static _Thread_local struct {
    struct arena_block *free;
    uint32_t kept;
} arena_pool;

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

static void block_free(struct arena_block *block)
{
    if (block->usable != ARENA_BLOCK_BYTES || arena_pool.kept == ARENA_BLOCKS_KEPT) {
        memory_free(block);
        return;
    }
    block->next = arena_pool.free;
    arena_pool.free = block;
    arena_pool.kept++;
}

void arena_deinit(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        block_free(arena->blocks);
        arena->blocks = next;
    }
}

void arena_pool_deinit(void)
{
    while (arena_pool.free) {
        struct arena_block *next = arena_pool.free->next;
        memory_free(arena_pool.free);
        arena_pool.free = next;
    }
    arena_pool.kept = 0;
}

static struct arena_block *block_new(size_t size)
{
    struct arena_block *block = arena_pool.free;
    if (size > ARENA_BLOCK_BYTES || !block) {
        size_t usable = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
        block = memory_allocate(sizeof *block + usable);
        block->usable = usable;
        return block;
    }
    arena_pool.free = block->next;
    arena_pool.kept--;
    return block;
}

void *arena_allocate_slow(struct arena *arena, size_t size)
{
    struct arena_block *block = block_new(size);
    block->next = arena->blocks;
    arena->blocks = block;
    uint8_t *bytes = (uint8_t *)block->bytes;
    /* Go on in whichever block has more room left. */
    if (block->usable - size > (size_t)(arena->limit - arena->next)) {
        arena->next = bytes + size;
        arena->limit = bytes + block->usable;
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

weir_string arena_join(struct arena *arena, const weir_string *parts, size_t count)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += parts[i].length;
    char *bytes = arena_allocate(arena, length), *at = bytes;
    for (size_t i = 0; i < count; i++) {
        memcpy(at, parts[i].bytes, parts[i].length);
        at += parts[i].length;
    }
    return (weir_string){bytes, length};
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
