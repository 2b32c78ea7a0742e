/* core/upstream/route.h - where an exchange goes: to the target itself, or to the fixed upstream */
#ifndef CORE_UPSTREAM_ROUTE_H
#define CORE_UPSTREAM_ROUTE_H

#include "abi/weir.h"
#include "core/base/snapshot.h"
#include "core/upstream/target.h"

/* Fills in the target, whose strings are borrowed from the head and the snapshot. `turn` picks
 * among an upstream's servers. WEIR_OK, or the cause of the answer: WEIR_MALFORMED,
 * WEIR_NOT_A_PROXY_REQUEST, WEIR_NOT_IMPLEMENTED (a scheme or protocol), WEIR_DENIED (a port). */
weir_result route_pick(const struct snapshot *snapshot, const weir_head *request, uint32_t turn,
                       struct target *target);

/* Likewise of where a filter sends it: the name of an upstream, or "HOST:PORT" of a server, which
 * is judged like one that a client asks for. WEIR_NOT_FOUND. */
weir_result route_named(const struct snapshot *snapshot, const weir_head *request, weir_string name,
                        uint32_t turn, struct target *target);

#endif
