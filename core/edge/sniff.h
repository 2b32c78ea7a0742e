/* core/edge/sniff.h - which protocol do a connection's first bytes belong to? */
#ifndef CORE_EDGE_SNIFF_H
#define CORE_EDGE_SNIFF_H

#include <stdbool.h>

#include "abi/protocol.h"

/* True when it is decided: *protocol is the one of these (ended by NULL) that claims the bytes, or
 * the first of them when none does; NULL: there is none. False: more bytes are needed. Pure. */
bool sniff(const weir_protocol *const *protocols, const uint8_t *bytes, size_t count, bool end,
           const weir_protocol **protocol);

#endif
