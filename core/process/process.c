/* core/process/process.c - the serving program: start, drain, end
 *
 * The main thread has a worker of its own, whose loop gets signals and serves the admin's clients.
 * What has started when one step fails ends with the process. */
#include "core/process/process.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/edge/admission.h"
#include "core/exchange/exchange.h"
#include "core/io/loop.h"
#include "core/plugins/copies.h"
#include "core/process/admin.h"
#include "core/process/config.h"
#include "core/process/notify.h"
#include "core/process/pid_file.h"
#include "core/process/prepare.h"
#include "core/process/privileges.h"
#include "core/process/watchdog.h"
#include "core/process/worker.h"
#include "core/upstream/pool.h"

enum { LINGER_MS = 1000 /* for the admin's clients, when the workers have ended */ };

/* --- stopping */

static void drain_worker(void *worker)
{
    worker_drain(worker);
}

static void stop_worker(void *worker)
{
    worker_stop_now(worker);
}

static void on_drain_limit(struct wheel_entry *entry)
{
    struct process *process = CONTAINER(entry, struct process, drain_limit);
    if (process->crew.running)
        log_write(LOG_WARNING, "what still runs is ended: the drain has taken too long");
    crew_tell(&process->crew, stop_worker);
    if (!process->crew.running)
        worker_stop_now(process->own);
}

static void limit_drain(struct process *process, uint32_t milliseconds)
{
    wheel_set(process->own->wheel, &process->drain_limit,
              loop_now_ms(process->own->loop) + milliseconds);
}

/* Accepts nothing more and lets what runs end, for a while; the second call ends it at once. */
static void stop(struct process *process)
{
    uint32_t limit_ms = process->generation->snapshot->timeouts.drain;
    if (process->draining) {
        crew_tell(&process->crew, stop_worker);
        return;
    }
    process->draining = true;
    notify_stopping("stopping: what has begun still runs");
    crew_tell(&process->crew, drain_worker);
    if (limit_ms)
        limit_drain(process, limit_ms);
}

static void on_crew_ended(void *user)
{
    struct process *process = user;
    worker_drain(process->own);
    limit_drain(process, LINGER_MS);
}

static void on_stop_signal(void *user, int signal)
{
    struct process *process = user;
    if (!process->draining)
        log_write(LOG_INFO, "stopping on %s", strsignal(signal));
    stop(process);
}

static void on_reload_signal(void *user, int signal)
{
    char *mistakes = NULL;
    (void)signal;
    process_reload(user, &mistakes);
    memory_free(mistakes);
}

/* --- starting */

static uint32_t tenths(rlim_t limit, uint32_t tenths)
{
    rlim_t part = limit / 10 * tenths;
    return part < UINT32_MAX ? (uint32_t)part : UINT32_MAX;
}

/* Clients get 80% of the descriptors, two for each; connections to servers that are idle 10%. */
static void share_descriptors(uint32_t workers)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    admission_start(tenths(limit.rlim_max, 4));
    pool_start(tenths(limit.rlim_max, 1) / workers);
}

static void prepare_system(uint32_t workers)
{
    signal(SIGPIPE, SIG_IGN);
    share_descriptors(workers);
    const char *trace = getenv("WEIR_TRACE");
    trace_on = trace && !strcmp(trace, "exchange");
}

static struct snapshot_use *use_of(void *user, uint32_t worker)
{
    struct process *process = user;
    return generation_use(process->generation, worker);
}

static void collect_access_lines(struct process *process)
{
    process->access = access_writer_new(process->own->loop);
    for (uint32_t i = 0; i < process->crew.count; i++) {
        struct worker *worker = process->crew.members[i].worker;
        worker->access_lines = access_lines_new(worker, access_writer_take, process->access);
    }
}

static bool make_workers(struct process *process)
{
    uint32_t count = process->generation->snapshot->workers;
    process->places.workers = count;
    generation_share(process->generation, count + 1);
    process->own = worker_new(use_of(process, count), count);
    if (!process->own) {
        log_write(LOG_ERROR, "cannot make an event loop: out of file descriptors?");
        return false;
    }
    generations_start(process->own->loop);
    process->started_us = loop_now_us(process->own->loop);
    process->loaded_us = loop_wall_us(process->own->loop);
    wheel_entry_init(&process->drain_limit, on_drain_limit);
    return crew_make(&process->crew, count, process->own->loop, use_of, on_crew_ended, process);
}

static bool open_places(struct process *process)
{
    char mistake[PLACES_MISTAKE_BYTES];
    struct places *places = &process->places;
    places->open = process->options->open;
    places->admin_chain = admin_chain(process);
    places_inherit(places);
    if (places_prepare(places, process->generation, mistake))
        return true;
    log_write(LOG_ERROR, "%s", mistake);
    return false;
}

static void watch_signals(struct process *process)
{
    struct loop *loop = process->own->loop;
    loop_on_signal(loop, SIGTERM, on_stop_signal, process);
    loop_on_signal(loop, SIGINT, on_stop_signal, process);
    loop_on_signal(loop, SIGHUP, on_reload_signal, process);
    loop_on_signal(loop, SIGUSR1, access_writer_reopen, process->access);
}

static void announce(struct process *process)
{
    const struct snapshot *snapshot = process->generation->snapshot;
    places_settle(&process->places);
    if (!process->options->config_file && !value_is_unix(string_of(snapshot->listeners[0].address)))
        log_write(LOG_INFO, "try: curl -x http://%s http://example.com/",
                  snapshot->listeners[0].address);
    notify_ready("serving");
}

static bool give_plugins(const struct account *account)
{
    if (copies_give(account->user, account->group))
        return true;
    log_write(LOG_ERROR, "cannot give the copies of plugins to user %u: %s", account->user,
              strerror(errno));
    return false;
}

/* What only root may do comes before the last step. */
static bool take_account(const struct process *process, const struct account *account)
{
    const char *pid_file = process->generation->snapshot->pid_file;
    bool gives = account->wanted && geteuid() == 0;
    return (!gives || places_give(&process->places, account->user, account->group)) &&
           (!gives || give_plugins(account)) && (!pid_file || pid_file_write(pid_file)) &&
           privileges_drop(account);
}

/* Nobody comes in before each worker has what its filters need. */
static bool begin(struct process *process)
{
    char mistake[PREPARE_MISTAKE_BYTES];
    if (!prepare_workers(&process->crew, process->generation, mistake)) {
        log_write(LOG_ERROR, "%s", mistake);
        return false;
    }
    for (uint32_t i = 0; i <= process->crew.count; i++)
        snapshot_take(use_of(process, i)); /* instead of the one that the worker began with */
    process_hand_over(process);
    return true;
}

static bool start(struct process *process, const struct account *account)
{
    if (!make_workers(process) || !open_places(process))
        return false;
    if (!take_account(process, account))
        return false;
    collect_access_lines(process);
    if (!access_writer_open(process->access, &process->generation->snapshot->access_log))
        return false;
    watch_signals(process);
    process->watchdog = watchdog_new(&process->crew);
    return crew_start(&process->crew) && begin(process);
}

/* --- the end */

static void report(const struct process *process)
{
    for (int metric = 0; metric < METRICS; metric++)
        log_write(LOG_DEBUG, "total %s: %llu", metric_abouts[metric].name,
                  (unsigned long long)crew_sum(&process->crew, (enum metric)metric));
}

static void join_and_free(struct process *process)
{
    access_writer_free(process->access);
    watchdog_free(process->watchdog);
    report(process);
    crew_free(&process->crew);
    wheel_clear(&process->drain_limit);
    worker_free(process->own);
}

int process_serve(const struct options *options, struct snapshot *snapshot, const char *version)
{
    static struct process process; /* reachable for leak checkers when it fails */
    struct account account;
    if (!privileges_find(snapshot, &account)) {
        snapshot_free(snapshot);
        return EXIT_CONFIGURATION;
    }
    process.options = options;
    process.version = version;
    process.generation = generation_new(snapshot, 1);
    prepare_system(snapshot->workers);
    log_set_level(snapshot->log_level);
    exchange_start();
    bool started = start(&process, &account);
    if (started)
        announce(&process);
    else if (process.crew.running)
        stop(&process);
    if (process.crew.running) {
        worker_run(process.own);
        join_and_free(&process);
    }
    places_close(&process.places);
    pid_file_remove();
    return started ? EXIT_STOPPED : EXIT_FAILED;
}
