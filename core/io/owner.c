/* core/io/owner.c - who waits for what: owners, their tasks, and the events that these become */
#include "core/io/owner.h"

#include "core/base/memory.h"
#include "core/io/post.h"

enum { KIND_OWNER, KIND_TASK };

void owner_init(struct owner *owner, struct worker *worker, struct snapshot_use *use,
                void (*on_event)(struct owner *owner))
{
    *owner = (struct owner){.worker = worker, .use = use, .on_event = on_event};
    link_init(&owner->tasks);
    link_init(&owner->events);
}

weir_reference owner_reference(struct owner *owner, uint32_t tag)
{
    struct references *references = &owner->worker->owners->references;
    if (!owner->reference.value)
        owner->reference = reference_make(references, owner, KIND_OWNER);
    return owner->reference.value ? reference_with_tag(owner->reference, tag) : owner->reference;
}

struct owner *owner_find(weir_reference reference, weir_result *why)
{
    const struct worker *worker = worker_current;
    *why = WEIR_GONE;
    if (!worker || (reference.value && reference_worker(reference) != worker->index))
        *why = WEIR_WRONG_THREAD;
    return *why == WEIR_GONE ? reference_resolve(&worker->owners->references, reference, KIND_OWNER)
                             : NULL;
}

/* --- tasks */

void task_adopt(struct owner *owner, weir_reference reference, struct task *task,
                const struct task_kind *kind, uint32_t tag)
{
    task->owner = owner;
    task->kind = kind;
    task->reference.value = 0;
    task->tag = reference_tag(reference);
    task->event = (weir_event){.size = sizeof task->event, .kind = kind->event, .tag = tag};
    link_insert(&owner->tasks, &task->link);
}

weir_result task_begin(struct owner *owner, weir_reference reference, struct task *task,
                       const struct task_kind *kind, uint32_t tag)
{
    struct owners *owners = owner->worker->owners;
    weir_reference name = {0};
    if (owner->count < OWNER_TASKS_MOST && owners->tasks < WORKER_TASKS_MOST)
        name = reference_make(&owners->references, task, KIND_TASK);
    if (!name.value)
        return WEIR_TOO_MUCH;
    owner->count++;
    owners->tasks++;
    task_adopt(owner, reference, task, kind, tag);
    task->reference = task->event.reference = name;
    return WEIR_OK;
}

static void forget_name(struct task *task)
{
    reference_end(&task->owner->worker->owners->references, task->reference);
}

static void uncount(struct task *task)
{
    if (!task->reference.value)
        return;
    forget_name(task);
    task->owner->count--;
    task->owner->worker->owners->tasks--;
}

/* The task's memory may be gone afterwards. */
static void end(struct task *task)
{
    uncount(task);
    link_remove(&task->link);
    task->owner = NULL;
    task->kind->end(task);
}

void task_due(struct task *task)
{
    struct owner *owner = task->owner;
    bool first = link_alone(&owner->events);
    if (owner->worker->owners->stopped) {
        end(task);
        return;
    }
    link_remove(&task->link);
    link_insert(&owner->events, &task->link);
    if (first)
        owner->on_event(owner);
}

weir_result task_cancel(weir_reference reference)
{
    const struct worker *worker = worker_current;
    if (!worker || (reference.value && reference_worker(reference) != worker->index))
        return WEIR_WRONG_THREAD;
    struct task *task = reference_resolve(&worker->owners->references, reference, KIND_TASK);
    if (!task)
        return WEIR_GONE;
    end(task);
    return WEIR_OK;
}

/* --- events */

struct task *owner_next_event(struct owner *owner)
{
    if (link_alone(&owner->events))
        return NULL;
    struct task *task = CONTAINER(owner->events.next, struct task, link);
    link_remove(&task->link);
    forget_name(task); /* it cannot be cancelled any more */
    return task;
}

void owner_event_done(struct task *task)
{
    end(task);
}

static void end_all(struct link *list)
{
    while (!link_alone(list))
        end(CONTAINER(list->next, struct task, link));
}

void owner_end(struct owner *owner)
{
    if (!owner->reference.value)
        return;
    reference_end(&owner->worker->owners->references, owner->reference);
    owner->reference.value = 0;
    end_all(&owner->events);
    end_all(&owner->tasks);
}

/* --- of a worker */

void owners_new(struct worker *worker)
{
    worker->owners = memory_zeroed(sizeof *worker->owners);
    references_init(&worker->owners->references, worker->index, 0);
    posts_open(worker);
}

void owners_stop(struct worker *worker)
{
    worker->owners->stopped = true;
    posts_close(worker);
}

void owners_free(struct worker *worker)
{
    references_deinit(&worker->owners->references);
    memory_free(worker->owners);
    worker->owners = NULL;
}
