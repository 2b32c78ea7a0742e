/* core/host/subrequest.h - fetch(): a plugin's own request
 *
 * It is an exchange whose client is in here: dialling, pool, time limits, repeated attempts are the
 * same as of any. deny_addresses, weir's own addresses and, when an exchange owns it, the
 * address() hooks of that exchange's filters hold for it; servers of a named upstream are the
 * operator's word. Routes and filters are for clients' requests. [worker] */
#ifndef CORE_HOST_SUBREQUEST_H
#define CORE_HOST_SUBREQUEST_H

#include "abi/services.h"
#include "core/io/owner.h"

enum {
    SUBREQUESTS_OWNER_MOST = 32, /* in progress */
    SUBREQUESTS_WORKER_MOST = 1024
};

/* A worker's. */
void subrequests_new(struct worker *worker);
/* Ends those that are in progress, and refuses others from now on. */
void subrequests_stop(struct worker *worker);
/* When the last owner has ended. */
void subrequests_free(struct worker *worker);

/* As weir_asynchronous_host.fetch, of an owner that was found. */
weir_result subrequest_begin(struct owner *owner, weir_reference reference, const weir_fetch *fetch,
                             uint32_t tag, weir_reference *name);

#endif
