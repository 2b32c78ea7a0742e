/* core/process/generation.c - one loaded configuration and who still uses it */
#include "core/process/generation.h"

#include "core/base/list.h"
#include "core/base/memory.h"
#include "core/io/loop.h"
#include "core/plugins/instance.h"
#include "core/process/config.h"

struct generation_use {
    struct snapshot_use use;
    struct generation *generation;
    bool of_main_thread;
};

static struct loop *main_loop;
static uint32_t in_use;

void generations_start(struct loop *main)
{
    main_loop = main;
}

struct generation *generation_new(struct snapshot *snapshot, uint32_t number)
{
    struct generation *generation = memory_zeroed(sizeof *generation);
    generation->snapshot = snapshot;
    generation->number = number;
    in_use++;
    return generation;
}

static void generation_free(struct generation *generation)
{
    in_use--;
    snapshot_free(generation->snapshot);
    memory_free(generation->uses);
    memory_free(generation);
}

static void drop(void *user)
{
    struct generation *generation = user;
    if (--generation->users == 0)
        generation_free(generation);
}

static void on_unused(struct snapshot_use *use)
{
    struct generation_use *own = CONTAINER(use, struct generation_use, use);
    instances_release(use);
    if (own->of_main_thread)
        drop(own->generation);
    else
        loop_post(main_loop, drop, own->generation);
}

void generation_share(struct generation *generation, uint32_t workers)
{
    generation->users = workers;
    generation->uses = memory_zeroed(workers * sizeof *generation->uses);
    for (uint32_t i = 0; i < workers; i++) {
        struct generation_use *own = &generation->uses[i];
        own->use = (struct snapshot_use){
            .snapshot = generation->snapshot, .count = 1, .on_unused = on_unused};
        own->generation = generation;
        own->of_main_thread = i + 1 == workers;
    }
}

struct snapshot_use *generation_use(struct generation *generation, uint32_t worker)
{
    return &generation->uses[worker].use;
}

uint32_t generations_in_use(void)
{
    return in_use;
}
