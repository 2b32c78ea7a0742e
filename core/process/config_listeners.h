/* core/process/config_listeners.h - what listeners may be, and that none is open by accident */
#ifndef CORE_PROCESS_CONFIG_LISTENERS_H
#define CORE_PROCESS_CONFIG_LISTENERS_H

#include "core/base/memory.h"
#include "core/base/snapshot.h"
#include "core/process/config_errors.h"
#include "core/process/tree.h"

/* `list` is what the file says of the listeners; NULL: they are of the command line. `open`: so are
 * all that do not say who may use them. */
void config_check_listeners(const struct listener_config *listeners, uint32_t count, bool open,
                            const struct tree_node *list, struct config_errors *errors);

/* Finds the protocols that each listener names, and loads their plugins. */
void config_find_protocols(struct listener_config *listeners, uint32_t count,
                           const struct tree_node *list, struct registry *registry,
                           struct arena *arena, struct config_errors *errors);

#endif
