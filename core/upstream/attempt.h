/* core/upstream/attempt.h - one try to reach a target: a connection that is there, or a new one
 *
 * Embedded in the exchange, whose step drives it: attempt_step() until it is ready or failed. What
 * happens meanwhile marks the exchange. Judges whether a failed try may be repeated. [worker] */
#ifndef CORE_UPSTREAM_ATTEMPT_H
#define CORE_UPSTREAM_ATTEMPT_H

#include "core/connection/connection.h"
#include "core/upstream/dial.h"
#include "core/upstream/pool.h"

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
    uint32_t number;  /* 1 for the first */
    bool reused;      /* the connection had served before */
    bool alone;       /* takes no connection of others and waits for none */
    bool misdirected; /* so will the next one */
    bool inherited;   /* others judged the dial's addresses before */
    struct dial_times times;
    struct pool_place place;       /* in line for a connection that may be shared */
    struct dial *dial;             /* NULL: none, or it is the first one's in line */
    struct connection *connection; /* of ATTEMPT_READY; later only which it was */
    weir_result forbidden;         /* why an address must not be dialled */
    weir_result error;             /* of ATTEMPT_FAILED */
};

/* Of zeroed memory, before the first try; the pointers are kept. */
void attempt_init(struct attempt *attempt, struct worker *worker, const struct snapshot *snapshot,
                  const struct address *reached, attempt_judge *judge, struct mark *owner);
/* Begins the first or the next try, which attempt_step() then makes; a repeated one takes no idle
 * connection, and not the one that failed. Whatever address it would reach is judged first
 * (access.h, then the owner), unless the operator named it: also that of a connection which is
 * there or for which it waited. One that may not be taken is left for others, and a new one dialled
 * for this try alone. */
void attempt_start(struct attempt *attempt);
/* ATTEMPT_READY is to be followed by attempt_attach() before anything else happens. */
enum attempt_state attempt_step(struct attempt *attempt, const struct target *target);
void attempt_attach(struct attempt *attempt, struct channel *server);
/* Nobody waits for it any more: others who wait for its dial go on. The connection, if there is
 * one, is not touched. */
void attempt_cancel(struct attempt *attempt);

/* Whether the request may be sent again although this try may have reached a server: provably not
 * processed, or (RFC 9110 9.2.2) a kept connection died before any byte of an answer and the method
 * is idempotent; and in either case nothing of the body was taken. */
bool attempt_may_repeat(const struct attempt *attempt, const struct channel *server,
                        weir_string method, uint64_t body_bytes);
/* Whether the answer 421 only means this connection, which had served before, and nothing of the
 * body was taken: the next try has one of its own (RFC 9110 15.5.20). */
bool attempt_is_misdirected(struct attempt *attempt, const struct channel *server);

#endif
