/* plugins/redirect/index.h - from what is looked up to the first rule about it: one hash table
 *
 * A key is a kind, a host and bytes. The hash of bytes is made one by one, so that the hashes of
 * all beginnings of a path come on the way to its own. */
#ifndef REDIRECT_INDEX_H
#define REDIRECT_INDEX_H

#include <stdbool.h>

#include "plugins/redirect/pool.h"

enum { INDEX_NONE = UINT32_MAX };

/* In the pool. */
struct index_key {
    uint32_t host;
    uint32_t first, last; /* what the user keeps; INDEX_NONE */
    uint16_t length;
    uint8_t kind;
    char bytes[];
};

/* Zeroed: empty. */
struct index {
    uint32_t *slots;
    uint32_t bits; /* there are 1 << bits of them; 0: none */
    uint32_t count;
};

static inline uint64_t index_hash_byte(uint64_t hash, char byte)
{
    return (hash ^ (uint8_t)byte) * 0x9e3779b97f4a7c15u;
}

enum { INDEX_BEGINNINGS = 8, INDEX_HASH_EMPTY = 1 /* of no byte */ };

uint64_t index_hash(uint8_t kind, weir_string bytes);

/* `hash` is that of the bytes. NULL: there is no such key. */
struct index_key *index_find(const struct index *index, const struct pool *pool, uint8_t kind,
                             uint32_t host, weir_string bytes, uint64_t hash);

/* Found, or made at the end of the pool. At most 65535 bytes. */
struct index_key *index_add(struct index *index, struct pool *pool, uint8_t kind, uint32_t host,
                            weir_string bytes);

size_t index_bytes(const struct index *index); /* that it holds, without the pool */
void index_free(struct index *index);

#endif
