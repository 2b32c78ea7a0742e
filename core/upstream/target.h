/* core/upstream/target.h - what must be the same for two exchanges to share a server connection */
#ifndef CORE_UPSTREAM_TARGET_H
#define CORE_UPSTREAM_TARGET_H

#include <stdbool.h>

#include "abi/protocol.h"

struct target {
    const weir_protocol *protocol; /* spoken to the server */
    weir_string host;              /* name or literal without brackets */
    uint16_t port;
    bool configured; /* a server of the operator's: not judged like what a client asks for */
};

#endif
