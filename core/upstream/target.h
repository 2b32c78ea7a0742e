/* core/upstream/target.h - what must be the same for two exchanges to share a server connection */
#ifndef CORE_UPSTREAM_TARGET_H
#define CORE_UPSTREAM_TARGET_H

#include <stdbool.h>

#include "abi/protocol.h"

struct carrier;        /* core/io/carrier.h */
struct route_config;   /* core/base/snapshot.h */
struct tls_context;    /* keys and trust of one place, counted; a carrier of it holds it */
struct upstream_group; /* likewise core/base/snapshot.h */

enum { TARGET_PROTOCOLS_MOST = 2 };

struct target {
    /* What may be spoken to the server, the better one first; the second may be NULL. Of two the
     * carrier says which, as soon as there is one (ALPN). */
    const weir_protocol *protocols[TARGET_PROTOCOLS_MOST];
    struct tls_context *tls; /* of https; NULL: http, in the clear */
    weir_string host;        /* name or literal without brackets */
    uint16_t port;
    const struct route_config *route; /* by which it was chosen; NULL: none. Not told apart by */
    /* It is one of these servers, which are the operator's word: not judged like what a client asks
     * for, which has none. */
    const struct upstream_group *group;
};

/* What is spoken on that carrier to the target: what was agreed on it, or the last that may be,
 * which is the one that needs no agreement. */
const weir_protocol *target_protocol_on(const struct target *target, const struct carrier *carrier);

#endif
