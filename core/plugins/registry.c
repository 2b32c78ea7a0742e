/* core/plugins/registry.c - the plugins that are in force in one configuration */
#include "core/plugins/registry.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/plugins/loader.h"

struct registry {
    char *directory;
    struct plugin **plugins;
    uint32_t count;
    const weir_protocol **protocols; /* of all of them */
    uint32_t protocol_count;
    const weir_protocol **standard; /* ended by NULL */
    uint32_t standard_count;
};

static struct plugin *builtin;

/* --- what is built in */

void registry_start(const weir_host *host)
{
    builtin = plugin_new(host, "weir", "weir");
    for (const builtin_protocol *load = builtin_protocols; *load; load++)
        plugin_add_protocol(builtin, (*load)(&builtin->host));
}

void registry_end(void)
{
    if (!builtin || --builtin->references)
        return;
    plugin_free(builtin);
    builtin = NULL;
}

/* --- who is in force */

/* Of the first plugin that has any, and what is built in comes first. */
static void choose_standard(struct registry *registry, const struct plugin *plugin)
{
    if (registry->standard_count)
        return;
    for (struct plugin_protocol *own = plugin->protocols; own; own = own->next)
        if (own->protocol.client)
            registry->standard_count++;
    memory_free(registry->standard);
    registry->standard = memory_zeroed((registry->standard_count + 1) * sizeof(weir_protocol *));
    const weir_protocol **next = registry->standard;
    for (struct plugin_protocol *own = plugin->protocols; own; own = own->next)
        if (own->protocol.client)
            *next++ = &own->protocol;
}

static void append(struct registry *registry, struct plugin *plugin)
{
    registry->plugins =
        memory_resize(registry->plugins, (registry->count + 1) * sizeof(struct plugin *));
    registry->plugins[registry->count++] = plugin_reference(plugin);
    for (struct plugin_protocol *own = plugin->protocols; own; own = own->next) {
        registry->protocols = memory_resize(registry->protocols, (registry->protocol_count + 1) *
                                                                     sizeof(weir_protocol *));
        registry->protocols[registry->protocol_count++] = &own->protocol;
    }
    choose_standard(registry, plugin);
}

struct registry *registry_new(const char *directory)
{
    struct registry *registry = memory_zeroed(sizeof *registry);
    registry->directory = directory ? memory_copy_string(string_of(directory)) : NULL;
    if (builtin)
        append(registry, builtin);
    return registry;
}

void registry_free(struct registry *registry)
{
    if (!registry)
        return;
    while (registry->count)
        plugin_release(registry->plugins[--registry->count]);
    memory_free(registry->plugins);
    memory_free(registry->protocols);
    memory_free(registry->standard);
    memory_free(registry->directory);
    memory_free(registry);
}

static bool fail(char mistake[PLUGIN_MISTAKE_BYTES], const char *kind, const char *name,
                 const struct plugin *plugin, const char *owner)
{
    snprintf(mistake, PLUGIN_MISTAKE_BYTES,
             "the %s \"%s\" of %s is one of %s already; remove one of the two", kind, name,
             plugin->path, owner);
    return false;
}

static bool collides(const struct registry *registry, const struct plugin *plugin,
                     char mistake[PLUGIN_MISTAKE_BYTES])
{
    const char *owner;
    for (struct plugin_filter *own = plugin->filters; own; own = own->next)
        if ((owner = registry_filter_owner(registry, own->filter.name)))
            return !fail(mistake, "filter", own->filter.name, plugin, owner);
    for (struct plugin_protocol *own = plugin->protocols; own; own = own->next)
        if ((owner = registry_protocol_owner(registry, own->protocol.name)))
            return !fail(mistake, "protocol", own->protocol.name, plugin, owner);
    return false;
}

bool registry_add(struct registry *registry, struct plugin *plugin,
                  char mistake[PLUGIN_MISTAKE_BYTES])
{
    for (uint32_t i = 0; i < registry->count; i++)
        if (registry->plugins[i] == plugin)
            return true;
    if (collides(registry, plugin, mistake))
        return false;
    append(registry, plugin);
    return true;
}

/* --- more of them */

bool registry_load(struct registry *registry, const char *path_or_name,
                   char mistake[PLUGIN_MISTAKE_BYTES])
{
    char *path = loader_find(path_or_name, registry->directory);
    struct plugin *plugin = loader_open(path, registry, mistake);
    memory_free(path);
    if (!plugin)
        return false;
    bool added = registry_add(registry, plugin, mistake);
    plugin_release(plugin);
    return added;
}

/* Loads the plugin of that name, for what is to have the same name. */
static bool load_for(struct registry *registry, const char *kind, const char *name,
                     char mistake[PLUGIN_MISTAKE_BYTES])
{
    if (!registry->directory || !loader_is_name(name)) {
        snprintf(mistake, PLUGIN_MISTAKE_BYTES, "there is no %s \"%s\"", kind, name);
        return false;
    }
    char *path = loader_find(name, registry->directory);
    bool there = access(path, F_OK) == 0;
    if (!there)
        snprintf(mistake, PLUGIN_MISTAKE_BYTES,
                 "there is no %s \"%s\", and no %s; load its plugin with `plugins`", kind, name,
                 path);
    memory_free(path);
    return there && registry_load(registry, name, mistake);
}

/* The plugin of that name does not have what it was loaded for. */
static void has_none(const struct registry *registry, const char *kind, const char *name,
                     char mistake[PLUGIN_MISTAKE_BYTES])
{
    snprintf(mistake, PLUGIN_MISTAKE_BYTES,
             "there is no %s \"%s\", although %s/%s.so is a plugin; see what that has", kind, name,
             registry->directory, name);
}

const struct plugin_filter *registry_need_filter(struct registry *registry, const char *name,
                                                 char mistake[PLUGIN_MISTAKE_BYTES])
{
    const struct plugin_filter *filter = registry_filter(registry, name);
    if (filter || !load_for(registry, "filter", name, mistake))
        return filter;
    filter = registry_filter(registry, name);
    if (!filter)
        has_none(registry, "filter", name, mistake);
    return filter;
}

const weir_protocol *registry_need_protocol(struct registry *registry, const char *name,
                                            char mistake[PLUGIN_MISTAKE_BYTES])
{
    const weir_protocol *protocol = registry_protocol(registry, name);
    if (protocol || !load_for(registry, "protocol", name, mistake))
        return protocol;
    protocol = registry_protocol(registry, name);
    if (!protocol)
        has_none(registry, "protocol", name, mistake);
    return protocol;
}

/* --- who has what */

const struct plugin_filter *registry_filter(const struct registry *registry, const char *name)
{
    for (uint32_t i = 0; i < registry->count; i++)
        for (struct plugin_filter *own = registry->plugins[i]->filters; own; own = own->next)
            if (!strcmp(own->filter.name, name))
                return own;
    return NULL;
}

const struct plugin_filter *registry_filter_at(const struct registry *registry, uint32_t index)
{
    for (uint32_t i = 0; i < registry->count; i++)
        for (struct plugin_filter *own = registry->plugins[i]->filters; own; own = own->next)
            if (!index--)
                return own;
    return NULL;
}

const char *registry_filter_owner(const struct registry *registry, const char *name)
{
    const struct plugin_filter *filter = registry_filter(registry, name);
    return filter ? filter->plugin->path : NULL;
}

const weir_protocol *registry_protocol(const struct registry *registry, const char *name)
{
    for (uint32_t i = 0; i < registry->protocol_count; i++)
        if (!strcmp(registry->protocols[i]->name, name))
            return registry->protocols[i];
    return NULL;
}

const weir_protocol *const *registry_standard_protocols(const struct registry *registry)
{
    static const weir_protocol *const none[] = {NULL};
    return registry->standard ? registry->standard : none;
}

const weir_protocol *registry_protocol_at(const struct registry *registry, uint32_t index)
{
    return index < registry->protocol_count ? registry->protocols[index] : NULL;
}

const char *registry_protocol_owner(const struct registry *registry, const char *name)
{
    for (uint32_t i = 0; i < registry->count; i++)
        for (struct plugin_protocol *own = registry->plugins[i]->protocols; own; own = own->next)
            if (!strcmp(own->protocol.name, name))
                return registry->plugins[i]->path;
    return NULL;
}
