/* core/plugins/loader.h - from a plugin's file to its struct plugin */
#ifndef CORE_PLUGINS_LOADER_H
#define CORE_PLUGINS_LOADER_H

#include "core/plugins/plugin.h"

/* [main] The plugin at that path; or, when it is a bare name, NAME.so in the directory (NULL: there
 * is none). Nothing of it runs unless it can be loaded; then its load() has registered what does
 * not collide with the registry. The reference is the caller's. NULL: `mistake` says why not and
 * what to do. */
struct plugin *loader_open(const char *path_or_name, const char *directory,
                           const struct registry *registry, char mistake[PLUGIN_MISTAKE_BYTES]);

#endif
