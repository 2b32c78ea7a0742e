/* core/process/worker.c - makes, drains and ends a worker; its thread is the crew's */
#include "core/process/worker.h"

#include "core/base/buffer.h"
#include "core/base/snapshot.h"
#include "core/connection/connection.h"
#include "core/edge/listener.h"
#include "core/exchange/access_lines.h"
#include "core/exchange/exchange.h"
#include "core/host/holding.h"
#include "core/host/subrequest.h"
#include "core/io/dns.h"
#include "core/io/loop.h"
#include "core/io/owner.h"
#include "core/upstream/pool.h"

/* How often a draining worker looks whether it is done. */
enum { DRAIN_LOOK_MS = 20 };

struct worker_object {
    struct worker worker; /* first: who has it has the whole */
    struct wheel_entry look;
};

static bool has(const struct worker *worker, enum metric gauge)
{
    return metric_read(&worker->metrics, gauge) != 0;
}

/* When no client is left nobody waits for what plugins have asked for. */
static bool is_done(struct worker *worker)
{
    if (!edge_empty(worker) || has(worker, METRIC_CLIENT_CONNECTIONS_OPEN) ||
        has(worker, METRIC_EXCHANGES_OPEN))
        return false;
    subrequests_stop(worker);
    return link_alone(&worker->connections) && !has(worker, METRIC_SUBREQUESTS_OPEN);
}

static void look(struct wheel_entry *entry)
{
    struct worker_object *object = CONTAINER(entry, struct worker_object, look);
    struct worker *worker = &object->worker;
    if (!is_done(worker)) {
        wheel_set(worker->wheel, entry, loop_now_ms(worker->loop) + DRAIN_LOOK_MS);
        return;
    }
    owners_stop(worker);
    dns_free(worker->dns);
    worker->dns = NULL;
    loop_stop(worker->loop);
}

struct worker *worker_new(struct snapshot_use *use, uint32_t index)
{
    struct loop *loop = loop_new();
    if (!loop)
        return NULL;
    struct worker_object *object = memory_zeroed(sizeof *object);
    struct worker *worker = &object->worker;
    worker->index = index;
    worker->use = use;
    worker->snapshot = use->snapshot;
    worker->loop = loop;
    worker->turn = loop_turn(loop);
    worker->wheel = loop_wheel(loop);
    worker->dns = dns_new(loop);
    worker->pool = pool_new();
    owners_new(worker);
    subrequests_new(worker);
    edge_new(worker);
    link_init(&worker->connections);
    wheel_entry_init(&object->look, look);
    return worker;
}

void worker_run(struct worker *worker)
{
    worker_current = worker;
    loop_run(worker->loop);
    access_lines_flush(worker->access_lines);
    pool_free(worker->pool);
    edge_free(worker);
    snapshot_drop(worker->use);
    subrequests_free(worker);
    owners_free(worker);
    holding_end(worker->index);
    worker_current = NULL;
    buffer_pool_deinit();
    arena_pool_deinit();
}

void worker_free(struct worker *worker)
{
    loop_free(worker->loop);
    access_lines_free(worker->access_lines);
    memory_free(worker);
}

void worker_take(struct worker *worker, struct snapshot_use *use, const struct edge_place *places,
                 uint32_t count)
{
    struct snapshot_use *before = worker->use;
    worker->use = use;
    worker->snapshot = use->snapshot;
    edge_set_places(worker, places, count);
    for (struct link *link = worker->connections.next; link != &worker->connections;
         link = link->next)
        CONTAINER(link, struct connection, link)->public.limits = &worker->snapshot->limits;
    before->retired = before != use;
    snapshot_drop(before);
}

void worker_drain(struct worker *worker)
{
    struct worker_object *object = CONTAINER(worker, struct worker_object, worker);
    struct link *link, *next;
    worker->draining = true;
    edge_stop(worker);
    pool_close_idle(worker->pool);
    for (link = worker->connections.next; link != &worker->connections; link = next) {
        next = link->next;
        connection_drain(CONTAINER(link, struct connection, link));
    }
    wheel_set(worker->wheel, &object->look, loop_now_ms(worker->loop) + DRAIN_LOOK_MS);
}

void worker_stop_now(struct worker *worker)
{
    for (struct link *link = worker->connections.next; link != &worker->connections;
         link = link->next)
        connection_close(CONTAINER(link, struct connection, link), CARRIER_CLOSE_NOW,
                         WEIR_STOPPING);
}
