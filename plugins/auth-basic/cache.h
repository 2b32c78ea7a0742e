/* plugins/auth-basic/cache.h - digests that are remembered for a while, a bounded number of them
 *
 * Of one thread. What is remembered gives way to what is put there later, the oldest first; a cache
 * of what was right and one of what was wrong are apart, so that wrong guesses, of which anybody
 * can make many, drive nothing out that was right. */
#ifndef PLUGINS_AUTH_BASIC_CACHE_H
#define PLUGINS_AUTH_BASIC_CACHE_H

#include "plugins/auth-basic/digest.h"

struct cache;

/* For at least so many, if they fall well. */
struct cache *cache_new(size_t entries);
void cache_free(struct cache *cache); /* NULL is ignored */
/* Times are milliseconds of one clock; it is forgotten at `until`. */
void cache_put(struct cache *cache, struct digest digest, uint64_t until_ms, uint64_t now_ms);
bool cache_has(const struct cache *cache, struct digest digest, uint64_t now_ms);

#endif
