/* codecs/h2/receive.c - what arrives on an h2 connection becomes what its channels received
 *
 * nghttp2 judges frames, states and most of what makes a message malformed; here is what it leaves:
 * limits, targets, Host. Its callbacks only store and mark. */
#include <string.h>

#include "codecs/authority.h"
#include "codecs/h2/connection.h"
#include "codecs/string.h"

enum { INTERIMS_MOST = 64 }; /* before one final response, and no more bytes than one head has */

static struct h2_stream *find(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

static weir_string string_in(nghttp2_rcbuf *buffer)
{
    nghttp2_vec bytes = nghttp2_rcbuf_get_buf(buffer);
    return (weir_string){(const char *)bytes.base, bytes.len};
}

/* --- frames that nghttp2 would only ignore */

/* PRIORITY: RFC 9113 6.3. A request has a higher number than those before (5.1.1); and where none
 * is, trailers have nothing to follow, unless the stream was reset here. */
static bool is_in_order(nghttp2_session *session, struct h2 *h2, const nghttp2_frame_hd *head)
{
    int32_t id = head->stream_id;
    if (head->type == NGHTTP2_PRIORITY)
        return id != 0;
    if (head->type != NGHTTP2_HEADERS || id % 2 == 0 || h2_order_begins(&h2->order, id))
        return true;
    return nghttp2_session_get_stream_remote_close(session, id) >= 0 ||
           h2_order_was_reset(&h2->order, id);
}

int h2_on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *head, void *user)
{
    struct h2 *h2 = h2_of(user);
    if (h2_is_client(user) && !is_in_order(session, h2, head))
        nghttp2_session_terminate_session(session, NGHTTP2_PROTOCOL_ERROR);
    return 0;
}

/* --- header blocks */

int h2_on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2 *h2 = h2_of(user);
    (void)session;
    h2_block_begin(h2_host, &h2->block);
    h2->block_stream = frame->hd.stream_id;
    return 0;
}

int h2_on_header(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name,
                 nghttp2_rcbuf *value, uint8_t flags, void *user)
{
    weir_connection *connection = user;
    (void)session, (void)frame, (void)flags;
    h2_block_add(h2_host, connection->limits, &h2_of(connection)->block, string_in(name),
                 string_in(value));
    return 0;
}

/* A field that no message may have makes it malformed; nghttp2 alone would leave it out. */
int h2_on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name,
                         nghttp2_rcbuf *value, uint8_t flags, void *user)
{
    (void)session, (void)frame, (void)name, (void)value, (void)flags, (void)user;
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static void block_over(struct h2 *h2)
{
    h2_block_clear(h2_host, &h2->block);
    h2->block_stream = 0;
}

static int64_t length_of(const struct h2_block *block)
{
    const weir_field *field = h2_block_find(block, WEIR_STRING("content-length"));
    int64_t length = 0;
    if (!field)
        return -1;
    for (size_t i = 0; i < field->value.length; i++) /* digits that fit: nghttp2 has looked */
        length = length * 10 + (field->value.bytes[i] - '0');
    return length;
}

static weir_head head_of(const struct h2_block *block, uint32_t flags)
{
    return (weir_head){.size = sizeof(weir_head),
                       .kind = WEIR_REQUEST,
                       .version = WEIR_STRING("2"),
                       .flags = flags,
                       .fields = block->fields,
                       .count = block->count,
                       .content_length = length_of(block),
                       .block = {block->text, block->used}};
}

/* --- requests */

static struct h2_stream *begin(weir_connection *connection, int32_t id, const weir_head *head)
{
    struct h2 *h2 = h2_of(connection);
    struct h2_stream *stream = h2_stream_new(h2, id);
    nghttp2_session_set_stream_user_data(h2->session, id, stream);
    h2_stream_attach(stream, h2_api->begin(connection, head));
    return stream;
}

/* It is answered, and what still comes of it is dropped. */
static struct h2_stream *begin_malformed(weir_connection *connection, int32_t id, weir_result error)
{
    struct h2_stream *stream = begin(connection, id,
                                     &(weir_head){.size = sizeof(weir_head),
                                                  .kind = WEIR_MALFORMED_REQUEST,
                                                  .version = WEIR_STRING("2"),
                                                  .error = error,
                                                  .flags = WEIR_END,
                                                  .content_length = -1});
    stream->received_end = true;
    h2_stream_offer(stream);
    return stream;
}

/* RFC 9113 8.3.1: Host is the authority or says the same, and there is one. */
static bool agree_on_authority(struct h2_block *block)
{
    const weir_field *host = h2_block_find(block, WEIR_STRING("host"));
    if (!block->authority.bytes && host)
        block->authority = host->value;
    return block->authority.length && authority_is_valid(block->authority) &&
           (!host || string_is(host->value, block->authority));
}

static bool path_is_valid(const struct h2_block *block)
{
    weir_string path = block->path;
    if (!path.length || memchr(path.bytes, '#', path.length))
        return false;
    return path.bytes[0] == '/' ||
           (string_is(path, WEIR_STRING("*")) && string_is(block->method, WEIR_STRING("OPTIONS")));
}

/* What HTTP/1.1 asks for with Upgrade. Its key is of no use here (RFC 8441 5). */
static weir_result fill_extended(weir_head *head, struct h2_block *block)
{
    const weir_field *key = h2_block_find(block, WEIR_STRING("sec-websocket-key"));
    if (!string_is(block->protocol, WEIR_STRING("websocket")))
        return WEIR_NOT_IMPLEMENTED;
    if (key) {
        h2_block_remove(block, key);
        head->count = block->count;
    }
    head->method = WEIR_STRING("GET");
    head->protocol = block->protocol;
    head->content_length = -1;
    return WEIR_OK;
}

static weir_result fill_request(weir_head *head, struct h2_block *block)
{
    bool connect = string_is(block->method, WEIR_STRING("CONNECT"));
    if (!agree_on_authority(block))
        return WEIR_MALFORMED;
    head->method = block->method;
    head->authority = block->authority;
    if (connect && !block->protocol.bytes) {
        head->kind = WEIR_TUNNEL;
        head->content_length = -1;
        head->path = (weir_string){"", 0};
        return WEIR_OK;
    }
    if (!path_is_valid(block))
        return WEIR_MALFORMED;
    head->scheme = block->scheme;
    head->path = block->path;
    return block->protocol.bytes ? fill_extended(head, block) : WEIR_OK;
}

static void on_request(weir_connection *connection, int32_t id, bool end)
{
    struct h2 *h2 = h2_of(connection);
    struct h2_block *block = &h2->block;
    weir_slice nothing = {0};
    h2_block_join_cookies(h2_host, block);
    weir_head head = head_of(block, 0);
    weir_result error = block->error != WEIR_OK ? block->error : fill_request(&head, block);
    if (error != WEIR_OK) {
        begin_malformed(connection, id, error);
        return;
    }
    bool tunnel = head.kind == WEIR_TUNNEL || head.protocol.length;
    head.flags = end && !tunnel ? WEIR_END : 0;
    struct h2_stream *stream = begin(connection, id, &head);
    stream->asks_head = string_is(head.method, WEIR_STRING("HEAD"));
    stream->extended = head.protocol.length != 0;
    stream->received_end = end;
    if (end && tunnel)
        h2_api->deliver_data(stream->channel, &nothing, WEIR_END);
    h2_stream_offer(stream);
}

/* --- responses */

static uint32_t status_of(const struct h2_block *block)
{
    uint32_t status = 0;
    for (size_t i = 0; i < block->status.length && i < 3; i++)
        status = status * 10 + (uint32_t)(block->status.bytes[i] - '0');
    return status;
}

static void break_off(struct h2_stream *stream, weir_result why)
{
    h2_api->fail(stream->channel, why, 0);
    nghttp2_submit_rst_stream(stream->h2->session, NGHTTP2_FLAG_NONE, stream->id,
                              NGHTTP2_PROTOCOL_ERROR);
}

static void on_interim(weir_connection *connection, struct h2_stream *stream, const weir_head *head)
{
    stream->interims++;
    stream->interim_bytes += h2_of(connection)->block.bytes;
    if (stream->interims > INTERIMS_MOST ||
        stream->interim_bytes > connection->limits->header_bytes)
        break_off(stream, WEIR_SERVER_PROTOCOL_ERROR);
    else
        h2_api->deliver_interim(stream->channel, head);
}

/* An extended CONNECT that is agreed to is a tunnel, as behind 101. */
static void deliver_final(struct h2_stream *stream, weir_head *head, bool end)
{
    weir_slice nothing = {0};
    stream->answered = true;
    stream->received_end = end;
    if (stream->extended && head->status / 100 == 2) {
        stream->tunnel = true;
        head->kind = WEIR_TUNNEL;
        head->content_length = -1;
        head->protocol = WEIR_STRING("websocket");
    } else if (end) {
        head->flags = WEIR_END;
    }
    h2_api->deliver_head(stream->channel, head);
    if (end && stream->tunnel)
        h2_api->deliver_data(stream->channel, &nothing, WEIR_END);
}

static void on_response(weir_connection *connection, struct h2_stream *stream, bool end)
{
    struct h2_block *block = &h2_of(connection)->block;
    weir_head head = head_of(block, 0);
    head.status = status_of(block);
    if (block->error != WEIR_OK || head.status < 100 || head.status > 599)
        break_off(stream, WEIR_SERVER_PROTOCOL_ERROR);
    else if (head.status < 200)
        on_interim(connection, stream, &head);
    else
        deliver_final(stream, &head, end);
}

/* --- trailers and data */

static void on_trailers(struct h2_stream *stream, const struct h2_block *block)
{
    weir_slice nothing = {0};
    if (stream->received_end)
        return;
    stream->received_end = true;
    if (block->error != WEIR_OK)
        break_off(stream, WEIR_MALFORMED);
    else if (block->count)
        h2_api->deliver_trailers(stream->channel, block->fields, block->count);
    else
        h2_api->deliver_data(stream->channel, &nothing, WEIR_END);
}

static void on_headers(weir_connection *connection, const nghttp2_frame *frame)
{
    struct h2 *h2 = h2_of(connection);
    bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    struct h2_stream *stream = find(h2->session, frame->hd.stream_id);
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        on_request(connection, frame->hd.stream_id, end);
    else if (!stream || !stream->channel)
        ; /* nobody wants it any more */
    else if (h2_is_client(connection) || stream->answered)
        on_trailers(stream, &h2->block);
    else
        on_response(connection, stream, end);
    block_over(h2);
}

/* The connection's window is renewed at once, the stream's when core has passed the bytes on. */
int h2_on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
               size_t count, void *user)
{
    struct h2 *h2 = h2_of(user);
    struct h2_stream *stream = find(session, id);
    weir_slice slice = {bytes, count, h2->receiving};
    (void)flags;
    nghttp2_session_consume_connection(session, count);
    if (!stream || !stream->channel || stream->received_end || !count)
        return 0;
    h2_window_received(stream, count);
    h2_api->deliver_data(stream->channel, &slice, 0);
    return 0;
}

static void on_data_frame(struct h2_stream *stream, const nghttp2_frame *frame)
{
    weir_slice nothing = {0};
    if (!stream || stream->received_end || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return;
    stream->received_end = true;
    if (stream->channel)
        h2_api->deliver_data(stream->channel, &nothing, WEIR_END);
}

/* --- frames */

static void on_window(struct h2 *h2, int32_t id)
{
    struct h2_stream *stream = id ? find(h2->session, id) : NULL;
    if (!id)
        h2_offer_all(h2);
    else if (stream)
        h2_stream_offer(stream);
}

static void on_settings(weir_connection *connection, const nghttp2_frame *frame)
{
    struct h2 *h2 = h2_of(connection);
    if (frame->hd.flags & NGHTTP2_FLAG_ACK) {
        h2_window_settings_known(connection);
        return;
    }
    h2->settled = true;
    h2_offer_all(h2);
    if (h2_is_client(connection))
        return;
    h2_send_held(connection);
    h2_api->spare_changed(connection);
}

/* The server is there. */
static void on_answer(weir_connection *connection)
{
    struct h2 *h2 = h2_of(connection);
    h2->asked = h2->doubtful = false;
    h2->vouched = true;
    h2_send_held(connection);
}

/* The answer to the PING behind the first GOAWAY: what the peer had begun by then is here. */
static void on_ping(weir_connection *connection, const nghttp2_frame *frame)
{
    struct h2 *h2 = h2_of(connection);
    if (!(frame->hd.flags & NGHTTP2_FLAG_ACK))
        return;
    if (!h2_is_client(connection))
        on_answer(connection);
    if (!h2->going_away || h2->gone_away)
        return;
    h2->gone_away = true;
    nghttp2_submit_goaway(h2->session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(h2->session), NGHTTP2_NO_ERROR,
                          NULL, 0);
}

/* Such frames cost their sender next to nothing. */
static bool carries_nothing(const nghttp2_frame *frame)
{
    switch (frame->hd.type) {
    case NGHTTP2_DATA:
        return !frame->hd.length && !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
    case NGHTTP2_PING:
    case NGHTTP2_SETTINGS:
        return !(frame->hd.flags & NGHTTP2_FLAG_ACK);
    case NGHTTP2_PRIORITY_UPDATE:
        return true;
    default:
        return false;
    }
}

static void on_reset(weir_connection *connection, struct h2_stream *stream)
{
    if (stream)
        stream->peer_reset = true;
    if (h2_is_client(connection))
        h2_guard_count(connection, H2_RESETS);
}

int h2_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2 *h2 = h2_of(user);
    if (carries_nothing(frame))
        h2_guard_count(user, H2_CONTROL);
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        on_headers(user, frame);
        break;
    case NGHTTP2_DATA:
        on_data_frame(find(session, frame->hd.stream_id), frame);
        break;
    case NGHTTP2_RST_STREAM:
        on_reset(user, find(session, frame->hd.stream_id));
        break;
    case NGHTTP2_SETTINGS:
        on_settings(user, frame);
        break;
    case NGHTTP2_WINDOW_UPDATE:
        on_window(h2, frame->hd.stream_id);
        break;
    case NGHTTP2_PING:
        on_ping(user, frame);
        break;
    case NGHTTP2_GOAWAY:
        h2->peer_goes_away = true;
        break;
    }
    return 0;
}

/* nghttp2 resets its stream. A malformed request has an exchange, so that it is logged, although
 * there is no answer. */
int h2_on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error, void *user)
{
    weir_connection *connection = user;
    struct h2 *h2 = h2_of(connection);
    bool malformed = error == NGHTTP2_ERR_HTTP_HEADER || error == NGHTTP2_ERR_HTTP_MESSAGING;
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    struct h2_stream *known = find(session, frame->hd.stream_id);
    block_over(h2);
    h2_order_reset(&h2->order, frame->hd.stream_id);
    if (malformed && known && known->channel && !h2_is_client(connection))
        h2_api->fail(known->channel, WEIR_SERVER_PROTOCOL_ERROR, 0);
    if (malformed && frame->headers.cat == NGHTTP2_HCAT_REQUEST && !known) {
        struct h2_stream *stream = begin_malformed(connection, frame->hd.stream_id, WEIR_MALFORMED);
        nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, NULL);
        h2_stream_closed(stream);
        h2_api->fail(stream->channel, WEIR_MALFORMED, 0);
    }
    return 0;
}

/* --- the end of a stream */

static weir_result why_closed(const weir_connection *connection, const struct h2_stream *stream,
                              uint32_t code)
{
    if (code == NGHTTP2_REFUSED_STREAM)
        return WEIR_REFUSED;
    if (stream->peer_reset)
        return WEIR_RESET;
    return h2_is_client(connection) ? WEIR_MALFORMED : WEIR_SERVER_PROTOCOL_ERROR;
}

/* A complete answer stays one, also when the server has had enough of the request. */
static bool is_complete(const weir_connection *connection, const struct h2_stream *stream)
{
    bool answer_over = stream->received_end && stream->answered && !stream->tunnel;
    return (stream->received_end && stream->sent_end) || (!h2_is_client(connection) && answer_over);
}

int h2_on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
    weir_connection *connection = user;
    struct h2_stream *stream = find(session, id);
    if (!stream)
        return 0;
    h2_stream_closed(stream);
    if (!stream->channel)
        h2_stream_free(stream);
    else if (!is_complete(connection, stream))
        h2_api->fail(stream->channel, why_closed(connection, stream, code),
                     code == NGHTTP2_REFUSED_STREAM || !stream->sent_head);
    return 0;
}
