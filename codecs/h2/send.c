/* codecs/h2/send.c - what exchanges send becomes frames
 *
 * Heads go to nghttp2, which copies them; bodies stay here by reference until nghttp2 chooses their
 * stream in produce(). */
#include <string.h>

#include "codecs/h2/connection.h"
#include "codecs/string.h"

static void want_produce(const weir_channel *channel)
{
    h2_api->want_produce(channel->connection, 0);
}

/* --- fields */

/* Fields that say what HTTP/2 says otherwise (RFC 9113 8.2.2), and the halves of a WebSocket's
 * handshake that it has no use for (RFC 8441 5). */
static bool left_out(weir_string name)
{
    static const weir_string names[] = {WEIR_STRING("host"),
                                        WEIR_STRING("connection"),
                                        WEIR_STRING("keep-alive"),
                                        WEIR_STRING("proxy-connection"),
                                        WEIR_STRING("upgrade"),
                                        WEIR_STRING("transfer-encoding"),
                                        WEIR_STRING("sec-websocket-key"),
                                        WEIR_STRING("sec-websocket-accept")};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (string_is_nocase(name, names[i]))
            return true;
    return false;
}

struct fields {
    weir_buffer *owner;
    nghttp2_nv *at;
    size_t count;
};

static struct fields fields_for(uint32_t count)
{
    uint8_t *bytes;
    enum { PSEUDO_MOST = 5 };
    weir_buffer *owner = h2_host->buffer_new((count + PSEUDO_MOST) * sizeof(nghttp2_nv), &bytes);
    return (struct fields){owner, (nghttp2_nv *)(void *)bytes, 0};
}

/* nghttp2 makes names lower case when it copies them. */
static void add(struct fields *fields, weir_string name, weir_string value)
{
    fields->at[fields->count++] = (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name.bytes,
                                               .value = (uint8_t *)(uintptr_t)value.bytes,
                                               .namelen = name.length,
                                               .valuelen = value.length};
}

static void add_all(struct fields *fields, const weir_field *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!left_out(from[i].name))
            add(fields, from[i].name, from[i].value);
}

static struct fields response_fields(const weir_head *head, char *status)
{
    struct fields fields = fields_for(head->count);
    uint32_t code = head->kind == WEIR_TUNNEL && head->status < 200 ? 200 : head->status;
    status[0] = (char)('0' + code / 100);
    status[1] = (char)('0' + code / 10 % 10);
    status[2] = (char)('0' + code % 10);
    add(&fields, WEIR_STRING(":status"), (weir_string){status, 3});
    add_all(&fields, head->fields, head->count);
    return fields;
}

static struct fields request_fields(const weir_head *head)
{
    struct fields fields = fields_for(head->count);
    bool extended = head->protocol.length;
    add(&fields, WEIR_STRING(":method"), extended ? WEIR_STRING("CONNECT") : head->method);
    if (extended)
        add(&fields, WEIR_STRING(":protocol"), head->protocol);
    add(&fields, WEIR_STRING(":scheme"), head->scheme.length ? head->scheme : WEIR_STRING("http"));
    if (head->authority.length)
        add(&fields, WEIR_STRING(":authority"), head->authority);
    add(&fields, WEIR_STRING(":path"), head->path);
    add_all(&fields, head->fields, head->count);
    return fields;
}

/* --- bodies */

static void abort_stream(struct h2_stream *stream, uint32_t code)
{
    h2_stream_drop_output(stream);
    if (stream->closed || stream->was_reset)
        return;
    stream->was_reset = true;
    if (stream->id)
        nghttp2_submit_rst_stream(stream->h2->session, NGHTTP2_FLAG_NONE, stream->id, code);
}

static bool has_all(const struct h2_stream *stream, size_t length)
{
    return stream->end_wanted && stream->queue.bytes == length;
}

static void submit_trailers(nghttp2_session *session, struct h2_stream *stream)
{
    struct fields fields = fields_for(stream->trailer_count);
    add_all(&fields, stream->trailers, stream->trailer_count);
    nghttp2_submit_trailer(session, stream->id, fields.at, fields.count);
    h2_host->buffer_release(fields.owner);
}

/* nghttp2 has chosen this stream: how much of it goes into the next frame. */
static nghttp2_ssize read_body(nghttp2_session *session, int32_t id, uint8_t *buffer, size_t most,
                               uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct h2_stream *stream = source->ptr;
    size_t length = stream->queue.bytes < most ? stream->queue.bytes : most;
    (void)id, (void)buffer, (void)user;
    bool last = has_all(stream, length);
    if (!length && stream->last_code) {
        abort_stream(stream, stream->last_code);
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    if (!length && !last) {
        stream->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    *flags = NGHTTP2_DATA_FLAG_NO_COPY | (last ? NGHTTP2_DATA_FLAG_EOF : 0u);
    if (last && stream->trailers) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        submit_trailers(session, stream);
    }
    return (nghttp2_ssize)length;
}

static void note_passed(struct h2_stream *stream, size_t bytes)
{
    struct h2 *h2 = stream->h2;
    stream->passed += bytes;
    if (stream->is_passed || !bytes)
        return;
    stream->is_passed = true;
    stream->next_passed = h2->passed;
    h2->passed = stream;
}

int h2_on_send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head,
                    size_t length, nghttp2_data_source *source, void *user)
{
    enum { FRAME_HEAD_BYTES = 9 };
    struct h2 *h2 = h2_of(user);
    struct h2_stream *stream = source->ptr;
    (void)session, (void)frame;
    output_text(h2_host, &h2->output, (weir_string){(const char *)head, FRAME_HEAD_BYTES});
    h2_queue_take(h2_host, &stream->queue, length, &h2->output);
    note_passed(stream, length);
    h2->written += FRAME_HEAD_BYTES + length;
    return h2->written < h2->room ? 0 : NGHTTP2_ERR_PAUSE;
}

/* The rest of a request that is answered is not wanted: RFC 9113 8.1. */
static void refuse_rest(struct h2_stream *stream)
{
    if (nghttp2_session_check_server_session(stream->h2->session) && !stream->channel &&
        !stream->received_end)
        nghttp2_submit_rst_stream(stream->h2->session, NGHTTP2_FLAG_NONE, stream->id,
                                  NGHTTP2_NO_ERROR);
}

/* What a client made us reset counts like what it resets itself. */
static bool is_clients_fault(const weir_connection *connection, uint32_t code)
{
    return h2_is_client(connection) && code != NGHTTP2_NO_ERROR && code != NGHTTP2_CANCEL &&
           code != NGHTTP2_INTERNAL_ERROR && code != NGHTTP2_CONNECT_ERROR;
}

static void on_reset_sent(weir_connection *connection, const nghttp2_frame *frame)
{
    h2_order_reset(&h2_of(connection)->order, frame->hd.stream_id);
    if (is_clients_fault(connection, frame->rst_stream.error_code))
        h2_guard_count(connection, H2_RESETS);
}

/* nghttp2 has had enough of the peer. */
static void on_goaway_sent(weir_connection *connection, uint32_t code)
{
    struct h2 *h2 = h2_of(connection);
    if (code == NGHTTP2_NO_ERROR || h2->why != WEIR_OK)
        return;
    h2->why = h2_is_client(connection) ? WEIR_MALFORMED : WEIR_SERVER_PROTOCOL_ERROR;
    h2_guard_tell(H2_ERROR);
}

int h2_on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    bool body = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (frame->hd.type == NGHTTP2_RST_STREAM)
        on_reset_sent(user, frame);
    if (frame->hd.type == NGHTTP2_GOAWAY)
        on_goaway_sent(user, frame->goaway.error_code);
    if (!body)
        return 0;
    struct h2_stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!stream)
        return 0;
    bool begins = !stream->sent_head && !h2_is_client(user);
    stream->sent_head = true;
    if (begins)
        h2_stream_offer(stream);
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
        stream->sent_end = true;
        refuse_rest(stream);
    }
    return 0;
}

/* --- what core sends */

static void resume(struct h2_stream *stream)
{
    if (stream->deferred)
        nghttp2_session_resume_data(stream->h2->session, stream->id);
    stream->deferred = false;
}

static bool may_have_body(const struct h2_stream *stream, uint32_t status)
{
    return !stream->asks_head && status != 204 && status != 304;
}

weir_result h2_send_response(weir_channel *channel, const weir_head *head, uint32_t flags)
{
    struct h2_stream *stream = h2_stream_of(channel);
    nghttp2_data_provider2 body = {.source.ptr = stream, .read_callback = read_body};
    char status[3];
    WEIR_TRACE(h2_host);
    if (stream->closed)
        return WEIR_OK;
    bool tunnel = head->kind == WEIR_TUNNEL;
    stream->no_body = !tunnel && !may_have_body(stream, head->status);
    bool end = !tunnel && ((flags & WEIR_END) || stream->no_body);
    stream->tunnel = tunnel;
    stream->end_wanted = end;
    stream->answering = !end;
    stream->send_left = tunnel ? -1 : head->content_length;
    struct fields fields = response_fields(head, status);
    nghttp2_submit_response2(stream->h2->session, stream->id, fields.at, fields.count,
                             end ? NULL : &body);
    h2_host->buffer_release(fields.owner);
    if (stream->no_body)
        h2_stream_dropping(stream);
    want_produce(channel);
    return WEIR_OK;
}

/* nghttp2 takes a request behind a GOAWAY of ours as well, and never sends it. */
static bool submit_request(struct h2_stream *stream, const nghttp2_nv *fields, size_t count,
                           bool end)
{
    nghttp2_data_provider2 body = {.source.ptr = stream, .read_callback = read_body};
    if (!nghttp2_session_check_request_allowed(stream->h2->session))
        return false;
    int32_t id = nghttp2_submit_request2(stream->h2->session, NULL, fields, count,
                                         end ? NULL : &body, stream);
    if (id > 0)
        stream->id = id;
    return id > 0;
}

static size_t size_of(const struct fields *fields)
{
    size_t size = fields->count * sizeof *fields->at;
    for (size_t i = 0; i < fields->count; i++)
        size += fields->at[i].namelen + fields->at[i].valuelen;
    return size;
}

static uint8_t *copy(uint8_t **to, const uint8_t *from, size_t length)
{
    uint8_t *start = *to;
    if (length)
        memcpy(start, from, length);
    *to += length;
    return start;
}

static void hold(struct h2_stream *stream, const struct fields *fields)
{
    uint8_t *bytes;
    stream->held_owner = h2_host->buffer_new(size_of(fields), &bytes);
    stream->held = (nghttp2_nv *)(void *)bytes;
    stream->held_count = (uint32_t)fields->count;
    uint8_t *text = bytes + fields->count * sizeof *fields->at;
    for (size_t i = 0; i < fields->count; i++) {
        nghttp2_nv *to = &stream->held[i];
        *to = fields->at[i];
        to->name = copy(&text, to->name, to->namelen);
        to->value = copy(&text, to->value, to->valuelen);
    }
}

/* RFC 8441 3: only to a server that has said that it knows how. */
static bool server_knows_extended(const struct h2 *h2)
{
    return nghttp2_session_get_remote_settings(h2->session,
                                               NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) == 1;
}

static bool must_wait(const struct h2_stream *stream)
{
    return stream->h2->asked || (stream->extended && !stream->h2->settled);
}

static void send_one_held(weir_connection *connection, struct h2_stream *stream)
{
    bool known = !stream->extended || server_knows_extended(stream->h2);
    bool sent =
        known && submit_request(stream, stream->held, stream->held_count,
                                stream->end_wanted && !stream->queue.bytes && !stream->trailers);
    h2_host->buffer_release(stream->held_owner);
    stream->held_owner = NULL;
    stream->held = NULL;
    if (!sent)
        h2_api->fail(stream->channel, known ? WEIR_REFUSED : WEIR_NOT_IMPLEMENTED, known);
    h2_api->want_produce(connection, 0);
}

void h2_send_held(weir_connection *connection)
{
    for (struct h2_stream *stream = h2_of(connection)->streams; stream; stream = stream->next)
        if (stream->held && stream->channel && !must_wait(stream))
            send_one_held(connection, stream);
}

weir_result h2_send_request(weir_channel *channel, const weir_head *head, uint32_t flags)
{
    struct h2_stream *stream = h2_stream_of(channel);
    struct h2 *h2 = stream->h2;
    WEIR_TRACE(h2_host);
    stream->extended = head->protocol.length != 0;
    bool waits = must_wait(stream), sent = true;
    if (h2->over || h2->ended || h2->peer_goes_away || stream->closed)
        return WEIR_REFUSED;
    if (stream->extended && !waits && !server_knows_extended(h2)) {
        h2_api->fail(channel, WEIR_NOT_IMPLEMENTED, 0);
        return WEIR_OK;
    }
    stream->end_wanted = (flags & WEIR_END) && !stream->extended;
    stream->send_left = head->content_length;
    stream->asks_head = string_is(head->method, WEIR_STRING("HEAD"));
    struct fields fields = request_fields(head);
    if (waits)
        hold(stream, &fields);
    else
        sent = submit_request(stream, fields.at, fields.count, stream->end_wanted);
    h2_host->buffer_release(fields.owner);
    want_produce(channel);
    return sent ? WEIR_OK : WEIR_REFUSED;
}

weir_result h2_send_interim(weir_channel *channel, const weir_head *head)
{
    struct h2_stream *stream = h2_stream_of(channel);
    char status[3];
    if (stream->closed || head->status == 101)
        return WEIR_UNSUPPORTED;
    struct fields fields = response_fields(head, status);
    nghttp2_submit_headers(stream->h2->session, NGHTTP2_FLAG_NONE, stream->id, NULL, fields.at,
                           fields.count, NULL);
    h2_host->buffer_release(fields.owner);
    want_produce(channel);
    return WEIR_OK;
}

/* Whether the body fits its announced length so far, or at its end. */
static bool fits(struct h2_stream *stream, size_t bytes, uint32_t flags)
{
    if (stream->send_left < 0)
        return true;
    if (bytes > (uint64_t)stream->send_left)
        return false;
    stream->send_left -= (int64_t)bytes;
    return !(flags & WEIR_END) || !stream->send_left;
}

static void drop(struct h2_stream *stream, size_t bytes)
{
    if (!bytes)
        return;
    h2_api->sent(stream->channel, bytes);
    h2_stream_dropping(stream);
}

void h2_send_data(weir_channel *channel, const weir_slice *slices, uint32_t count, uint32_t flags)
{
    struct h2_stream *stream = h2_stream_of(channel);
    size_t bytes = output_total(slices, count);
    stream->credit -= bytes;
    if (stream->no_body || stream->closed || stream->was_reset) {
        drop(stream, bytes);
        return;
    }
    if (!fits(stream, bytes, flags)) {
        h2_api->fail(channel, WEIR_INTERNAL, 0);
        abort_stream(stream, NGHTTP2_INTERNAL_ERROR);
        want_produce(channel);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        h2_queue_push(h2_host, &stream->queue, slices[i]);
    stream->end_wanted = flags & WEIR_END;
    resume(stream);
    want_produce(channel);
}

/* They are kept until the last byte has left. */
static void keep_trailers(struct h2_stream *stream, const weir_field *fields, uint32_t count)
{
    size_t size = count * sizeof *fields;
    uint8_t *bytes;
    for (uint32_t i = 0; i < count; i++)
        size += fields[i].name.length + fields[i].value.length;
    stream->trailers_owner = h2_host->buffer_new(size, &bytes);
    stream->trailers = (weir_field *)(void *)bytes;
    stream->trailer_count = count;
    char *text = (char *)bytes + count * sizeof *fields;
    for (uint32_t i = 0; i < count; i++) {
        weir_string name = fields[i].name, value = fields[i].value;
        memcpy(text, name.bytes, name.length);
        memcpy(text + name.length, value.bytes, value.length);
        stream->trailers[i] = (weir_field){{text, name.length}, {text + name.length, value.length}};
        text += name.length + value.length;
    }
}

void h2_send_trailers(weir_channel *channel, const weir_field *fields, uint32_t count)
{
    struct h2_stream *stream = h2_stream_of(channel);
    if (count && !stream->no_body && !stream->closed && !stream->tunnel)
        keep_trailers(stream, fields, count);
    h2_send_data(channel, NULL, 0, WEIR_END);
}

/* --- the end of a channel */

static uint32_t code_for(const struct h2_stream *stream, bool client, weir_result why)
{
    if (!client || why == WEIR_CANCELLED)
        return NGHTTP2_CANCEL;
    if (stream->tunnel)
        return NGHTTP2_CONNECT_ERROR;
    return why == WEIR_MALFORMED || why == WEIR_REQUEST_TRUNCATED ? NGHTTP2_PROTOCOL_ERROR
                                                                  : NGHTTP2_INTERNAL_ERROR;
}

/* An answer that breaks off gets to the client as far as it has come; but not when it broke off
 * because the client does not take it. */
void h2_send_reset(weir_channel *channel, weir_result why)
{
    struct h2_stream *stream = h2_stream_of(channel);
    bool client = h2_is_client(channel->connection);
    uint32_t code = code_for(stream, client, why);
    bool taken = why != WEIR_CANCELLED && why != WEIR_IDLE_TIMEOUT;
    if (client && stream->answering && taken && !stream->sent_end) {
        stream->last_code = code;
        resume(stream);
    } else {
        abort_stream(stream, code);
    }
    want_produce(channel);
}

void h2_channel_grant(weir_channel *channel, size_t bytes)
{
    struct h2_stream *stream = h2_stream_of(channel);
    if (stream->closed)
        return;
    h2_window_passed_on(stream, bytes);
    nghttp2_session_consume_stream(stream->h2->session, stream->id, bytes);
    if (nghttp2_session_want_write(stream->h2->session))
        want_produce(channel);
}

/* Client's side: an answer that is complete leaves, and then the rest of its request is refused;
 * anything else is given up. */
static uint32_t code_at_close(const struct h2_stream *stream, bool client)
{
    if (client && stream->end_wanted)
        return NGHTTP2_NO_ERROR;
    return client ? NGHTTP2_INTERNAL_ERROR : NGHTTP2_CANCEL;
}

void h2_channel_close(weir_channel *channel)
{
    weir_connection *connection = channel->connection;
    struct h2_stream *stream = h2_stream_of(channel);
    bool client = h2_is_client(connection);
    bool over = stream->end_wanted && stream->received_end;
    bool waits = stream->last_code || (client && stream->end_wanted && !stream->sent_end);
    if (!stream->closed && !over && !waits)
        abort_stream(stream, code_at_close(stream, client));
    if (!stream->id)
        stream->closed = true;
    h2_stream_detach(stream);
    h2_return_credit(connection, 0);
    h2_settle(connection);
}
