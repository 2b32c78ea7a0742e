/* core/host/asynchronous.c - query("weir.asynchronous/0"): timers, posts, work on other threads,
 * requests
 *
 * Each is a task (core/io/owner.h): a kind says what ends it, and its being over makes an event. */
#include "core/host/asynchronous.h"

#include "core/base/breadcrumb.h"
#include "core/base/memory.h"
#include "core/base/snapshot.h"
#include "core/exchange/filters.h"
#include "core/host/subrequest.h"
#include "core/host/wrong_thread.h"
#include "core/io/loop.h"
#include "core/io/owner.h"
#include "core/io/post.h"
#include "core/io/work.h"

/* The owner; when it is not found, and only then, *rc is not WEIR_OK. */
static struct owner *find(weir_reference reference, const void *caller, const char *function,
                          weir_result *rc)
{
    struct owner *owner = owner_find(reference, rc);
    if (owner)
        *rc = WEIR_OK;
    else if (*rc == WEIR_WRONG_THREAD)
        wrong_thread(caller, function);
    return owner;
}

bool asynchronous_is_retired(struct owner *owner)
{
    return owner->use && owner->use->retired && !filters_exchange_of(owner);
}

static void tell_name(const struct task *task, weir_reference *name)
{
    if (name)
        *name = task->reference;
}

/* --- timers */

struct timer {
    struct task task;
    struct wheel_entry entry;
};

static void on_expired(struct wheel_entry *entry)
{
    task_due(&CONTAINER(entry, struct timer, entry)->task);
}

static void end_timer(struct task *task)
{
    struct timer *timer = CONTAINER(task, struct timer, task);
    wheel_clear(&timer->entry);
    memory_free(timer);
}

static const struct task_kind timer_kind = {WEIR_EVENT_TIMER, end_timer};

static weir_result asynchronous_timer(weir_reference reference, uint32_t milliseconds, uint32_t tag,
                                      weir_reference *name)
{
    weir_result rc;
    struct owner *owner = find(reference, WRONG_THREAD_CALLER, "timer", &rc);
    if (!owner)
        return rc;
    struct timer *timer = memory_zeroed(sizeof *timer);
    rc = task_begin(owner, reference, &timer->task, &timer_kind, tag);
    if (rc) {
        memory_free(timer);
        return rc;
    }
    struct worker *worker = owner->worker;
    wheel_entry_init(&timer->entry, on_expired);
    wheel_set(worker->wheel, &timer->entry, loop_now_ms(worker->loop) + milliseconds);
    tell_name(&timer->task, name);
    return WEIR_OK;
}

/* --- work: may run on when nobody waits for it any more; until then it holds the snapshot that its
 * code belongs to */

struct job {
    struct task task;
    struct work *work; /* NULL: it is over */
    struct snapshot_use *use;
    const char *plugin;
    weir_result (*run)(void *data);
    void (*drop)(void *data);
    void *data;
};

static weir_result run_job(void *data)
{
    struct job *job = data;
    struct breadcrumb before = breadcrumb_leave(job->plugin, "work", 0);
    weir_result result = job->run(job->data);
    breadcrumb_restore(before);
    return result;
}

static void free_job(struct job *job)
{
    if (job->drop)
        job->drop(job->data);
    memory_free(job);
}

static void on_job_done(void *data, weir_result result)
{
    struct job *job = data;
    struct snapshot_use *use = job->use;
    job->work = NULL;
    job->task.event.result = result;
    if (job->task.owner)
        task_due(&job->task);
    else
        free_job(job);
    if (use)
        snapshot_drop(use); /* the instance that owned it may end by this */
}

static void end_job(struct task *task)
{
    struct job *job = CONTAINER(task, struct job, task);
    if (job->work)
        work_cancel(job->work);
    else
        free_job(job);
}

static const struct task_kind job_kind = {WEIR_EVENT_WORK, end_job};

static void start_job(struct job *job, const struct owner *owner)
{
    job->use = owner->use ? snapshot_take(owner->use) : NULL;
    job->plugin = breadcrumb.plugin;
    job->task.event.data = job->data;
    job->work = work_start(owner->worker->loop, run_job, on_job_done, job);
}

static weir_result try_work(struct owner *owner, weir_reference reference, const struct job *wanted,
                            uint32_t tag, weir_reference *name)
{
    if (asynchronous_is_retired(owner))
        return WEIR_STOPPING;
    struct job *job = memory_allocate(sizeof *job);
    *job = *wanted;
    weir_result rc = task_begin(owner, reference, &job->task, &job_kind, tag);
    if (rc) {
        memory_free(job);
        return rc;
    }
    start_job(job, owner);
    tell_name(&job->task, name);
    return WEIR_OK;
}

static weir_result asynchronous_work(weir_reference reference, weir_result (*run)(void *data),
                                     uint32_t tag, void *data, void (*drop)(void *data),
                                     weir_reference *name)
{
    weir_result rc;
    struct job job = {.run = run, .drop = drop, .data = data};
    struct owner *owner = find(reference, WRONG_THREAD_CALLER, "work", &rc);
    if (owner)
        rc = try_work(owner, reference, &job, tag, name);
    if (rc && drop)
        drop(data);
    return rc;
}

/* --- requests */

static weir_result asynchronous_fetch(weir_reference reference, const weir_fetch *fetch,
                                      uint32_t tag, weir_reference *name)
{
    weir_result rc;
    struct owner *owner = find(reference, WRONG_THREAD_CALLER, "fetch", &rc);
    return owner ? subrequest_begin(owner, reference, fetch, tag, name) : rc;
}

/* --- the rest */

static weir_result asynchronous_cancel(weir_reference task)
{
    weir_result rc = task_cancel(task);
    return rc == WEIR_WRONG_THREAD ? wrong_thread(WRONG_THREAD_CALLER, "cancel") : rc;
}

static weir_reference asynchronous_worker_reference(weir_worker *worker)
{
    if (worker->owner.worker != worker_current) {
        wrong_thread(WRONG_THREAD_CALLER, "worker_reference");
        return (weir_reference){0};
    }
    return owner_reference(&worker->owner, 0);
}

static uint32_t asynchronous_thread(void)
{
    if (thread_is_main)
        return WEIR_THREAD_MAIN;
    return worker_current ? WEIR_THREAD_WORKER : WEIR_THREAD_OTHER;
}

static uint64_t asynchronous_now_ms(void)
{
    if (worker_current)
        return loop_now_ms(worker_current->loop);
    wrong_thread(WRONG_THREAD_CALLER, "now_ms");
    return 0;
}

static uint64_t asynchronous_wall_us(void)
{
    return loop_wall_us(NULL);
}

const weir_asynchronous_host asynchronous_host = {
    .size = sizeof asynchronous_host,
    .post = post,
    .timer = asynchronous_timer,
    .work = asynchronous_work,
    .fetch = asynchronous_fetch,
    .cancel = asynchronous_cancel,
    .worker_reference = asynchronous_worker_reference,
    .thread = asynchronous_thread,
    .now_ms = asynchronous_now_ms,
    .wall_us = asynchronous_wall_us,
};
