/* tests/registry_of.h - a registry of a test's own protocols, as they are */
#ifndef TESTS_REGISTRY_OF_H
#define TESTS_REGISTRY_OF_H

#include <stdint.h>

#include "core/plugins/registry.h"

/* Nothing in them is judged. registry_free() frees all of it. */
static inline struct registry *registry_of(const weir_protocol *const *protocols, uint32_t count)
{
    static const weir_host host = {.size = sizeof host};
    char mistake[PLUGIN_MISTAKE_BYTES];
    struct registry *registry = registry_new(NULL);
    struct plugin *plugin = plugin_new(&host, "test", "test");
    plugin->on_unused = plugin_free;
    for (uint32_t i = 0; i < count; i++)
        plugin_add_protocol(plugin, protocols[i]);
    registry_add(registry, plugin, mistake);
    plugin_release(plugin);
    return registry;
}

#endif
