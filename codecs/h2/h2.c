/* codecs/h2/h2.c - HTTP/2: the tables, and the life of a connection on either side */
#include "codecs/h2/h2.h"

#include <string.h>

#include "abi/services.h"
#include "codecs/h2/connection.h"

/* A server that was silent for so long is asked whether it is there: before it gets another
 * exchange, or within those that run; and has so long to answer. Whoever takes nothing of complete
 * answers for so long as a client may pause in a request gets no more of them. */
enum { RECENT_MS = 5000, SILENCE_MS = 15000, ANSWER_MS = 5000, STALL_MS = 30000 };
/* Servers of gRPC take it ill when they are asked more often in the same silence. */
enum { LONG_SILENCE_MS = 310000 };

const weir_host *h2_host;
const weir_protocol_host *h2_api;
static const weir_asynchronous_host *asynchronous;

uint64_t h2_now_ms(void)
{
    return asynchronous ? asynchronous->now_ms() : 0;
}

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

/* What a server never got may be sent to another. */
static void fail_unsent(struct h2 *h2, weir_result why)
{
    for (struct h2_stream *stream = h2->streams; stream; stream = stream->next)
        if (stream->channel && !stream->sent_head)
            h2_api->fail(stream->channel, why, 1);
}

/* Its channels fail with `why`, and are not known here any more. */
static void shut(weir_connection *connection, uint32_t how, weir_result why)
{
    struct h2 *h2 = h2_of(connection);
    if (h2->over)
        return;
    h2->over = true;
    if (!h2_is_client(connection))
        fail_unsent(h2, why);
    for (struct h2_stream *stream = h2->streams; stream; stream = stream->next)
        stream->channel = NULL;
    h2->channel_count = 0;
    h2_api->close(connection, how, why);
}

/* Of its stream there is nothing more to come or to go. A request that has not begun is told that
 * it cannot when it wants to. */
static bool is_whole(const weir_connection *connection, const struct h2_stream *stream)
{
    return stream->closed || (!h2_is_client(connection) && (!stream->id || stream->received_end));
}

/* Whether exchanges are on it only for what has come already and core has still to pass on. */
static bool is_only_kept(const weir_connection *connection)
{
    const struct h2 *h2 = h2_of(connection);
    for (const struct h2_stream *stream = h2->streams; stream; stream = stream->next)
        if (stream->channel && !is_whole(connection, stream))
            return false;
    return h2->channel_count;
}

/* Nothing is left to be sent, and nothing is awaited. */
static bool is_done(const weir_connection *connection)
{
    const struct h2 *h2 = h2_of(connection);
    bool over = !nghttp2_session_want_read(h2->session);
    return (over && !is_only_kept(connection)) || (h2->ended && !h2->channel_count);
}

/* --- time limits */

static enum h2_clock clock_of(const weir_connection *connection)
{
    const struct h2 *h2 = h2_of(connection);
    bool client = h2_is_client(connection);
    if (h2->asked)
        return H2_CLOCK_ASKED;
    if (h2->block_stream || !h2->settled)
        return H2_CLOCK_HEAD;
    if (h2->channel_count)
        return client ? H2_CLOCK_OFF : H2_CLOCK_SILENCE;
    if (h2->stream_count)
        return H2_CLOCK_STALL;
    uint32_t idle_ms = connection->limits->idle_ms;
    bool recent = !client && !h2->doubtful && (!idle_ms || idle_ms > RECENT_MS);
    return recent ? H2_CLOCK_RECENT : H2_CLOCK_IDLE;
}

static uint32_t limit_of(const weir_connection *connection, enum h2_clock clock)
{
    const weir_limits *limits = connection->limits;
    switch (clock) {
    case H2_CLOCK_HEAD:
        return limits->head_ms;
    case H2_CLOCK_IDLE:
        return limits->idle_ms > RECENT_MS && h2_of(connection)->doubtful
                   ? limits->idle_ms - RECENT_MS
                   : limits->idle_ms;
    case H2_CLOCK_RECENT:
        return RECENT_MS;
    case H2_CLOCK_STALL:
        return STALL_MS;
    case H2_CLOCK_SILENCE:
        return h2_of(connection)->vouched ? LONG_SILENCE_MS : SILENCE_MS;
    case H2_CLOCK_ASKED:
        return ANSWER_MS;
    default:
        return 0;
    }
}

static void start_clock(weir_connection *connection, enum h2_clock clock)
{
    struct h2 *h2 = h2_of(connection);
    h2->clock = clock;
    h2->heard = h2->left = false;
    h2_api->deadline(connection, limit_of(connection, clock));
}

static void set_clock(weir_connection *connection)
{
    enum h2_clock clock = clock_of(connection);
    if (clock != h2_of(connection)->clock)
        start_clock(connection, clock);
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
    bool gone = h2->ended && !h2_is_client(connection); /* a server that gives no more answers */
    bool more = !gone && nghttp2_session_want_write(h2->session);
    if (more)
        h2_api->want_produce(connection, 0); /* also what leaves when it is closed already */
    if (h2->over)
        return;
    if (!more && is_done(connection))
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

void h2_return_credit(weir_connection *connection, size_t bytes)
{
    struct h2 *h2 = h2_of(connection);
    h2->withheld += bytes;
    if (!h2->withheld || h2->over || h2->orphans > connection->limits->streams)
        return;
    h2_api->carrier_grant(connection, 0, h2->withheld);
    h2->withheld = 0;
}

/* nghttp2 cannot go on: it has said why, or had no chance to. */
static void on_broken(weir_connection *connection, nghttp2_ssize error)
{
    bool client = h2_is_client(connection);
    if (error == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS)
        h2_guard_tell(H2_CONTINUATIONS);
    else
        h2_guard_tell(error == NGHTTP2_ERR_FLOODED ? H2_FLOOD : H2_ERROR);
    shut(connection, WEIR_CLOSE_LINGER, client ? WEIR_MALFORMED : WEIR_SERVER_PROTOCOL_ERROR);
}

static void h2_data(weir_connection *connection, uint64_t stream, const weir_slice *slice)
{
    struct h2 *h2 = h2_of(connection);
    (void)stream;
    WEIR_TRACE(h2_host);
    if (h2->over)
        return;
    h2->heard = true;
    h2->receiving = slice->owner;
    nghttp2_ssize rc = nghttp2_session_mem_recv2(h2->session, slice->bytes, slice->length);
    h2->receiving = NULL;
    if (h2->block_stream)
        h2_block_settle(h2_host, &h2->block);
    h2_return_credit(connection, slice->length);
    if (rc < 0)
        on_broken(connection, rc);
    else
        h2_settle(connection);
}

/* A request that waited in vain for its answer may be repeated as over HTTP/1.1. */
static weir_result why_ended(const weir_connection *connection, const struct h2_stream *stream)
{
    if (h2_is_client(connection))
        return WEIR_RESET;
    return stream->answered ? WEIR_TRUNCATED : WEIR_CONNECTION_TERMINATED;
}

/* Answers that have come whole stay good, and a client that only ends its direction gets its own.
 */
static void h2_end(weir_connection *connection, uint64_t stream, uint32_t how)
{
    struct h2 *h2 = h2_of(connection);
    (void)stream;
    h2->ended = true;
    if (how != WEIR_END_CLEAN && h2_is_client(connection)) {
        shut(connection, WEIR_CLOSE_RESET, WEIR_RESET);
        return;
    }
    for (struct h2_stream *one = h2->streams; one; one = one->next)
        if (one->channel && !one->received_end)
            h2_api->fail(one->channel, why_ended(connection, one),
                         !h2_is_client(connection) && !one->sent_head);
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
        on_broken(connection, rc);
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

/* --- time is up */

static void ask(weir_connection *connection)
{
    struct h2 *h2 = h2_of(connection);
    h2->asked = true;
    nghttp2_submit_ping(h2->session, NGHTTP2_FLAG_NONE, NULL);
}

static void on_slow_head(weir_connection *connection)
{
    struct h2 *h2 = h2_of(connection);
    h2->why = h2_is_client(connection) ? WEIR_HEAD_TIMEOUT : WEIR_RESPONSE_TIMEOUT;
    h2_guard_tell(H2_SLOW_HEAD);
    nghttp2_session_terminate_session(h2->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

static void on_stall(weir_connection *connection)
{
    struct h2 *h2 = h2_of(connection);
    if (h2->left) {
        start_clock(connection, H2_CLOCK_STALL);
        return;
    }
    h2_guard_tell(H2_STALL);
    shut(connection, WEIR_CLOSE_RESET, WEIR_IDLE_TIMEOUT);
}

static void on_silence(weir_connection *connection)
{
    struct h2 *h2 = h2_of(connection);
    if (!h2->heard) {
        ask(connection);
        return;
    }
    h2->vouched = false;
    start_clock(connection, H2_CLOCK_SILENCE);
}

/* Whatever it says, it is there; only what is to be begun waits for the answer itself. */
static void on_no_answer(weir_connection *connection)
{
    if (h2_of(connection)->heard)
        start_clock(connection, H2_CLOCK_ASKED);
    else
        shut(connection, WEIR_CLOSE_RESET, WEIR_RESET);
}

static void h2_timeout(weir_connection *connection)
{
    struct h2 *h2 = h2_of(connection);
    if (h2->over)
        return;
    switch (h2->clock) {
    case H2_CLOCK_HEAD:
        on_slow_head(connection);
        break;
    case H2_CLOCK_IDLE:
        nghttp2_session_terminate_session(h2->session, NGHTTP2_NO_ERROR);
        break;
    case H2_CLOCK_RECENT:
        h2->doubtful = true;
        break;
    case H2_CLOCK_STALL:
        on_stall(connection);
        break;
    case H2_CLOCK_SILENCE:
        on_silence(connection);
        break;
    case H2_CLOCK_ASKED:
        on_no_answer(connection);
        break;
    case H2_CLOCK_OFF:
        break;
    }
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

/* While it is not certain that the server is there it gets no byte of a body: then the exchange can
 * still be given to another. */
static size_t server_attach(weir_channel *channel)
{
    weir_connection *connection = channel->connection;
    struct h2 *h2 = h2_of(connection);
    struct h2_stream *stream = h2_stream_new(h2, 0);
    h2_stream_attach(stream, channel);
    uint32_t window =
        nghttp2_session_get_remote_settings(h2->session, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE);
    if (h2->doubtful && !h2->asked)
        ask(connection);
    if (!h2->asked)
        stream->credit = window < WEIR_CREDIT ? window : WEIR_CREDIT;
    h2_api->want_produce(connection, 0);
    set_clock(connection);
    return stream->credit;
}

static uint32_t server_spare(const weir_connection *connection)
{
    const struct h2 *h2 = h2_of(connection);
    uint32_t most =
        nghttp2_session_get_remote_settings(h2->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    if (h2->over || h2->ended || h2->peer_goes_away || h2->going_away ||
        !nghttp2_session_check_request_allowed(h2->session))
        return 0;
    if (!h2->settled)
        return WEIR_SPARE_LATER;
    if (most > H2_WINDOWS_MOST / WEIR_CREDIT)
        most = H2_WINDOWS_MOST / WEIR_CREDIT;
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
    asynchronous = host->query(host, "weir.asynchronous/0");
    return &protocol;
}
