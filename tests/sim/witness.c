/* tests/sim/witness.c - a filter that changes nothing and sees that what opened is closed */
#include "tests/sim/witness.h"

#include <inttypes.h>

#include "core/exchange/exchange.h"
#include "tests/sim/meddler.h"
#include "tests/sim/simulation.h"

static uint64_t opened, closed;

static weir_answer on_open(weir_exchange *public)
{
    (void)public;
    opened++;
    return WEIR_CONTINUE;
}

static weir_answer on_head(weir_exchange *public)
{
    const struct exchange *exchange = CONTAINER(public, struct filter_state, public)->exchange;
    if (!exchange->opened || exchange->finished)
        violated(NOTHING_LEFT, 0, "a filter sees an exchange outside of its open() and close()");
    return WEIR_CONTINUE;
}

static void on_close(weir_exchange *public)
{
    (void)public;
    closed++;
}

const struct filter_chain *witness_chain(void)
{
    static const weir_filter filter = {.size = sizeof filter,
                                       .name = "witness",
                                       .open = on_open,
                                       .request = on_head,
                                       .upstream = on_head,
                                       .response = on_head,
                                       .close = on_close};
    static const struct filter_use use = {.filter = &filter, .plugin = "witness"};
    static const struct filter_use *uses[1 + MEDDLERS] = {&use};
    static struct filter_chain chain;
    opened = closed = 0;
    meddler_uses(uses + 1);
    filter_chain_build(&chain, uses, simulation.filters ? 1 + MEDDLERS : 1);
    return &chain;
}

void witness_check(uint64_t exchanges)
{
    if (opened != closed || opened > exchanges || opened < exchanges / 2)
        violated(NOTHING_LEFT, 0,
                 "a filter was told of %" PRIu64 " beginnings and %" PRIu64 " ends of %" PRIu64
                 " exchanges",
                 opened, closed, exchanges);
    meddler_check();
}
