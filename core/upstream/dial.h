/* core/upstream/dial.h - from host and port to a carrier: resolve, let the caller judge, race addresses
 *
 * Happy Eyeballs v2 (RFC 8305): AAAA and A are asked at once, A waits up to 50 ms for AAAA, the
 * families alternate beginning with IPv6, the next address starts 250 ms after the last one or as
 * soon as it failed; the first that connects wins, the others are cancelled.
 *
 * A dial only marks its owner (turn_mark TURN_EXCHANGES); the owner looks at dial_state() in its
 * step. Each address must be allowed by the owner before it is tried, so that access control sees
 * what is really dialled. [worker] */
#ifndef CORE_UPSTREAM_DIAL_H
#define CORE_UPSTREAM_DIAL_H

#include "core/base/worker.h"
#include "core/io/carrier.h"
#include "core/io/turn.h"

struct dial;

enum dial_state {
    DIAL_WAITING,
    DIAL_ADDRESSES, /* new addresses to judge: dial_judge() them all, then dial_go() */
    DIAL_CONNECTED, /* dial_take() the carrier */
    DIAL_FAILED     /* dial_error() says why: WEIR_DNS_ERROR, WEIR_CONNECTION_REFUSED,
                       WEIR_UNROUTABLE, WEIR_CONNECTION_TIMEOUT or WEIR_ADDRESS_PROHIBITED */
};

/* host: a name, or an IPv4 or IPv6 literal without brackets; copied. The whole dial takes at most
 * connect_ms. A literal or a cached name is in DIAL_ADDRESSES at once, without a mark. */
struct dial *dial_start(struct worker *worker, weir_string host, uint16_t port, uint32_t connect_ms,
                        struct mark *owner);
enum dial_state dial_state(const struct dial *dial);
/* The addresses to judge: returns how many, sets *addresses (the dial's own, valid until
 * dial_go()). Call dial_forbid() for those that must not be dialled. */
uint32_t dial_addresses(const struct dial *dial, const struct address **addresses);
void dial_forbid(struct dial *dial, uint32_t index);
void dial_go(struct dial *dial);
/* The connected carrier, not open yet, becomes the caller's. Ends the dial (frees it). */
struct carrier *dial_take(struct dial *dial);
weir_result dial_error(const struct dial *dial);
/* Ends the dial in any state; attempts in flight are cancelled, nothing is marked any more. */
void dial_cancel(struct dial *dial);

#endif
