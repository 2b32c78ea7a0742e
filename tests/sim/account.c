/* tests/sim/account.c - the exchanges of this run: what was sent, and what arrived */
#include "tests/sim/account.h"

#include <string.h>

#include "abi/protocol.h"
#include "core/base/memory.h"
#include "tests/sim/meddler.h"

enum { CALM_US = 20 * 1000 * 1000, UNNOTICED_US = 5 * 1000 * 1000, HOSTS_MOST = 32 };

static struct plan *exchanges; /* by number */
static uint64_t begun, first_open;

/* What was last done to each host, by number. */
static struct {
    bool was;
    uint64_t at_us;
    enum disturbance disturbance;
} disturbed[HOSTS_MOST];

void account_init(void)
{
    exchanges = memory_zeroed((simulation.exchanges + 1) * sizeof *exchanges);
    begun = 0;
    first_open = 1;
    memset(disturbed, 0, sizeof disturbed);
}

void account_deinit(void)
{
    memory_free(exchanges);
}

const struct plan *account_peek(void)
{
    if (begun == simulation.exchanges)
        return NULL;
    struct plan *plan = &exchanges[begun + 1];
    if (!plan->number)
        plan_make(plan, begun + 1, simulation.seed, simulation.faults);
    return plan;
}

struct plan *account_next(void)
{
    return account_peek() ? &exchanges[++begun] : NULL;
}

/* --- what happens to a host's connections */

static uint32_t number_of(const struct host *host)
{
    const struct host *all;
    plan_hosts(&all);
    return (uint32_t)(host - all);
}

static void excuse(struct plan *plan, enum disturbance disturbance)
{
    bool repeats =
        plan->ways[REQUEST].delivery == BODY_NONE &&
        (disturbance == UNPROCESSED || (disturbance == CLOSED_IDLE && account_idempotent(plan)));
    plan->may_fail |= !repeats;
    plan->may_break |= disturbance == CUT;
}

bool account_disturb(const struct host *host, enum disturbance disturbance)
{
    uint32_t at = number_of(host);
    if (disturbed[at].was && simulation.now_us - disturbed[at].at_us < CALM_US)
        return false;
    disturbed[at].was = true;
    disturbed[at].at_us = simulation.now_us;
    disturbed[at].disturbance = disturbance;
    while (first_open <= begun && exchanges[first_open].over)
        first_open++;
    for (uint64_t number = first_open; number <= begun; number++)
        if (!exchanges[number].over && exchanges[number].host == host)
            excuse(&exchanges[number], disturbance);
    return true;
}

void account_begin(struct plan *plan, bool h2)
{
    uint32_t at = number_of(plan->host);
    plan->h2[REQUEST] = h2;
    plan->may_fail = plan->fault == HOST_FAILS;
    if (disturbed[at].was && simulation.now_us - disturbed[at].at_us < UNNOTICED_US)
        excuse(plan, disturbed[at].disturbance);
}

/* --- the exchanges */

struct plan *account_find(uint64_t number)
{
    return number && number <= begun ? &exchanges[number] : NULL;
}

struct plan *account_find_tunnel(uint16_t port)
{
    for (uint64_t number = begun; number; number--)
        if (plan_tunnel_port(number) == port)
            return exchanges[number].tunnel ? &exchanges[number] : NULL;
    return NULL;
}

void account_receive(struct plan *plan, enum way way, const uint8_t *bytes, size_t count)
{
    struct direction *direction = &plan->ways[way];
    if (!pattern_matches(plan->number, way, direction->received, bytes, count))
        violated(BYTES_EXACT, plan->number, "%s bytes from %llu on are wrong",
                 way == REQUEST ? "request" : "response", (unsigned long long)direction->received);
    direction->received += count;
    if (direction->received > direction->sent)
        violated(BYTES_EXACT, plan->number, "more arrived than was sent");
}

/* Each filter that emits has credit of its own, and one may want a body whole. */
static uint64_t filters_may_hold(const struct plan *plan)
{
    if (!simulation.filters)
        return 0;
    return (uint64_t)WEIR_CREDIT * MEDDLERS + (meddler_buffers(plan->number) ? UINT32_MAX : 0);
}

/* What was sent and has not arrived is in one of the kernels' buffers or in weir. Weir may drop,
 * and so take in more, when the exchange failed or was answered before the request was read. */
void account_send(struct plan *plan, enum way way)
{
    const struct direction *direction = &plan->ways[way];
    uint64_t under_way = direction->sent - direction->received;
    if (plan->may_fail || plan->may_break || plan->ways[RESPONSE].ended)
        return;
    uint32_t buffers = direction->buffers + (plan->attempts ? 0 : ENDPOINT_BYTES_MOST);
    uint32_t most = plan->h2[way] ? WEIR_CREDIT_MOST : WEIR_CREDIT; /* windows grow */
    if (under_way > most + buffers + filters_may_hold(plan))
        violated(CREDIT, plan->number, "%llu bytes of the %s are under way, %u fit the kernels",
                 (unsigned long long)under_way, way == REQUEST ? "request" : "response", buffers);
}

void account_arrive(struct plan *plan, enum way way, const struct text *trailers)
{
    struct direction *direction = &plan->ways[way];
    const char *what = way == REQUEST ? "request" : "response";
    struct text expected;
    direction->arrived = true;
    if (way == REQUEST && plan->tunnel && plan->may_break && !direction->received)
        return; /* the client went while weir connected: it never began to use the connection */
    if (!direction->ended)
        violated(TRUNCATED_NEVER_COMPLETED, plan->number,
                 "the %s arrived as complete; its sender had not ended it", what);
    if (direction->received != direction->sent)
        violated(BYTES_EXACT, plan->number, "the %s ended after %llu of %llu bytes", what,
                 (unsigned long long)direction->received, (unsigned long long)direction->sent);
    plan_trailers(plan, way, &expected);
    if (trailers && (trailers->length != expected.length ||
                     memcmp(trailers->bytes, expected.bytes, expected.length)))
        violated(FIELDS_KEPT, plan->number, "the %s's trailers changed", what);
}

bool account_idempotent(const struct plan *plan)
{
    return !plan->tunnel && strcmp(plan->method, "POST") && strcmp(plan->method, "PATCH");
}

void account_attempt(struct plan *plan, bool reused)
{
    if (plan->attempts && !plan->attempt_repeatable)
        violated(NO_REPEAT_OF_PROCESSED, plan->number,
                 "%s is repeated although it may have been processed", plan->method);
    happened("origin sees exchange", plan->number, plan->attempts);
    plan->attempts++;
    plan->attempt_repeatable = reused && account_idempotent(plan);
    plan->ways[REQUEST].received = 0;
    plan->ways[REQUEST].arrived = false;
}
