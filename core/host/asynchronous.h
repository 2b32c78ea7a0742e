/* core/host/asynchronous.h - query("weir.asynchronous/0"): timers, posts, work, requests */
#ifndef CORE_HOST_ASYNCHRONOUS_H
#define CORE_HOST_ASYNCHRONOUS_H

#include <stdbool.h>

#include "abi/services.h"

struct owner; /* core/io/owner.h */

extern const weir_asynchronous_host asynchronous_host;

/* [worker] Whether it is an instance that is not in force any more, which begins nothing new that
 * holds its configuration, and so itself. */
bool asynchronous_is_retired(struct owner *owner);

#endif
