/* core/upstream/attempt.c - one try to reach a target: a kept connection, or dial a new one */
#include "core/upstream/attempt.h"

#include "core/base/log.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/upstream/pool.h"

static void take(struct attempt *attempt, struct worker *worker, const struct target *target)
{
    attempt->connection = pool_take(worker->pool, target);
    attempt->reused = attempt->connection != NULL;
    if (!attempt->connection)
        return;
    metric_add(&worker->metrics, METRIC_SERVER_CONNECTIONS_REUSED, 1);
    attempt->state = ATTEMPT_READY;
}

void attempt_start(struct attempt *attempt, struct worker *worker, const struct target *target,
                   struct mark *owner)
{
    uint32_t number = attempt->number + 1;
    *attempt = (struct attempt){.state = ATTEMPT_WAITING, .number = number};
    if (number > 1)
        metric_add(&worker->metrics, METRIC_ATTEMPTS_REPEATED, 1);
    else
        take(attempt, worker, target);
    if (attempt->state == ATTEMPT_WAITING)
        attempt->dial = dial_start(worker, target->host, target->port,
                                   worker->snapshot->timeouts.connect, owner);
}

static void on_connected(struct attempt *attempt, struct worker *worker,
                         const struct target *target)
{
    struct carrier *carrier = dial_take(attempt->dial);
    attempt->dial = NULL;
    attempt->connection = connection_open(worker, carrier, target->protocol, WEIR_SERVER_SIDE);
    pool_adopt(worker->pool, target, attempt->connection);
    attempt->state = ATTEMPT_READY;
}

enum attempt_state attempt_step(struct attempt *attempt, struct worker *worker,
                                const struct target *target)
{
    if (!attempt->dial)
        return attempt->state;
    while (dial_state(attempt->dial) == DIAL_ADDRESSES)
        dial_go(attempt->dial);
    if (dial_state(attempt->dial) == DIAL_CONNECTED) {
        on_connected(attempt, worker, target);
    } else if (dial_state(attempt->dial) == DIAL_FAILED) {
        attempt->error = dial_error(attempt->dial);
        attempt->state = ATTEMPT_FAILED;
        attempt_cancel(attempt);
    }
    return attempt->state;
}

void attempt_cancel(struct attempt *attempt)
{
    if (attempt->dial)
        dial_cancel(attempt->dial);
    attempt->dial = NULL;
}

/* RFC 9110 9.2.2; other methods may do something each time. */
static bool idempotent(weir_string method)
{
    static const weir_string methods[] = {WEIR_STRING("GET"),     WEIR_STRING("HEAD"),
                                          WEIR_STRING("PUT"),     WEIR_STRING("DELETE"),
                                          WEIR_STRING("OPTIONS"), WEIR_STRING("TRACE")};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (string_equal(method, methods[i]))
            return true;
    return false;
}

bool attempt_may_repeat(const struct attempt *attempt, const struct channel *server,
                        weir_string method, uint64_t body_bytes)
{
    if (body_bytes || server->answered || attempt->number >= ATTEMPTS_MOST)
        return false;
    if (server->unprocessed)
        return true;
    return attempt->reused && server->failed == WEIR_CONNECTION_TERMINATED && idempotent(method);
}
