/* core/process/main.c - arguments, configuration, workers, signals; nothing else */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/base/log.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/edge/listener.h"
#include "core/exchange/exchange.h"
#include "core/host/host.h"
#include "core/io/address.h"
#include "core/io/loop.h"
#include "core/io/tcp.h"
#include "core/plugins/registry.h"
#include "core/process/config.h"
#include "core/process/options.h"
#include "core/process/worker.h"

enum { EXIT_STOPPED = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_CONFIGURATION = 78 };

struct process {
    struct snapshot *snapshot;
    struct worker **workers;
    pthread_t *threads;
    uint32_t running;  /* threads started */
    struct loop *loop; /* the main thread's, for signals */
    bool draining;
    char addresses[LISTENERS_MOST][ADDRESS_TEXT_BYTES];
};

/* --- stopping */

static void drain_worker(void *user)
{
    worker_drain(user);
}

static void stop_worker(void *user)
{
    worker_stop_now(user);
}

static void on_worker_done(void *user)
{
    struct process *process = user;
    if (--process->running == 0)
        loop_stop(process->loop);
}

/* The first signal lets what runs end, the second does not. */
static void on_stop_signal(void *user, int signal)
{
    struct process *process = user;
    void (*call)(void *) = process->draining ? stop_worker : drain_worker;
    if (!process->draining)
        log_write(LOG_INFO, "stopping on %s", strsignal(signal));
    process->draining = true;
    for (uint32_t i = 0; i < process->snapshot->workers; i++)
        loop_post(process->workers[i]->loop, call, process->workers[i]);
}

/* --- running */

struct thread_start {
    struct process *process;
    struct worker *worker;
};

static void *run_worker(void *user)
{
    struct thread_start *start = user;
    struct process *process = start->process;
    worker_run(start->worker);
    memory_free(start);
    loop_post(process->loop, on_worker_done, process);
    return NULL;
}

static bool start_threads(struct process *process)
{
    for (uint32_t i = 0; i < process->snapshot->workers; i++) {
        struct thread_start *start = memory_allocate(sizeof *start);
        *start = (struct thread_start){process, process->workers[i]};
        int rc = pthread_create(&process->threads[i], NULL, run_worker, start);
        if (rc) {
            log_write(LOG_ERROR, "cannot start worker %u: %s", i, strerror(rc));
            return false;
        }
        process->running++;
    }
    return true;
}

/* A plain bind proves that each port is free although workers share it, and settles port 0. */
static bool probe_listeners(struct process *process)
{
    struct snapshot *snapshot = process->snapshot;
    for (uint32_t i = 0; i < snapshot->listener_count; i++) {
        struct address address;
        const char *text = snapshot->listeners[i].address;
        int rc = address_parse(string_of(text), &address) ? tcp_probe(&address) : -EINVAL;
        if (rc) {
            log_write(LOG_ERROR, "cannot listen on %s: %s", text, strerror(-rc));
            return false;
        }
        address_format(&address, process->addresses[i]);
        snapshot->listeners[i].address = process->addresses[i];
    }
    return true;
}

static bool start_workers(struct process *process)
{
    uint32_t count = process->snapshot->workers;
    process->workers = memory_zeroed(count * sizeof *process->workers);
    process->threads = memory_zeroed(count * sizeof *process->threads);
    for (uint32_t i = 0; i < count; i++) {
        const char *failed = NULL;
        process->workers[i] = worker_new(process->snapshot, i);
        if (!process->workers[i]) {
            log_write(LOG_ERROR, "cannot make worker %u: out of file descriptors?", i);
            return false;
        }
        int rc = edge_start(process->workers[i], count > 1, &failed);
        if (rc) {
            log_write(LOG_ERROR, "cannot listen on %s: %s", failed, strerror(-rc));
            return false;
        }
    }
    return true;
}

static void announce(const struct process *process, bool configured)
{
    const struct snapshot *snapshot = process->snapshot;
    for (uint32_t i = 0; i < snapshot->listener_count; i++)
        log_write(LOG_ALWAYS, "listening on %s", snapshot->listeners[i].address);
    if (!configured && snapshot->listener_count)
        log_write(LOG_INFO, "try: curl -x http://%s http://example.com/",
                  snapshot->listeners[0].address);
}

static void report(const struct process *process)
{
    for (int metric = 0; metric < METRICS; metric++) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < process->snapshot->workers; i++)
            sum += metric_read(&process->workers[i]->metrics, (enum metric)metric);
        log_write(LOG_DEBUG, "total %s: %llu", metric_names[metric], (unsigned long long)sum);
    }
}

static void join_and_free(struct process *process)
{
    report(process);
    for (uint32_t i = 0; i < process->snapshot->workers; i++) {
        pthread_join(process->threads[i], NULL);
        worker_free(process->workers[i]);
    }
    loop_free(process->loop);
    memory_free(process->workers);
    memory_free(process->threads);
    registry_clear();
}

static void prepare_system(void)
{
    struct rlimit limit;
    signal(SIGPIPE, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    const char *trace = getenv("WEIR_TRACE");
    trace_on = trace && !strcmp(trace, "exchange");
}

/* What has started when one step fails ends with the process. */
static int run(struct process *process, bool configured)
{
    prepare_system();
    log_set_level(process->snapshot->log_level);
    registry_load_builtins(host_table(WEIR_VERSION));
    exchange_start(NULL);
    process->loop = loop_new();
    if (!process->loop || !probe_listeners(process) || !start_workers(process))
        return EXIT_FAILED;
    loop_on_signal(process->loop, SIGTERM, on_stop_signal, process);
    loop_on_signal(process->loop, SIGINT, on_stop_signal, process);
    if (!start_threads(process))
        return EXIT_FAILED;
    announce(process, configured);
    loop_run(process->loop);
    join_and_free(process);
    return EXIT_STOPPED;
}

static struct snapshot *load(const struct options *options)
{
    struct config_errors errors = {0};
    struct snapshot *snapshot = config_load(options->config_file, options, &errors);
    if (!snapshot)
        config_errors_print(&errors, stderr);
    config_errors_deinit(&errors);
    return snapshot;
}

static int serve(const struct options *options)
{
    static struct process process;
    process.snapshot = load(options);
    if (!process.snapshot)
        return EXIT_CONFIGURATION;
    int status = run(&process, options->config_file != NULL);
    if (status == EXIT_STOPPED)
        snapshot_free(process.snapshot);
    return status;
}

static int check(const struct options *options)
{
    struct snapshot *snapshot = load(options);
    if (!snapshot)
        return EXIT_CONFIGURATION;
    snapshot_free(snapshot);
    printf("%s: the configuration is valid\n", options->config_file);
    return EXIT_STOPPED;
}

int main(int count, char **arguments)
{
    struct options options = {0};
    char mistake[OPTIONS_MISTAKE_BYTES];
    if (!options_parse(count, arguments, &options, mistake)) {
        fprintf(stderr, "weir: %s\n", mistake);
        return EXIT_USAGE;
    }
    switch (options.command) {
    case OPTIONS_HELP:
        options_print_help(stdout);
        return EXIT_STOPPED;
    case OPTIONS_VERSION:
        printf("weir %s\n", WEIR_VERSION);
        return EXIT_STOPPED;
    case OPTIONS_CHECK:
        return check(&options);
    case OPTIONS_RUN:
        break;
    }
    return serve(&options);
}
