/* core/process/config_plugins.h - the plugins of a configuration are loaded when it is */
#ifndef CORE_PROCESS_CONFIG_PLUGINS_H
#define CORE_PROCESS_CONFIG_PLUGINS_H

#include "core/base/memory.h"
#include "core/process/config_errors.h"
#include "core/process/config_keys.h"
#include "core/process/options.h"
#include "core/process/tree.h"

/* Around everything else that has to do with plugins: what they get from weir. */
void plugins_start(const weir_host *host);
void plugins_end(void);

/* Where plugins are found by name: beside the program as it is installed, or as it is built. NULL:
 * it is not known where that is. */
const char *plugins_standard_directory(struct arena *arena);

/* Makes the snapshot's registry: what is built in, then the options' plugins, then the file's. What
 * cannot be loaded is a mistake. `root` may be NULL. */
void config_load_plugins(struct config *config, const struct tree_node *root,
                         const struct options *options, struct config_errors *errors);

#endif
