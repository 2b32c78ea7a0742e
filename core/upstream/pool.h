/* core/upstream/pool.h - server connections by target: idle ones are taken again
 *
 * One pool per worker. A connection belongs to its target from pool_adopt() until it closes; while
 * it serves nothing it is idle here. The last one used is taken first, so that the others can time
 * out. [worker] */
#ifndef CORE_UPSTREAM_POOL_H
#define CORE_UPSTREAM_POOL_H

#include "core/connection/connection.h"
#include "core/upstream/target.h"

struct pool;

/* Once, before there is a pool: at most so many are idle in each, or what is usual if that is less,
 * beside one for each of the worker's clients that has no server now. When one more comes another
 * one goes. */
void pool_start(uint32_t most);

struct pool *pool_new(void);
void pool_free(struct pool *pool); /* when all its connections have closed */

/* A connection that can take on an exchange now, or NULL. */
struct connection *pool_take(struct pool *pool, const struct target *target);
void pool_adopt(struct pool *pool, const struct target *target, struct connection *connection);
/* The exchange on it is over: idle again, or closed when it can serve no more. */
void pool_put(struct pool *pool, struct connection *connection);
void pool_close_idle(struct pool *pool);

#endif
