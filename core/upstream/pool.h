/* core/upstream/pool.h - server connections by target: who may be taken again, shared, waited for
 *
 * One pool per worker. A connection belongs to its target's *origin* from pool_adopt() until it
 * closes. While it serves nothing it is idle here; the last one used is taken first, so that the
 * others can time out. One whose protocol shares (WEIR_PROTOCOL_SHARES) can also be taken while it
 * serves others, as far as that protocol's spare() says. Of those who want a connection that may
 * turn out to be shared one dials, and the others wait in the origin's line; also while a server is
 * yet to say how many its connection takes (WEIR_SPARE_LATER). [worker] */
#ifndef CORE_UPSTREAM_POOL_H
#define CORE_UPSTREAM_POOL_H

#include "core/connection/connection.h"
#include "core/upstream/target.h"

struct pool;
struct origin;

/* A place in a line; all 0: in none. The owner is marked (TURN_EXCHANGES) when it may have come to
 * its turn: it is the first now, there is a connection to take, or what is spoken is known. */
struct pool_place {
    struct link link;
    struct origin *origin; /* NULL: in no line */
    struct turn *turn;
    struct mark *owner;
};

/* Once, before there is a pool: at most so many are idle in each, or what is usual if that is less,
 * beside one for each of the worker's clients that has no server now. When one more comes another
 * one goes. */
void pool_start(uint32_t most);

struct pool *pool_new(void);
void pool_free(struct pool *pool); /* when all its connections have closed */

/* A connection that can take on an exchange now, or NULL. It is nobody else's until it is attached
 * and then offered, or put back. */
struct connection *pool_take(struct pool *pool, const struct target *target);
/* Likewise only one that serves others, and not `but`: after a failure nothing else is believed. */
struct connection *pool_take_busy(struct pool *pool, const struct target *target,
                                  const struct connection *but);
/* A new connection becomes the pool's; what it speaks is remembered where it was not certain. */
void pool_adopt(struct pool *pool, const struct target *target, struct connection *connection);
/* The exchange that took it is attached: others may take it as well. */
void pool_offer(struct connection *connection);
/* The exchange on it is over, or took it in vain: it can be taken again; or, when it serves nobody
 * and can serve no more, it is closed. */
void pool_put(struct pool *pool, struct connection *connection);
void pool_close_idle(struct pool *pool);

/* Whether a new connection to that target is, or may turn out to be, one that is shared: then who
 * wants one waits in line. */
bool pool_may_share(const struct pool *pool, const struct target *target, uint64_t now_ms);
/* Joins the line at its end. */
void pool_line_join(struct pool *pool, const struct target *target, struct pool_place *place);
/* The first in line dials, unless a connection is there that may soon be shared. */
bool pool_line_may_dial(const struct pool_place *place);
/* The next in line, or NULL. */
struct pool_place *pool_line_next(const struct pool_place *place);
/* Leaves the line, if it is in one; when it was the first the next one is marked. */
void pool_line_leave(struct pool_place *place);
/* Marks all others in that line. */
void pool_line_tell(const struct pool_place *place);

#endif
