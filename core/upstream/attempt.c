/* core/upstream/attempt.c - one try to reach a target: a connection that is there, or a new one */
#include "core/upstream/attempt.h"

#include "core/base/log.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/io/loop.h"
#include "core/upstream/access.h"

void attempt_init(struct attempt *attempt, struct worker *worker, const struct snapshot *snapshot,
                  const struct address *reached, attempt_judge *judge, struct mark *owner)
{
    attempt->worker = worker;
    attempt->snapshot = snapshot;
    attempt->reached = reached;
    attempt->judge = judge;
    attempt->owner = owner;
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

static void end_failed(struct attempt *attempt, weir_result error)
{
    attempt->error = error;
    attempt->state = ATTEMPT_FAILED;
    pool_line_leave(&attempt->place);
}

void attempt_start(struct attempt *attempt)
{
    attempt->number++;
    attempt->state = ATTEMPT_WAITING;
    attempt->alone = attempt->misdirected;
    attempt->reused = attempt->misdirected = attempt->inherited = false;
    attempt->times = (struct dial_times){0};
    attempt->forbidden = WEIR_OK;
    if (attempt->number > 1)
        metric_add(&attempt->worker->metrics, METRIC_ATTEMPTS_REPEATED, 1);
}

/* --- a connection that is there */

static struct connection *find(const struct attempt *attempt, const struct target *target)
{
    struct pool *pool = attempt->worker->pool;
    return attempt->number > 1 ? pool_take_busy(pool, target, attempt->connection)
                               : pool_take(pool, target);
}

static void take(struct attempt *attempt, const struct target *target)
{
    struct connection *connection = find(attempt, target);
    if (!connection)
        return;
    if (!allowed(attempt, target, &connection->carrier->facts.peer, true)) {
        pool_put(attempt->worker->pool, connection);
        attempt->alone = true;
        return;
    }
    metric_add(&attempt->worker->metrics, METRIC_SERVER_CONNECTIONS_REUSED, 1);
    attempt->connection = connection;
    attempt->reused = true;
    attempt->state = ATTEMPT_READY;
    if (attempt->place.origin)
        pool_line_leave(&attempt->place);
}

/* --- a new one */

/* Whether it has to wait for somebody's dial. */
static bool waits(struct attempt *attempt, const struct target *target)
{
    struct pool *pool = attempt->worker->pool;
    struct pool_place *place = &attempt->place;
    if (attempt->alone || !pool_may_share(pool, target, loop_now_ms(attempt->worker->loop))) {
        pool_line_leave(place);
        return false;
    }
    if (!place->origin) {
        place->turn = attempt->worker->turn;
        place->owner = attempt->owner;
        pool_line_join(pool, target, place);
    }
    return !pool_line_may_dial(place);
}

/* The protocols that may be spoken, by their names for ALPN. */
static void secure(struct attempt *attempt, const struct target *target)
{
    const char *alpn[DIAL_ALPN_MOST + 1] = {0};
    uint32_t count = 0;
    for (int i = 0; i < TARGET_PROTOCOLS_MOST; i++)
        if (target->protocols[i] && target->protocols[i]->alpn)
            alpn[count++] = target->protocols[i]->alpn;
    dial_secure(attempt->dial, target->tls, target->host, alpn,
                attempt->snapshot->timeouts.handshake);
}

/* Whether it dials now. */
static bool reach(struct attempt *attempt, const struct target *target)
{
    if (!attempt->alone)
        take(attempt, target);
    if (attempt->state != ATTEMPT_WAITING || waits(attempt, target))
        return false;
    attempt->dial = dial_start(attempt->worker, target->host, target->port,
                               attempt->snapshot->timeouts.connect, attempt->owner);
    if (target->tls)
        secure(attempt, target);
    return true;
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

/* A connection for which only others were asked is left to them, when it must not be had. */
static void on_connected(struct attempt *attempt, const struct target *target)
{
    struct worker *worker = attempt->worker;
    attempt->times = dial_times(attempt->dial);
    struct carrier *carrier = dial_take(attempt->dial);
    attempt->dial = NULL;
    struct connection *connection =
        connection_open(worker, carrier, target_protocol_on(target, carrier), WEIR_SERVER_SIDE);
    if (connection->closing) { /* its protocol did not like it */
        end_failed(attempt, WEIR_CONNECTION_TERMINATED);
        return;
    }
    pool_adopt(worker->pool, target, connection);
    pool_line_tell(&attempt->place);
    pool_line_leave(&attempt->place);
    if (attempt->inherited && !allowed(attempt, target, &carrier->facts.peer, true)) {
        pool_put(worker->pool, connection);
        attempt->alone = true;
        attempt->inherited = false;
        return;
    }
    attempt->connection = connection;
    attempt->state = ATTEMPT_READY;
}

/* The same happens to all in line. */
static void fail_line(struct attempt *attempt, weir_result error)
{
    pool_line_tell(&attempt->place);
    for (struct pool_place *place; (place = pool_line_next(&attempt->place));)
        end_failed(CONTAINER(place, struct attempt, place), error);
}

/* What one was forbidden says nothing of the others: then the next in line dials. That one of its
 * addresses must not be dialled says more about a name than how the others failed. */
static void on_dial_failed(struct attempt *attempt)
{
    weir_result error = dial_error(attempt->dial);
    bool forbade = dial_forbade(attempt->dial);
    attempt->times = dial_times(attempt->dial);
    dial_cancel(attempt->dial);
    attempt->dial = NULL;
    if (forbade && attempt->inherited) {
        attempt->inherited = false;
        attempt->forbidden = WEIR_OK;
        return;
    }
    if (!forbade)
        fail_line(attempt, error);
    end_failed(attempt, attempt->forbidden != WEIR_OK ? attempt->forbidden : error);
}

/* Whether it is over. */
static bool step_dial(struct attempt *attempt, const struct target *target)
{
    while (dial_state(attempt->dial) == DIAL_ADDRESSES)
        judge_addresses(attempt, target);
    if (dial_state(attempt->dial) == DIAL_CONNECTED)
        on_connected(attempt, target);
    else if (dial_state(attempt->dial) == DIAL_FAILED)
        on_dial_failed(attempt);
    return !attempt->dial;
}

enum attempt_state attempt_step(struct attempt *attempt, const struct target *target)
{
    bool goes_on = true; /* after a dial that was of no use there is another */
    while (goes_on && attempt->state == ATTEMPT_WAITING)
        goes_on = (attempt->dial || reach(attempt, target)) && step_dial(attempt, target);
    return attempt->state;
}

void attempt_attach(struct attempt *attempt, struct channel *server)
{
    connection_attach(attempt->connection, server);
    if (attempt->connection->protocol->flags & WEIR_PROTOCOL_SHARES)
        pool_offer(attempt->connection);
}

void attempt_cancel(struct attempt *attempt)
{
    if (!attempt->dial && !attempt->place.origin)
        return;
    struct pool_place *place = pool_line_next(&attempt->place);
    if (attempt->dial && place) {
        struct attempt *heir = CONTAINER(place, struct attempt, place);
        dial_hand_over(attempt->dial, heir->owner);
        heir->dial = attempt->dial;
        heir->inherited = true;
    } else if (attempt->dial) {
        dial_cancel(attempt->dial);
    }
    attempt->dial = NULL;
    pool_line_leave(&attempt->place);
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

bool attempt_is_misdirected(struct attempt *attempt, const struct channel *server)
{
    attempt->misdirected =
        attempt->reused && !server->sent_bytes && attempt->number < ATTEMPTS_MOST;
    return attempt->misdirected;
}
