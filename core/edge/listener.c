/* core/edge/listener.c - where clients come in: listen, accept, choose the protocol, start it
 *
 * The first bytes choose among the protocols that have a client's side, in the order in which they
 * registered; when none of them wants the bytes the first gets them, so that the client is told. */
#include "core/edge/listener.h"

#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/connection/connection.h"
#include "core/edge/sniff.h"
#include "core/io/loop.h"
#include "core/io/tcp.h"

struct edge {
    struct worker *worker;
    struct tcp_listener **listeners;
    uint32_t count;
    struct link guests;
};

/* A connection that has not said yet what it speaks. */
struct guest {
    struct edge *edge;
    struct carrier *carrier;
    struct link link;
    struct wheel_entry deadline;
    weir_slice first; /* what came so far, when it was not enough */
    bool closing;
};

static void guest_close(struct guest *guest)
{
    if (guest->closing)
        return;
    guest->closing = true;
    carrier_close(guest->carrier, CARRIER_CLOSE_NOW);
}

static void guest_free(struct guest *guest)
{
    wheel_clear(&guest->deadline);
    link_remove(&guest->link);
    buffer_release(guest->first.owner);
    memory_free(guest);
}

static void become_connection(struct guest *guest, const weir_protocol *protocol,
                              const weir_slice *bytes)
{
    struct connection *connection =
        connection_open(guest->edge->worker, guest->carrier, protocol, WEIR_CLIENT_SIDE);
    connection_replay(connection, bytes);
    guest_free(guest);
}

static void keep(struct guest *guest, const weir_slice *slice)
{
    weir_buffer *buffer = buffer_new(guest->first.length + slice->length);
    weir_slice all = {buffer->bytes, guest->first.length + slice->length, buffer};
    if (guest->first.length)
        memcpy(buffer->bytes, guest->first.bytes, guest->first.length);
    memcpy(buffer->bytes + guest->first.length, slice->bytes, slice->length);
    buffer_release(guest->first.owner);
    guest->first = all;
}

static void on_data(void *user, uint64_t stream, const weir_slice *slice)
{
    struct guest *guest = user;
    const weir_protocol *protocol;
    (void)stream;
    TRACE();
    if (guest->first.length) {
        keep(guest, slice);
        slice = &guest->first;
    }
    if (sniff(slice->bytes, slice->length, false, &protocol))
        become_connection(guest, protocol, slice);
    else if (!guest->first.length)
        keep(guest, slice);
}

static void on_end(void *user, uint64_t stream, uint32_t how)
{
    (void)stream, (void)how;
    guest_close(user);
}

static void on_nothing(void *user, uint64_t stream)
{
    (void)user, (void)stream;
}

static void on_produce(void *user, uint64_t stream, size_t room)
{
    (void)user, (void)stream, (void)room;
}

static void on_closed(void *user)
{
    guest_free(user);
}

static const struct carrier_events guest_events = {
    .data = on_data, .end = on_end, .produce = on_produce, .sent = on_nothing, .closed = on_closed};

static void on_deadline(struct wheel_entry *entry)
{
    guest_close(CONTAINER(entry, struct guest, deadline));
}

static void on_accept(void *user, struct carrier *carrier)
{
    struct edge *edge = user;
    struct worker *worker = edge->worker;
    uint32_t head_ms = worker->snapshot->limits.head_ms;
    struct guest *guest = memory_zeroed(sizeof *guest);
    guest->edge = edge;
    guest->carrier = carrier;
    link_insert(&edge->guests, &guest->link);
    wheel_entry_init(&guest->deadline, on_deadline);
    if (head_ms)
        wheel_set(worker->wheel, &guest->deadline, loop_now_ms(worker->loop) + head_ms);
    carrier_open(carrier, &guest_events, guest);
}

static int listen_on(struct edge *edge, const char *text, bool share)
{
    struct address address;
    bool valid = address_parse(string_of(text), &address);
    assert(valid); /* the configuration was checked */
    (void)valid;
    return tcp_listen(edge->worker->loop, &address, share, on_accept, edge,
                      &edge->listeners[edge->count]);
}

int edge_start(struct worker *worker, bool share, const char **failed)
{
    const struct snapshot *snapshot = worker->snapshot;
    struct edge *edge = memory_zeroed(sizeof *edge);
    edge->worker = worker;
    edge->listeners = memory_zeroed(snapshot->listener_count * sizeof *edge->listeners);
    link_init(&edge->guests);
    worker->edge = edge;
    for (uint32_t i = 0; i < snapshot->listener_count; i++) {
        int rc = listen_on(edge, snapshot->listeners[i].address, share);
        if (rc) {
            *failed = snapshot->listeners[i].address;
            return rc;
        }
        edge->count++;
    }
    return 0;
}

void edge_stop(struct worker *worker)
{
    struct edge *edge = worker->edge;
    while (edge->count)
        tcp_listener_close(edge->listeners[--edge->count]);
    for (struct link *link = edge->guests.next; link != &edge->guests; link = link->next)
        guest_close(CONTAINER(link, struct guest, link));
}

void edge_free(struct worker *worker)
{
    struct edge *edge = worker->edge;
    assert(link_alone(&edge->guests));
    memory_free(edge->listeners);
    memory_free(edge);
    worker->edge = NULL;
}
