/* core/connection/connection.c - a carrier joined to a protocol, on either side */
#include "core/connection/connection.h"

#include <string.h>

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/io/loop.h"

struct connection_hooks connection_hooks;

static struct connection *of(weir_connection *public)
{
    return CONTAINER(public, struct connection, public);
}

/* --- the carrier's events */

static void on_data(void *user, uint64_t stream, const weir_slice *slice)
{
    struct connection *connection = user;
    TRACE();
    connection->protocol->connection->data(&connection->public, stream, slice);
}

static void on_end(void *user, uint64_t stream, uint32_t how)
{
    struct connection *connection = user;
    connection->protocol->connection->end(&connection->public, stream, how);
}

static void on_produce(void *user, uint64_t stream, size_t room)
{
    struct connection *connection = user;
    connection->protocol->connection->produce(&connection->public, stream, room);
}

static void on_sent(void *user, uint64_t stream)
{
    struct connection *connection = user;
    connection->protocol->connection->sent(&connection->public, stream);
}

static void count_open(struct connection *connection, int64_t change)
{
    bool client = connection->public.side == WEIR_CLIENT_SIDE;
    struct metrics *metrics = &connection->worker->metrics;
    metric_add(metrics, client ? METRIC_CLIENT_CONNECTIONS_OPEN : METRIC_SERVER_CONNECTIONS_OPEN,
               change);
    if (change > 0)
        metric_add(metrics, client ? METRIC_CLIENT_CONNECTIONS : METRIC_SERVER_CONNECTIONS, 1);
}

static void on_closed(void *user)
{
    struct connection *connection = user;
    connection->protocol->connection->close(&connection->public);
    count_open(connection, -1);
    turn_unmark(connection->worker->turn, TURN_CONNECTIONS, &connection->wake);
    wheel_clear(&connection->deadline);
    link_remove(&connection->link);
    if (connection->on_gone)
        connection->on_gone(connection);
    memory_free(connection->user);
    memory_free(connection);
}

static const struct carrier_events connection_events = {
    .data = on_data,
    .end = on_end,
    .produce = on_produce,
    .sent = on_sent,
    .closed = on_closed,
};

static void step_wake(struct mark *mark)
{
    struct connection *connection = CONTAINER(mark, struct connection, wake);
    if (!connection->closing)
        connection->protocol->connection->wake(&connection->public);
}

static void on_deadline(struct wheel_entry *entry)
{
    struct connection *connection = CONTAINER(entry, struct connection, deadline);
    if (!connection->closing)
        connection->protocol->connection->timeout(&connection->public);
}

/* --- opening and closing */

struct connection *connection_open(struct worker *worker, struct carrier *carrier,
                                   const weir_protocol *protocol, uint32_t side)
{
    size_t state = (sizeof(struct connection) + 15) & ~(size_t)15;
    struct connection *connection =
        memory_zeroed(state + protocol->connection->connection_state_size);
    connection->public.state = (uint8_t *)connection + state;
    connection->public.limits = &worker->snapshot->limits;
    connection->public.side = side;
    connection->public.draining = worker->draining;
    connection->protocol = protocol;
    connection->operations = side == WEIR_CLIENT_SIDE ? protocol->client : protocol->server;
    connection->worker = worker;
    connection->carrier = carrier;
    connection->opened_ms = loop_now_ms(worker->loop);
    mark_init(&connection->wake, step_wake);
    wheel_entry_init(&connection->deadline, on_deadline);
    link_init(&connection->channels);
    link_init(&connection->kept);
    link_insert(&worker->connections, &connection->link);
    count_open(connection, 1);
    if (carrier->events)
        carrier_hand_over(carrier, &connection_events, connection);
    else
        carrier_open(carrier, &connection_events, connection);
    protocol->connection->open(&connection->public);
    return connection;
}

void connection_replay(struct connection *connection, const weir_slice *slice)
{
    on_data(connection, 0, slice);
}

void connection_join(struct connection *connection, struct channel *channel,
                     const weir_channel_operations *operations)
{
    channel->operations = operations;
    channel->connection = connection;
    channel->public.connection = &connection->public;
    channel->public.state = NULL;
    link_insert(&connection->channels, &channel->link);
}

void connection_attach(struct connection *connection, struct channel *channel)
{
    uint32_t size = connection->operations->channel_state_size;
    connection_join(connection, channel, connection->operations);
    if (size) {
        channel->public.state = arena_allocate(channel->arena, size);
        memset(channel->public.state, 0, size);
    }
    if (connection->public.side == WEIR_SERVER_SIDE)
        channel->credit = connection->operations->attach(&channel->public);
}

uint32_t connection_spare(const struct connection *connection)
{
    return connection->closing ? 0 : connection->operations->spare(&connection->public);
}

void connection_drain(struct connection *connection)
{
    if (connection->closing)
        return;
    connection->public.draining = 1;
    connection->protocol->connection->drain(&connection->public);
}

/* The channels outlive their connection: each fails and forgets it. */
static void detach_channels(struct connection *connection, weir_result why)
{
    while (!link_alone(&connection->channels))
        channel_detach(CONTAINER(connection->channels.next, struct channel, link), why);
}

void connection_close(struct connection *connection, uint32_t how, weir_result why)
{
    if (!connection->closing) {
        connection->closing = true;
        wheel_set(connection->worker->wheel, &connection->deadline, WHEEL_NEVER);
        detach_channels(connection, why);
        if (connection->on_closing)
            connection->on_closing(connection);
    }
    carrier_close(connection->carrier, how);
}

/* --- what protocols call */

static struct channel *channel_of(weir_channel *public)
{
    return CONTAINER(public, struct channel, public);
}

static void host_want_produce(weir_connection *public, uint64_t stream)
{
    carrier_want_produce(of(public)->carrier, stream);
}

static void host_write(weir_connection *public, uint64_t stream, const weir_slice *slices,
                       uint32_t count, uint32_t flags)
{
    carrier_write(of(public)->carrier, stream, slices, count, flags);
}

static void host_carrier_grant(weir_connection *public, uint64_t stream, size_t bytes)
{
    carrier_grant(of(public)->carrier, stream, bytes);
}

static void host_close(weir_connection *public, uint32_t how, weir_result why)
{
    connection_close(of(public), how, why);
}

static void host_wake(weir_connection *public)
{
    struct connection *connection = of(public);
    turn_mark(connection->worker->turn, TURN_CONNECTIONS, &connection->wake);
}

static void host_deadline(weir_connection *public, uint32_t milliseconds)
{
    struct connection *connection = of(public);
    struct worker *worker = connection->worker;
    wheel_set(worker->wheel, &connection->deadline,
              milliseconds ? loop_now_ms(worker->loop) + milliseconds : WHEEL_NEVER);
}

static weir_channel *host_begin(weir_connection *public, const weir_head *head)
{
    return &connection_hooks.on_exchange(of(public), head)->public;
}

static void host_deliver_interim(weir_channel *public, const weir_head *head)
{
    channel_deliver_interim(channel_of(public), head);
}

static void host_deliver_head(weir_channel *public, const weir_head *head)
{
    TRACE();
    channel_deliver_head(channel_of(public), head);
}

static void host_deliver_data(weir_channel *public, const weir_slice *slice, uint32_t flags)
{
    channel_deliver_data(channel_of(public), slice, flags);
}

static void host_deliver_trailers(weir_channel *public, const weir_field *fields, uint32_t count)
{
    channel_deliver_trailers(channel_of(public), fields, count);
}

static void host_deliver_error(weir_channel *public, weir_result why)
{
    channel_deliver_error(channel_of(public), why);
}

static void host_grant(weir_channel *public, size_t bytes)
{
    channel_granted(channel_of(public), bytes);
}

static void host_sent(weir_channel *public, size_t bytes)
{
    channel_has_sent(channel_of(public), bytes);
}

static void host_fail(weir_channel *public, weir_result why, uint32_t unprocessed)
{
    channel_fail(channel_of(public), why, unprocessed != 0);
}

static uint32_t host_authenticates(const weir_connection *public)
{
    const struct connection *connection =
        CONTAINER((weir_connection *)(uintptr_t) public, struct connection, public);
    return connection->terms && connection->terms->authenticates;
}

/* The filters judge them as those of an exchange that has nothing else. */
static void host_authenticate(weir_connection *public, const weir_credentials *credentials)
{
    weir_field fields[] = {{WEIR_STRING("name"), credentials->name},
                           {WEIR_STRING("secret"), credentials->secret}};
    weir_head head = {.size = sizeof head,
                      .kind = WEIR_AUTHENTICATION,
                      .flags = WEIR_END,
                      .version = string_of(of(public)->protocol->name),
                      .method = WEIR_STRING("AUTHENTICATE"),
                      .scheme = credentials->scheme,
                      .fields = fields,
                      .count = 2,
                      .content_length = -1};
    connection_hooks.on_exchange(of(public), &head);
}

static void host_spare_changed(weir_connection *public)
{
    struct connection *connection = of(public);
    if (!connection->closing && connection->on_spare)
        connection->on_spare(connection);
}

const weir_protocol_host connection_protocol_host = {
    .size = sizeof connection_protocol_host,
    .want_produce = host_want_produce,
    .write = host_write,
    .carrier_grant = host_carrier_grant,
    .close = host_close,
    .wake = host_wake,
    .deadline = host_deadline,
    .begin = host_begin,
    .deliver_interim = host_deliver_interim,
    .deliver_head = host_deliver_head,
    .deliver_data = host_deliver_data,
    .deliver_trailers = host_deliver_trailers,
    .deliver_error = host_deliver_error,
    .grant = host_grant,
    .sent = host_sent,
    .fail = host_fail,
    .authenticates = host_authenticates,
    .authenticate = host_authenticate,
    .spare_changed = host_spare_changed,
};
