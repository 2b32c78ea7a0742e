/* core/io/work.h - functions that take long run on threads of a pool, which all loops share
 *
 * The simulator has its own work.c: there they run one after another, some time later. */
#ifndef CORE_IO_WORK_H
#define CORE_IO_WORK_H

#include "abi/weir.h"
#include "core/io/loop.h"

struct work;

/* Runs run(data) on another thread, then done(data, what it returned) on the loop's, once, never
 * from inside this call. The loop does not end before. The handle is gone when done() is called. */
struct work *work_start(struct loop *loop, weir_result (*run)(void *data),
                        void (*done)(void *data, weir_result result), void *data);
/* What has not begun does not: done() comes soon, with WEIR_CANCELLED. */
void work_cancel(struct work *work);

#endif
