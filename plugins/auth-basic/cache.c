/* plugins/auth-basic/cache.c - digests that are remembered for a while, a bounded number of them */
#include "plugins/auth-basic/cache.h"

#include "plugins/auth-basic/allocate.h"

enum { WAYS = 8, SETS_MOST = 1 << 17 };

struct entry {
    struct digest digest;
    uint64_t until_ms; /* 0: it is free */
};

struct cache {
    size_t sets; /* a power of 2 */
    struct entry entries[];
};

struct cache *cache_new(size_t entries)
{
    size_t sets = 1;
    while (sets * WAYS < entries && sets < SETS_MOST)
        sets *= 2;
    struct cache *cache = allocate(1, sizeof *cache + sets * WAYS * sizeof(struct entry));
    cache->sets = sets;
    return cache;
}

void cache_free(struct cache *cache)
{
    free(cache);
}

static size_t first_of(const struct cache *cache, struct digest digest)
{
    return (digest.words[0] & (cache->sets - 1)) * WAYS;
}

/* The one of that digest, or the one that is forgotten first: what is over comes before. */
void cache_put(struct cache *cache, struct digest digest, uint64_t until_ms, uint64_t now_ms)
{
    struct entry *set = &cache->entries[first_of(cache, digest)], *place = set;
    if (until_ms <= now_ms)
        return;
    for (int i = WAYS - 1; i >= 0; i--) {
        if (set[i].until_ms < place->until_ms)
            place = &set[i];
        if (digest_equal(set[i].digest, digest)) {
            place = &set[i];
            break;
        }
    }
    *place = (struct entry){digest, until_ms};
}

/* All of the set are looked at, whichever it is. */
bool cache_has(const struct cache *cache, struct digest digest, uint64_t now_ms)
{
    const struct entry *set = &cache->entries[first_of(cache, digest)];
    bool found = false;
    for (int i = 0; i < WAYS; i++)
        found |= digest_equal(set[i].digest, digest) & (set[i].until_ms > now_ms);
    return found;
}
