/* core/io/tcp.h - TCP: listeners, connecting, and the TCP carrier */
#ifndef CORE_IO_TCP_H
#define CORE_IO_TCP_H

#include <stdbool.h>

#include "core/io/carrier.h"
#include "core/io/loop.h"

struct tcp_listener;
struct tcp_connect;

/* [main] Proves that the address is free by a plain bind and fills in the port when it is 0.
 * 0, or a negative errno. */
int tcp_probe(struct address *address);

/* Listens; `share`: several workers bind the same address (SO_REUSEPORT). Each accepted connection
 * is given to on_accept() as a carrier that is not open yet; the callback owns it.
 * 0, or a negative errno. */
int tcp_listen(struct loop *loop, const struct address *address, bool share,
               void (*on_accept)(void *user, struct carrier *carrier), void *user,
               struct tcp_listener **listener);
void tcp_listener_close(struct tcp_listener *listener);

/* Connects. on_connect() comes exactly once, never from inside this call: with a carrier that is
 * not open yet and is the callback's, or NULL and a negative errno; not at all after
 * tcp_connect_cancel(). The handle is gone after on_connect(). */
struct tcp_connect *tcp_connect(struct loop *loop, const struct address *address,
                                void (*on_connect)(void *user, struct carrier *carrier, int error),
                                void *user);
void tcp_connect_cancel(struct tcp_connect *connect);

#endif
