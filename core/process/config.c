/* core/process/config.c - the configuration file and the command line become a snapshot */
#include "core/process/config.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/plugins/instance.h"
#include "core/plugins/registry.h"
#include "core/process/config_access_log.h"
#include "core/process/config_filters.h"
#include "core/process/config_keys.h"
#include "core/process/config_listeners.h"
#include "core/process/config_plugins.h"
#include "core/process/config_routes.h"
#include "core/process/config_sources.h"
#include "core/process/config_tls.h"
#include "core/process/tree.h"

/* --- what one value has to do with another */

static void check_root(struct config *config, const struct tree_node *root,
                       const struct options *options, struct config_errors *errors)
{
    struct snapshot *snapshot = &config->snapshot;
    const struct tree_node *listen = tree_child(root, "listen");
    config_find_protocols(snapshot->listeners, snapshot->listener_count, listen, snapshot->registry,
                          &config->arena, errors);
    config_find_filters(config, root, errors);
    config_check_listeners(snapshot->listeners, snapshot->listener_count, options->open, listen,
                           errors);
    config_routes(config, root, !options->upstream, errors);
}

/* --- what is not in the file */

static char *copy_text(struct arena *arena, const char *text)
{
    return memcpy(arena_allocate(arena, strlen(text) + 1), text, strlen(text) + 1);
}

/* What the file says of that address holds for it on the command line too. */
static struct listener_config make_listener(struct config *config, const char *address)
{
    struct listener_config listener = {0};
    for (uint32_t i = 0; i < config->snapshot.listener_count; i++) {
        const struct listener_config *known = &config->snapshot.listeners[i];
        if (known->address && !strcmp(known->address, address))
            return *known;
    }
    schema_set_standards(&config_listener, &listener, &config->arena);
    listener.address = copy_text(&config->arena, address);
    listener.guarded = config_all_guarded(config);
    return listener;
}

static void set_listeners(struct config *config, const char *const *addresses, uint32_t count)
{
    struct snapshot *snapshot = &config->snapshot;
    struct listener_config *listeners = arena_allocate(&config->arena, count * sizeof *listeners);
    for (uint32_t i = 0; i < count; i++)
        listeners[i] = make_listener(config, addresses[i]);
    snapshot->listeners = listeners;
    snapshot->listener_count = count;
}

/* One more group, named after its only server. */
static void set_upstream(struct config *config, const char *server)
{
    struct snapshot *snapshot = &config->snapshot;
    size_t old = snapshot->upstream_count * sizeof *snapshot->upstreams;
    struct upstream_group *all = arena_allocate(&config->arena, old + sizeof *all);
    struct upstream_group *added = all + snapshot->upstream_count;
    if (old)
        memcpy(all, snapshot->upstreams, old);
    memset(added, 0, sizeof *added);
    schema_set_standards(&config_group, added, &config->arena);
    added->name = copy_text(&config->arena, server);
    added->servers = arena_allocate(&config->arena, sizeof *added->servers);
    added->servers[0] = added->name;
    added->count = 1;
    snapshot->upstreams = all;
    snapshot->upstream_count++;
    snapshot->fixed_upstream = added;
}

/* As many as the CPUs that this process may run on. */
static uint32_t count_cpus(void)
{
    cpu_set_t sets[16]; /* 16384 CPUs: the kernel refuses room for fewer than it has */
    if (sched_getaffinity(0, sizeof sets, sets) != 0)
        return 1;
    uint32_t count = (uint32_t)CPU_COUNT_S(sizeof sets, sets);
    return count < WORKERS_MOST ? count : WORKERS_MOST;
}

/* The same in every snapshot of a process, so that a reload hides no loop. */
static const char *via_name(void)
{
    static char name_of_process[sizeof "weir-01234567"];
    uint32_t random = 0;
    if (!name_of_process[0]) {
        while (getrandom(&random, sizeof random, 0) < 0 && errno == EINTR)
            ;
        snprintf(name_of_process, sizeof name_of_process, "weir-%08x", random);
    }
    return name_of_process;
}

static void take_listeners(struct config *config, const struct options *options,
                           struct config_errors *errors)
{
    set_listeners(config, options->listeners, options->listener_count);
    config_check_listeners(config->snapshot.listeners, options->listener_count, options->open, NULL,
                           errors);
}

static void complete(struct config *config, const struct options *options,
                     struct config_errors *errors)
{
    struct snapshot *snapshot = &config->snapshot;
    if (options->listener_count)
        take_listeners(config, options, errors);
    else if ((snapshot->listeners_standard = !snapshot->listener_count))
        set_listeners(config, (const char *const[]){CONFIG_STANDARD_LISTENER}, 1);
    if (options->has_workers)
        snapshot->workers = options->workers;
    if (!snapshot->workers)
        snapshot->workers = count_cpus();
    if (options->upstream)
        set_upstream(config, options->upstream);
    snapshot->limits.size = sizeof snapshot->limits;
    snapshot->via_name = copy_text(&config->arena, via_name());
}

/* --- the whole */

/* What the file's own keys say, and what holds for those that are absent. */
static struct config *read_keys(const struct tree_node *root, struct config_errors *errors)
{
    struct config *config = memory_zeroed(sizeof *config);
    arena_init(&config->arena, config->first_block, sizeof config->first_block);
    schema_set_standards(&config_schema, config, &config->arena);
    if (root)
        schema_read(&config_schema, root, config, &config->arena, errors);
    return config;
}

static struct snapshot *make_snapshot(const struct tree_node *root, const struct options *options,
                                      struct config_errors *errors)
{
    struct config *config = read_keys(root, errors);
    config_load_plugins(config, root, options, errors);
    if (root && root->kind == TREE_MAPPING)
        check_root(config, root, options, errors);
    config_access_log(&config->snapshot.access_log, root, &config->arena, errors);
    config_tls(config, root, errors);
    complete(config, options, errors);
    config_make_instances(config, errors);
    config_free_sources(config);
    if (!errors->count)
        config_make_chains(config);
    if (!errors->count)
        return &config->snapshot;
    snapshot_free(&config->snapshot);
    return NULL;
}

static struct snapshot *from_sources(struct config_sources *sources, const struct options *options,
                                     struct config_errors *errors)
{
    if (!sources)
        return NULL;
    struct snapshot *snapshot = make_snapshot(config_sources_root(sources), options, errors);
    config_sources_free(sources);
    return snapshot;
}

struct snapshot *config_read(weir_string text, const struct options *options,
                             struct config_errors *errors)
{
    return from_sources(config_sources_read(text, errors), options, errors);
}

struct snapshot *config_load(const char *file, const struct options *options,
                             struct config_errors *errors)
{
    errors->file = file;
    if (!file)
        return make_snapshot(NULL, options, errors);
    return from_sources(config_sources_load(file, errors), options, errors);
}

char *config_load_admin(const char *file, struct config_errors *errors)
{
    errors->file = file;
    struct config_sources *sources = config_sources_load(file, errors);
    if (!sources)
        return NULL;
    struct config *config = read_keys(config_sources_root(sources), errors);
    const char *at = errors->count ? NULL : config->snapshot.admin;
    char *admin = at ? memory_copy_string(string_of(at)) : NULL;
    arena_deinit(&config->arena);
    memory_free(config);
    config_sources_free(sources);
    return admin;
}

void snapshot_free(struct snapshot *snapshot)
{
    if (!snapshot)
        return;
    struct config *config = (struct config *)snapshot;
    instances_free(snapshot->uses, snapshot->use_count);
    memory_free(snapshot->uses);
    config_free_tls(config);
    registry_free(snapshot->registry);
    arena_deinit(&config->arena);
    memory_free(config);
}
