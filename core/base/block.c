/* core/base/block.c - blocks of one size, for what lives as long as one exchange */
#include "core/base/block.h"

#include <stdint.h>

#include "core/base/list.h"
#include "core/base/memory.h"
#include "core/base/poison.h"

enum { SLAB_BLOCKS = 15, EMPTY_SLABS_KEPT = 16 };

struct slab;

struct block {
    struct slab *slab;
    union {
        struct block *next_free;
        uint8_t bytes[BLOCK_BYTES];
    };
};

struct slab {
    struct link link; /* in the pool, while a block is free */
    struct block *free;
    uint32_t used;
    struct block blocks[SLAB_BLOCKS];
};

static _Thread_local struct {
    struct link slabs; /* with a free block; those that were opened earlier first */
    uint32_t empty;    /* that many of them have no block in use */
} pool;

static void slab_add(void)
{
    struct slab *slab = memory_allocate(sizeof *slab);
    slab->free = NULL;
    slab->used = 0;
    for (int i = SLAB_BLOCKS - 1; i >= 0; i--) {
        slab->blocks[i].slab = slab;
        slab->blocks[i].next_free = slab->free;
        slab->free = &slab->blocks[i];
        POISON(slab->blocks[i].bytes, BLOCK_BYTES);
    }
    link_insert(&pool.slabs, &slab->link);
    pool.empty++;
}

static void slab_remove(struct slab *slab)
{
    link_remove(&slab->link);
    pool.empty--;
    memory_free(slab);
}

void *block_new(void)
{
    if (!pool.slabs.next)
        link_init(&pool.slabs);
    if (link_alone(&pool.slabs))
        slab_add();
    struct slab *slab = CONTAINER(pool.slabs.next, struct slab, link);
    struct block *block = slab->free;
    UNPOISON(block->bytes, BLOCK_BYTES);
    slab->free = block->next_free;
    if (slab->used++ == 0)
        pool.empty--;
    if (!slab->free)
        link_remove(&slab->link);
    return block->bytes;
}

void block_free(void *bytes)
{
    struct block *block = CONTAINER(bytes, struct block, bytes);
    struct slab *slab = block->slab;
    if (!slab->free)
        link_insert(&pool.slabs, &slab->link);
    block->next_free = slab->free;
    slab->free = block;
    POISON(bytes, BLOCK_BYTES);
    if (--slab->used > 0)
        return;
    pool.empty++;
    if (pool.empty > EMPTY_SLABS_KEPT)
        slab_remove(slab);
}

void block_pool_deinit(void)
{
    struct link *link = pool.slabs.next, *next;
    for (; link && link != &pool.slabs; link = next) {
        struct slab *slab = CONTAINER(link, struct slab, link);
        next = link->next;
        if (!slab->used)
            slab_remove(slab);
    }
}
