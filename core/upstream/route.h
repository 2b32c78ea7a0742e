/* core/upstream/route.h - where an exchange goes: the first route that fits, or where it says */
#ifndef CORE_UPSTREAM_ROUTE_H
#define CORE_UPSTREAM_ROUTE_H

#include "abi/weir.h"
#include "core/base/memory.h"
#include "core/base/snapshot.h"
#include "core/upstream/target.h"

/* [main] The snapshot's routes by their hosts; memory is the arena's. NULL: there are no routes. */
const struct route_index *route_index_new(const struct snapshot *snapshot, struct arena *arena);

/* Fills in the target, whose strings are borrowed from the head and the snapshot. `turn` picks
 * among an upstream's servers. WEIR_OK, or the cause of the answer: WEIR_MALFORMED,
 * WEIR_NOT_A_PROXY_REQUEST, WEIR_NOT_IMPLEMENTED (a scheme or protocol), WEIR_DENIED (a port, or a
 * tunnel to a group). target->route is the route in either case; NULL: none fits. */
weir_result route_pick(const struct snapshot *snapshot, const weir_head *request, uint32_t turn,
                       struct target *target);

/* Whether it has an upstream of that name. */
bool route_has_upstream(const struct snapshot *snapshot, weir_string name);

/* Likewise of where a filter sends it: the name of an upstream, or "HOST:PORT" of a server, which
 * is judged like one that a client asks for, and reached over TLS if the request is for https.
 * target->route stays. WEIR_NOT_FOUND. */
weir_result route_named(const struct snapshot *snapshot, const weir_head *request, weir_string name,
                        uint32_t turn, struct target *target);

#endif
