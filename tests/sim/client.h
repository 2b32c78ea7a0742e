/* tests/sim/client.h - random clients: send requests, check the answers, fail at times */
#ifndef TESTS_SIM_CLIENT_H
#define TESTS_SIM_CLIENT_H

#include "core/io/address.h"
#include "core/io/loop.h"
#include "tests/sim/plan.h"

/* Starts so many clients of the proxy at this address. on_last() is called once, when all exchanges
 * have begun. */
void clients_start(struct loop *loop, const struct address *proxy, uint32_t count,
                   void (*on_last)(void *user), void *user);
/* Weir drains: what it has not read anything of it need not answer. */
void clients_excuse_unread(void);
void clients_free(void);

/* What clients of either protocol have in common. The next exchange; NULL: there are no more, and
 * weir drains. */
struct plan *clients_next(void);
bool clients_are_served(void); /* weir does not drain yet */
struct endpoint *clients_connect(const struct address *from, const struct endpoint_events *events,
                                 void *user);
void clients_address(struct address *address, uint32_t number);

#endif
