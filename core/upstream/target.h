/* core/upstream/target.h - what must be the same for two exchanges to share a server connection */
#ifndef CORE_UPSTREAM_TARGET_H
#define CORE_UPSTREAM_TARGET_H

#include "abi/protocol.h"

struct route_config;   /* core/base/snapshot.h */
struct upstream_group; /* likewise */

struct target {
    const weir_protocol *protocol; /* spoken to the server */
    weir_string host;              /* name or literal without brackets */
    uint16_t port;
    const struct route_config *route; /* by which it was chosen; NULL: none. Not told apart by */
    /* It is one of these servers, which are the operator's word: not judged like what a client asks
     * for, which has none. */
    const struct upstream_group *group;
};

#endif
