/* core/io/owner.h - who waits for what: owners, their tasks, and the events that these become
 *
 * An owner is what a plugin's tasks belong to: an exchange, or an instance of a filter on one
 * worker. It costs nothing until its reference is asked for. A task is a timer, a post, work on
 * another thread, a request: something that will be over later, at loop level, never from inside a
 * call of a plugin. It becomes an event of the owner then, which says so once (on_event) and hands
 * its events out in their order when it is asked.
 *
 *     owner_init ... owner_reference ... [task_begin ... task_due -> on_event()]
 *     while ((task = owner_next_event(owner))) {
 *         hook(..., &task->event);
 *         owner_event_done(task);
 *     }
 *     owner_end
 *
 * Whatever happens, a task is ended exactly once. All of it on the worker's thread. */
#ifndef CORE_IO_OWNER_H
#define CORE_IO_OWNER_H

#include "abi/filter.h"
#include "core/base/reference.h"
#include "core/base/worker.h"

enum {
    OWNER_TASKS_MOST = 4096,  /* of one owner; posts have limits of their own */
    WORKER_TASKS_MOST = 65536 /* of all owners of one worker */
};

struct owner {
    struct worker *worker;
    struct snapshot_use *use; /* that its plugins belong to; tasks may outlive the owner */
    void (*on_event)(struct owner *owner);
    weir_reference reference; /* 0: nobody has asked for it */
    uint32_t count;           /* of its tasks that have names */
    struct link tasks;        /* that are not over */
    struct link events;       /* that are, in order, until they are handed out */
};

/* What core passes as the opaque argument of weir_life.worker_make(): an instance on one worker. */
struct weir_worker {
    struct owner owner;
};

/* on_event(): the owner had no event and has one now. Comes at loop level, before the turn's steps
 * or between turns. `use` may be NULL when nothing is ever unloaded. */
void owner_init(struct owner *owner, struct worker *worker, struct snapshot_use *use,
                void (*on_event)(struct owner *owner));
/* The owner's name, made when it is asked for first; `tag` (0..255) comes back with every event, so
 * that one owner may serve all filters of an exchange. 0: too many are alive. */
weir_reference owner_reference(struct owner *owner, uint32_t tag);
/* Ends all its tasks, those that are events too; its reference names nothing any more. Idempotent.
 * Not between owner_next_event() and owner_event_done(). */
void owner_end(struct owner *owner);

/* One thing that an owner waits for; part of the object that does it. */
struct task;
struct task_kind {
    uint32_t event; /* WEIR_EVENT_* */
    /* Nobody waits for it any more, because its event is done with or because it is not wanted. It
     * stops what it does, frees itself, now or later, and touches no owner. Once. */
    void (*end)(struct task *task);
};

struct task {
    struct link link;
    struct owner *owner;
    const struct task_kind *kind;
    weir_reference reference; /* 0: it has none */
    uint32_t tag;             /* of the owner's reference: which filter's */
    weir_event event;         /* what the hook gets */
};

/* The next one, whose event is the caller's until owner_event_done(); NULL: none. */
struct task *owner_next_event(struct owner *owner);
void owner_event_done(struct task *task);

/* --- for those that do tasks */

/* The owner of that name, on this thread's worker. NULL, and *why: WEIR_GONE, or WEIR_WRONG_THREAD
 * when it is another thread's. */
struct owner *owner_find(weir_reference reference, weir_result *why);
/* The owner waits for it from now on. `reference` is the owner's, `tag` the plugin's for the event.
 * task_begin() also counts it and gives it a name of its own, by which it can be cancelled. A task
 * that is refused stays the caller's: WEIR_TOO_MUCH. */
void task_adopt(struct owner *owner, weir_reference reference, struct task *task,
                const struct task_kind *kind, uint32_t tag);
weir_result task_begin(struct owner *owner, weir_reference reference, struct task *task,
                       const struct task_kind *kind, uint32_t tag);
/* It is over: event.result, data, head and body are set. At loop level. */
void task_due(struct task *task);
/* Ends it: nothing of it is delivered. WEIR_GONE: handed out already, or no task; or
 * WEIR_WRONG_THREAD. */
weir_result task_cancel(weir_reference task);

/* --- of a worker */

struct owners {
    struct references references;
    uint32_t tasks;
    bool stopped; /* nothing becomes an event any more */
};

/* Sets worker->owners, and opens its door for posts. An index is used once in a process. */
void owners_new(struct worker *worker);
/* Before the loop stops: nothing more is delivered, posts find nobody. Owners may still end. */
void owners_stop(struct worker *worker);
/* When the last owner has ended. */
void owners_free(struct worker *worker);

#endif
