/* codecs/h2/window.c - how much a peer may send on one stream before core has passed it on */
#include "codecs/h2/window.h"

#include "codecs/h2/connection.h"

uint32_t h2_window_first(uint32_t streams)
{
    uint32_t share = H2_WINDOWS_MOST / (streams ? streams : 1);
    return share < WEIR_CREDIT ? share : WEIR_CREDIT;
}

void h2_window_open(struct h2_stream *stream, uint32_t size)
{
    stream->window = (struct h2_window){.size = size, .since_ms = h2_now_ms()};
    stream->h2->windows += size;
}

void h2_window_close(struct h2_stream *stream)
{
    stream->h2->windows -= stream->window.size;
}

void h2_window_settings_sent(weir_connection *connection)
{
    h2_of(connection)->settings_ms = h2_now_ms();
}

void h2_window_settings_known(weir_connection *connection)
{
    struct h2 *h2 = h2_of(connection);
    if (h2->settings_ms)
        h2->round_trip_ms = h2_now_ms() - h2->settings_ms;
    h2->settings_ms = 0;
}

static void resize(struct h2_stream *stream, size_t size)
{
    struct h2 *h2 = stream->h2;
    size_t others = h2->windows - stream->window.size;
    if (size == stream->window.size || others + size > H2_WINDOWS_MOST)
        return;
    h2->windows = others + size;
    stream->window.size = size;
    nghttp2_session_set_local_window_size(h2->session, NGHTTP2_FLAG_NONE, stream->id,
                                          (int32_t)size);
}

static void grow(struct h2_stream *stream)
{
    size_t size = stream->window.size * 2;
    resize(stream, size < WEIR_CREDIT_MOST ? size : WEIR_CREDIT_MOST);
}

static void shrink(struct h2_stream *stream)
{
    size_t size = stream->window.size;
    if (size > WEIR_CREDIT)
        resize(stream, size / 2 > WEIR_CREDIT ? size / 2 : WEIR_CREDIT);
}

/* Where a round trip takes no time the window holds up nobody. */
static bool held_peer_up(const struct h2_stream *stream)
{
    const struct h2_window *window = &stream->window;
    uint64_t round_trip_ms = stream->h2->round_trip_ms;
    return round_trip_ms && window->received_ms - window->since_ms <= 2 * round_trip_ms &&
           window->passed >= window->size / 2;
}

void h2_window_received(struct h2_stream *stream, size_t bytes)
{
    struct h2_window *window = &stream->window;
    window->received_ms = h2_now_ms();
    window->owed += bytes;
    window->used += bytes;
    if (window->used < window->size)
        return;
    if (held_peer_up(stream))
        grow(stream);
    window->used = window->passed = 0;
    window->since_ms = window->received_ms;
}

void h2_window_passed_on(struct h2_stream *stream, size_t bytes)
{
    struct h2_window *window = &stream->window;
    uint64_t waited_ms = h2_now_ms() - window->received_ms;
    if (window->owed >= window->size && waited_ms > 2 * stream->h2->round_trip_ms)
        shrink(stream);
    window->owed -= bytes < window->owed ? bytes : window->owed;
    window->passed += bytes;
}
