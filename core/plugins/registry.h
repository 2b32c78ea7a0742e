/* core/plugins/registry.h - the plugins that are in force in one configuration
 *
 * Made on the main thread with a configuration and constant once that is published; read by all
 * [any]. What is built in is linked as a table that codecs/builtins.c defines; core names none of
 * them. A protocol found here lives until the process ends, a filter as long as the registry. */
#ifndef CORE_PLUGINS_REGISTRY_H
#define CORE_PLUGINS_REGISTRY_H

#include <stdbool.h>

#include "core/plugins/plugin.h"

/* Defined in codecs/builtins.c, ends with NULL. Each returns its protocol, ready for that host. */
typedef const weir_protocol *(*builtin_protocol)(const weir_host *host);
extern const builtin_protocol builtin_protocols[];

struct registry;

/* [main] Once: makes the built-in plugin, which every registry then begins with. */
void registry_start(const weir_host *host);
void registry_end(void); /* does nothing when a registry is left */

/* [main] `directory` is where plugins are looked for by name; NULL: nowhere. */
struct registry *registry_new(const char *directory);
void registry_free(struct registry *registry); /* NULL is ignored; lets go of the plugins */
/* [main] Takes a reference, unless it is there. False: a filter or protocol of that name is another
 * plugin's; `mistake` names both. */
bool registry_add(struct registry *registry, struct plugin *plugin,
                  char mistake[PLUGIN_MISTAKE_BYTES]);
/* [main] The plugin at that path, or of that name in the directory, comes in force. False:
 * `mistake` says why not and what to do. */
bool registry_load(struct registry *registry, const char *path_or_name,
                   char mistake[PLUGIN_MISTAKE_BYTES]);
/* [main] The filter of that name; when nobody has registered one, the plugin of that name in the
 * directory is loaded for it. NULL: `mistake` says why not and what to do. */
const struct plugin_filter *registry_need_filter(struct registry *registry, const char *name,
                                                 char mistake[PLUGIN_MISTAKE_BYTES]);

/* [main] Likewise a protocol. */
const weir_protocol *registry_need_protocol(struct registry *registry, const char *name,
                                            char mistake[PLUGIN_MISTAKE_BYTES]);

const struct plugin_filter *registry_filter(const struct registry *registry, const char *name);
/* In the order of plugins and of their registering; NULL: end. */
const struct plugin_filter *registry_filter_at(const struct registry *registry, uint32_t index);
const weir_protocol *registry_protocol(const struct registry *registry, const char *name);
/* What clients may speak where nothing else is said: what has a client's side and is built in, or,
 * when nothing such is, is of the first plugin that has some. Ended by NULL, as long as the
 * registry is not changed. */
const weir_protocol *const *registry_standard_protocols(const struct registry *registry);
/* In the order of plugins and of their registering; NULL: end. */
const weir_protocol *registry_protocol_at(const struct registry *registry, uint32_t index);
/* The path of whoever has registered that name; NULL: nobody. */
const char *registry_filter_owner(const struct registry *registry, const char *name);
const char *registry_protocol_owner(const struct registry *registry, const char *name);

#endif
