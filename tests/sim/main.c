/* tests/sim/main.c - the seeded simulator: the whole proxy between random clients and origins
 *
 * Everything of weir is the product's own but core/io's loop, tcp, listen, dns and work: theirs are
 * in this folder, with virtual time and dice. One seed, one run. */
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codecs/h2/guard.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/edge/listener.h"
#include "core/exchange/exchange.h"
#include "core/host/host.h"
#include "core/io/address.h"
#include "core/io/listen.h"
#include "core/io/loop.h"
#include "core/plugins/registry.h"
#include "core/process/worker.h"
#include "core/upstream/route.h"
#include "tests/sim/account.h"
#include "tests/sim/client.h"
#include "tests/sim/log.h"
#include "tests/sim/mux.h"
#include "tests/sim/origin.h"
#include "tests/sim/witness.h"

enum { CLIENTS = 24, STREAMS = 6, NETWORK_DICE = 0, DRAIN_US_MOST = 600 * 1000 * 1000 };

static char proxy_address[] = "127.0.0.1:3128";

/* Time limits longer than anybody's pauses, shorter than what an exchange may take. */
static struct snapshot make_snapshot(void)
{
    static struct listener_config listener = {.address = proxy_address};
    static struct port_range all_ports = {1, 65535};
    static char via_name[] = "weir-sim";
    return (struct snapshot){
        .workers = 1,
        .log_level = simulation.verbose ? LOG_DEBUG : LOG_ERROR,
        .listeners = &listener,
        .listener_count = 1,
        .limits = {.size = sizeof(weir_limits),
                   .request_line_bytes = 8192,
                   .header_bytes = 65536,
                   .header_fields = 100,
                   .head_ms = 30000,
                   .idle_ms = 60000,
                   .streams = STREAMS},
        .timeouts = {.connect = 10000,
                     .response_head = 20000,
                     .exchange_idle = 30000,
                     .tunnel_idle = 60000,
                     .body = 25000},
        .connect_ports = {.ranges = &all_ports, .count = 1},
        .via_name = via_name,
    };
}

/* To each host whose origins speak HTTP/2 there is a route that says so. */
static void route_host(struct snapshot *snapshot, const struct host *host, struct arena *arena)
{
    struct upstream_group *group = &snapshot->upstreams[snapshot->upstream_count++];
    struct route_config *route = &snapshot->routes[snapshot->route_count++];
    char **name = arena_allocate(arena, sizeof *name);
    static char protocol[] = "h2";
    *name = (char *)(uintptr_t)arena_format(arena, "%s", host->name).bytes;
    *group =
        (struct upstream_group){.name = *name, .servers = name, .count = 1, .protocol = protocol};
    *route = (struct route_config){.when.hosts = {name, 1}, .group = group};
}

static void route_hosts(struct snapshot *snapshot, struct arena *arena)
{
    const struct host *hosts;
    uint32_t count = plan_hosts(&hosts);
    snapshot->upstreams = arena_allocate(arena, count * sizeof *snapshot->upstreams);
    snapshot->routes = arena_allocate(arena, count * sizeof *snapshot->routes);
    for (uint32_t i = 0; i < count; i++)
        if (hosts[i].h2)
            route_host(snapshot, &hosts[i], arena);
    snapshot->route_index = route_index_new(snapshot, arena);
}

static void on_unused(struct snapshot_use *use)
{
    (void)use; /* its count is looked at when all is over */
}

static void open_entrance(struct worker *worker, const struct address *address)
{
    struct listen_place place = {.address = *address};
    struct edge_place entrance = {
        .id = 1, .config = worker->snapshot->listeners, .chain = witness_chain()};
    if (listen_open(&place, &entrance.socket, 1))
        abort();
    edge_set_places(worker, &entrance, 1);
}

static struct event drained_too_late;

static void fire_drained_too_late(struct event *event)
{
    (void)event;
    violated(NOTHING_LEFT, 0, "weir has not ended %d s after it was told to",
             DRAIN_US_MOST / 1000000);
}

static void drain(void *user)
{
    happened("weir is told to drain", 0, 0);
    clients_excuse_unread();
    event_init(&drained_too_late, fire_drained_too_late);
    event_set(&drained_too_late, DRAIN_US_MOST);
    worker_drain(user);
}

/* What weir counts as open must be nothing. */
static void check_gauges(const struct worker *worker)
{
    for (int i = 0; i < METRICS; i++) {
        uint64_t open = metric_read(&worker->metrics, (enum metric)i);
        if (metric_abouts[i].is_gauge && open)
            violated(NOTHING_LEFT, 0, "%s is %" PRIu64, metric_abouts[i].name, open);
    }
}

static void report(const struct worker *worker)
{
    for (int metric = 0; metric < METRICS; metric++)
        printf("  %-26s %" PRIu64 "\n", metric_abouts[metric].name,
               metric_read(&worker->metrics, (enum metric)metric));
}

static void *simulate(void *user)
{
    struct snapshot snapshot = make_snapshot();
    struct snapshot_use use = {.snapshot = &snapshot, .count = 1, .on_unused = on_unused};
    struct address proxy;
    struct arena arena;
    uint64_t first_block[64];
    (void)user;
    account_init();
    arena_init(&arena, first_block, sizeof first_block);
    log_configure(&snapshot, &arena);
    route_hosts(&snapshot, &arena);
    address_parse(string_of(proxy_address), &proxy);
    log_set_level(snapshot.log_level);
    registry_start(host_table("simulated"));
    snapshot.registry = registry_new(NULL);
    exchange_start();
    struct worker *worker = worker_new(&use, 0);
    log_open(worker);
    open_entrance(worker, &proxy);
    origins_start();
    clients_start(worker->loop, &proxy, CLIENTS, drain, worker);
    worker_run(worker);
    if (use.count)
        violated(NOTHING_LEFT, 0, "the configuration is in use %u times", use.count);
    check_gauges(worker);
    witness_check(metric_read(&worker->metrics, METRIC_EXCHANGES));
    report(worker);
    log_check();
    worker_free(worker);
    arena_deinit(&arena);
    arena_pool_deinit();
    registry_free(snapshot.registry);
    registry_end();
    clients_free();
    account_deinit();
    events_deinit();
    return NULL;
}

/* --- memory: a thread that ends gives back all that its allocator kept for it */

/* Metrics last until exit, from when something was counted. */
static void count_once(void)
{
    struct worker worker = {.index = 0};
    worker_current = &worker;
    for (int offence = 0; offence < H2_OFFENCES; offence++)
        h2_guard_tell((enum h2_offence)offence);
    worker_current = NULL;
}

/* What is made once and stays: the allocator's for a first thread, the protocols' for all. */
static void *make_what_stays(void *user)
{
    mux_start();
    registry_start(host_table("simulated"));
    registry_free(registry_new(NULL));
    count_once();
    registry_end();
    return user;
}

static void in_thread(void *(*function)(void *user))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, NULL) || pthread_join(thread, NULL))
        abort();
}

static size_t allocated(void)
{
    struct mallinfo2 info = mallinfo2(); /* all zero with a sanitizer, which looks for itself */
    return info.uordblks + info.hblkhd;
}

static void run(void)
{
    log_set_level(simulation.verbose ? LOG_DEBUG : LOG_ERROR);
    in_thread(make_what_stays);
    size_t before = allocated();
    in_thread(simulate);
    size_t after = allocated();
    if (after != before)
        violated(NOTHING_LEFT, 0, "%zu bytes of memory are left", after - before);
}

/* --- the command line */

static const char usage[] = "usage: sim [--exchanges N] [--seed S] [--faults all|none] [--filters] "
                            "[--pair all|h1-h1|h1-h2|h2-h1|h2-h2] [--break INVARIANT] [--verbose]\n"
                            "       sim --list-invariants\n";

static void list_invariants(void)
{
    for (int i = 0; i < INVARIANTS; i++)
        printf("%-26s %s\n", invariant_texts[i].name, invariant_texts[i].meaning);
}

static bool parse_number(const char *text, uint64_t *number)
{
    return text && string_to_number(string_of(text), UINT32_MAX, number);
}

static bool parse_faults(const char *text)
{
    simulation.faults = text && !strcmp(text, "all");
    return text && (simulation.faults || !strcmp(text, "none"));
}

/* What clients speak, then what origins do. */
static bool parse_pair(const char *text)
{
    if (!text || !strcmp(text, "all"))
        return text != NULL;
    for (int i = 0; i < 2; i++) {
        simulation.h1[i] = !strncmp(text + 3 * i, "h1", 2);
        simulation.h2[i] = !strncmp(text + 3 * i, "h2", 2);
        if (strlen(text) != strlen("h1-h2") || simulation.h1[i] == simulation.h2[i])
            return false;
    }
    return text[2] == '-';
}

static bool parse_break(const char *text)
{
    for (int i = 0; text && i < INVARIANTS; i++)
        if (!strcmp(text, invariant_texts[i].name))
            simulation.broken = i;
    return simulation.broken >= 0;
}

static bool parse_option(const char *name, const char *value)
{
    if (!strcmp(name, "--exchanges"))
        return parse_number(value, &simulation.exchanges) && simulation.exchanges;
    if (!strcmp(name, "--seed"))
        return parse_number(value, &simulation.seed);
    if (!strcmp(name, "--faults"))
        return parse_faults(value);
    if (!strcmp(name, "--pair"))
        return parse_pair(value);
    if (!strcmp(name, "--break"))
        return parse_break(value);
    return false;
}

static bool parse_options(char **arguments)
{
    for (char **at = arguments + 1; *at; at++) {
        if (!strcmp(*at, "--verbose"))
            simulation.verbose = true;
        else if (!strcmp(*at, "--filters"))
            simulation.filters = true;
        else if (!parse_option(*at, at[1]))
            return false;
        else
            at++;
    }
    return true;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int count, char **arguments)
{
    double start = seconds();
    simulation.exchanges = 10000;
    simulation.faults = true;
    simulation.h1[0] = simulation.h1[1] = simulation.h2[0] = simulation.h2[1] = true;
    simulation.seed = (uint64_t)(time(NULL) % 1000000);
    if (count == 2 && !strcmp(arguments[1], "--list-invariants")) {
        list_invariants();
        return 0;
    }
    if (!parse_options(arguments)) {
        fputs(usage, stderr);
        return 2;
    }
    printf("seed %" PRIu64 ", %" PRIu64 " exchanges, faults %s%s\n", simulation.seed,
           simulation.exchanges, simulation.faults ? "all" : "none",
           simulation.filters ? ", filters that meddle" : "");
    fflush(stdout);
    simulation.dice = dice_of(simulation.seed, NETWORK_DICE);
    run();
    printf("%.0f virtual seconds in %.1f s, trace %016" PRIx64 "\n",
           (double)simulation.now_us / 1e6, seconds() - start, simulation.hash);
    if (simulation.broken >= 0) {
        fprintf(stderr, "broken on purpose, but not seen: %s\n",
                invariant_texts[simulation.broken].name);
        return 3;
    }
    return 0;
}
