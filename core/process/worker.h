/* core/process/worker.h - makes, drains and ends a worker; its thread is main's */
#ifndef CORE_PROCESS_WORKER_H
#define CORE_PROCESS_WORKER_H

#include "core/base/worker.h"

/* [main] Everything a worker owns but its listeners; NULL when the system has no room for a loop.
 */
struct worker *worker_new(const struct snapshot *snapshot, uint32_t index);
/* [worker] Runs until drained; afterwards nothing is open. */
void worker_run(struct worker *worker);
/* [main] after worker_run() returned */
void worker_free(struct worker *worker);

/* [worker] Accepts nothing more, lets what runs end, then ends the loop. */
void worker_drain(struct worker *worker);
/* [worker] Ends what still runs. */
void worker_stop_now(struct worker *worker);

#endif
