/* core/base/memory.c - the only allocator, and the arena that lives as long as one exchange */
#include "core/base/memory.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/block.h"
#include "core/base/sanitizer.h"

struct arena_block {
    struct arena_block *next;
    size_t usable; /* more than USABLE: not one of the usual blocks */
    uint64_t bytes[];
};

enum { USABLE = BLOCK_BYTES - sizeof(struct arena_block) };

static void *check(void *memory, size_t size)
{
    if (!memory && size) {
        fprintf(stderr, "weir: out of memory (%zu bytes)\n", size);
        abort();
    }
    return memory;
}

enum { LARGE_BYTES = 65536 }; /* glibc's FASTBIN_CONSOLIDATION_THRESHOLD */

/* What one thread allocates and another frees is counted by the wrong one, which only makes the one
 * trim too seldom and the other too often. */
static _Thread_local struct {
    ptrdiff_t used, most; /* bytes; the most since the last trim */
} usage;

static void *count(void *memory)
{
    usage.used += (ptrdiff_t)malloc_usable_size(memory);
    if (usage.used > usage.most)
        usage.most = usage.used;
    return memory;
}

static void *uncount(void *memory)
{
    usage.used -= (ptrdiff_t)malloc_usable_size(memory);
    return memory;
}

void *memory_allocate(size_t size)
{
    return count(check(malloc(size), size));
}

void *memory_zeroed(size_t size)
{
    return count(check(calloc(1, size), size));
}

void *memory_resize(void *memory, size_t size)
{
    return count(check(realloc(uncount(memory), size), size));
}

void memory_free(void *memory)
{
    free(uncount(memory));
}

size_t memory_used(void)
{
    return usage.used > 0 ? (size_t)usage.used : 0;
}

size_t memory_spare(void)
{
    return (size_t)(usage.most - usage.used);
}

void memory_trim(void)
{
    usage.most = usage.used;
/* Beside a sanitizer's allocator glibc's has never begun, and would begin here: in several threads
 * at once, which it does not expect. */
#if defined __GLIBC__ && !defined ADDRESS_SANITIZER && !defined THREAD_SANITIZER
    /* It returns what lies between used memory, and the end of the main thread's heap. The ends of
     * the other threads' go when something large is freed into them. */
    malloc_trim(0);
    void *volatile large = malloc(LARGE_BYTES);
    free(large);
#endif
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
        struct arena_block *block = arena->blocks;
        arena->blocks = block->next;
        if (block->usable == USABLE)
            block_free(block);
        else
            memory_free(block);
    }
}

void arena_pool_deinit(void)
{
    block_pool_deinit();
}

static struct arena_block *add_block(struct arena *arena, size_t size)
{
    bool usual = size <= USABLE;
    struct arena_block *block = usual ? block_new() : memory_allocate(sizeof *block + size);
    block->usable = usual ? USABLE : size;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

void *arena_allocate_slow(struct arena *arena, size_t size)
{
    struct arena_block *block = add_block(arena, size);
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
