/* core/process/plugin_check.c - `weir plugin check`: what plugins are, or why they are refused */
#include "core/process/plugin_check.h"

#include <stdio.h>

#include "core/base/memory.h"
#include "core/plugins/loader.h"
#include "core/plugins/registry.h"
#include "core/process/config_errors.h"
#include "core/process/config_plugins.h"
#include "core/process/plugin_schema.h"
#include "core/process/process.h"

static void print_entry(const char *path, const weir_plugin *entry)
{
    printf("%s: can be loaded\n", path);
    printf("  name      %s\n", entry->name);
    printf("  version   %s\n", entry->version ? entry->version : "");
    printf("  license   %s\n", entry->license ? entry->license : "");
    printf("  ABI       %u.%u, needs %u.%u or later\n", entry->abi_major, entry->abi_minor,
           entry->abi_major, entry->needs_minor);
    printf("  needs     %s\n", entry->needs ? entry->needs : "");
}

/* What a plugin says of a filter's section is read when the filter is used; here it is at once. */
static bool check_filter(const char *path, const struct plugin_filter *found)
{
    struct config_errors mistakes = {0};
    const weir_life *life = found->filter.life;
    struct plugin_schema *schema = plugin_schema_parse(life ? life->schema : NULL, &mistakes);
    printf("  filter    %s\n", found->filter.name);
    if (!schema)
        fprintf(stderr, "weir: %s: the schema of filter %s is wrong: %u:%u: %s\n", path,
                found->filter.name, mistakes.list[0].line, mistakes.list[0].column,
                mistakes.list[0].text);
    bool fine = schema != NULL;
    plugin_schema_free(schema);
    config_errors_deinit(&mistakes);
    return fine;
}

static void print_protocol(const weir_protocol *protocol)
{
    const char *sides = protocol->client && protocol->server ? "clients and servers"
                        : protocol->client                   ? "clients"
                                                             : "servers";
    printf("  protocol  %s, with %s\n", protocol->name, sides);
}

static bool check_plugin(const struct plugin *plugin)
{
    bool fine = true;
    print_entry(plugin->path, loader_entry(plugin));
    for (const struct plugin_filter *filter = plugin->filters; filter; filter = filter->next)
        fine = check_filter(plugin->path, filter) && fine;
    for (const struct plugin_protocol *own = plugin->protocols; own; own = own->next)
        print_protocol(&own->protocol);
    return fine;
}

/* Each by itself: two that have a filter of one name may both be fine. */
static bool check_path(const char *path, const struct registry *registry)
{
    char mistake[PLUGIN_MISTAKE_BYTES];
    struct plugin *plugin = loader_open(path, registry, mistake);
    if (!plugin) {
        fprintf(stderr, "weir: %s\n", mistake);
        return false;
    }
    bool fine = check_plugin(plugin);
    plugin_release(plugin);
    return fine;
}

int plugin_check(const char *const *names, uint32_t count)
{
    bool fine = true;
    uint64_t first_block[512];
    struct arena arena;
    arena_init(&arena, first_block, sizeof first_block);
    const char *directory = plugins_standard_directory(&arena);
    struct registry *registry = registry_new(directory);
    for (uint32_t i = 0; i < count; i++) {
        char *path = loader_find(names[i], directory);
        fine = check_path(path, registry) && fine;
        memory_free(path);
    }
    registry_free(registry);
    arena_deinit(&arena);
    return fine ? EXIT_STOPPED : EXIT_FAILED;
}
