/* core/exchange/relay.h - moves body and tunnel bytes from one leg to the other, by credit
 *
 * One relay for bodies, tunnels and every protocol: it does not know what it carries. */
#ifndef CORE_EXCHANGE_RELAY_H
#define CORE_EXCHANGE_RELAY_H

#include "core/connection/channel.h"

/* One direction of an exchange. */
struct flow {
    struct channel *source, *sink;
    uint64_t in_transit; /* taken from the source, not yet known to have left the sink */
    bool ended;          /* the end was passed on */
};

enum { RELAY_BYTES_MOST = 65536 }; /* in one step, so that neighbours get their turn */

/* Passes on what the credit of the sink allows, and the end or the trailers behind the last byte;
 * returns credit to the source for what has left. Returns whether anything moved. */
bool relay_pump(struct flow *flow);
/* There is something to pass on, and nothing but the bound of one step was in its way. */
bool relay_may_go_on(const struct flow *flow);
/* Nothing can be passed on now: what the source delivered stays beyond this turn, in buffers of its
 * size. */
void relay_wait(struct flow *flow);
/* Everything that the source delivered was passed on. */
bool relay_drained(const struct flow *flow);

#endif
