/* core/io/tcp.h - connecting, and the carrier: TCP, or any other stream socket */
#ifndef CORE_IO_TCP_H
#define CORE_IO_TCP_H

#include <stdbool.h>

#include "core/io/carrier.h"
#include "core/io/loop.h"

struct tcp_connect;

/* A connected stream socket becomes a carrier that is not open yet. NULL, and the socket is closed,
 * when the system does not let it. */
struct carrier *tcp_adopt(struct loop *loop, int socket);

/* Connects. on_connect() comes exactly once, never from inside this call: with a carrier that is
 * not open yet and is the callback's, or NULL and a negative errno; not at all after
 * tcp_connect_cancel(). The handle is gone after on_connect(). */
struct tcp_connect *tcp_connect(struct loop *loop, const struct address *address,
                                void (*on_connect)(void *user, struct carrier *carrier, int error),
                                void *user);
void tcp_connect_cancel(struct tcp_connect *connect);

#endif
