/* core/process/reload.c - another configuration comes in force without a connection being dropped
 */
#include <stdio.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/io/loop.h"
#include "core/process/config.h"
#include "core/process/notify.h"
#include "core/process/process.h"
#include "core/process/worker.h"

/* What one worker is to take. */
struct change {
    struct snapshot_use *use;
    struct edge_place places[PLACES_MOST];
    uint32_t count;
};

static void take_change(struct worker *worker, void *item)
{
    struct change *change = item;
    worker_take(worker, change->use, change->places, change->count);
}

static void release_nothing(void *item)
{
    (void)item;
}

static void make_change(struct process *process, uint32_t worker, struct change *change)
{
    change->use = generation_use(process->generation, worker);
    change->count = places_hand_over(&process->places, worker, change->places);
}

/* Each worker takes it between two turns of its own. */
static void put_in_force(struct process *process)
{
    struct crew *crew = &process->crew;
    struct change *changes = memory_zeroed((crew->count + 1) * sizeof *changes);
    for (uint32_t i = 0; i <= crew->count; i++)
        make_change(process, i, &changes[i]);
    take_change(process->own, &changes[crew->count]);
    if (crew_ask(crew, take_change, release_nothing, changes, sizeof *changes))
        memory_free(changes);
    else
        log_write(LOG_WARNING, "a worker is busy: the configuration is in force there later");
    places_settle(&process->places);
}

/* --- what is wrong with it */

static char *text_of_mistakes(const struct config_errors *errors)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    config_errors_print(errors, stream);
    fclose(stream);
    return text;
}

static struct snapshot *load(const struct options *options, char **mistakes)
{
    struct config_errors errors = {0};
    struct snapshot *snapshot = config_load(options->config_file, options, &errors);
    if (!snapshot)
        *mistakes = text_of_mistakes(&errors);
    config_errors_deinit(&errors);
    return snapshot;
}

static void log_lines(const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        log_write(LOG_ERROR, "%.*s", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

/* --- what only a restart changes */

static bool differ(const char *before, const char *now)
{
    return strcmp(before ? before : "", now ? now : "") != 0;
}

static void warn(const char *key)
{
    log_write(LOG_WARNING, "%s has changed: that needs a restart", key);
}

static void warn_of_restart(const struct process *process, const struct snapshot *before)
{
    const struct snapshot *now = process->generation->snapshot;
    if (now->workers != process->crew.count)
        warn("workers");
    if (differ(before->user, now->user))
        warn("user");
    if (differ(before->group, now->group))
        warn("group");
    if (differ(before->pid_file, now->pid_file))
        warn("pid_file");
}

/* --- the whole */

static struct generation *prepare(struct process *process, char **mistakes)
{
    char mistake[PLACES_MISTAKE_BYTES];
    struct snapshot *snapshot = load(process->options, mistakes);
    if (!snapshot)
        return NULL;
    struct generation *generation = generation_new(snapshot, process->generation->number + 1);
    bool places = places_prepare(&process->places, generation, mistake);
    if (places && access_writer_open(process->access, &snapshot->access_log))
        return generation;
    if (places)
        places_give_up(&process->places);
    *mistakes = memory_copy_string(places ? WEIR_STRING("the access log cannot be opened")
                                          : string_of(mistake));
    generation_free(generation);
    return NULL;
}

static bool reload(struct process *process, char **mistakes)
{
    struct generation *before = process->generation;
    struct generation *generation = prepare(process, mistakes);
    if (!generation)
        return false;
    generation_share(generation, process->crew.count + 1);
    process->generation = generation;
    warn_of_restart(process, before->snapshot); /* it may be gone afterwards */
    log_set_level(generation->snapshot->log_level);
    put_in_force(process);
    return true;
}

bool process_reload(struct process *process, char **mistakes)
{
    struct loop *loop = process->own->loop;
    if (process->draining) {
        *mistakes = memory_copy_string(WEIR_STRING("weir is stopping"));
        log_write(LOG_WARNING, "not reloaded: weir is stopping");
        return false;
    }
    process->reloads++;
    notify_reloading(loop_now_us(loop));
    process->reload_failed = !reload(process, mistakes);
    if (process->reload_failed) {
        process->reloads_failed++;
        log_lines(*mistakes);
        log_write(LOG_ERROR, "not reloaded: the configuration in force stays");
    } else {
        process->loaded_us = loop_wall_us(loop);
        log_write(LOG_INFO, "reloaded: configuration %u is in force", process->generation->number);
    }
    notify_ready(process->reload_failed ? "serving; the last reload failed" : "serving");
    return !process->reload_failed;
}
