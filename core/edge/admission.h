/* core/edge/admission.h - whom to let in: by address, and by how many are in over all workers */
#ifndef CORE_EDGE_ADMISSION_H
#define CORE_EDGE_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/snapshot.h"
#include "core/io/address.h"

/* How somebody came in; kept by who let them in, for admission_leave(). */
enum admission {
    ADMISSION_REFUSED,
    ADMISSION_UNCOUNTED, /* the edge's own decision */
    ADMISSION_COUNTED,
    ADMISSION_COUNTED_BY_ADDRESS
};

/* [main] How many may be in when the configuration says nothing. */
void admission_start(uint32_t automatic_most);

/* [any] Whether nobody more may come in now. A worker asks before it lets in one, so the limit may
 * be passed by as many as there are other workers. */
bool admission_full(const struct snapshot *snapshot);
/* [any] Asks allow_clients and connections_per_address, and counts who is let in. Clients of a unix
 * socket have no address: the permissions of its file say who they are. The addresses of an IPv6
 * client's /64 count as one, since they are usually one machine's. */
enum admission admission_enter(const struct snapshot *snapshot,
                               const struct listener_config *config, const struct address *peer);
void admission_leave(enum admission admission, const struct address *peer);

#endif
