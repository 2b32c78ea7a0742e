/* core/process/prepare.h - each worker makes what a configuration's filters have there alone
 *
 * Before the configuration is in force anywhere: when one worker refuses nothing has changed. */
#ifndef CORE_PROCESS_PREPARE_H
#define CORE_PROCESS_PREPARE_H

#include <stdbool.h>

#include "core/process/crew.h"
#include "core/process/generation.h"

enum { PREPARE_MISTAKE_BYTES = 256 };

/* [main] Waits until all running workers have. False: `mistake` says why not; what was made goes
 * with the generation. */
bool prepare_workers(struct crew *crew, struct generation *generation,
                     char mistake[PREPARE_MISTAKE_BYTES]);
/* [main] Of a generation that was shared but put in force nowhere: each worker lets go of it, then
 * it is freed. */
void prepare_give_up(struct crew *crew, struct generation *generation);

#endif
