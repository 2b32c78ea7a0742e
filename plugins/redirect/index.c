/* plugins/redirect/index.c - from what is looked up to the first rule about it: one hash table
 *
 * Open addressing, at most half full. A slot is 0 when it is free; otherwise where in the pool its
 * key is, in units of 16 bytes, and above that a tag, eight bits of the hash that spare looking at
 * most keys that are others. */
#include "plugins/redirect/index.h"

#include <stddef.h>
#include <string.h>

enum { FIRST_BITS = 6, UNIT = 16, TAG_SHIFT = 24 };

_Static_assert(POOL_MOST / UNIT <= 1 << TAG_SHIFT, "every key has a place in a slot");

static uint64_t hash_bytes(weir_string bytes)
{
    uint64_t hash = INDEX_HASH_EMPTY;
    for (size_t i = 0; i < bytes.length; i++)
        hash = index_hash_byte(hash, bytes.bytes[i]);
    return hash;
}

static uint64_t hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static uint64_t hash_words(weir_string bytes)
{
    uint64_t hash = bytes.length, word = 0;
    for (; bytes.length >= 8; bytes.bytes += 8, bytes.length -= 8) {
        memcpy(&word, bytes.bytes, 8);
        hash = hash_word(hash, word);
    }
    word = 0;
    if (bytes.length)
        memcpy(&word, bytes.bytes, bytes.length);
    return hash_word(hash, word);
}

uint64_t index_hash(uint8_t kind, weir_string bytes)
{
    return kind >= INDEX_BEGINNINGS ? hash_bytes(bytes) : hash_words(bytes);
}

static uint64_t mix(uint64_t hash, uint8_t kind, uint32_t host)
{
    hash ^= (uint64_t)host << 8 | kind;
    hash ^= hash >> 32;
    return hash * 0xd6e8feb86659fd93u;
}

static uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)hash >> TAG_SHIFT;
}

static struct index_key *key_of(const struct pool *pool, uint32_t slot)
{
    return pool_at(pool, (slot & ((1u << TAG_SHIFT) - 1)) * UNIT);
}

static bool is_key(const struct index_key *key, uint8_t kind, uint32_t host, weir_string bytes)
{
    return key->kind == kind && key->host == host && key->length == bytes.length &&
           memcmp(key->bytes, bytes.bytes, bytes.length) == 0;
}

struct index_key *index_find(const struct index *index, const struct pool *pool, uint8_t kind,
                             uint32_t host, weir_string bytes, uint64_t hash)
{
    if (!index->bits)
        return NULL;
    hash = mix(hash, kind, host);
    uint32_t mask = (1u << index->bits) - 1;
    for (uint32_t at = (uint32_t)(hash >> (64 - index->bits));; at = (at + 1) & mask) {
        uint32_t slot = index->slots[at];
        if (!slot)
            return NULL;
        if (slot >> TAG_SHIFT == tag_of(hash) && is_key(key_of(pool, slot), kind, host, bytes))
            return key_of(pool, slot);
    }
}

static void place(struct index *index, uint64_t hash, uint32_t offset)
{
    uint32_t mask = (1u << index->bits) - 1;
    uint32_t at = (uint32_t)(hash >> (64 - index->bits));
    while (index->slots[at])
        at = (at + 1) & mask;
    index->slots[at] = tag_of(hash) << TAG_SHIFT | offset / UNIT;
}

static void grow(struct index *index, const struct pool *pool)
{
    struct index old = *index;
    index->bits = old.bits ? old.bits + 1 : FIRST_BITS;
    index->slots = redirect_resize(NULL, sizeof *index->slots << index->bits);
    memset(index->slots, 0, sizeof *index->slots << index->bits);
    for (uint32_t i = 0; old.slots && i < 1u << old.bits; i++) {
        if (!old.slots[i])
            continue;
        const struct index_key *key = key_of(pool, old.slots[i]);
        uint64_t hash = index_hash(key->kind, (weir_string){key->bytes, key->length});
        place(index, mix(hash, key->kind, key->host), (uint32_t)((char *)key - pool->bytes));
    }
    redirect_resize(old.slots, 0);
}

struct index_key *index_add(struct index *index, struct pool *pool, uint8_t kind, uint32_t host,
                            weir_string bytes)
{
    uint64_t hash = index_hash(kind, bytes);
    struct index_key *found = index_find(index, pool, kind, host, bytes, hash);
    if (found)
        return found;
    if (!index->bits || index->count >= 1u << (index->bits - 1))
        grow(index, pool);
    struct index_key key = {host, INDEX_NONE, INDEX_NONE, (uint16_t)bytes.length, kind};
    pool_align(pool, UNIT);
    uint32_t offset = pool_add(pool, &key, offsetof(struct index_key, bytes));
    pool_add(pool, bytes.bytes, bytes.length);
    place(index, mix(hash, kind, host), offset);
    index->count++;
    return pool_at(pool, offset);
}

size_t index_bytes(const struct index *index)
{
    return index->bits ? sizeof *index->slots << index->bits : 0;
}

void index_free(struct index *index)
{
    redirect_resize(index->slots, 0);
    *index = (struct index){0};
}
