/* core/upstream/attempt.h - one try to reach a target: a kept connection, or dial a new one
 *
 * Embedded in the exchange, whose step drives it: attempt_step() until it is ready or failed. What
 * happens meanwhile marks the exchange. Judges whether a failed try may be repeated. [worker] */
#ifndef CORE_UPSTREAM_ATTEMPT_H
#define CORE_UPSTREAM_ATTEMPT_H

#include "core/connection/connection.h"
#include "core/upstream/dial.h"
#include "core/upstream/target.h"

enum { ATTEMPTS_MOST = 3 }; /* a failed try is repeated at most twice */

enum attempt_state { ATTEMPT_NONE, ATTEMPT_WAITING, ATTEMPT_READY, ATTEMPT_FAILED };

/* Whether one address may be reached for this owner, as far as the owner is concerned: WEIR_OK, or
 * why not. Called from within attempt_start() and attempt_step(). */
typedef weir_result attempt_judge(struct mark *owner, const struct address *address);

struct attempt {
    struct worker *worker;
    const struct snapshot *snapshot;
    const struct address *reached; /* where the client reached weir */
    struct mark *owner;
    attempt_judge *judge;
    enum attempt_state state;
    uint32_t number; /* 1 for the first */
    bool reused;     /* the connection had served before */
    struct dial_times times;
    struct dial *dial;
    struct connection *connection;
    weir_result forbidden; /* why an address must not be dialled */
    weir_result error;     /* of ATTEMPT_FAILED */
};

/* Before the first try; the pointers are kept. */
void attempt_init(struct attempt *attempt, struct worker *worker, const struct snapshot *snapshot,
                  const struct address *reached, attempt_judge *judge, struct mark *owner);
/* Starts the first or the next try; a repeated one does not take a kept connection. Whatever
 * address it would reach is judged first (access.h, then the owner), unless the operator named it.
 * A kept connection that may not be taken is left for others, and a new one dialled. */
void attempt_start(struct attempt *attempt, const struct target *target);
enum attempt_state attempt_step(struct attempt *attempt, const struct target *target);
/* Nobody waits for it any more. The connection, if there is one, is not touched. */
void attempt_cancel(struct attempt *attempt);

/* Whether the request may be sent again although this try may have reached a server: provably not
 * processed, or (RFC 9110 9.2.2) a kept connection died before any byte of an answer and the method
 * is idempotent; and in either case nothing of the body was taken. */
bool attempt_may_repeat(const struct attempt *attempt, const struct channel *server,
                        weir_string method, uint64_t body_bytes);

#endif
