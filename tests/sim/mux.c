/* tests/sim/mux.c - HTTP/2 as bytes: one connection of a client's or origin's, many exchanges */
#include "tests/sim/mux.h"

#include <string.h>

#include "core/base/list.h"
#include "core/base/memory.h"
#include "tests/sim/account.h"

enum {
    PIECE_MOST = 65536,
    FIELDS_MOST = 24,
    STALL_US_MOST = 4 * 1000 * 1000,
    HANG_US = 150 * 1000 * 1000,
    FRAME_HEAD_BYTES = 9,
    BUFFER_LEAST = 4096
};

/* Made once; sessions copy what is in them. */
static nghttp2_session_callbacks *callbacks;
static nghttp2_option *options;

static struct dice *dice(void)
{
    return &simulation.dice;
}

static size_t piece_size(size_t most)
{
    most = most < PIECE_MOST ? most : PIECE_MOST;
    return dice_percent(dice(), 60) ? most : dice_size(dice(), most);
}

static struct mux_stream *find(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

/* --- streams */

void mux_go_on(struct mux_stream *stream)
{
    if (stream->deferred && !stream->hangs && !stream->pausing)
        nghttp2_session_resume_data(stream->mux->session, stream->id);
    stream->deferred &= stream->hangs || stream->pausing;
}

static void fire_go_on(struct event *event)
{
    struct mux_stream *stream = CONTAINER(event, struct mux_stream, go_on);
    stream->pausing = false;
    mux_go_on(stream);
    mux_pump(stream->mux);
}

static void fire_resume(struct event *event)
{
    struct mux_stream *stream = CONTAINER(event, struct mux_stream, resume);
    nghttp2_session_consume_stream(stream->mux->session, stream->id, stream->owed);
    stream->owed = 0;
    stream->hangs = false;
    mux_go_on(stream);
    mux_pump(stream->mux);
}

static void fire_act(struct event *event)
{
    struct mux_stream *stream = CONTAINER(event, struct mux_stream, act);
    stream->mux->events->act(stream);
}

static struct mux_stream *stream_new(struct mux *mux)
{
    struct mux_stream *stream = memory_zeroed(sizeof *stream);
    stream->mux = mux;
    stream->next = mux->streams;
    stream->head_to = UINT64_MAX;
    mux->streams = stream;
    event_init(&stream->act, fire_act);
    event_init(&stream->go_on, fire_go_on);
    event_init(&stream->resume, fire_resume);
    return stream;
}

static void stream_free(struct mux_stream *stream)
{
    struct mux_stream **at = &stream->mux->streams;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    event_clear(&stream->act);
    event_clear(&stream->go_on);
    event_clear(&stream->resume);
    memory_free(stream);
}

void mux_stall(struct mux_stream *stream)
{
    const struct direction *in = &stream->plan->ways[!stream->mux->out];
    if (stream->stalled || in->received < in->stall_at)
        return;
    stream->stalled = true;
    event_set(&stream->resume, dice_below(dice(), STALL_US_MOST));
}

void mux_hang(struct mux_stream *stream)
{
    happened(stream->mux->out == REQUEST ? "client hangs" : "origin hangs", stream->plan->number,
             0);
    stream->hangs = stream->has_hung = stream->stalled = true;
    event_set(&stream->resume, HANG_US);
}

/* --- what comes: heads */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct mux *mux = user;
    mux->block.length = mux->method.length = mux->path.length = mux->status.length = 0;
    mux->block.bytes[0] = 0;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    struct mux_stream *stream = stream_new(mux);
    stream->id = frame->hd.stream_id;
    nghttp2_session_set_stream_user_data(session, stream->id, stream);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t length, uint8_t flags,
                     void *user)
{
    struct mux *mux = user;
    (void)session, (void)frame, (void)flags;
    const char *key = (const char *)name;
    struct text *pseudo = !strcmp(key, ":method")   ? &mux->method
                          : !strcmp(key, ":path")   ? &mux->path
                          : !strcmp(key, ":status") ? &mux->status
                                                    : NULL;
    if (pseudo)
        text_write(pseudo, "%.*s", (int)length, (const char *)value);
    else if (key[0] != ':')
        text_write(&mux->block, "%.*s: %.*s\r\n", (int)name_length, key, (int)length,
                   (const char *)value);
    return 0;
}

static void on_end(struct mux_stream *stream)
{
    if (stream->plan)
        stream->mux->events->end(stream);
}

static void on_headers(struct mux_stream *stream, bool end)
{
    struct mux *mux = stream->mux;
    bool trailers = stream->head_come;
    stream->in.length = 0;
    stream->in.bytes[0] = 0;
    if (!trailers && mux->out == RESPONSE)
        text_write(&stream->in, "%s %s HTTP/1.1\r\n", mux->method.bytes, mux->path.bytes);
    else if (!trailers)
        text_write(&stream->in, "HTTP/1.1 %s \r\n", mux->status.bytes);
    if (mux->block.length)
        text_write(&stream->in, "%s", mux->block.bytes);
    stream->head_come = true;
    stream->moved += stream->in.length;
    if (!trailers) {
        mux->events->head(stream);
        stream->in.length = end ? 0 : stream->in.length;
    }
    if (end)
        on_end(stream);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct mux *mux = user;
    struct mux_stream *stream = find(session, frame->hd.stream_id);
    bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        mux->goes_away = true;
    if (frame->hd.type == NGHTTP2_SETTINGS && !mux->settled_at)
        mux->settled_at = mux->made + 1;
    if (stream && frame->hd.type == NGHTTP2_HEADERS)
        on_headers(stream, end);
    if (stream && frame->hd.type == NGHTTP2_DATA && end) {
        stream->in.length = 0;
        on_end(stream);
    }
    return 0;
}

static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error,
                            void *user)
{
    struct mux_stream *stream = find(session, frame->hd.stream_id);
    (void)user;
    if (error == NGHTTP2_ERR_REFUSED_STREAM) /* weir has not seen the settings yet */
        return 0;
    violated(FIELDS_KEPT, stream && stream->plan ? stream->plan->number : 0,
             "weir's frame of type %d is wrong: %s", frame->hd.type, nghttp2_strerror(error));
}

/* --- what comes: bodies, ends */

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                   size_t count, void *user)
{
    struct mux *mux = user;
    struct mux_stream *stream = find(session, id);
    (void)flags;
    nghttp2_session_consume_connection(session, count);
    if (!stream)
        return 0;
    stream->moved += count;
    if (stream->plan)
        mux->events->body(stream, bytes, count);
    if (event_is_set(&stream->resume))
        stream->owed += (uint32_t)count;
    else
        nghttp2_session_consume_stream(session, id, count);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
    struct mux *mux = user;
    struct mux_stream *stream = find(session, id);
    if (!stream)
        return 0;
    happened(mux->out == REQUEST ? "client's stream closes" : "origin's stream closes",
             stream->plan ? stream->plan->number : 0, code);
    mux->ends = true;
    mux->events->closed(stream, code);
    nghttp2_session_set_stream_user_data(session, id, NULL);
    stream_free(stream);
    return 0;
}

/* --- what is sent: bodies */

static bool may_end(const struct mux_stream *stream)
{
    const struct plan *plan = stream->plan;
    enum way out = stream->mux->out;
    return !plan->tunnel || !plan->waits[out] || plan->ways[!out].arrived;
}

static size_t fill(struct mux_stream *stream, uint8_t *bytes, size_t most)
{
    struct plan *plan = stream->plan;
    struct direction *way = &plan->ways[stream->mux->out];
    size_t count = way->length - (size_t)way->sent;
    count = count < most ? count : most;
    if (!count)
        return 0;
    count = piece_size(count);
    pattern_fill(plan->number, stream->mux->out, way->sent, bytes, count);
    if (sabotage(BYTES_EXACT, 5))
        bytes[0] ^= 1;
    way->sent += count;
    way->ended = way->delivery == BODY_LENGTH && way->sent == way->length;
    stream->moved += count;
    if (!plan->may_fail && !plan->may_break)
        account_send(plan, stream->mux->out);
    return count;
}

static void pause_some(struct mux_stream *stream)
{
    if (!dice_percent(dice(), 40))
        return;
    stream->pausing = true;
    event_set(&stream->go_on, endpoint_pause_us(stream->mux->end));
}

static void end_direction(struct mux_stream *stream, uint32_t *flags)
{
    struct text trailers = {.length = 0};
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (stream->cut_short)
        return;
    stream->plan->ways[stream->mux->out].ended = true;
    plan_trailers(stream->plan, stream->mux->out, &trailers);
    if (!trailers.length)
        return;
    char *colon = strchr(trailers.bytes, ':');
    nghttp2_nv field = {(uint8_t *)trailers.bytes, (uint8_t *)colon + 2,
                        (size_t)(colon - trailers.bytes), strcspn(colon + 2, "\r"), 0};
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    nghttp2_submit_trailer(stream->mux->session, stream->id, &field, 1);
}

static nghttp2_ssize read_body(nghttp2_session *session, int32_t id, uint8_t *bytes, size_t most,
                               uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct mux_stream *stream = source->ptr;
    (void)session, (void)id, (void)user;
    if (!stream->plan || stream->held || stream->hangs || stream->pausing) {
        stream->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    size_t count = stream->cut_short ? 0 : fill(stream, bytes, most);
    const struct direction *way = &stream->plan->ways[stream->mux->out];
    bool all = way->sent == way->length || stream->cut_short;
    bool announced = way->delivery == BODY_LENGTH; /* who has counted needs no end behind it */
    if (all && may_end(stream) && (!count || announced || dice_percent(dice(), 50)))
        end_direction(stream, flags);
    else if (!count)
        stream->deferred = true;
    else
        pause_some(stream);
    return count || (*flags & NGHTTP2_DATA_FLAG_EOF) ? (nghttp2_ssize)count : NGHTTP2_ERR_DEFERRED;
}

/* --- what is sent: heads */

static bool is_http1s(const char *name, size_t length)
{
    static const char *const names[] = {"Host", "Connection", "Transfer-Encoding", "X-Hop"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && !memcmp(names[i], name, length))
            return true;
    return false;
}

static nghttp2_nv pair(const char *name, size_t name_length, const char *value, size_t length)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, name_length,
                        length, 0};
}

static nghttp2_nv pseudo(const char *name, const char *value, size_t length)
{
    return pair(name, strlen(name), value, length);
}

/* "GET http://host/path HTTP/1.1", "CONNECT host:1 HTTP/1.1". */
static size_t request_pseudos(const struct plan *plan, const char *line, nghttp2_nv *fields)
{
    size_t method = strcspn(line, " "), count = 0;
    const char *authority = line + method + 1 + (plan->tunnel ? 0 : strlen("http://"));
    size_t length = strcspn(authority, "/ ");
    const char *path = authority + length;
    fields[count++] = pseudo(":method", line, method);
    fields[count++] = pseudo(":authority", authority, length);
    if (plan->tunnel)
        return count;
    fields[count++] = pseudo(":scheme", "http", 4);
    fields[count++] = pseudo(":path", path, strcspn(path, " "));
    return count;
}

static size_t make_fields(const struct plan *plan, enum way way, const struct text *head,
                          nghttp2_nv *fields)
{
    const char *line = head->bytes;
    size_t count = 0;
    if (way == REQUEST)
        count = request_pseudos(plan, line, fields);
    else
        fields[count++] = pseudo(":status", line + strlen("HTTP/1.1 "), 3);
    while ((line = strchr(line, '\n') + 1) && *line && *line != '\r') {
        size_t name = strcspn(line, ":");
        if (!is_http1s(line, name))
            fields[count++] = pair(line, name, line + name + 2, strcspn(line, "\r") - name - 2);
    }
    return count;
}

static bool begin_direction(struct mux_stream *stream)
{
    struct direction *way = &stream->plan->ways[stream->mux->out];
    stream->writing = true;
    way->sent = 0;
    way->ended = way->delivery <= BODY_LENGTH && !way->length;
    return !way->ended;
}

struct mux_stream *mux_request(struct mux *mux, struct plan *plan)
{
    struct text head;
    nghttp2_nv fields[FIELDS_MOST];
    if (!nghttp2_session_check_request_allowed(mux->session))
        return NULL;
    struct mux_stream *stream = stream_new(mux);
    nghttp2_data_provider2 body = {.source.ptr = stream, .read_callback = read_body};
    stream->plan = plan;
    plan_head(plan, REQUEST, &head);
    size_t count = make_fields(plan, REQUEST, &head, fields);
    bool has_body = begin_direction(stream);
    stream->moved += head.length;
    stream->id =
        nghttp2_submit_request2(mux->session, NULL, fields, count, has_body ? &body : NULL, stream);
    return stream;
}

void mux_answer(struct mux_stream *stream, const struct text *head)
{
    nghttp2_data_provider2 body = {.source.ptr = stream, .read_callback = read_body};
    nghttp2_nv fields[FIELDS_MOST];
    size_t count = make_fields(stream->plan, RESPONSE, head, fields);
    bool has_body = begin_direction(stream);
    stream->moved += head->length;
    nghttp2_submit_response2(stream->mux->session, stream->id, fields, count,
                             has_body ? &body : NULL);
}

/* The frame is what is made now. */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct mux *mux = user;
    struct mux_stream *stream = find(session, frame->hd.stream_id);
    if (stream && frame->hd.type == NGHTTP2_HEADERS && stream->head_to == UINT64_MAX)
        stream->head_to = mux->made + FRAME_HEAD_BYTES + frame->hd.length;
    return 0;
}

void mux_reset_stream(struct mux_stream *stream, uint32_t code)
{
    nghttp2_submit_rst_stream(stream->mux->session, NGHTTP2_FLAG_NONE, stream->id, code);
}

void mux_go_away(struct mux *mux, int32_t last_stream)
{
    nghttp2_submit_goaway(mux->session, NGHTTP2_FLAG_NONE, last_stream, NGHTTP2_NO_ERROR, NULL, 0);
}

/* --- bytes */

static void write_left(struct mux *mux, size_t most)
{
    size_t count = endpoint_write(mux->end, mux->bytes, most);
    happened(mux->out == REQUEST ? "client writes" : "origin writes", mux->end->number, count);
    mux->bytes += count;
    mux->left -= count;
}

/* An exchange is over with what was made or read now. */
static void note_end(struct mux *mux)
{
    mux->ended_at = mux->ends ? mux->made : mux->ended_at;
    mux->ends = false;
}

static bool make_more(struct mux *mux)
{
    nghttp2_ssize count = mux->left ? 0 : nghttp2_session_mem_send2(mux->session, &mux->bytes);
    if (count > 0) {
        mux->left = (size_t)count;
        mux->made += (uint64_t)count;
        note_end(mux);
    }
    return mux->left;
}

void mux_pump(struct mux *mux)
{
    if (event_is_set(&mux->act) || mux->finished)
        return;
    while (make_more(mux)) {
        size_t room = endpoint_room(mux->end);
        if (!room) {
            endpoint_want_room(mux->end);
            return;
        }
        write_left(mux, piece_size(mux->left < room ? mux->left : room));
        if (dice_percent(dice(), 15)) {
            event_set(&mux->act, endpoint_pause_us(mux->end));
            return;
        }
    }
}

static void fire_pump(struct event *event)
{
    struct mux *mux = CONTAINER(event, struct mux, act);
    if (!mux->events->before(mux))
        mux_pump(mux);
}

static void on_writable(void *user)
{
    struct mux *mux = user;
    if (!mux->events->before(mux))
        mux_pump(mux);
}

static void take(struct mux *mux, const uint8_t *bytes, size_t count)
{
    nghttp2_ssize used = nghttp2_session_mem_recv2(mux->session, bytes, count);
    note_end(mux);
    if (used < 0)
        violated(BYTES_EXACT, 0, "weir's frames are broken: %s", nghttp2_strerror((int)used));
}

static void on_readable(void *user)
{
    static uint8_t piece[PIECE_MOST];
    struct mux *mux = user;
    if (mux->events->before(mux))
        return;
    ptrdiff_t count =
        endpoint_read(mux->end, piece, mux->end->count ? piece_size(mux->end->count) : 1);
    happened(mux->out == REQUEST ? "client reads" : "origin reads", mux->end->number,
             (uint64_t)count);
    if (count == READ_END || count == READ_RESET) {
        mux->events->lost(mux, count == READ_END);
        return;
    }
    if (count > 0)
        take(mux, piece, (size_t)count);
    mux_pump(mux);
}

bool mux_is_quiet(const struct mux *mux)
{
    return !mux->left && !nghttp2_session_want_write(mux->session);
}

void mux_finish(struct mux *mux)
{
    mux->finished = true;
    endpoint_finish(mux->end);
}

uint64_t mux_passed(const struct mux *mux)
{
    return mux->made - mux->left - mux->end->other->count;
}

/* --- the beginning and the end */

void mux_start(void)
{
    if (callbacks || nghttp2_session_callbacks_new(&callbacks) || nghttp2_option_new(&options))
        return;
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_option_set_no_auto_window_update(options, 1);
}

static void submit_settings(struct mux *mux)
{
    static const uint32_t streams[] = {1, 2, 3, 10, 100}, windows[] = {2000, 65535, 1 << 20};
    nghttp2_settings_entry entries[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, windows[dice_below(dice(), 3)]},
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams[dice_below(dice(), 5)]}};
    nghttp2_submit_settings(mux->session, NGHTTP2_FLAG_NONE, entries, 1 + (mux->out == RESPONSE));
    nghttp2_session_set_local_window_size(mux->session, NGHTTP2_FLAG_NONE, 0,
                                          (int32_t)(65535 + dice_below(dice(), 1 << 20)));
}

void mux_init(struct mux *mux, struct endpoint *end, enum way out, const struct mux_events *events)
{
    static const struct endpoint_events mux_events = {.readable = on_readable,
                                                      .writable = on_writable};
    *mux = (struct mux){.events = events, .end = end, .out = out};
    endpoint_widen(end, BUFFER_LEAST); /* many share it, and one at a time is served */
    end->events = &mux_events;
    end->user = mux;
    event_init(&mux->act, fire_pump);
    if ((out == REQUEST ? nghttp2_session_client_new2(&mux->session, callbacks, mux, options)
                        : nghttp2_session_server_new2(&mux->session, callbacks, mux, options)) != 0)
        violated(NOTHING_LEFT, 0, "there is no memory");
    submit_settings(mux);
}

static void write_any_part(struct mux *mux)
{
    if (!mux->finished && mux->left)
        write_left(mux, dice_below(dice(), mux->left + 1));
}

uint64_t mux_close(struct mux *mux, bool reset)
{
    struct endpoint *other = mux->end->other;
    uint64_t passed = mux_passed(mux);
    write_any_part(mux);
    happened(mux->out == REQUEST ? "client's end closes" : "origin's end closes", mux->end->number,
             reset);
    if (reset)
        endpoint_reset(mux->end);
    else
        endpoint_close(mux->end);
    return other->count ? mux->made - mux->left : passed;
}

void mux_deinit(struct mux *mux)
{
    while (mux->streams)
        stream_free(mux->streams);
    event_clear(&mux->act);
    nghttp2_session_del(mux->session);
    mux->session = NULL;
    mux->end = NULL;
}
