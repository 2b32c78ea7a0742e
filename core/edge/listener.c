/* core/edge/listener.c - where clients come in: accept, TLS, choose the protocol, start it
 *
 * What was agreed in a TLS handshake chooses the protocol (ALPN). Where nothing was the first bytes
 * choose among the protocols that the listener names (those built in, when it names none), in that
 * order; when none of them wants the bytes the first gets them, so that the client is told. */
#include "core/edge/listener.h"

#include <assert.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/connection/connection.h"
#include "core/edge/admission.h"
#include "core/edge/sniff.h"
#include "core/exchange/filters.h"
#include "core/io/listen.h"
#include "core/io/loop.h"
#include "core/io/tls.h"
#include "core/plugins/registry.h"

enum {
    LAST_WORD_MS = 100 /* for who came before weir was told to stop: a request may be on its way */
};

struct edge {
    struct worker *worker;
    struct link entrances, guests;
};

/* A place where clients come in. It stays until the last of them has gone: their exchanges begin
 * with its filters and its snapshot. */
struct entrance {
    struct edge *edge;
    struct link link;
    uint32_t id;
    uint32_t count;            /* of guests and connections, and one while it is open */
    struct listener *listener; /* NULL: it is not open any more */
    struct link connections;
    const struct listener_config *config;
    struct connection_terms terms;
};

/* A connection that has not said yet what it speaks. */
struct guest {
    struct entrance *entrance;
    struct carrier *carrier;         /* NULL: while there is a handshake */
    struct tls_handshake *handshake; /* NULL: it is over, or there is none */
    const weir_protocol *protocol;   /* that was agreed; NULL: none yet */
    struct address peer;
    struct link link;
    struct wheel_entry deadline;
    weir_slice first; /* what came so far, when it was not enough */
    enum admission admission;
    bool closing;
};

static void entrance_drop(struct entrance *entrance)
{
    if (--entrance->count)
        return;
    link_remove(&entrance->link);
    snapshot_drop(entrance->terms.use);
    memory_free(entrance);
}

/* --- guests */

static void guest_free(struct guest *guest)
{
    metric_add(&guest->entrance->edge->worker->metrics, METRIC_CLIENTS_SILENT, -1);
    wheel_clear(&guest->deadline);
    link_remove(&guest->link);
    buffer_release(guest->first.owner);
    memory_free(guest);
}

static void guest_gone(struct guest *guest)
{
    struct entrance *entrance = guest->entrance;
    admission_leave(guest->admission, &guest->peer);
    guest_free(guest);
    entrance_drop(entrance);
}

static void guest_close(struct guest *guest)
{
    if (guest->closing)
        return;
    guest->closing = true;
    if (guest->carrier) {
        carrier_close(guest->carrier, CARRIER_CLOSE_NOW);
        return;
    }
    builtin_tls->cancel(guest->handshake);
    guest_gone(guest);
}

static void on_connection_gone(struct connection *connection)
{
    link_remove(&connection->kept);
    admission_leave(connection->admission, &connection->carrier->facts.peer);
    entrance_drop(connection->keeper);
}

static void become_connection(struct guest *guest, const weir_protocol *protocol,
                              const weir_slice *bytes)
{
    struct entrance *entrance = guest->entrance;
    struct connection *connection =
        connection_open(entrance->edge->worker, guest->carrier, protocol, WEIR_CLIENT_SIDE);
    connection->terms = &entrance->terms;
    connection->admission = (uint8_t)guest->admission;
    connection->keeper = entrance;
    connection->on_gone = on_connection_gone;
    link_insert(&entrance->connections, &connection->kept);
    if (!entrance->listener)
        connection->public.draining = 1;
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

/* What the clients of that place may speak. */
static const weir_protocol *const *protocols_of(const struct entrance *entrance)
{
    if (entrance->config && entrance->config->protocols)
        return entrance->config->protocols;
    return registry_standard_protocols(entrance->terms.use->snapshot->registry);
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
    bool decided = guest->protocol || sniff(protocols_of(guest->entrance), slice->bytes,
                                            slice->length, false, &protocol);
    if (guest->protocol)
        protocol = guest->protocol;
    if (decided && protocol)
        become_connection(guest, protocol, slice);
    else if (decided)
        guest_close(guest); /* there is no protocol for clients */
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
    guest_gone(user);
}

static const struct carrier_events guest_events = {
    .data = on_data, .end = on_end, .produce = on_produce, .sent = on_nothing, .closed = on_closed};

static void on_deadline(struct wheel_entry *entry)
{
    guest_close(CONTAINER(entry, struct guest, deadline));
}

/* --- accepting */

static bool may_accept(void *user)
{
    const struct entrance *entrance = user;
    return !entrance->config || !admission_full(entrance->terms.use->snapshot);
}

/* From now on it may say something. */
static void listen_to(struct guest *guest, struct carrier *carrier)
{
    struct worker *worker = guest->entrance->edge->worker;
    uint32_t head_ms = guest->entrance->terms.use->snapshot->limits.head_ms;
    guest->carrier = carrier;
    if (head_ms)
        wheel_set(worker->wheel, &guest->deadline, loop_now_ms(worker->loop) + head_ms);
    carrier_open(carrier, &guest_events, guest);
}

/* The one of that name that clients of this place may speak; NULL: nothing was agreed. */
static const weir_protocol *find_agreed(const struct entrance *entrance,
                                        const struct tls_facts *facts)
{
    const weir_protocol *const *at = protocols_of(entrance);
    for (; facts->alpn.length && *at; at++)
        if (WEIR_HAS(weir_protocol, *at, alpn) && string_equal(string_of((*at)->alpn), facts->alpn))
            return *at;
    return NULL;
}

static void on_secured(void *user, struct carrier *carrier, weir_result why)
{
    struct guest *guest = user;
    (void)why;
    guest->handshake = NULL;
    if (!carrier) {
        guest_gone(guest);
        return;
    }
    guest->protocol = find_agreed(guest->entrance, carrier->facts.tls);
    listen_to(guest, carrier);
}

static void secure(struct guest *guest, struct carrier *carrier)
{
    const struct entrance *entrance = guest->entrance;
    guest->handshake = builtin_tls->start(
        &(struct tls_start){.worker = entrance->edge->worker,
                            .below = carrier,
                            .context = entrance->config->tls.context,
                            .limit_ms = entrance->terms.use->snapshot->timeouts.handshake,
                            .alpn = entrance->config->alpn,
                            .where = entrance->config->address,
                            .done = on_secured,
                            .user = guest});
}

static void receive(struct entrance *entrance, struct carrier *carrier, enum admission admission)
{
    struct worker *worker = entrance->edge->worker;
    struct guest *guest = memory_zeroed(sizeof *guest);
    guest->entrance = entrance;
    guest->peer = carrier->facts.peer;
    guest->admission = admission;
    entrance->count++;
    metric_add(&worker->metrics, METRIC_CLIENTS_SILENT, 1);
    link_insert(&entrance->edge->guests, &guest->link);
    wheel_entry_init(&guest->deadline, on_deadline);
    if (entrance->config && entrance->config->tls.context)
        secure(guest, carrier);
    else
        listen_to(guest, carrier);
}

/* What the filters say of the client's address. */
static bool is_welcome(const struct entrance *entrance, const struct carrier *carrier)
{
    const char *where = entrance->config ? entrance->config->address : "admin";
    return filters_accept(entrance->terms.chain, entrance->terms.use, &carrier->facts.peer, where);
}

static void on_accepted(void *user, struct carrier *carrier)
{
    struct entrance *entrance = user;
    enum admission admission = ADMISSION_UNCOUNTED;
    if (entrance->config)
        admission =
            admission_enter(entrance->terms.use->snapshot, entrance->config, &carrier->facts.peer);
    if (admission != ADMISSION_REFUSED) {
        if (is_welcome(entrance, carrier)) {
            receive(entrance, carrier, admission);
            return;
        }
        admission_leave(admission, &carrier->facts.peer);
    }
    metric_add(&entrance->edge->worker->metrics, METRIC_CLIENTS_REFUSED, 1);
    carrier_close(carrier, CARRIER_CLOSE_NOW);
}

static const struct listener_events listener_events = {.may_accept = may_accept,
                                                       .accepted = on_accepted};

/* --- places */

static struct entrance *find(struct edge *edge, uint32_t id)
{
    for (struct link *link = edge->entrances.next; link != &edge->entrances; link = link->next) {
        struct entrance *entrance = CONTAINER(link, struct entrance, link);
        if (entrance->id == id && entrance->listener)
            return entrance;
    }
    return NULL;
}

static struct entrance *entrance_open(struct edge *edge, const struct edge_place *place)
{
    struct entrance *entrance = memory_zeroed(sizeof *entrance);
    entrance->edge = edge;
    entrance->id = place->id;
    entrance->count = 1;
    link_init(&entrance->connections);
    link_insert(&edge->entrances, &entrance->link);
    entrance->terms.use = snapshot_take(edge->worker->use);
    entrance->listener =
        listener_open(edge->worker->loop, place->socket, &listener_events, entrance);
    if (entrance->listener)
        return entrance;
    log_write(LOG_ERROR, "worker %u cannot accept at one of its places", edge->worker->index);
    entrance_drop(entrance);
    return NULL;
}

static void entrance_set(struct entrance *entrance, const struct edge_place *place)
{
    struct snapshot_use *before = entrance->terms.use;
    entrance->terms.use = snapshot_take(entrance->edge->worker->use);
    entrance->terms.chain = place->chain;
    entrance->terms.authenticates = place->chain->counts[HOOK_AUTHENTICATE] != 0;
    entrance->terms.listener = place->config ? place->config->address : NULL;
    entrance->config = place->config;
    snapshot_drop(before);
}

static void entrance_close(struct entrance *entrance)
{
    struct listener *listener = entrance->listener;
    struct link *link, *next;
    if (!listener)
        return;
    listener_close(listener);
    entrance->listener = NULL;
    for (link = entrance->connections.next; link != &entrance->connections; link = next) {
        next = link->next;
        connection_drain(CONTAINER(link, struct connection, kept));
    }
    entrance_drop(entrance);
}

static bool is_listed(const struct edge_place *places, uint32_t count, uint32_t id)
{
    for (uint32_t i = 0; i < count; i++)
        if (places[i].id == id)
            return true;
    return false;
}

void edge_set_places(struct worker *worker, const struct edge_place *places, uint32_t count)
{
    struct edge *edge = worker->edge;
    struct link *link, *next;
    for (link = edge->entrances.next; link != &edge->entrances; link = next) {
        struct entrance *entrance = CONTAINER(link, struct entrance, link);
        next = link->next;
        if (!is_listed(places, count, entrance->id))
            entrance_close(entrance);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct entrance *entrance = find(edge, places[i].id);
        if (!entrance)
            entrance = entrance_open(edge, &places[i]);
        if (entrance)
            entrance_set(entrance, &places[i]);
    }
}

void edge_new(struct worker *worker)
{
    worker->edge = memory_zeroed(sizeof *worker->edge);
    worker->edge->worker = worker;
    link_init(&worker->edge->entrances);
    link_init(&worker->edge->guests);
}

void edge_stop(struct worker *worker)
{
    edge_set_places(worker, NULL, 0);
    struct link *guests = &worker->edge->guests;
    uint64_t until_ms = loop_now_ms(worker->loop) + LAST_WORD_MS;
    for (struct link *link = guests->next; link != guests; link = link->next)
        wheel_set(worker->wheel, &CONTAINER(link, struct guest, link)->deadline, until_ms);
}

bool edge_empty(const struct worker *worker)
{
    return link_alone(&worker->edge->guests);
}

void edge_free(struct worker *worker)
{
    assert(link_alone(&worker->edge->guests) && link_alone(&worker->edge->entrances));
    memory_free(worker->edge);
    worker->edge = NULL;
}
