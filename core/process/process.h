/* core/process/process.h - the serving program: start, reload, drain, end */
#ifndef CORE_PROCESS_PROCESS_H
#define CORE_PROCESS_PROCESS_H

#include "core/base/worker.h"
#include "core/io/wheel.h"
#include "core/process/access_writer.h"
#include "core/process/crew.h"
#include "core/process/generation.h"
#include "core/process/options.h"
#include "core/process/places.h"

/* How it ends. */
enum { EXIT_STOPPED = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_CONFIGURATION = 78 };

/* All of it is the main thread's. */
struct process {
    const struct options *options;
    const char *version;
    struct generation *generation; /* in force */
    struct places places;
    struct crew crew;
    struct watchdog *watchdog;    /* over the crew */
    struct access_writer *access; /* the access log's file */
    struct worker *own; /* the main thread is a worker too: for signals and the admin's clients */
    bool draining;
    struct wheel_entry drain_limit;
    uint64_t started_us; /* monotonic */
    uint64_t loaded_us;  /* when the configuration was, since 1970 */
    uint32_t reloads, reloads_failed;
    bool reload_failed; /* the last one */
};

/* Serves until it is told to stop; returns how it ended. Takes the snapshot. */
int process_serve(const struct options *options, struct snapshot *snapshot, const char *version);
/* Loads the configuration again. False: nothing has changed, *mistakes says why, in lines, and is
 * the caller's (memory_free). */
bool process_reload(struct process *process, char **mistakes);

/* Each worker takes the generation that is in force, with the places that are prepared for it,
 * between two turns of its own; places_settle() may follow. */
void process_hand_over(struct process *process);

#endif
