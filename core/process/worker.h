/* core/process/worker.h - makes, drains and ends a worker; its thread is the crew's */
#ifndef CORE_PROCESS_WORKER_H
#define CORE_PROCESS_WORKER_H

#include "core/base/worker.h"

struct edge_place;

/* [main] Everything a worker owns, with no place open yet; takes over one count of `use`. NULL when
 * the system has no room for a loop. */
struct worker *worker_new(struct snapshot_use *use, uint32_t index);
/* [worker] Runs until drained; afterwards nothing is open. */
void worker_run(struct worker *worker);
/* [main] after worker_run() returned */
void worker_free(struct worker *worker);

/* [worker, or main before it runs] Another snapshot is in force, of which it takes over one count,
 * and these places are open. Exchanges that have begun keep theirs. */
void worker_take(struct worker *worker, struct snapshot_use *use, const struct edge_place *places,
                 uint32_t count);

/* [worker] Accepts nothing more, lets what runs end, then ends the loop. */
void worker_drain(struct worker *worker);
/* [worker] Ends what still runs. */
void worker_stop_now(struct worker *worker);

#endif
