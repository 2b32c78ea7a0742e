/* core/process/generation.h - one loaded configuration and who still uses it
 *
 * A reload makes a new one; the old one goes when the last worker has dropped it, which is when the
 * last exchange that began with it is over. Counted on the main thread: no atomics. */
#ifndef CORE_PROCESS_GENERATION_H
#define CORE_PROCESS_GENERATION_H

#include "core/base/snapshot.h"
#include "core/io/listen.h"
#include "core/process/values.h"

struct loop;

struct generation {
    struct snapshot *snapshot;
    uint32_t number; /* from 1 */
    uint32_t users;  /* workers, the main thread's included, that use it */
    struct generation_use *uses;
    /* What is known of the snapshot's listeners and admin only when they are open: their texts with
     * the system's ports, and those that the service manager passes when none is configured. */
    char addresses[LISTENERS_MOST][LISTEN_TEXT_BYTES];
    char admin[LISTEN_TEXT_BYTES];
    struct listener_config passed[LISTENERS_MOST];
};

/* [main] Once, before workers run: where they say that they have dropped one. */
void generations_start(struct loop *main);
/* [main] Takes the snapshot. */
struct generation *generation_new(struct snapshot *snapshot, uint32_t number);
/* [main] One use for each of so many workers, the last of which is the main thread's own. */
void generation_share(struct generation *generation, uint32_t workers);
/* [main] The use of one of them, with one count that is the worker's. */
struct snapshot_use *generation_use(struct generation *generation, uint32_t worker);
/* [main] How many there are: 1 unless something runs on from before a reload. */
uint32_t generations_in_use(void);

#endif
