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
#include "core/process/prepare.h"
#include "core/process/process.h"
#include "core/process/worker.h"

enum { MISTAKE_BYTES = PLACES_MISTAKE_BYTES };
_Static_assert((int)PREPARE_MISTAKE_BYTES <= (int)MISTAKE_BYTES, "room for any mistake");

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

void process_hand_over(struct process *process)
{
    struct crew *crew = &process->crew;
    struct change *changes = memory_zeroed((crew->count + 1) * sizeof *changes);
    for (uint32_t i = 0; i <= crew->count; i++)
        make_change(process, i, &changes[i]);
    take_change(process->own, &changes[crew->count]);
    if (crew_ask(crew, take_change, release_nothing, changes, sizeof *changes, CREW_ASK_SECONDS))
        memory_free(changes);
    else
        log_write(LOG_WARNING, "a worker is busy: the configuration is in force there later");
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

/* Opens and makes what is new in it, all or nothing. False: `mistake` says why not. */
static bool make_ready(struct process *process, struct generation *generation,
                       char mistake[MISTAKE_BYTES])
{
    if (!places_prepare(&process->places, generation, mistake))
        return false;
    if (!prepare_workers(&process->crew, generation, mistake)) {
        places_give_up(&process->places);
        return false;
    }
    if (access_writer_open(process->access, &generation->snapshot->access_log))
        return true;
    snprintf(mistake, MISTAKE_BYTES, "the access log cannot be opened");
    places_give_up(&process->places);
    return false;
}

static struct generation *prepare(struct process *process, char **mistakes)
{
    char mistake[MISTAKE_BYTES];
    struct snapshot *snapshot = load(process->options, mistakes);
    if (!snapshot)
        return NULL;
    struct generation *generation = generation_new(snapshot, process->generation->number + 1);
    generation_share(generation, process->crew.count + 1);
    if (make_ready(process, generation, mistake))
        return generation;
    *mistakes = memory_copy_string(string_of(mistake));
    prepare_give_up(&process->crew, generation);
    return NULL;
}

static bool reload(struct process *process, char **mistakes)
{
    struct generation *before = process->generation;
    struct generation *generation = prepare(process, mistakes);
    if (!generation)
        return false;
    process->generation = generation;
    warn_of_restart(process, before->snapshot); /* it may be gone afterwards */
    log_set_level(generation->snapshot->log_level);
    process_hand_over(process);
    places_settle(&process->places);
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
