/* core/base/worker.h - what one worker thread owns; everything an exchange needs hangs here
 *
 * An exchange lives and dies on one worker. Nothing in here is shared but `snapshot` (immutable)
 * and `metrics` (read by others). The rooms above fill in what is theirs. A reload replaces
 * `snapshot` between two turns: who needs one for longer takes `use`. */
#ifndef CORE_BASE_WORKER_H
#define CORE_BASE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/list.h"
#include "core/base/metric.h"

struct snapshot;
struct snapshot_use;
struct loop;         /* core/io */
struct turn;         /* core/io */
struct wheel;        /* core/io */
struct dns;          /* core/io */
struct owners;       /* core/io */
struct pool;         /* core/upstream */
struct edge;         /* core/edge */
struct exchange;     /* core/exchange */
struct access_lines; /* core/exchange */
struct subrequests;  /* core/host */

struct worker {
    uint32_t index;
    bool draining;
    const struct snapshot *snapshot; /* the one in force */
    struct snapshot_use *use;        /* of it; the worker counts as one */
    struct loop *loop;
    struct turn *turn;
    struct wheel *wheel;
    struct dns *dns;
    struct owners *owners; /* what plugins wait for */
    struct pool *pool;
    struct edge *edge;
    struct subrequests *subrequests;   /* of plugins */
    struct access_lines *access_lines; /* NULL: nobody takes lines of the access log */
    struct link connections;           /* all open ones, both sides */
    struct metrics metrics;
};

/* The one whose loop this thread runs; NULL: none. */
extern _Thread_local struct worker *worker_current;
/* Whether this is the main thread, which says so when it starts. */
extern _Thread_local bool thread_is_main;

#endif
