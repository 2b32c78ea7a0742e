/* core/edge/sniff.h - which protocol do a connection's first bytes belong to? */
#ifndef CORE_EDGE_SNIFF_H
#define CORE_EDGE_SNIFF_H

#include <stdbool.h>

#include "abi/protocol.h"

struct registry;

/* True when it is decided: *protocol is the one that claims the bytes, or the first registered one
 * with a client's side when none does; NULL: no plugin has one. False: more bytes are needed. */
bool sniff(const struct registry *registry, const uint8_t *bytes, size_t count, bool end,
           const weir_protocol **protocol);

#endif
