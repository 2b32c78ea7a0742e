/* core/process/watchdog.h - says which plugin holds up a worker, while it still does
 *
 * A hook that blocks holds up everybody on its worker, and whoever looks at the log afterwards sees
 * nothing but slow requests. The main thread looks now and then at what each worker does: the same
 * hook in the same turn for WATCHDOG_PATIENCE_MS is said once, and how long it was when it is over.
 * Workers do nothing for it. All [main]. */
#ifndef CORE_PROCESS_WATCHDOG_H
#define CORE_PROCESS_WATCHDOG_H

#include "core/process/crew.h"

/* A constant: no hook has reason to take as long, and slower machines are not a hundred times
 * slower. */
enum { WATCHDOG_PATIENCE_MS = 1000 };

struct watchdog;

/* Looks from now on. The crew was made. */
struct watchdog *watchdog_new(struct crew *crew);
void watchdog_free(struct watchdog *watchdog); /* NULL is ignored */

#endif
