/* codecs/h2/stream.c - the life of a stream, and what core may send on it */
#include <string.h>

#include "codecs/h2/connection.h"

struct h2_stream *h2_stream_new(struct h2 *h2, int32_t id)
{
    uint8_t *bytes;
    weir_buffer *memory = h2_host->buffer_new(sizeof(struct h2_stream), &bytes);
    struct h2_stream *stream = (struct h2_stream *)(void *)bytes;
    memset(stream, 0, sizeof *stream);
    stream->memory = memory;
    stream->h2 = h2;
    stream->id = id;
    stream->send_left = -1;
    h2_window_open(stream, h2->first_window);
    stream->next = h2->streams;
    stream->link = &h2->streams;
    if (h2->streams)
        h2->streams->link = &stream->next;
    h2->streams = stream;
    h2->stream_count++;
    return stream;
}

void h2_stream_attach(struct h2_stream *stream, weir_channel *channel)
{
    stream->channel = channel;
    stream->h2->channel_count++;
    *(struct h2_stream **)channel->state = stream;
}

static void unlist_passed(struct h2_stream *stream)
{
    struct h2_stream **at = &stream->h2->passed;
    while (stream->is_passed && *at != stream)
        at = &(*at)->next_passed;
    if (stream->is_passed)
        *at = stream->next_passed;
}

void h2_stream_drop_output(struct h2_stream *stream)
{
    h2_queue_clear(h2_host, &stream->queue);
    h2_host->buffer_release(stream->trailers_owner);
    stream->trailers_owner = NULL;
    stream->trailers = NULL;
    stream->trailer_count = 0;
    h2_host->buffer_release(stream->held_owner);
    stream->held_owner = NULL;
    stream->held = NULL;
}

void h2_stream_closed(struct h2_stream *stream)
{
    stream->closed = true;
    h2_stream_drop_output(stream);
    if (!stream->channel || stream->orphan)
        return;
    stream->orphan = true;
    stream->h2->orphans++;
}

void h2_stream_free(struct h2_stream *stream)
{
    unlist_passed(stream);
    h2_window_close(stream);
    h2_stream_drop_output(stream);
    *stream->link = stream->next;
    if (stream->next)
        stream->next->link = stream->link;
    stream->h2->stream_count--;
    h2_host->buffer_release(stream->memory);
}

void h2_stream_detach(struct h2_stream *stream)
{
    stream->h2->channel_count--;
    stream->h2->orphans -= stream->orphan;
    stream->orphan = false;
    stream->channel = NULL;
    if (stream->closed)
        h2_stream_free(stream);
}

/* --- credit */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t h2_stream_window(const struct h2_stream *stream)
{
    nghttp2_session *session = stream->h2->session;
    return least(nghttp2_session_get_stream_remote_window_size(session, stream->id),
                 nghttp2_session_get_remote_window_size(session));
}

/* The peer's windows say how much may be under way; what is already is taken off. More than
 * WEIR_CREDIT would only move the waiting bytes from core to here. */
void h2_stream_offer(struct h2_stream *stream)
{
    if (!stream->channel || stream->closed || !stream->id || stream->end_wanted)
        return;
    int64_t window = h2_stream_window(stream);
    int64_t waiting = (int64_t)(stream->credit + stream->queue.bytes);
    int64_t bytes = least(window - waiting, WEIR_CREDIT - waiting - (int64_t)stream->passed);
    if (bytes <= 0)
        return;
    stream->credit += (size_t)bytes;
    h2_api->grant(stream->channel, (size_t)bytes);
}

void h2_stream_dropping(struct h2_stream *stream)
{
    size_t bytes = WEIR_CREDIT - stream->credit;
    stream->credit += bytes;
    if (bytes)
        h2_api->grant(stream->channel, bytes);
}

void h2_offer_all(struct h2 *h2)
{
    for (struct h2_stream *stream = h2->streams; stream; stream = stream->next)
        h2_stream_offer(stream);
}

void h2_passed_left(struct h2 *h2)
{
    h2->left = true;
    while (h2->passed) {
        struct h2_stream *stream = h2->passed;
        h2->passed = stream->next_passed;
        stream->is_passed = false;
        if (stream->channel)
            h2_api->sent(stream->channel, stream->passed);
        stream->passed = 0;
        h2_stream_offer(stream);
    }
}
