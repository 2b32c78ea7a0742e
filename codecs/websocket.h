/* codecs/websocket.h - the keys of a WebSocket's handshake in HTTP/1.1 (RFC 6455 4)
 *
 * Only there it has them: whoever joins HTTP/1.1 to a later version makes or answers them. */
#ifndef CODECS_WEBSOCKET_H
#define CODECS_WEBSOCKET_H

#include "abi/weir.h"

enum { WEBSOCKET_KEY_BYTES = 24, WEBSOCKET_ACCEPT_BYTES = 28 };

/* A Sec-WebSocket-Key that nobody can guess. */
void websocket_make_key(char key[WEBSOCKET_KEY_BYTES]);
/* The Sec-WebSocket-Accept that agrees to a key. */
void websocket_accept(const char key[WEBSOCKET_KEY_BYTES], char accept[WEBSOCKET_ACCEPT_BYTES]);

#endif
