/* core/process/watchdog.c - says which plugin holds up a worker, while it still does */
#include "core/process/watchdog.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/io/loop.h"

enum { LOOK_MS = 500 };

/* What was seen of one worker, and since when it is the same. */
struct suspicion {
    struct crew_sight sight;
    uint64_t since_ms;
    bool said;
};

struct watchdog {
    struct crew *crew;
    struct wheel_entry look;
    struct suspicion suspicions[];
};

static bool same(const struct crew_sight *a, const struct crew_sight *b)
{
    return a->turn == b->turn && a->crumb.plugin == b->crumb.plugin &&
           a->crumb.hook == b->crumb.hook && a->crumb.exchange == b->crumb.exchange;
}

static void say(const struct suspicion *suspicion, uint32_t worker)
{
    const struct breadcrumb *crumb = &suspicion->sight.crumb;
    log_write(LOG_WARNING,
              "worker %u is held up: plugin %s, hook %s, exchange %llu has run for more than %d ms",
              worker, crumb->plugin, crumb->hook, (unsigned long long)crumb->exchange,
              WATCHDOG_PATIENCE_MS);
}

static void look_at(struct watchdog *watchdog, uint32_t worker, uint64_t now_ms)
{
    struct suspicion *suspicion = &watchdog->suspicions[worker];
    struct crew_sight sight = crew_look(watchdog->crew, worker);
    uint64_t for_ms = now_ms - suspicion->since_ms;
    if (!same(&sight, &suspicion->sight)) {
        if (suspicion->said)
            log_write(LOG_WARNING, "worker %u goes on, after about %llu ms", worker,
                      (unsigned long long)for_ms);
        *suspicion = (struct suspicion){.sight = sight, .since_ms = now_ms};
    } else if (sight.crumb.plugin && !suspicion->said && for_ms >= WATCHDOG_PATIENCE_MS) {
        say(suspicion, worker);
        suspicion->said = true;
    }
}

static void look(struct wheel_entry *entry)
{
    struct watchdog *watchdog = CONTAINER(entry, struct watchdog, look);
    struct loop *loop = watchdog->crew->main;
    for (uint32_t i = 0; i < watchdog->crew->count; i++)
        look_at(watchdog, i, loop_now_ms(loop));
    wheel_set(loop_wheel(loop), entry, loop_now_ms(loop) + LOOK_MS);
}

struct watchdog *watchdog_new(struct crew *crew)
{
    struct watchdog *watchdog =
        memory_zeroed(sizeof *watchdog + crew->count * sizeof *watchdog->suspicions);
    watchdog->crew = crew;
    wheel_entry_init(&watchdog->look, look);
    wheel_set(loop_wheel(crew->main), &watchdog->look, loop_now_ms(crew->main) + LOOK_MS);
    return watchdog;
}

void watchdog_free(struct watchdog *watchdog)
{
    if (!watchdog)
        return;
    wheel_clear(&watchdog->look);
    memory_free(watchdog);
}
