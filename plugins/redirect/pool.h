/* plugins/redirect/pool.h - bytes that grow at their end; what is in them is named by its offset
 *
 * Everything about a rule lies here side by side: finding it touches few lines of the cache. */
#ifndef REDIRECT_POOL_H
#define REDIRECT_POOL_H

#include "abi/weir.h"

enum { POOL_MOST = 256 << 20 }; /* bytes; who needs more has no process any more */

/* Zeroed: empty. */
struct pool {
    char *bytes;
    uint32_t length, capacity;
};

/* Copies them to the end and says where they are. */
uint32_t pool_add(struct pool *pool, const void *bytes, size_t length);

/* The next are added at a multiple of this power of two, at most 16. */
void pool_align(struct pool *pool, uint32_t alignment);

/* Moves when something is added. */
static inline void *pool_at(const struct pool *pool, uint32_t offset)
{
    return pool->bytes + offset;
}

/* Gives back what was kept for growing. */
void pool_trim(struct pool *pool);
void pool_deinit(struct pool *pool);

/* realloc() that does not fail: a process without memory ends. 0 bytes: freed, NULL. */
void *redirect_resize(void *block, size_t bytes);

/* Room for one more than `count` items of that size; *capacity is kept by the caller. */
void *redirect_grow(void *items, uint32_t count, uint32_t *capacity, size_t size);

#endif
