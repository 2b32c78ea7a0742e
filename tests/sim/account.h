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
/* Its client sends it, or sends it once more, as HTTP/1.1 or HTTP/2. */
void account_begin(struct plan *plan, bool h2);
/* One that was begun; NULL: there is none of that number, or at that port. */
struct plan *account_find(uint64_t number);
struct plan *account_find_tunnel(uint16_t port);

/* The receiver got these bytes of the body or tunnel. */
void account_receive(struct plan *plan, enum way way, const uint8_t *bytes, size_t count);
/* The sender has sent some. */
void account_send(struct plan *plan, enum way way);
/* The receiver holds this direction to be complete; with these trailers, if it may have any. */
void account_arrive(struct plan *plan, enum way way, const struct text *trailers);

/* What happens to one connection of a host may fail exchanges that its end has not seen yet. */
enum disturbance {
    UNPROCESSED, /* GOAWAY: only what has a body is not sent again */
    CLOSED_IDLE, /* nor what may not be done twice */
    CUT          /* nor anything else */
};
/* False: this host was disturbed just now, and is not to be again: what is sent again is only sent
 * again so often. */
bool account_disturb(const struct host *host, enum disturbance disturbance);

/* An origin has the request's head; `reused`: on a connection that has served before. */
void account_attempt(struct plan *plan, bool reused);
/* Whether RFC 9110 9.2.2 lets a proxy repeat it when a reused connection died under it. */
bool account_idempotent(const struct plan *plan);

#endif
