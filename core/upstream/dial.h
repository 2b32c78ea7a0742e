/* core/upstream/dial.h - from host and port to a carrier: resolve, have judged, race addresses
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
struct tls_context; /* core/io/tls.h */

enum dial_state {
    DIAL_WAITING,
    DIAL_ADDRESSES, /* new ones to judge: dial_addresses(), dial_forbid() some, then dial_go() */
    DIAL_CONNECTED, /* dial_take() the carrier */
    DIAL_FAILED     /* dial_error() says why: WEIR_DNS_ERROR (no address), WEIR_ADDRESS_PROHIBITED
                       (all forbidden), or the most telling of the attempts' ends, in this order:
                       WEIR_CONNECTION_REFUSED, WEIR_CONNECTION_TIMEOUT, WEIR_LIMIT_REACHED (no
                       descriptor or memory left here), WEIR_UNROUTABLE. When the time is over
                       while there is still something to try: WEIR_CONNECTION_TIMEOUT. With
                       dial_secure() also how the handshake ended */
};

/* host: a name, or an IPv4 or IPv6 literal without brackets; copied. The whole dial, resolving and
 * judging included, takes at most connect_ms; 0: no limit. A literal or a cached name is in
 * DIAL_ADDRESSES (or DIAL_FAILED) at once, without a mark. */
struct dial *dial_start(struct worker *worker, weir_string host, uint16_t port, uint32_t connect_ms,
                        struct mark *owner);
/* Before anything else: TLS is put on top of what connects, and the dial is over when that is done
 * or has failed (WEIR_TLS_*). The host is who the server must be; `alpn`, what it is offered, ends
 * with NULL and is at most DIAL_ALPN_MOST names, which stay. The context is kept. */
enum { DIAL_ALPN_MOST = 2 };
void dial_secure(struct dial *dial, struct tls_context *context, weir_string host,
                 const char *const *alpn, uint32_t handshake_ms);
enum dial_state dial_state(const struct dial *dial);
/* In DIAL_ADDRESSES. Returns how many there are to judge, sets *addresses (the dial's own, with the
 * port, unchanged until dial_go()). Call dial_forbid() for those that must not be dialled. Judging
 * may take its time: attempts at addresses judged before go on meanwhile. */
uint32_t dial_addresses(const struct dial *dial, const struct address **addresses);
void dial_forbid(struct dial *dial, uint32_t index);
/* Look at dial_state() again afterwards, in a loop: it may be DIAL_ADDRESSES again (the other
 * family came meanwhile) or DIAL_FAILED. Does nothing in another state than DIAL_ADDRESSES. */
void dial_go(struct dial *dial);
/* The connected carrier, not open yet, becomes the caller's. Ends the dial (frees it). */
struct carrier *dial_take(struct dial *dial);
weir_result dial_error(const struct dial *dial);
/* Whether dial_forbid() was ever called. */
bool dial_forbade(const struct dial *dial);
/* It is somebody else's from here on. */
void dial_hand_over(struct dial *dial, struct mark *owner);
/* How long it took, in microseconds; in DIAL_CONNECTED and DIAL_FAILED. */
struct dial_times {
    uint64_t resolve_us; /* until the first address was known; 0: the host is one */
    uint64_t connect_us; /* from then to the end; 0: no address was known */
};
struct dial_times dial_times(const struct dial *dial);
/* Ends the dial in any state; attempts in flight are cancelled, a carrier that nobody took is
 * closed, nothing is marked any more. */
void dial_cancel(struct dial *dial);

#endif
