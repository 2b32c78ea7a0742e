/* tests/sim/client.h - random clients: send requests, check the answers, fail at times */
#ifndef TESTS_SIM_CLIENT_H
#define TESTS_SIM_CLIENT_H

#include "core/io/address.h"
#include "core/io/loop.h"

/* Starts so many clients of the proxy at this address. on_last() is called once, when all exchanges
 * have begun. */
void clients_start(struct loop *loop, const struct address *proxy, uint32_t count,
                   void (*on_last)(void *user), void *user);
/* Weir drains: what it has not read anything of it need not answer. */
void clients_excuse_unread(void);
void clients_free(void);

#endif
