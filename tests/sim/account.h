/* tests/sim/account.h - the exchanges of this run: what was sent, and what arrived */
#ifndef TESTS_SIM_ACCOUNT_H
#define TESTS_SIM_ACCOUNT_H

#include "tests/sim/message.h"
#include "tests/sim/plan.h"

void account_init(void);
void account_deinit(void);
/* The next exchange, planned; NULL: there are no more. account_next() also begins it. */
const struct plan *account_peek(void);
struct plan *account_next(void);
/* One that was begun; NULL: there is none of that number, or at that port. */
struct plan *account_find(uint64_t number);
struct plan *account_find_tunnel(uint16_t port);

/* The receiver got these bytes of the body or tunnel. */
void account_receive(struct plan *plan, enum way way, const uint8_t *bytes, size_t count);
/* The sender has sent some. */
void account_send(struct plan *plan, enum way way);
/* The receiver holds this direction to be complete; with these trailers, if it may have any. */
void account_arrive(struct plan *plan, enum way way, const struct text *trailers);
/* An origin has the request's head; `reused`: on a connection that has served before. */
void account_attempt(struct plan *plan, bool reused);
/* Whether RFC 9110 9.2.2 lets a proxy repeat it when a reused connection died under it. */
bool account_idempotent(const struct plan *plan);

#endif
