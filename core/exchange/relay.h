/* core/exchange/relay.h - moves body and tunnel bytes from one leg to the other, by credit
 *
 * One relay for bodies, tunnels and every protocol: it does not know what it carries. */
#ifndef CORE_EXCHANGE_RELAY_H
#define CORE_EXCHANGE_RELAY_H

#include "core/connection/channel.h"

/* One direction of an exchange. */
struct flow {
    struct channel *source, *sink;
    uint64_t in_transit;        /* taken from the source, and not given back to it yet */
    struct stage *first, *last; /* of filters that see the bytes (stage.h); NULL: none */
    uint8_t staged;             /* so many filters were looked at for that */
    bool trailing;              /* the filters see the trailers */
    bool ended;                 /* the end was passed on */
};

enum { RELAY_BYTES_MOST = 65536 }; /* in one step, so that neighbours get their turn */

/* Returns credit to the source, and to the filters between, for what has left. */
void relay_return_credit(struct flow *flow);
/* Passes on what the credit of the sink allows, and the end behind the last byte when no trailers
 * follow. Returns whether anything moved. */
bool relay_pump(struct flow *flow);
/* Nothing but trailers is left to be passed on, and relay_pass_trailers() does that. */
bool relay_at_trailers(const struct flow *flow);
void relay_pass_trailers(struct flow *flow);
/* There is something to pass on, and nothing but the bound of one step was in its way. */
bool relay_may_go_on(struct flow *flow);
/* Nothing can be passed on now: what the source delivered stays beyond this turn, in buffers of its
 * size. */
void relay_wait(struct flow *flow);
/* Everything that the source delivered was passed on. */
bool relay_drained(const struct flow *flow);
/* ... and it was all, with no trailers behind it. */
bool relay_complete(const struct flow *flow);

#endif
