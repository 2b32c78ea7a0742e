/* core/edge/sniff.h - which protocol do a connection's first bytes belong to? */
#ifndef CORE_EDGE_SNIFF_H
#define CORE_EDGE_SNIFF_H

#include <stdbool.h>

#include "abi/protocol.h"

/* True when it is decided: *protocol is the one that claims the bytes, or the first registered one
 * with a client's side when none does. False: more bytes are needed. Pure but for the registry. */
bool sniff(const uint8_t *bytes, size_t count, bool end, const weir_protocol **protocol);

#endif
