/* core/upstream/attempt.c - one try to reach a target: a kept connection, or dial a new one */
#include "core/upstream/attempt.h"

#include "core/base/log.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/upstream/access.h"
#include "core/upstream/pool.h"

void attempt_init(struct attempt *attempt, struct worker *worker, const struct snapshot *snapshot,
                  const struct address *reached, attempt_judge *judge, struct mark *owner)
{
    *attempt = (struct attempt){
        .worker = worker, .snapshot = snapshot, .reached = reached, .owner = owner, .judge = judge};
}

/* Remembers why not, for the answer. */
static bool allowed(struct attempt *attempt, const struct target *target,
                    const struct address *address, bool again)
{
    if (target->group)
        return true;
    weir_result verdict = again ? access_judge_again(attempt->snapshot, address)
                                : access_judge(attempt->snapshot, attempt->reached, address);
    if (verdict == WEIR_OK)
        verdict = attempt->judge(attempt->owner, address);
    if (verdict != WEIR_OK)
        attempt->forbidden = verdict;
    return verdict == WEIR_OK;
}

static void fail(struct attempt *attempt, weir_result error)
{
    attempt->error = error;
    attempt->state = ATTEMPT_FAILED;
    attempt_cancel(attempt);
}

static void take(struct attempt *attempt, const struct target *target)
{
    struct connection *connection = pool_take(attempt->worker->pool, target);
    if (!connection)
        return;
    if (!allowed(attempt, target, &connection->carrier->facts.peer, true)) {
        pool_put(attempt->worker->pool, connection);
        return;
    }
    metric_add(&attempt->worker->metrics, METRIC_SERVER_CONNECTIONS_REUSED, 1);
    attempt->connection = connection;
    attempt->reused = true;
    attempt->state = ATTEMPT_READY;
}

void attempt_start(struct attempt *attempt, const struct target *target)
{
    attempt->number++;
    attempt->state = ATTEMPT_WAITING;
    attempt->connection = NULL;
    attempt->reused = false;
    attempt->times = (struct dial_times){0};
    attempt->forbidden = WEIR_OK;
    if (attempt->number > 1)
        metric_add(&attempt->worker->metrics, METRIC_ATTEMPTS_REPEATED, 1);
    else
        take(attempt, target);
    if (attempt->state == ATTEMPT_WAITING)
        attempt->dial = dial_start(attempt->worker, target->host, target->port,
                                   attempt->snapshot->timeouts.connect, attempt->owner);
}

static void judge_addresses(struct attempt *attempt, const struct target *target)
{
    const struct address *addresses;
    uint32_t count = dial_addresses(attempt->dial, &addresses);
    for (uint32_t i = 0; i < count; i++)
        if (!allowed(attempt, target, &addresses[i], false))
            dial_forbid(attempt->dial, i);
    dial_go(attempt->dial);
}

static void on_connected(struct attempt *attempt, const struct target *target)
{
    attempt->times = dial_times(attempt->dial);
    struct carrier *carrier = dial_take(attempt->dial);
    attempt->dial = NULL;
    attempt->connection =
        connection_open(attempt->worker, carrier, target->protocol, WEIR_SERVER_SIDE);
    pool_adopt(attempt->worker->pool, target, attempt->connection);
    attempt->state = ATTEMPT_READY;
}

static void on_dial_failed(struct attempt *attempt)
{
    /* That one of its addresses must not be dialled says more about a name than how the others
     * failed. */
    bool forbidden = attempt->forbidden != WEIR_OK;
    attempt->times = dial_times(attempt->dial);
    fail(attempt, forbidden ? attempt->forbidden : dial_error(attempt->dial));
}

enum attempt_state attempt_step(struct attempt *attempt, const struct target *target)
{
    if (!attempt->dial)
        return attempt->state;
    while (dial_state(attempt->dial) == DIAL_ADDRESSES)
        judge_addresses(attempt, target);
    if (dial_state(attempt->dial) == DIAL_CONNECTED)
        on_connected(attempt, target);
    else if (dial_state(attempt->dial) == DIAL_FAILED)
        on_dial_failed(attempt);
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
