/* core/plugins/instance.h - instances of filters: made for a configuration, used by each worker
 *
 * An instance is made on the main thread while the configuration is loaded, then each worker makes
 * what the instance has there alone. All or nothing: what was made before a refusal is freed. */
#ifndef CORE_PLUGINS_INSTANCE_H
#define CORE_PLUGINS_INSTANCE_H

#include <stdbool.h>

#include "core/base/snapshot.h"
#include "core/base/worker.h"
#include "core/plugins/filter_use.h"

struct owner; /* core/io/owner.h */

/* [main] Less than 0: make() refused, and there is nothing to free. */
weir_result instance_make(struct filter_use *use, const weir_section *with);
/* [main] Of those that were made, the last one first; nobody uses them any more. */
void instances_free(struct filter_use *uses, uint32_t count);

/* [worker] Fills use->worker_states. NULL: all were made; else the one that refused. */
const struct filter_use *instances_prepare(struct snapshot_use *use, struct worker *worker);
/* [worker] Does nothing when they are not prepared. */
void instances_release(struct snapshot_use *use);
/* [worker] Whose that owner is, one of an instance. */
const struct filter_use *instance_use_of(const struct owner *owner);

#endif
