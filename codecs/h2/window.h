/* codecs/h2/window.h - how much a peer may send on one stream before core has passed it on
 *
 * A window begins at WEIR_CREDIT. It doubles, up to WEIR_CREDIT_MOST, when it was all that held the
 * peer up: it was used up within two round trips, and core passed as much on meanwhile. It is
 * halved when core held all of it for longer. The windows of one connection are never more than
 * H2_WINDOWS_MOST in sum. */
#ifndef CODECS_H2_WINDOW_H
#define CODECS_H2_WINDOW_H

#include "abi/protocol.h"

enum { H2_WINDOWS_MOST = 8 << 20 };

struct h2_stream;

struct h2_window {
    size_t size;
    size_t owed;         /* received, and not passed on */
    size_t used, passed; /* received, and passed on, since then: */
    uint64_t since_ms;
    uint64_t received_ms; /* the last of them */
};

/* What a window begins with where there may be so many streams. */
uint32_t h2_window_first(uint32_t streams);
void h2_window_open(struct h2_stream *stream, uint32_t size);
void h2_window_close(struct h2_stream *stream);
/* The connection's own SETTINGS were sent; they were acknowledged. */
void h2_window_settings_sent(weir_connection *connection);
void h2_window_settings_known(weir_connection *connection);
/* Bytes came; core has passed bytes on. */
void h2_window_received(struct h2_stream *stream, size_t bytes);
void h2_window_passed_on(struct h2_stream *stream, size_t bytes);

#endif
