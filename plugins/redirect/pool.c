/* plugins/redirect/pool.c - bytes that grow at their end; what is in them is named by its offset */
#include "plugins/redirect/pool.h"

#include <stdlib.h>
#include <string.h>

void *redirect_resize(void *block, size_t bytes)
{
    if (!bytes) {
        free(block);
        return NULL;
    }
    block = realloc(block, bytes);
    if (!block)
        abort();
    return block;
}

void *redirect_grow(void *items, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity ? *capacity * 2 : 16;
    return redirect_resize(items, *capacity * size);
}

uint32_t pool_add(struct pool *pool, const void *bytes, size_t length)
{
    uint32_t offset = pool->length;
    if (length > POOL_MOST - offset)
        abort();
    while (pool->capacity - pool->length < length)
        pool->bytes = redirect_grow(pool->bytes, pool->capacity, &pool->capacity, 1);
    if (length)
        memcpy(pool->bytes + offset, bytes, length);
    pool->length += (uint32_t)length;
    return offset;
}

void pool_align(struct pool *pool, uint32_t alignment)
{
    static const char zeroes[16];
    pool_add(pool, zeroes, -pool->length & (alignment - 1));
}

void pool_trim(struct pool *pool)
{
    pool->bytes = redirect_resize(pool->bytes, pool->length);
    pool->capacity = pool->length;
}

void pool_deinit(struct pool *pool)
{
    pool->bytes = redirect_resize(pool->bytes, 0);
    pool->length = pool->capacity = 0;
}
