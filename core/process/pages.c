/* core/process/pages.c - what the admin's clients are shown: metrics, status */
#include "core/process/pages.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/string.h"
#include "core/host/plugin_metrics.h"
#include "core/io/loop.h"

static uint64_t up_seconds(const struct process *process)
{
    return (loop_now_us(process->own->loop) - process->started_us) / 1000000;
}

/* --- what the system knows of the process */

struct usage {
    uint64_t resident_bytes, descriptors, descriptors_most;
    double cpu_seconds;
};

static uint64_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    if (fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t count_descriptors(void)
{
    uint64_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (!directory)
        return 0;
    while (readdir(directory))
        count++;
    closedir(directory);
    return count - 3; /* ".", ".." and the directory itself */
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static struct usage read_usage(void)
{
    struct usage usage = {.resident_bytes = resident_bytes(), .descriptors = count_descriptors()};
    struct rlimit limit;
    struct rusage times;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        usage.descriptors_most = limit.rlim_cur;
    if (getrusage(RUSAGE_SELF, &times) == 0)
        usage.cpu_seconds = seconds(times.ru_utime) + seconds(times.ru_stime);
    return usage;
}

/* --- metrics */

static void begin_metric(struct text *text, const char *name, const char *type, const char *help)
{
    text_format(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_metric(struct text *text, const char *name, const char *type, uint64_t value,
                       const char *help)
{
    begin_metric(text, name, type, help);
    text_format(text, "%s %" PRIu64 "\n", name, value);
}

static void add_workers_metrics(const struct process *process, struct text *text)
{
    for (int i = 0; i < METRICS; i++) {
        const struct metric_about *about = &metric_abouts[i];
        char name[64];
        snprintf(name, sizeof name, "weir_%s%s", about->name, about->is_gauge ? "" : "_total");
        add_metric(text, name, about->is_gauge ? "gauge" : "counter",
                   crew_sum(&process->crew, (enum metric)i), about->help);
    }
}

static void add_configuration_metrics(const struct process *process, struct text *text)
{
    add_metric(text, "weir_configuration_generation", "gauge", process->generation->number,
               "Number of the configuration in force; 1 is the one weir started with.");
    add_metric(text, "weir_configurations_in_use", "gauge", generations_in_use(),
               "Configurations that something in progress began with, the one in force included.");
    add_metric(text, "weir_reloads_total", "counter", process->reloads,
               "How often weir was told to load its configuration again.");
    add_metric(text, "weir_reloads_failed_total", "counter", process->reloads_failed,
               "How often that failed, so that nothing changed.");
    add_metric(text, "weir_reload_success", "gauge", !process->reload_failed,
               "Whether the last reload succeeded; 1 when there was none.");
    add_metric(text, "weir_configuration_time_seconds", "gauge", process->loaded_us / 1000000,
               "When the configuration in force was loaded, in seconds since 1970.");
}

static void add_process_metrics(const struct process *process, struct text *text)
{
    struct usage usage = read_usage();
    begin_metric(text, "weir_build_info", "gauge", "The version of weir; always 1.");
    text_format(text, "weir_build_info{version=\"%s\"} 1\n", process->version);
    add_metric(text, "weir_workers", "gauge", process->crew.count,
               "Threads that serve connections.");
    add_metric(text, "weir_draining", "gauge", process->draining,
               "Whether weir was told to stop and lets run what has begun.");
    add_metric(text, "weir_uptime_seconds", "gauge", up_seconds(process),
               "Time since weir started.");
    add_metric(text, "process_resident_memory_bytes", "gauge", usage.resident_bytes,
               "Resident memory.");
    add_metric(text, "process_open_fds", "gauge", usage.descriptors, "Open file descriptors.");
    add_metric(text, "process_max_fds", "gauge", usage.descriptors_most,
               "The most file descriptors that may be open.");
    begin_metric(text, "process_cpu_seconds_total", "counter", "CPU time used.");
    text_format(text, "process_cpu_seconds_total %.6f\n", usage.cpu_seconds);
}

void page_metrics(struct process *process, struct text *text)
{
    add_workers_metrics(process, text);
    add_configuration_metrics(process, text);
    add_process_metrics(process, text);
    plugin_metrics_write(text);
}

/* --- status */

static const struct {
    const char *what;
    enum metric open, all, special;
    const char *special_word;
} counted[] = {
    {"clients", METRIC_CLIENT_CONNECTIONS_OPEN, METRIC_CLIENT_CONNECTIONS, METRIC_CLIENTS_REFUSED,
     "refused"},
    {"servers", METRIC_SERVER_CONNECTIONS_OPEN, METRIC_SERVER_CONNECTIONS,
     METRIC_SERVER_CONNECTIONS_REUSED, "times taken again"},
    {"exchanges", METRIC_EXCHANGES_OPEN, METRIC_EXCHANGES, METRIC_EXCHANGES_FAILED, "failed"},
    {"requests of plugins", METRIC_SUBREQUESTS_OPEN, METRIC_SUBREQUESTS, METRIC_SUBREQUESTS_FAILED,
     "failed"},
};

static void add_counts(const struct crew *crew, struct text *text)
{
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        text_format(text, "%s: %" PRIu64 " open, %" PRIu64 " since the start, %" PRIu64 " %s\n",
                    counted[i].what, crew_sum(crew, counted[i].open),
                    crew_sum(crew, counted[i].all), crew_sum(crew, counted[i].special),
                    counted[i].special_word);
}

static void add_listeners(const struct snapshot *snapshot, struct text *text)
{
    text_add(text, WEIR_STRING("listening on:"));
    for (uint32_t i = 0; i < snapshot->listener_count; i++)
        text_format(text, " %s", snapshot->listeners[i].address);
    text_add(text, WEIR_STRING("\n"));
}

void page_status(struct process *process, struct text *text)
{
    const struct usage usage = read_usage();
    uint64_t up = up_seconds(process);
    const char *file = process->options->config_file;
    text_format(text, "weir %s, process %d, %s\n", process->version, (int)getpid(),
                process->draining ? "stopping: what has begun still runs" : "serving");
    text_format(text, "up: %" PRIu64 " d %02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 "\n", up / 86400,
                up / 3600 % 24, up / 60 % 60, up % 60);
    text_format(text, "configuration: number %" PRIu32 ", of %s%s\n", process->generation->number,
                file ? file : "the command line",
                process->reload_failed ? "; the last reload FAILED" : "");
    add_listeners(process->generation->snapshot, text);
    text_format(text,
                "workers: %" PRIu32 "; memory: %.1f MiB; descriptors: %" PRIu64 " of %" PRIu64 "\n",
                process->crew.count, (double)usage.resident_bytes / 1048576, usage.descriptors,
                usage.descriptors_most);
    add_counts(&process->crew, text);
}
