/* core/plugins/instance.c - instances of filters: made for a configuration, used by each worker */
#include "core/plugins/instance.h"

#include "core/base/breadcrumb.h"
#include "core/base/memory.h"
#include "core/io/owner.h"

/* What one instance is on one worker: an owner of what it waits for. */
struct presence {
    struct weir_worker public; /* first: who has it has the whole */
    const struct filter_use *use;
    void *state;
    bool made;
};

/* One worker's, in one block. The states come first: filters find theirs by index. */
struct presences {
    uint32_t count;
    struct presence *list;
    void *states[];
};

/* --- on the main thread */

static const weir_life *life_of(const struct filter_use *use)
{
    return use->filter->life;
}

weir_result instance_make(struct filter_use *use, const weir_section *with)
{
    weir_result rc = WEIR_OK;
    if (WEIR_HAS(weir_life, life_of(use), make)) {
        struct breadcrumb before = breadcrumb_leave(use->plugin, "make", 0);
        rc = life_of(use)->make(with, &use->instance);
        breadcrumb_restore(before);
    }
    use->made = rc >= 0;
    return rc;
}

static void free_one(struct filter_use *use)
{
    if (use->made && WEIR_HAS(weir_life, life_of(use), free)) {
        struct breadcrumb before = breadcrumb_leave(use->plugin, "free", 0);
        life_of(use)->free(use->instance);
        breadcrumb_restore(before);
    }
    use->made = false;
}

void instances_free(struct filter_use *uses, uint32_t count)
{
    while (count--)
        free_one(&uses[count]);
}

/* --- on a worker */

static void hand_out(struct presence *presence, const weir_event *event)
{
    const struct filter_use *use = presence->use;
    if (!use->filter->worker_event)
        return;
    struct breadcrumb before = breadcrumb_leave(use->plugin, "worker_event", 0);
    use->filter->worker_event(use->instance, presence->state, event);
    breadcrumb_restore(before);
}

static void on_event(struct owner *owner)
{
    struct presence *presence = (struct presence *)CONTAINER(owner, struct weir_worker, owner);
    struct task *task;
    while ((task = owner_next_event(owner))) {
        hand_out(presence, &task->event);
        owner_event_done(task);
    }
}

const struct filter_use *instance_use_of(const struct owner *owner)
{
    return ((struct presence *)CONTAINER(owner, struct weir_worker, owner))->use;
}

static weir_result prepare_one(struct presence *presence)
{
    const struct filter_use *use = presence->use;
    weir_result rc = WEIR_OK;
    if (WEIR_HAS(weir_life, life_of(use), worker_make)) {
        struct breadcrumb before = breadcrumb_leave(use->plugin, "worker_make", 0);
        rc = life_of(use)->worker_make(use->instance, &presence->public, &presence->state);
        breadcrumb_restore(before);
    }
    presence->made = rc >= 0;
    return rc;
}

static void release_one(struct presence *presence)
{
    const struct filter_use *use = presence->use;
    owner_end(&presence->public.owner);
    if (presence->made && WEIR_HAS(weir_life, life_of(use), worker_free)) {
        struct breadcrumb before = breadcrumb_leave(use->plugin, "worker_free", 0);
        life_of(use)->worker_free(use->instance, presence->state);
        breadcrumb_restore(before);
    }
    owner_end(&presence->public.owner); /* it may have asked for its name once more */
}

static struct presences *presences_new(uint32_t count)
{
    struct presences *presences =
        memory_zeroed(sizeof *presences + count * sizeof *presences->states);
    presences->list = memory_zeroed(count * sizeof *presences->list);
    return presences;
}

const struct filter_use *instances_prepare(struct snapshot_use *use, struct worker *worker)
{
    const struct snapshot *snapshot = use->snapshot;
    if (!snapshot->use_count)
        return NULL;
    struct presences *presences = presences_new(snapshot->use_count);
    use->worker_states = presences->states;
    for (uint32_t i = 0; i < snapshot->use_count; i++) {
        struct presence *presence = &presences->list[presences->count++];
        presence->use = &snapshot->uses[i];
        owner_init(&presence->public.owner, worker, use, on_event);
        if (prepare_one(presence) < 0) {
            instances_release(use);
            return &snapshot->uses[i];
        }
        presences->states[i] = presence->state;
    }
    return NULL;
}

void instances_release(struct snapshot_use *use)
{
    if (!use->worker_states)
        return;
    struct presences *presences = CONTAINER(use->worker_states, struct presences, states);
    while (presences->count--)
        release_one(&presences->list[presences->count]);
    memory_free(presences->list);
    memory_free(presences);
    use->worker_states = NULL;
}
