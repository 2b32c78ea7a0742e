/* tests/unit/codecs/h2/peer.h - the other end of the connection under test: a session of nghttp2
 *
 * Whatever either sends gets to the other in talk(). Frames that nghttp2 would not send are written
 * by hand with peer_frame(). */
#ifndef TESTS_UNIT_CODECS_H2_PEER_H
#define TESTS_UNIT_CODECS_H2_PEER_H

#include <nghttp2/nghttp2.h>

#include "codecs/h2/h2.h"
#include "tests/unit/fake_protocol_host.h"

enum { PEER_STREAMS = 256 };

struct peer_stream {
    struct fake_bytes fields; /* "name: value\n" of all that came */
    struct fake_bytes body;
    bool ended, closed;
    uint32_t code;
    const char *to_send; /* a body; NULL: none */
    size_t left;
    bool keeps_open; /* behind it */
};

static struct peer {
    nghttp2_session *session;
    struct peer_stream streams[PEER_STREAMS];
    uint32_t goaways, goaway_code, resets;
    int32_t last_stream;
    size_t read;  /* of the fake's output */
    size_t piece; /* in which bytes come */
    bool greedy;  /* windows are renewed */
} peer;

static inline struct peer_stream *peer_stream(int32_t id)
{
    CHECK(id > 0 && id < PEER_STREAMS);
    return &peer.streams[id];
}

static inline int peer_on_header(nghttp2_session *session, const nghttp2_frame *frame,
                                 const uint8_t *name, size_t name_length, const uint8_t *value,
                                 size_t value_length, uint8_t flags, void *user)
{
    struct fake_bytes *fields = &peer_stream(frame->hd.stream_id)->fields;
    fake_append(fields, name, name_length);
    fake_append(fields, ": ", 2);
    fake_append(fields, value, value_length);
    fake_append(fields, "\n", 1);
    return 0;
}

static inline int peer_on_data(nghttp2_session *session, uint8_t flags, int32_t id,
                               const uint8_t *bytes, size_t count, void *user)
{
    fake_append(&peer_stream(id)->body, bytes, count);
    if (peer.greedy)
        nghttp2_session_consume(session, id, count);
    return 0;
}

static inline int peer_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        peer.goaways++;
        peer.goaway_code = frame->goaway.error_code;
        peer.last_stream = frame->goaway.last_stream_id;
    } else if (frame->hd.type == NGHTTP2_RST_STREAM) {
        peer.resets++;
    } else if (frame->hd.stream_id && frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
        peer_stream(frame->hd.stream_id)->ended = true;
    }
    return 0;
}

static inline int peer_on_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
    peer_stream(id)->closed = true;
    peer_stream(id)->code = code;
    return 0;
}

static inline nghttp2_ssize peer_read(nghttp2_session *session, int32_t id, uint8_t *buffer,
                                      size_t most, uint32_t *flags, nghttp2_data_source *source,
                                      void *user)
{
    struct peer_stream *stream = peer_stream(id);
    size_t length = fake_least(most, stream->left);
    if (!stream->left && stream->keeps_open)
        return NGHTTP2_ERR_DEFERRED;
    if (length)
        memcpy(buffer, stream->to_send, length);
    stream->to_send += length;
    stream->left -= length;
    if (!stream->left && !stream->keeps_open)
        *flags = NGHTTP2_DATA_FLAG_EOF;
    return (nghttp2_ssize)length;
}

/* The protocol has that side: the peer has the other. */
static inline void peer_open(uint32_t side)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    memset(&peer, 0, sizeof peer);
    peer.piece = 65536;
    peer.greedy = true;
    fake_open_protocol(h2_protocol(fake_host()), side);
    fake.owed_most = 65535; /* before the peer knows better (RFC 9113 6.9.2) */
    CHECK(!nghttp2_session_callbacks_new(&callbacks) && !nghttp2_option_new(&option));
    nghttp2_session_callbacks_set_on_header_callback(callbacks, peer_on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, peer_on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, peer_on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, peer_on_close);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_http_messaging(option, 1); /* it may send what it wants */
    if (side == WEIR_CLIENT_SIDE)
        nghttp2_session_client_new2(&peer.session, callbacks, NULL, option);
    else
        nghttp2_session_server_new2(&peer.session, callbacks, NULL, option);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
}

static inline void peer_gone(void)
{
    for (int i = 0; i < PEER_STREAMS; i++) {
        free(peer.streams[i].fields.bytes);
        free(peer.streams[i].body.bytes);
    }
    nghttp2_session_del(peer.session);
    fake_gone();
}

/* --- bytes */

static inline bool peer_hears(void)
{
    size_t count = fake.output.length - peer.read;
    if (!count)
        return false;
    nghttp2_ssize rc = nghttp2_session_mem_recv2(
        peer.session, (const uint8_t *)fake.output.bytes + peer.read, count);
    CHECK(rc == (nghttp2_ssize)count);
    peer.read += count;
    return true;
}

static inline bool peer_speaks(void)
{
    const uint8_t *bytes;
    bool spoke = false;
    nghttp2_ssize count;
    while ((count = nghttp2_session_mem_send2(peer.session, &bytes)) > 0) {
        fake_feed((const char *)bytes, (size_t)count, peer.piece);
        spoke = true;
    }
    return spoke;
}

/* Until neither has more to say. */
static inline void talk(void)
{
    bool more = true;
    while (more) {
        more = peer_speaks();
        fake_turn();
        more |= peer_hears();
    }
}

/* A frame that nghttp2 does not make; behind what it has made. */
static inline void peer_frame(uint8_t type, uint8_t flags, int32_t id, const void *payload,
                              size_t length)
{
    uint8_t head[9] = {
        (uint8_t)(length >> 16), (uint8_t)(length >> 8), (uint8_t)length,    type,       flags,
        (uint8_t)(id >> 24),     (uint8_t)(id >> 16),    (uint8_t)(id >> 8), (uint8_t)id};
    peer_speaks();
    fake_feed((const char *)head, sizeof head, peer.piece);
    fake_feed(payload, length, peer.piece);
}

/* --- messages; fields end with a name that is NULL */

static inline size_t peer_fields(nghttp2_nv *to, const char *const *from)
{
    size_t count = 0;
    for (; from[0]; from += 2)
        to[count++] = (nghttp2_nv){(uint8_t *)(uintptr_t)from[0], (uint8_t *)(uintptr_t)from[1],
                                   strlen(from[0]), strlen(from[1]), 0};
    return count;
}

static inline int32_t peer_request(const char *const *fields, const char *body, bool keeps_open)
{
    nghttp2_nv nv[300];
    nghttp2_data_provider2 provider = {.read_callback = peer_read};
    size_t count = peer_fields(nv, fields);
    int32_t id = (int32_t)nghttp2_session_get_next_stream_id(peer.session);
    struct peer_stream *stream = peer_stream(id);
    stream->to_send = body;
    stream->left = body ? strlen(body) : 0;
    stream->keeps_open = keeps_open;
    CHECK(nghttp2_submit_request2(peer.session, NULL, nv, count,
                                  body || keeps_open ? &provider : NULL, NULL) == id);
    return id;
}

static inline int32_t peer_get(const char *path)
{
    const char *const fields[] = {":method", "GET",   ":scheme", "http", ":authority",
                                  "a.test",  ":path", path,      NULL};
    return peer_request(fields, NULL, false);
}

/* More of a body that keeps_open. */
static inline void peer_more(int32_t id, const char *body, bool keeps_open)
{
    struct peer_stream *stream = peer_stream(id);
    stream->to_send = body;
    stream->left = strlen(body);
    stream->keeps_open = keeps_open;
    nghttp2_session_resume_data(peer.session, id);
}

#endif
