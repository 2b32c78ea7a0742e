/* core/upstream/pool.c - server connections by target: idle ones are taken again */
#include "core/upstream/pool.h"

#include <string.h>

#include "core/base/log.h"
#include "core/base/string.h"

enum { BUCKETS = 1024, IDLE_MOST = 4096 };

struct origin {
    struct origin *next; /* in its bucket */
    struct pool *pool;
    const weir_protocol *protocol;
    uint64_t hash;
    struct link idle;
    uint32_t connections; /* idle or not: the origin goes with the last one */
    uint16_t port;
    size_t host_length;
    char host[]; /* lower case */
};

struct pool {
    struct origin *buckets[BUCKETS];
    uint32_t idle_count, connections; /* of these, and of all */
    uint32_t hand;                    /* the bucket in which room is made next */
};

static uint32_t share = IDLE_MOST;

void pool_start(uint32_t most)
{
    share = most < IDLE_MOST ? most : IDLE_MOST;
}

struct pool *pool_new(void)
{
    return memory_zeroed(sizeof(struct pool));
}

void pool_free(struct pool *pool)
{
    for (int i = 0; i < BUCKETS; i++)
        assert(!pool->buckets[i]);
    memory_free(pool);
}

static uint64_t hash_of(const struct target *target)
{
    uint64_t hash = 0xcbf29ce484222325u ^ target->port; /* FNV-1a */
    for (size_t i = 0; i < target->host.length; i++)
        hash = (hash ^ (uint8_t)character_lower(target->host.bytes[i])) * 0x100000001b3u;
    return hash;
}

static bool matches(const struct origin *origin, uint64_t hash, const struct target *target)
{
    return origin->hash == hash && origin->port == target->port &&
           origin->protocol == target->protocol &&
           string_equal_nocase((weir_string){origin->host, origin->host_length}, target->host);
}

static struct origin *find(struct pool *pool, uint64_t hash, const struct target *target)
{
    struct origin *origin = pool->buckets[hash % BUCKETS];
    while (origin && !matches(origin, hash, target))
        origin = origin->next;
    return origin;
}

static struct origin *origin_new(struct pool *pool, uint64_t hash, const struct target *target)
{
    struct origin *origin = memory_zeroed(sizeof *origin + target->host.length);
    origin->pool = pool;
    origin->protocol = target->protocol;
    origin->hash = hash;
    origin->port = target->port;
    origin->host_length = target->host.length;
    for (size_t i = 0; i < target->host.length; i++)
        origin->host[i] = character_lower(target->host.bytes[i]);
    link_init(&origin->idle);
    origin->next = pool->buckets[hash % BUCKETS];
    pool->buckets[hash % BUCKETS] = origin;
    return origin;
}

static void origin_free(struct origin *origin)
{
    struct origin **at = &origin->pool->buckets[origin->hash % BUCKETS];
    while (*at != origin)
        at = &(*at)->next;
    *at = origin->next;
    memory_free(origin);
}

static void leave_idle(struct connection *connection)
{
    if (link_alone(&connection->kept))
        return;
    link_remove(&connection->kept);
    ((struct origin *)connection->keeper)->pool->idle_count--;
}

static void on_closing(struct connection *connection)
{
    struct origin *origin = connection->keeper;
    leave_idle(connection);
    origin->pool->connections--;
    connection->keeper = NULL;
    if (--origin->connections == 0)
        origin_free(origin);
}

struct connection *pool_take(struct pool *pool, const struct target *target)
{
    TRACE();
    struct origin *origin = find(pool, hash_of(target), target);
    if (!origin || link_alone(&origin->idle))
        return NULL;
    struct connection *connection = CONTAINER(origin->idle.next, struct connection, kept);
    leave_idle(connection);
    return connection;
}

static struct origin *find_idle(struct origin *origin)
{
    while (origin && link_alone(&origin->idle))
        origin = origin->next;
    return origin;
}

/* Closes the connection of some origin that was idle for longest: whose turn it is, so that nobody
 * who asks for many can keep all others from having theirs. */
static void make_room(struct pool *pool)
{
    struct origin *origin = NULL;
    while (!origin)
        origin = find_idle(pool->buckets[pool->hand++ % BUCKETS]);
    connection_close(CONTAINER(origin->idle.previous, struct connection, kept), CARRIER_CLOSE_NOW,
                     WEIR_OK);
}

/* Each client has a descriptor for a server as well. What those who have no server now do not need
 * may be idle connections', beside the share. */
static uint32_t idle_most(const struct pool *pool, const struct worker *worker)
{
    if (pool->idle_count < share)
        return share;
    uint64_t clients = metric_read(&worker->metrics, METRIC_CLIENT_CONNECTIONS_OPEN);
    uint32_t busy = pool->connections - pool->idle_count;
    return share + (clients > busy ? (uint32_t)clients - busy : 0);
}

void pool_adopt(struct pool *pool, const struct target *target, struct connection *connection)
{
    uint64_t hash = hash_of(target);
    struct origin *origin = find(pool, hash, target);
    if (!origin)
        origin = origin_new(pool, hash, target);
    origin->connections++;
    pool->connections++;
    connection->keeper = origin;
    connection->on_closing = on_closing;
    if (pool->idle_count > idle_most(pool, connection->worker))
        make_room(pool);
}

void pool_put(struct pool *pool, struct connection *connection)
{
    struct origin *origin = connection->keeper;
    if (connection->closing)
        return;
    uint32_t most = idle_most(pool, connection->worker);
    if (connection->worker->draining || !most || !connection_spare(connection)) {
        connection_close(connection, CARRIER_CLOSE_NOW, WEIR_OK);
        return;
    }
    if (pool->idle_count >= most)
        make_room(pool);
    link_insert(origin->idle.next, &connection->kept);
    pool->idle_count++;
}

void pool_close_idle(struct pool *pool)
{
    for (int i = 0; i < BUCKETS; i++)
        for (struct origin *origin = pool->buckets[i], *next; origin; origin = next) {
            next = origin->next;
            for (uint32_t left = origin->connections; left && !link_alone(&origin->idle); left--)
                connection_close(CONTAINER(origin->idle.next, struct connection, kept),
                                 CARRIER_CLOSE_NOW, WEIR_STOPPING);
        }
}
