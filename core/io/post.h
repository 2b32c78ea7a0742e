/* core/io/post.h - messages for owners, from any thread, at any time
 *
 * Each worker has a door, which is there before the worker and after it: a post to a worker that
 * has ended, or never was, finds it closed. Many posts wake their worker once. How many may wait is
 * bounded, for each owner and in all; a post waits until its hook has returned. */
#ifndef CORE_IO_POST_H
#define CORE_IO_POST_H

#include "abi/weir.h"

enum {
    POSTS_OWNER_MOST = 4096, /* waiting, of one owner (as one filter sees it) */
    POSTS_MOST = 65536       /* of all owners of one worker */
};

struct worker;
struct loop;

/* [any] As weir_asynchronous_host.post: drop(data) comes exactly once, here when it is refused. */
weir_result post(weir_reference owner, uint32_t tag, void *data, void (*drop)(void *data));

/* [worker, or main before it runs] */
void posts_open(struct worker *worker);
/* [worker] Nothing gets in any more; drops what waits outside of owners. */
void posts_close(struct worker *worker);
/* [worker] What waits becomes events now, or is dropped when its owner is gone. The loop does so by
 * itself. */
void posts_take(struct worker *worker);

/* Before code goes away that a drop() is in. */
struct posts_sweep {
    void (*done)(struct posts_sweep *sweep);
    struct loop *back; /* the main thread's */
    uint32_t missing;  /* workers that have not taken what waits */
};

/* [main] done() on this thread, now or later, when each worker has taken what is posted now. When
 * the workers end before, it may not come at all. */
void posts_sweep(struct posts_sweep *sweep, void (*done)(struct posts_sweep *sweep));

#endif
