/* core/base/memory.h - the only allocator, and the arena that lives as long as one exchange
 *
 * Out of memory aborts: limits, not allocators, keep peers from getting us there. */
#ifndef CORE_BASE_MEMORY_H
#define CORE_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "abi/weir.h"

void *memory_allocate(size_t size);
void *memory_zeroed(size_t size);
void *memory_resize(void *memory, size_t size);
void memory_free(void *memory);               /* NULL is ignored */
char *memory_copy_string(weir_string string); /* NUL-terminated */

/* Bytes that this thread uses, and how many more it has used since the last memory_trim(). */
size_t memory_used(void);
size_t memory_spare(void);
/* Gives what is free back to the system, of all threads. Takes the longer the more is free. */
void memory_trim(void);

/* Memory that is freed all at once. The first block is the owner's, so that an object and its arena
 * can be one allocation. */
struct arena_block;
struct arena {
    uint8_t *next, *limit;
    struct arena_block *blocks; /* beyond the first */
};

void arena_init(struct arena *arena, void *first_block, size_t size);
void arena_deinit(struct arena *arena); /* frees all blocks but the first */
void arena_pool_deinit(void);           /* frees the blocks that this thread keeps for reuse */
void *arena_allocate_slow(struct arena *arena, size_t size);
weir_string arena_copy(struct arena *arena, weir_string string);
/* The parts one behind the other. */
weir_string arena_join(struct arena *arena, const weir_string *parts, size_t count);
/* printf into the arena: for what is rare. */
weir_string arena_format(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* 8-aligned, not zeroed. */
static inline void *arena_allocate(struct arena *arena, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    if (size > (size_t)(arena->limit - arena->next))
        return arena_allocate_slow(arena, size);
    void *memory = arena->next;
    arena->next += size;
    return memory;
}

#endif
