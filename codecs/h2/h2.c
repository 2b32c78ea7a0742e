/* codecs/h2/h2.c - HTTP/2: the tables, and the life of a connection on either side */
#include "codecs/h2/h2.h"

#include <string.h>

#include "codecs/h2/connection.h"

const weir_host *h2_host;
const weir_protocol_host *h2_api;

static int32_t h2_sniff(const uint8_t *bytes, size_t count, uint32_t end)
{
    size_t whole = NGHTTP2_CLIENT_MAGIC_LEN;
    if (memcmp(bytes, NGHTTP2_CLIENT_MAGIC, count < whole ? count : whole) != 0)
        return WEIR_SNIFF_NO;
    if (count >= whole)
        return WEIR_SNIFF_YES;
    return end ? WEIR_SNIFF_NO : WEIR_SNIFF_MORE;
}

/* --- the end of a connection */

/* Its channels fail with `why`, and are not known here any more. */
static void shut(weir_connection *connection, uint32_t how, weir_result why)
{
    struct h2 *h2 = h2_of(connection);
    if (h2->over)
        return;
    h2->over = true;
    for (struct h2_stream *stream = h2->streams; stream; stream = stream->next)
        stream->channel = NULL;
    h2->channel_count = 0;
    h2_api->close(connection, how, why);
}

/* Nothing is left to be sent, and nothing is awaited. */
static bool is_done(const struct h2 *h2)
{
    return !nghttp2_session_want_read(h2->session) || (h2->ended && !h2->channel_count);
}

/* --- time limits */

static enum h2_clock clock_of(const struct h2 *h2)
{
    if (h2->block_stream || !h2->settled)
        return H2_CLOCK_HEAD;
    return h2->channel_count ? H2_CLOCK_OFF : H2_CLOCK_IDLE;
}

static void set_clock(weir_connection *connection)
{
    struct h2 *h2 = h2_of(connection);
    enum h2_clock clock = clock_of(h2);
    if (clock == h2->clock)
        return;
    h2->clock = clock;
    uint32_t milliseconds = 0;
    if (clock != H2_CLOCK_OFF)
        milliseconds =
            clock == H2_CLOCK_HEAD ? connection->limits->head_ms : connection->limits->idle_ms;
    h2_api->deadline(connection, milliseconds);
}

/* Who has ended its direction opens no window any more. */
static bool is_stuck(const struct h2_stream *stream)
{
    bool has_more = stream->answering && (stream->queue.bytes || !stream->end_wanted);
    return stream->channel && has_more && h2_stream_window(stream) <= 0;
}

static void fail_stuck(struct h2 *h2)
{
    for (struct h2_stream *one = h2->streams; one; one = one->next)
        if (is_stuck(one))
            h2_api->fail(one->channel, WEIR_RESET, 0);
}

void h2_settle(weir_connection *connection)
{
    struct h2 *h2 = h2_of(connection);
    if (h2->ended && !h2->over)
        fail_stuck(h2);
    bool more = nghttp2_session_want_write(h2->session);
    if (more)
        h2_api->want_produce(connection, 0); /* also what leaves when it is closed already */
    if (h2->over)
        return;
    if (!more && is_done(h2))
        shut(connection, h2->gone_away || h2->ended ? WEIR_CLOSE_FLUSH : WEIR_CLOSE_LINGER,
             h2->why == WEIR_OK ? WEIR_RESET : h2->why);
    else
        set_clock(connection);
}

/* --- events */

static void h2_open(weir_connection *connection)
{
    struct h2 *h2 = h2_of(connection);
    if (!h2_session_open(connection)) {
        shut(connection, WEIR_CLOSE_NOW, WEIR_INTERNAL);
        return;
    }
    h2->clock = H2_CLOCK_OFF;
    h2_settle(connection);
}

/* nghttp2 cannot go on: it has said why, or had no chance to. */
static void on_broken(weir_connection *connection)
{
    h2_of(connection)->why = WEIR_MALFORMED;
    shut(connection, WEIR_CLOSE_LINGER, WEIR_MALFORMED);
}

static void h2_data(weir_connection *connection, uint64_t stream, const weir_slice *slice)
{
    struct h2 *h2 = h2_of(connection);
    (void)stream;
    WEIR_TRACE(h2_host);
    if (h2->over)
        return;
    h2->receiving = slice->owner;
    nghttp2_ssize rc = nghttp2_session_mem_recv2(h2->session, slice->bytes, slice->length);
    h2->receiving = NULL;
    h2_api->carrier_grant(connection, 0, slice->length);
    if (rc < 0)
        on_broken(connection);
    else
        h2_settle(connection);
}

static void h2_end(weir_connection *connection, uint64_t stream, uint32_t how)
{
    struct h2 *h2 = h2_of(connection);
    (void)stream;
    h2->ended = true;
    if (how != WEIR_END_CLEAN || !h2_is_client(connection)) {
        shut(connection, how == WEIR_END_CLEAN ? WEIR_CLOSE_FLUSH : WEIR_CLOSE_RESET, WEIR_RESET);
        return;
    }
    for (struct h2_stream *one = h2->streams; one; one = one->next)
        if (one->channel && !one->received_end)
            h2_api->fail(one->channel, WEIR_RESET, 0);
    h2_settle(connection);
}

/* What nghttp2 sends first: its own frames, heads, then bodies by urgency. */
static nghttp2_ssize fill(struct h2 *h2)
{
    const uint8_t *bytes;
    nghttp2_ssize count = 0;
    while (h2->written < h2->room) {
        count = nghttp2_session_mem_send2(h2->session, &bytes);
        if (count <= 0)
            break;
        output_text(h2_host, &h2->output, (weir_string){(const char *)bytes, (size_t)count});
        h2->written += (size_t)count;
    }
    return count;
}

static void h2_produce(weir_connection *connection, uint64_t stream, size_t room)
{
    struct h2 *h2 = h2_of(connection);
    (void)stream;
    WEIR_TRACE(h2_host);
    h2->written = 0;
    h2->room = room;
    nghttp2_ssize rc = fill(h2);
    h2_api->write(connection, 0, output_slices(&h2->output), h2->output.count, 0);
    output_clear(h2_host, &h2->output);
    if (rc < 0)
        on_broken(connection);
    else
        h2_settle(connection);
}

static void h2_sent(weir_connection *connection, uint64_t stream)
{
    (void)stream;
    h2_passed_left(h2_of(connection));
}

static void h2_wake(weir_connection *connection)
{
    (void)connection;
}

static void h2_timeout(weir_connection *connection)
{
    struct h2 *h2 = h2_of(connection);
    bool head = h2->clock == H2_CLOCK_HEAD;
    if (h2->over || h2->clock == H2_CLOCK_OFF)
        return;
    h2->why = head ? WEIR_HEAD_TIMEOUT : WEIR_OK;
    nghttp2_session_terminate_session(h2->session,
                                      head ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_NO_ERROR);
    h2_settle(connection);
}

/* With nothing under way the last GOAWAY goes at once. Else the first says only that it will come,
 * so that no request is lost that is on its way (RFC 9113 6.8). */
static void h2_drain(weir_connection *connection)
{
    struct h2 *h2 = h2_of(connection);
    if (h2->over || h2->going_away)
        return;
    h2->going_away = true;
    if (h2_is_client(connection) && h2->channel_count) {
        nghttp2_submit_shutdown_notice(h2->session);
        nghttp2_submit_ping(h2->session, NGHTTP2_FLAG_NONE, NULL);
    } else {
        h2->gone_away = true;
        nghttp2_submit_goaway(h2->session, NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(h2->session),
                              NGHTTP2_NO_ERROR, NULL, 0);
    }
    h2_settle(connection);
}

static void h2_close(weir_connection *connection)
{
    struct h2 *h2 = h2_of(connection);
    h2->over = true;
    while (h2->streams)
        h2_stream_free(h2->streams);
    h2_block_clear(h2_host, &h2->block);
    output_clear(h2_host, &h2->output);
    nghttp2_session_del(h2->session);
}

/* --- the server's side */

static size_t server_attach(weir_channel *channel)
{
    struct h2 *h2 = h2_of(channel->connection);
    struct h2_stream *stream = h2_stream_new(h2, 0);
    h2_stream_attach(stream, channel);
    uint32_t window =
        nghttp2_session_get_remote_settings(h2->session, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE);
    stream->credit = window < WEIR_CREDIT ? window : WEIR_CREDIT;
    set_clock(channel->connection);
    return stream->credit;
}

static uint32_t server_spare(const weir_connection *connection)
{
    const struct h2 *h2 = h2_of(connection);
    uint32_t most =
        nghttp2_session_get_remote_settings(h2->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    if (h2->over || h2->peer_goes_away || h2->going_away ||
        !nghttp2_session_check_request_allowed(h2->session))
        return 0;
    return most > h2->stream_count ? most - h2->stream_count : 0;
}

const weir_protocol *h2_protocol(const weir_host *host)
{
    static const weir_connection_operations connection = {
        .size = sizeof connection,
        .connection_state_size = sizeof(struct h2),
        .sniff = h2_sniff,
        .open = h2_open,
        .data = h2_data,
        .end = h2_end,
        .produce = h2_produce,
        .sent = h2_sent,
        .wake = h2_wake,
        .timeout = h2_timeout,
        .drain = h2_drain,
        .close = h2_close,
    };
    static const weir_channel_operations client = {
        .size = sizeof client,
        .channel_state_size = sizeof(struct h2_stream *),
        .head = h2_send_response,
        .interim = h2_send_interim,
        .data = h2_send_data,
        .trailers = h2_send_trailers,
        .reset = h2_send_reset,
        .grant = h2_channel_grant,
        .close = h2_channel_close,
    };
    static const weir_channel_operations server = {
        .size = sizeof server,
        .channel_state_size = sizeof(struct h2_stream *),
        .attach = server_attach,
        .head = h2_send_request,
        .interim = h2_send_interim,
        .data = h2_send_data,
        .trailers = h2_send_trailers,
        .reset = h2_send_reset,
        .grant = h2_channel_grant,
        .close = h2_channel_close,
        .spare = server_spare,
    };
    static const weir_protocol protocol = {.size = sizeof protocol,
                                           .name = "h2",
                                           .connection = &connection,
                                           .client = &client,
                                           .server = &server,
                                           .alpn = "h2",
                                           .flags = WEIR_PROTOCOL_SHARES};
    h2_host = host;
    h2_api = host->query(host, "weir.protocol/0");
    h2_session_start();
    h2_guard_start();
    return &protocol;
}
