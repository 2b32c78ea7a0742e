/* codecs/raw/raw.c - a protocol without framing: the server's end of a tunnel
 *
 * A connection carries one exchange, ever. That it is connected is the whole answer: 200 at once;
 * then bytes and an end in each direction. */
#include "codecs/raw/raw.h"

#include <stdbool.h>

#include "codecs/output.h"

static const weir_host *host;
static const weir_protocol_host *api;

struct raw {
    weir_channel *channel; /* NULL: not yet, or over */
    struct output output;
    size_t waiting, passed; /* bytes in output; bytes with the carrier that have not left */
    bool used, end_wanted, incoming_ended;
};

static struct raw *of(const weir_connection *connection)
{
    return connection->state;
}

static void raw_open(weir_connection *connection)
{
    (void)connection;
}

static void raw_data(weir_connection *connection, uint64_t stream, const weir_slice *slice)
{
    struct raw *raw = of(connection);
    (void)stream;
    if (raw->channel)
        api->deliver_data(raw->channel, slice, 0);
    else
        api->close(connection, WEIR_CLOSE_RESET, WEIR_RESET); /* bytes that nobody waits for */
}

static void fail(weir_connection *connection, weir_result why)
{
    struct raw *raw = of(connection);
    if (raw->channel)
        api->fail(raw->channel, why, 0);
    else
        api->close(connection, WEIR_CLOSE_RESET, why);
}

static void raw_end(weir_connection *connection, uint64_t stream, uint32_t how)
{
    struct raw *raw = of(connection);
    weir_slice nothing = {0};
    (void)stream;
    raw->incoming_ended = true;
    if (raw->channel && how == WEIR_END_CLEAN)
        api->deliver_data(raw->channel, &nothing, WEIR_END);
    else
        fail(connection, WEIR_RESET);
}

static void raw_produce(weir_connection *connection, uint64_t stream, size_t room)
{
    struct raw *raw = of(connection);
    (void)room; /* the credit granted bounds what is here */
    api->write(connection, stream, output_slices(&raw->output), raw->output.count,
               raw->end_wanted ? WEIR_END : 0);
    output_clear(host, &raw->output);
    raw->passed += raw->waiting;
    raw->waiting = 0;
}

static void raw_sent(weir_connection *connection, uint64_t stream)
{
    struct raw *raw = of(connection);
    size_t left = raw->passed;
    (void)stream;
    raw->passed = 0;
    if (!raw->channel || !left)
        return;
    api->sent(raw->channel, left);
    api->grant(raw->channel, left); /* all the room there is is the carrier's */
}

static void raw_nothing(weir_connection *connection)
{
    (void)connection;
}

static void raw_close(weir_connection *connection)
{
    output_clear(host, &of(connection)->output);
}

static size_t channel_attach(weir_channel *channel)
{
    struct raw *raw = of(channel->connection);
    raw->channel = channel;
    raw->used = true;
    return WEIR_CREDIT;
}

static weir_result channel_head(weir_channel *channel, const weir_head *head, uint32_t flags)
{
    weir_head answer = {.size = sizeof answer,
                        .kind = WEIR_TUNNEL,
                        .status = 200,
                        .version = WEIR_STRING("1.1"),
                        .reason = WEIR_STRING("Connection established"),
                        .content_length = -1};
    (void)head, (void)flags;
    api->deliver_head(channel, &answer);
    return WEIR_OK;
}

static weir_result channel_interim(weir_channel *channel, const weir_head *head)
{
    (void)channel, (void)head;
    return WEIR_UNSUPPORTED;
}

static void channel_data(weir_channel *channel, const weir_slice *slices, uint32_t count,
                         uint32_t flags)
{
    struct raw *raw = of(channel->connection);
    for (uint32_t i = 0; i < count; i++) {
        output_slice(host, &raw->output, slices[i]);
        raw->waiting += slices[i].length;
    }
    raw->end_wanted = flags & WEIR_END;
    api->want_produce(channel->connection, 0);
}

static void channel_trailers(weir_channel *channel, const weir_field *fields, uint32_t count)
{
    (void)fields, (void)count; /* bytes have none: the end remains */
    channel_data(channel, NULL, 0, WEIR_END);
}

static void channel_reset(weir_channel *channel, weir_result why)
{
    struct raw *raw = of(channel->connection);
    raw->channel = NULL;
    api->close(channel->connection, WEIR_CLOSE_RESET, why);
}

static void channel_grant(weir_channel *channel, size_t bytes)
{
    api->carrier_grant(channel->connection, 0, bytes);
}

/* What was sent still leaves; a direction that has not ended is aborted. */
static void channel_close(weir_channel *channel)
{
    struct raw *raw = of(channel->connection);
    if (!raw->channel)
        return; /* it was reset */
    raw->channel = NULL;
    bool over = raw->end_wanted && raw->incoming_ended;
    api->close(channel->connection, over ? WEIR_CLOSE_FLUSH : WEIR_CLOSE_RESET, WEIR_OK);
}

static uint32_t connection_spare(const weir_connection *connection)
{
    return of(connection)->used ? 0 : 1;
}

const weir_protocol *raw_protocol(const weir_host *given)
{
    static const weir_connection_operations connection = {
        .size = sizeof connection,
        .connection_state_size = sizeof(struct raw),
        .open = raw_open,
        .data = raw_data,
        .end = raw_end,
        .produce = raw_produce,
        .sent = raw_sent,
        .wake = raw_nothing,
        .timeout = raw_nothing,
        .drain = raw_nothing,
        .close = raw_close,
    };
    static const weir_channel_operations server = {
        .size = sizeof server,
        .attach = channel_attach,
        .head = channel_head,
        .interim = channel_interim,
        .data = channel_data,
        .trailers = channel_trailers,
        .reset = channel_reset,
        .grant = channel_grant,
        .close = channel_close,
        .spare = connection_spare,
    };
    static const weir_protocol protocol = {
        .size = sizeof protocol, .name = "raw", .connection = &connection, .server = &server};
    host = given;
    api = host->query(host, "weir.protocol/0");
    return &protocol;
}
