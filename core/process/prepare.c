/* core/process/prepare.c - each worker makes what a configuration's filters have there alone */
#include "core/process/prepare.h"

#include <stdio.h>

#include "core/base/memory.h"
#include "core/io/loop.h"
#include "core/plugins/instance.h"

enum { PREPARE_SECONDS = 10 };

/* What one worker is asked. */
struct preparation {
    struct snapshot_use *use;
    const struct filter_use *refused; /* its worker_make() did; NULL: none */
};

static void prepare(struct worker *worker, void *item)
{
    struct preparation *preparation = item;
    preparation->refused = instances_prepare(preparation->use, worker);
}

static void release_nothing(void *item)
{
    (void)item;
}

static bool judge(const struct preparation *preparations, uint32_t count,
                  char mistake[PREPARE_MISTAKE_BYTES])
{
    for (uint32_t i = 0; i < count; i++) {
        const struct filter_use *refused = preparations[i].refused;
        if (!refused)
            continue;
        snprintf(mistake, PREPARE_MISTAKE_BYTES,
                 "worker %u: filter %s refuses the configuration; the log may say why", i,
                 refused->filter->name);
        return false;
    }
    return true;
}

bool prepare_workers(struct crew *crew, struct generation *generation,
                     char mistake[PREPARE_MISTAKE_BYTES])
{
    if (!generation->snapshot->use_count)
        return true;
    struct preparation *preparations = memory_zeroed(crew->count * sizeof *preparations);
    for (uint32_t i = 0; i < crew->count; i++)
        preparations[i].use = generation_use(generation, i);
    if (!crew_ask(crew, prepare, release_nothing, preparations, sizeof *preparations,
                  PREPARE_SECONDS)) {
        snprintf(mistake, PREPARE_MISTAKE_BYTES,
                 "a worker is too busy to prepare its filters, or a filter takes too long");
        return false; /* what is asked still belongs to the crew */
    }
    bool fine = judge(preparations, crew->count, mistake);
    memory_free(preparations);
    return fine;
}

static void drop(void *user)
{
    struct snapshot_use *use = user;
    use->retired = true;
    snapshot_drop(use);
}

/* Posts keep their order: a worker that is late prepares first, and then drops it. */
void prepare_give_up(struct crew *crew, struct generation *generation)
{
    for (uint32_t i = 0; i < crew->count; i++)
        loop_post(crew->members[i].worker->loop, drop, generation_use(generation, i));
    drop(generation_use(generation, crew->count));
}
