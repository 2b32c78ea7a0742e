/* core/edge/admission.c - whom to let in: by address, and by how many are in over all workers
 *
 * Asked once for each connection, never for a request: a lock is good enough for the table. */
#include "core/edge/admission.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/memory.h"
#include "core/io/network.h"

enum { BUCKETS_LEAST = 256, NETWORK_BYTES = 8 };

struct visitor {
    struct visitor *next; /* in its bucket */
    uint8_t key[NETWORK_BYTES];
    uint32_t count;
};

static uint32_t automatic = UINT32_MAX;
static _Atomic uint32_t inside;

static struct {
    pthread_mutex_t lock;
    struct visitor **buckets; /* NULL: nobody was ever counted */
    uint32_t bucket_count, visitors;
    uint64_t seed; /* so that nobody can choose addresses that share a bucket */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- the table of addresses */

/* An IPv6 address is as many bytes of its network as fit; an IPv4 address is none of those: no
 * global IPv6 network begins with two zero bytes. */
static void make_key(const struct address *peer, uint8_t key[NETWORK_BYTES])
{
    memset(key, 0, NETWORK_BYTES);
    if (peer->any.sa_family == AF_INET6)
        memcpy(key, peer->v6.sin6_addr.s6_addr, NETWORK_BYTES);
    else
        memcpy(key + NETWORK_BYTES - sizeof peer->v4.sin_addr, &peer->v4.sin_addr,
               sizeof peer->v4.sin_addr);
}

static struct visitor **bucket_of(const uint8_t key[NETWORK_BYTES])
{
    uint64_t hash = table.seed;
    for (int i = 0; i < NETWORK_BYTES; i++)
        hash = (hash ^ key[i]) * 0x100000001b3u;
    return &table.buckets[(hash ^ hash >> 32) & (table.bucket_count - 1)];
}

static struct visitor **find(const uint8_t key[NETWORK_BYTES])
{
    struct visitor **at = bucket_of(key);
    while (*at && memcmp((*at)->key, key, NETWORK_BYTES) != 0)
        at = &(*at)->next;
    return at;
}

/* Twice the buckets, or the first ones. */
static void grow(void)
{
    struct visitor **before = table.buckets;
    uint32_t count = table.bucket_count;
    while (!table.seed && getrandom(&table.seed, sizeof table.seed, 0) < 0 && errno == EINTR)
        ;
    table.bucket_count = count ? count * 2 : BUCKETS_LEAST;
    table.buckets = memory_zeroed(table.bucket_count * sizeof(struct visitor *));
    for (uint32_t i = 0; i < count; i++)
        for (struct visitor *visitor = before[i], *next; visitor; visitor = next) {
            struct visitor **at = bucket_of(visitor->key);
            next = visitor->next;
            visitor->next = *at;
            *at = visitor;
        }
    memory_free(before);
}

static bool count_in(const struct address *peer, uint32_t most)
{
    uint8_t key[NETWORK_BYTES];
    make_key(peer, key);
    pthread_mutex_lock(&table.lock);
    if (table.visitors >= table.bucket_count)
        grow();
    struct visitor **at = find(key);
    if (!*at) {
        *at = memory_zeroed(sizeof **at);
        memcpy((*at)->key, key, NETWORK_BYTES);
        table.visitors++;
    }
    bool in = (*at)->count < most;
    if (in)
        (*at)->count++;
    pthread_mutex_unlock(&table.lock);
    return in;
}

static void count_out(const struct address *peer)
{
    uint8_t key[NETWORK_BYTES];
    make_key(peer, key);
    pthread_mutex_lock(&table.lock);
    struct visitor **at = find(key), *visitor = *at;
    if (--visitor->count == 0) {
        *at = visitor->next;
        memory_free(visitor);
        table.visitors--;
    }
    if (!table.visitors) {
        memory_free(table.buckets);
        table.buckets = NULL;
        table.bucket_count = 0;
    }
    pthread_mutex_unlock(&table.lock);
}

/* --- what the edge asks */

void admission_start(uint32_t automatic_most)
{
    automatic = automatic_most;
}

bool admission_full(const struct snapshot *snapshot)
{
    uint32_t most = snapshot->connections_max ? snapshot->connections_max : automatic;
    return atomic_load_explicit(&inside, memory_order_relaxed) >= most;
}

enum admission admission_enter(const struct snapshot *snapshot,
                               const struct listener_config *config, const struct address *peer)
{
    enum admission admission = ADMISSION_COUNTED;
    if (peer->any.sa_family != AF_UNIX) {
        if (config->allow_clients && !network_list_contains(config->allow_clients, peer))
            return ADMISSION_REFUSED;
        if (snapshot->connections_per_address)
            admission = ADMISSION_COUNTED_BY_ADDRESS;
    }
    if (admission == ADMISSION_COUNTED_BY_ADDRESS &&
        !count_in(peer, snapshot->connections_per_address))
        return ADMISSION_REFUSED;
    atomic_fetch_add_explicit(&inside, 1, memory_order_relaxed);
    return admission;
}

void admission_leave(enum admission admission, const struct address *peer)
{
    if (admission == ADMISSION_COUNTED_BY_ADDRESS)
        count_out(peer);
    if (admission != ADMISSION_UNCOUNTED)
        atomic_fetch_sub_explicit(&inside, 1, memory_order_relaxed);
}
