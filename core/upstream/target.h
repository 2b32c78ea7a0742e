/* core/upstream/target.h - what must be the same for two exchanges to share a server connection */
#ifndef CORE_UPSTREAM_TARGET_H
#define CORE_UPSTREAM_TARGET_H

#include <stdbool.h>

#include "abi/protocol.h"

struct route_config; /* core/base/snapshot.h */

struct target {
    const weir_protocol *protocol; /* spoken to the server */
    weir_string host;              /* name or literal without brackets */
    uint16_t port;
    const struct route_config *route; /* by which it was chosen; NULL: none. Not told apart by */
    bool configured; /* a server of the operator's: not judged like what a client asks for */
};

#endif
