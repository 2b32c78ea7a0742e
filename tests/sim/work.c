/* tests/sim/work.c - core/io/work.h in virtual time: no other thread, but some time later */
#include "core/io/work.h"

#include "core/base/memory.h"
#include "tests/sim/simulation.h"

enum { WORK_US_MOST = 50000 };

struct work {
    struct event event;
    weir_result (*run)(void *data);
    void (*done)(void *data, weir_result result);
    void *data;
    bool cancelled;
};

static void fire_work(struct event *event)
{
    struct work work = *CONTAINER(event, struct work, event);
    memory_free(CONTAINER(event, struct work, event));
    work.done(work.data, work.cancelled ? WEIR_CANCELLED : work.run(work.data));
    loop_hold(-1);
}

struct work *work_start(struct loop *loop, weir_result (*run)(void *data),
                        void (*done)(void *data, weir_result result), void *data)
{
    struct work *work = memory_zeroed(sizeof *work);
    (void)loop;
    work->run = run;
    work->done = done;
    work->data = data;
    event_init(&work->event, fire_work);
    event_set(&work->event, dice_below(&simulation.dice, WORK_US_MOST));
    loop_hold(1);
    return work;
}

void work_cancel(struct work *work)
{
    work->cancelled = true;
}
