/* core/upstream/pool.c - server connections by target: who may be taken again, shared, waited for
 */
#include "core/upstream/pool.h"

#include <string.h>

#include "core/base/log.h"
#include "core/base/string.h"
#include "core/io/loop.h"
#include "core/upstream/habit.h"

enum { BUCKETS = 1024, IDLE_MOST = 4096 };

struct origin {
    struct origin *next; /* in its bucket */
    struct pool *pool;
    const weir_protocol *protocols[TARGET_PROTOCOLS_MOST];
    struct tls_context *tls; /* held by whoever keeps the origin: carriers, and snapshots in line */
    uint64_t hash;
    struct link idle;     /* connections that serve nobody */
    struct link busy;     /* that serve somebody and, as far as is known, can take on more */
    struct link line;     /* of places */
    uint32_t connections; /* all: the origin goes with the last one, and the last place */
    uint32_t settling;    /* of them: it is not known yet how many each takes */
    bool may_share;       /* at least one of the protocols does */
    uint16_t port;
    size_t host_length;
    char host[]; /* lower case */
};

struct pool {
    struct origin *buckets[BUCKETS];
    uint32_t idle_count, connections; /* of these, and of all */
    uint32_t hand;                    /* the bucket in which room is made next */
    struct habits habits;             /* of those that may speak one or the other */
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

static bool shares(const weir_protocol *protocol)
{
    return protocol && protocol->flags & WEIR_PROTOCOL_SHARES;
}

static bool may_share(const struct target *target)
{
    return shares(target->protocols[0]) || shares(target->protocols[1]);
}

static bool speaks_same(const struct origin *origin, const struct target *target)
{
    return !memcmp(origin->protocols, target->protocols, sizeof origin->protocols) &&
           origin->tls == target->tls;
}

static bool matches(const struct origin *origin, uint64_t hash, const struct target *target)
{
    return origin->hash == hash && origin->port == target->port && speaks_same(origin, target) &&
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
    memcpy(origin->protocols, target->protocols, sizeof origin->protocols);
    origin->tls = target->tls;
    origin->may_share = may_share(target);
    origin->hash = hash;
    origin->port = target->port;
    origin->host_length = target->host.length;
    for (size_t i = 0; i < target->host.length; i++)
        origin->host[i] = character_lower(target->host.bytes[i]);
    link_init(&origin->idle);
    link_init(&origin->busy);
    link_init(&origin->line);
    origin->next = pool->buckets[hash % BUCKETS];
    pool->buckets[hash % BUCKETS] = origin;
    return origin;
}

static struct origin *origin_at(struct pool *pool, const struct target *target)
{
    uint64_t hash = hash_of(target);
    struct origin *origin = find(pool, hash, target);
    return origin ? origin : origin_new(pool, hash, target);
}

static void free_unneeded(struct origin *origin)
{
    if (origin->connections || !link_alone(&origin->line))
        return;
    struct origin **at = &origin->pool->buckets[origin->hash % BUCKETS];
    while (*at != origin)
        at = &(*at)->next;
    *at = origin->next;
    memory_free(origin);
}

/* --- connections */

/* Out of the list that it is in, if it is in one. */
static void unlist(struct connection *connection)
{
    struct pool *pool = ((struct origin *)connection->keeper)->pool;
    if (link_alone(&connection->kept))
        return;
    link_remove(&connection->kept);
    pool->idle_count -= connection->idle;
    connection->idle = false;
}

static bool serves(const struct connection *connection)
{
    return !link_alone(&connection->channels);
}

static bool takes_more(const struct connection *connection)
{
    uint32_t spare = connection_spare(connection);
    return spare && (spare != WEIR_SPARE_LATER || !serves(connection));
}

static void tell(const struct pool_place *place)
{
    turn_mark(place->turn, TURN_EXCHANGES, place->owner);
}

static void tell_line(const struct origin *origin)
{
    for (struct link *at = origin->line.next; at != &origin->line; at = at->next)
        tell(CONTAINER(at, struct pool_place, link));
}

/* Those in line wait for what a server is about to say. */
static void note_settling(struct connection *connection)
{
    struct origin *origin = connection->keeper;
    bool settling = serves(connection) && connection_spare(connection) == WEIR_SPARE_LATER;
    if (settling == connection->settling)
        return;
    connection->settling = settling;
    if (settling)
        origin->settling++;
    else if (!--origin->settling)
        tell_line(origin);
}

static void on_closing(struct connection *connection)
{
    struct origin *origin = connection->keeper;
    unlist(connection);
    note_settling(connection);
    origin->pool->connections--;
    connection->keeper = NULL;
    origin->connections--;
    free_unneeded(origin);
}

static struct connection *first_of(struct link *list)
{
    if (link_alone(list))
        return NULL;
    struct connection *connection = CONTAINER(list->next, struct connection, kept);
    unlist(connection);
    return connection;
}

/* The first that can take on one more. Those that cannot are not asked again before something on
 * them is over; those that serve nobody and cannot are of no use. */
static struct connection *first_with_spare(struct link *list)
{
    struct connection *connection;
    while ((connection = first_of(list)) && shares(connection->protocol) &&
           !takes_more(connection)) {
        bool last = ((struct origin *)connection->keeper)->connections == 1;
        if (!serves(connection))
            connection_close(connection, CARRIER_CLOSE_FLUSH, WEIR_OK);
        if (last) /* and the list may be gone */
            return NULL;
    }
    return connection;
}

struct connection *pool_take(struct pool *pool, const struct target *target)
{
    TRACE();
    struct origin *origin = find(pool, hash_of(target), target);
    if (!origin)
        return NULL;
    if (!origin->may_share)
        return first_of(&origin->idle);
    struct connection *connection = first_with_spare(&origin->busy);
    return connection ? connection : first_with_spare(&origin->idle);
}

/* Whether it can take on one more, and is found from now on. */
static bool list_busy(struct connection *connection)
{
    if (!shares(connection->protocol) || !takes_more(connection) || !link_alone(&connection->kept))
        return false;
    link_insert(((struct origin *)connection->keeper)->busy.next, &connection->kept);
    return true;
}

struct connection *pool_take_busy(struct pool *pool, const struct target *target,
                                  const struct connection *but)
{
    struct origin *origin = find(pool, hash_of(target), target);
    struct connection *connection = origin ? first_with_spare(&origin->busy) : NULL;
    if (connection != but)
        return connection;
    struct connection *other = connection ? first_with_spare(&origin->busy) : NULL;
    if (connection)
        list_busy(connection); /* as before: nobody need be told */
    return other;
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
    connection_close(CONTAINER(origin->idle.previous, struct connection, kept), CARRIER_CLOSE_FLUSH,
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

static void on_spare(struct connection *connection)
{
    struct origin *origin = connection->keeper;
    note_settling(connection);
    if (serves(connection) && list_busy(connection))
        tell_line(origin);
}

void pool_adopt(struct pool *pool, const struct target *target, struct connection *connection)
{
    struct origin *origin = origin_at(pool, target);
    origin->connections++;
    pool->connections++;
    connection->keeper = origin;
    connection->on_closing = on_closing;
    connection->on_spare = on_spare;
    if (target->protocols[1])
        habit_note(&pool->habits, origin->hash, connection->protocol,
                   loop_now_ms(connection->worker->loop));
    if (pool->idle_count > idle_most(pool, connection->worker))
        make_room(pool);
}

/* Who waits behind the one that dials may have it. */
static void tell_second(const struct origin *origin)
{
    if (link_alone(&origin->line) || origin->line.next->next == &origin->line)
        return;
    tell(CONTAINER(origin->line.next->next, struct pool_place, link));
}

void pool_offer(struct connection *connection)
{
    note_settling(connection);
    if (list_busy(connection))
        tell_second(connection->keeper);
}

void pool_put(struct pool *pool, struct connection *connection)
{
    struct origin *origin = connection->keeper;
    if (connection->closing)
        return;
    if (serves(connection)) {
        pool_offer(connection);
        return;
    }
    unlist(connection);
    note_settling(connection);
    uint32_t most = idle_most(pool, connection->worker);
    if (connection->worker->draining || !most || !connection_spare(connection)) {
        connection_close(connection, CARRIER_CLOSE_FLUSH, WEIR_OK);
        return;
    }
    if (pool->idle_count >= most)
        make_room(pool);
    link_insert(origin->idle.next, &connection->kept);
    connection->idle = true;
    pool->idle_count++;
    tell_second(origin);
}

void pool_close_idle(struct pool *pool)
{
    for (int i = 0; i < BUCKETS; i++)
        for (struct origin *origin = pool->buckets[i], *next; origin; origin = next) {
            next = origin->next;
            for (uint32_t left = origin->connections; left && !link_alone(&origin->idle); left--)
                connection_close(CONTAINER(origin->idle.next, struct connection, kept),
                                 CARRIER_CLOSE_FLUSH, WEIR_STOPPING);
        }
}

/* --- the line */

bool pool_may_share(const struct pool *pool, const struct target *target, uint64_t now_ms)
{
    if (!may_share(target))
        return false;
    const weir_protocol *known =
        target->protocols[1] ? habit_of(&pool->habits, hash_of(target), now_ms) : NULL;
    return !known || shares(known);
}

void pool_line_join(struct pool *pool, const struct target *target, struct pool_place *place)
{
    place->origin = origin_at(pool, target);
    link_insert(&place->origin->line, &place->link);
}

static bool is_first(const struct pool_place *place)
{
    return place->origin && place->origin->line.next == &place->link;
}

bool pool_line_may_dial(const struct pool_place *place)
{
    return is_first(place) && !place->origin->settling;
}

struct pool_place *pool_line_next(const struct pool_place *place)
{
    if (!place->origin || place->link.next == &place->origin->line)
        return NULL;
    return CONTAINER(place->link.next, struct pool_place, link);
}

void pool_line_leave(struct pool_place *place)
{
    struct origin *origin = place->origin;
    if (!origin)
        return;
    bool first = is_first(place);
    link_remove(&place->link);
    place->origin = NULL;
    if (first && !link_alone(&origin->line))
        tell(CONTAINER(origin->line.next, struct pool_place, link));
    free_unneeded(origin);
}

void pool_line_tell(const struct pool_place *place)
{
    struct link *line = place->origin ? &place->origin->line : NULL;
    for (struct link *at = line ? line->next : NULL; at != line; at = at->next)
        if (at != &place->link)
            tell(CONTAINER(at, struct pool_place, link));
}
