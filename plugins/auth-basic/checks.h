/* plugins/auth-basic/checks.h - passwords that are being checked, on threads of their own
 *
 * A hash takes long by design, so it is made off the worker. However many wait for the same name
 * and secret, it is made once; when nobody waits for it any more and it has not begun, not at all.
 * One for each instance and worker; all of it on that worker. */
#ifndef PLUGINS_AUTH_BASIC_CHECKS_H
#define PLUGINS_AUTH_BASIC_CHECKS_H

#include "abi/filter.h"
#include "abi/services.h"
#include "plugins/auth-basic/digest.h"

enum { CHECKS_MOST = 256 }; /* under way at the same time */

struct check;

struct checks {
    const weir_asynchronous_host *host;
    weir_reference owner; /* whose worker_event() is told */
    struct check *first;
    uint32_t count;
};

/* In what waits. Zeroed: it waits for nothing. */
struct waiter {
    struct waiter *next;
    struct check *check; /* NULL: for nothing */
    weir_reference exchange;
};

/* What is checked; borrowed. */
struct question {
    struct digest digest;
    const char *hash; /* of the user, or a decoy, */
    bool decoy;       /* which nothing matches */
    weir_string secret;
};

/* The waiter's exchange gets a WEIR_EVENT_POST, whose tag is 1 when they match and else 0.
 * WEIR_TOO_MUCH: too many are under way. */
weir_result checks_wait(struct checks *checks, const struct question *question,
                        struct waiter *waiter);
/* It waits no longer. */
void checks_leave(struct checks *checks, struct waiter *waiter);
/* Of the owner's WEIR_EVENT_WORK: tells who waits. Returns whether there was an outcome, which
 * *digest and *good are. */
bool checks_done(struct checks *checks, const weir_event *event, struct digest *digest, bool *good);
/* The owner is over, and everything of it. */
void checks_end(struct checks *checks);

#endif
