/* core/plugins/loader.h - from a plugin's file to its struct plugin
 *
 * A file with the same content at the same path is the same plugin, in however many configurations;
 * with another content it is another one. Nothing of a file runs before its note was judged. All
 * [main]. */
#ifndef CORE_PLUGINS_LOADER_H
#define CORE_PLUGINS_LOADER_H

#include <stdbool.h>

#include "core/plugins/plugin.h"

/* Before the first plugin. What loaded plugins get; where private copies may be: copies.h. */
void loader_start(const weir_host *host, const char *const *bases);
/* When no exchange is left: unload() of those that nobody refers to any more; the copies go. */
void loader_end(void);

/* Whether it is one of those that are looked for in a directory: no path, and not the name of a
 * file. */
bool loader_is_name(const char *path_or_name);
/* Where it is: the path itself, or NAME.so in the directory (may be NULL). The caller's
 * (memory_free). */
char *loader_find(const char *path_or_name, const char *directory);

/* The plugin of that file; load() has registered what does not collide with the registry. The
 * reference is the caller's. NULL: `mistake` says why not and what to do, with the path. */
struct plugin *loader_open(const char *path, const struct registry *registry,
                           char mistake[PLUGIN_MISTAKE_BYTES]);
/* What that plugin says of itself; as long as the plugin. */
const weir_plugin *loader_entry(const struct plugin *plugin);

#endif
