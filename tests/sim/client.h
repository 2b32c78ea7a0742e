/* tests/sim/client.h - random clients: send requests, check the answers, fail at times */
#ifndef TESTS_SIM_CLIENT_H
#define TESTS_SIM_CLIENT_H

#include "core/io/address.h"
#include "core/io/loop.h"

/* Starts so many clients of the proxy at this address. When all exchanges are over and all their
 * connections closed, on_over() is called once. */
void clients_start(struct loop *loop, const struct address *proxy, uint32_t count,
                   void (*on_over)(void *user), void *user);
void clients_free(void);

#endif
