/* codecs/h1/h1.c - HTTP/1.0 and HTTP/1.1: the tables, and the life of a connection on either side
 *
 * One exchange at a time. On the client's side the next request waits unparsed until the answer to
 * the one before is complete, so pipelined requests are answered in order. */
#include "codecs/h1/h1.h"

#include <string.h>

#include "codecs/h1/connection.h"

/* How much and how long of a request is read that was answered before it was whole. */
enum { DISCARD_BYTES_MOST = 1024 * 1024, DISCARD_MS = 2000 };

const weir_host *h1_host;
const weir_protocol_host *h1_api;

/* Whether it is HTTP/2's preface, as far as it has come. */
static bool is_preface(const uint8_t *bytes, size_t count)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    size_t length = sizeof preface - 1;
    return !memcmp(bytes, preface, count < length ? count : length);
}

/* The first byte of a method decides; a lone line end may come before it (RFC 9112 2.2). What could
 * be HTTP/2 is left to it until that is known. */
static int32_t h1_sniff(const uint8_t *bytes, size_t count, uint32_t end)
{
    size_t at = 0;
    while (at < count && (bytes[at] == '\r' || bytes[at] == '\n'))
        at++;
    if (at == count)
        return end ? WEIR_SNIFF_NO : WEIR_SNIFF_MORE;
    enum { PREFACE_BYTES = 24 };
    if (is_preface(bytes, count))
        return count < PREFACE_BYTES && !end ? WEIR_SNIFF_MORE : WEIR_SNIFF_NO;
    uint8_t c = bytes[at];
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ? WEIR_SNIFF_YES : WEIR_SNIFF_NO;
}

static void h1_open(weir_connection *connection)
{
    h1_of(connection)->keep_alive = true;
    if (connection->side == WEIR_CLIENT_SIDE)
        h1_api->deadline(connection, connection->limits->head_ms);
}

static void h1_data(weir_connection *connection, uint64_t stream, const weir_slice *slice)
{
    (void)stream;
    WEIR_TRACE(h1_host);
    h1_receive(connection, slice);
}

static void h1_end(weir_connection *connection, uint64_t stream, uint32_t how)
{
    (void)stream;
    h1_on_end(connection, how);
}

static void h1_produce(weir_connection *connection, uint64_t stream, size_t room)
{
    struct h1 *h1 = h1_of(connection);
    (void)stream, (void)room; /* the credit granted bounds what is here */
    WEIR_TRACE(h1_host);
    h1_api->write(connection, 0, output_slices(&h1->output), h1->output.count,
                  h1->end_wanted ? WEIR_END : 0);
    h1->in_flight |= h1->output.count > 0;
    output_clear(h1_host, &h1->output);
    h1->passed += h1->waiting;
    h1->waiting = 0;
}

static void h1_on_sent(weir_connection *connection, uint64_t stream)
{
    struct h1 *h1 = h1_of(connection);
    size_t left = h1->passed;
    (void)stream;
    h1->passed = 0;
    h1->in_flight = false;
    if (h1->channel && left)
        h1_sent(h1->channel, left);
    if (!h1->channel && (h1->rest.length || h1->ended))
        h1_api->wake(connection);
}

/* The next pipelined request, once the answer before has left. */
static void h1_wake(weir_connection *connection)
{
    struct h1 *h1 = h1_of(connection);
    if (!h1->channel && h1_unsent(h1))
        return;
    if (!h1->channel)
        h1_receive_rest(connection);
    if (!h1->channel && h1->ended)
        h1_api->close(connection, WEIR_CLOSE_FLUSH, WEIR_OK);
}

/* Nobody is served: a head that does not come is answered, an idle connection just ends. */
static void h1_timeout(weir_connection *connection)
{
    struct h1 *h1 = h1_of(connection);
    if (h1->channel)
        return;
    bool in_head = h1->receiving == RECEIVE_HEAD && h1->begun;
    if (connection->side == WEIR_SERVER_SIDE || !in_head) {
        h1_api->close(connection, WEIR_CLOSE_FLUSH, WEIR_OK);
        return;
    }
    h1_drop_rest(h1);
    h1_report_broken(connection, WEIR_HEAD_TIMEOUT);
}

static void h1_drain(weir_connection *connection)
{
    struct h1 *h1 = h1_of(connection);
    if (!h1->channel && !h1->begun)
        h1_api->close(connection, WEIR_CLOSE_FLUSH, WEIR_OK);
}

static void h1_close(weir_connection *connection)
{
    struct h1 *h1 = h1_of(connection);
    output_clear(h1_host, &h1->output);
    h1_drop_rest(h1);
    h1_drop_chunks(h1);
    h1_handshake_drop(h1);
}

/* --- channels */

static size_t server_attach(weir_channel *channel)
{
    struct h1 *h1 = h1_of(channel->connection);
    h1->channel = channel;
    h1->receiving = RECEIVE_HEAD;
    h1->sending = SEND_HEAD;
    h1->begun = false;
    h1->interims = 0;
    h1->interim_bytes = 0;
    h1_api->deadline(channel->connection, 0);
    return WEIR_CREDIT;
}

static void channel_grant(weir_channel *channel, size_t bytes)
{
    h1_api->carrier_grant(channel->connection, 0, bytes);
}

/* Whether a message cut off now would look complete if the connection just ended. One with a last
 * chunk or byte would not: its absence tells. */
static bool cut_is_hidden(const struct h1 *h1)
{
    return h1->sending == SEND_UNTIL_END || h1->sending == SEND_TUNNEL ||
           (h1->receiving == RECEIVE_TUNNEL && !h1->ended);
}

static void channel_reset(weir_channel *channel, weir_result why)
{
    struct h1 *h1 = h1_of(channel->connection);
    bool client = channel->connection->side == WEIR_CLIENT_SIDE;
    h1->channel = NULL;
    h1_api->close(channel->connection,
                  client && !cut_is_hidden(h1) ? WEIR_CLOSE_LINGER : WEIR_CLOSE_RESET, why);
}

void h1_await_request(weir_connection *connection)
{
    h1_of(connection)->receiving = RECEIVE_HEAD;
    h1_api->deadline(connection, connection->limits->idle_ms);
}

/* The answer was complete before its request: what is still sent of that is in the way. */
static bool may_discard(const struct h1 *h1)
{
    return h1->receiving == RECEIVE_LENGTH || h1->receiving == RECEIVE_CHUNKS ||
           h1->receiving == RECEIVE_TRAILERS;
}

static void client_close(weir_channel *channel)
{
    weir_connection *connection = channel->connection;
    struct h1 *h1 = h1_of(connection);
    if (!h1->channel)
        return; /* it was reset */
    bool goes_on = h1->sending == SEND_DONE && h1->keep_alive && !connection->draining;
    h1->channel = NULL;
    if (goes_on && h1->receiving == RECEIVE_DONE) {
        h1_await_request(connection);
        if (h1->rest.length || h1->ended)
            h1_api->wake(connection);
    } else if (goes_on && !h1->ended && may_discard(h1)) {
        h1->discard_left = DISCARD_BYTES_MOST;
        h1_api->deadline(connection, DISCARD_MS);
    } else {
        bool more = h1->receiving != RECEIVE_DONE || h1->rest.length;
        uint32_t how = more ? WEIR_CLOSE_LINGER : WEIR_CLOSE_FLUSH;
        h1_api->close(connection, cut_is_hidden(h1) ? WEIR_CLOSE_RESET : how, WEIR_OK);
    }
}

static void server_close(weir_channel *channel)
{
    weir_connection *connection = channel->connection;
    struct h1 *h1 = h1_of(connection);
    if (!h1->channel)
        return;
    bool whole = h1->receiving == RECEIVE_DONE && h1->sending == SEND_DONE;
    h1->channel = NULL;
    if (!whole)
        h1_api->close(connection, WEIR_CLOSE_RESET, WEIR_CANCELLED);
    else if (!h1->keep_alive || h1->ended || h1_unsent(h1)) /* the last bytes still leave */
        h1_api->close(connection, WEIR_CLOSE_FLUSH, WEIR_OK);
    else
        h1_api->deadline(connection, connection->limits->idle_ms);
}

static uint32_t server_spare(const weir_connection *connection)
{
    const struct h1 *h1 = h1_of(connection);
    return !h1->channel && h1->keep_alive && !h1->ended;
}

const weir_protocol *h1_protocol(const weir_host *host)
{
    static const weir_connection_operations connection = {
        .size = sizeof connection,
        .connection_state_size = sizeof(struct h1),
        .sniff = h1_sniff,
        .open = h1_open,
        .data = h1_data,
        .end = h1_end,
        .produce = h1_produce,
        .sent = h1_on_sent,
        .wake = h1_wake,
        .timeout = h1_timeout,
        .drain = h1_drain,
        .close = h1_close,
    };
    static const weir_channel_operations client = {
        .size = sizeof client,
        .head = h1_send_response,
        .interim = h1_send_interim,
        .data = h1_send_data,
        .trailers = h1_send_trailers,
        .reset = channel_reset,
        .grant = channel_grant,
        .close = client_close,
    };
    static const weir_channel_operations server = {
        .size = sizeof server,
        .attach = server_attach,
        .head = h1_send_request,
        .interim = h1_send_interim,
        .data = h1_send_data,
        .trailers = h1_send_trailers,
        .reset = channel_reset,
        .grant = channel_grant,
        .close = server_close,
        .spare = server_spare,
    };
    static const weir_protocol protocol = {.size = sizeof protocol,
                                           .name = "h1",
                                           .connection = &connection,
                                           .client = &client,
                                           .server = &server,
                                           .alpn = "http/1.1"};
    h1_host = host;
    h1_api = host->query(host, "weir.protocol/0");
    return &protocol;
}
