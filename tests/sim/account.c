/* tests/sim/account.c - the exchanges of this run: what was sent, what arrived, and what that proves */
#include "tests/sim/account.h"

#include <string.h>

#include "abi/protocol.h"
#include "core/base/memory.h"

static struct exchange *exchanges; /* by number */
static uint64_t begun;

void account_init(void)
{
    exchanges = memory_zeroed((simulation.exchanges + 1) * sizeof *exchanges);
    begun = 0;
}

void account_deinit(void)
{
    memory_free(exchanges);
}

struct exchange *account_next(void)
{
    if (begun == simulation.exchanges)
        return NULL;
    struct exchange *exchange = &exchanges[++begun];
    plan_make(exchange, begun, simulation.seed, simulation.faults);
    return exchange;
}

struct exchange *account_find(uint64_t number)
{
    return number && number <= begun ? &exchanges[number] : NULL;
}

struct exchange *account_find_tunnel(uint16_t port)
{
    for (uint64_t number = begun; number; number--)
        if (plan_tunnel_port(number) == port)
            return exchanges[number].tunnel ? &exchanges[number] : NULL;
    return NULL;
}

void account_receive(struct exchange *exchange, enum way way, const uint8_t *bytes, size_t count)
{
    struct direction *direction = &exchange->ways[way];
    if (!pattern_matches(exchange->number, way, direction->received, bytes, count))
        violated(BYTES_EXACT, exchange->number, "%s bytes from %llu on are wrong",
                 way == REQUEST ? "request" : "response", (unsigned long long)direction->received);
    direction->received += count;
    if (direction->received > direction->sent)
        violated(BYTES_EXACT, exchange->number, "more arrived than was sent");
}

/* What was sent and has not arrived is in one of the kernels' buffers or in weir. Weir may drop, and
 * so take in more, when the exchange failed or the answer went out before the request was read. */
void account_send(struct exchange *exchange, enum way way)
{
    const struct direction *direction = &exchange->ways[way];
    uint64_t under_way = direction->sent - direction->received;
    if (exchange->may_fail || exchange->may_break || exchange->ways[RESPONSE].ended)
        return;
    uint32_t buffers = direction->buffers + (exchange->attempts ? 0 : ENDPOINT_BYTES_MOST);
    if (under_way > WEIR_CREDIT + buffers)
        violated(CREDIT, exchange->number, "%llu bytes of the %s are under way, %u fit the kernels",
                 (unsigned long long)under_way, way == REQUEST ? "request" : "response", buffers);
}

void account_arrive(struct exchange *exchange, enum way way, const struct text *trailers)
{
    struct direction *direction = &exchange->ways[way];
    const char *what = way == REQUEST ? "request" : "response";
    struct text expected;
    if (!direction->ended)
        violated(TRUNCATED_NEVER_COMPLETED, exchange->number,
                 "the %s arrived as complete; its sender had not ended it", what);
    if (direction->received != direction->sent)
        violated(BYTES_EXACT, exchange->number, "the %s ended after %llu of %llu bytes", what,
                 (unsigned long long)direction->received, (unsigned long long)direction->sent);
    plan_trailers(exchange, way, &expected);
    if (trailers && (trailers->length != expected.length ||
                     memcmp(trailers->bytes, expected.bytes, expected.length)))
        violated(FIELDS_KEPT, exchange->number, "the %s's trailers changed", what);
    direction->arrived = true;
}

bool account_idempotent(const struct exchange *exchange)
{
    return !exchange->tunnel && strcmp(exchange->method, "POST") &&
           strcmp(exchange->method, "PATCH");
}

void account_attempt(struct exchange *exchange, bool reused)
{
    if (exchange->attempts && !exchange->attempt_repeatable)
        violated(NO_REPEAT_OF_PROCESSED, exchange->number, "%s is repeated although it may have "
                 "been processed", exchange->method);
    happened("origin sees exchange", exchange->number, exchange->attempts);
    exchange->attempts++;
    exchange->attempt_repeatable = reused && account_idempotent(exchange);
    exchange->ways[REQUEST].received = 0;
    exchange->ways[REQUEST].arrived = false;
}
