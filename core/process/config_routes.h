/* core/process/config_routes.h - where routes lead, and that every group is led to */
#ifndef CORE_PROCESS_CONFIG_ROUTES_H
#define CORE_PROCESS_CONFIG_ROUTES_H

#include "core/process/config_errors.h"
#include "core/process/config_keys.h"
#include "core/process/tree.h"

/* Finds the groups that are named, and compiles the routes. `check_groups`: one that no request can
 * go to is a mistake. */
void config_routes(struct config *config, const struct tree_node *root, bool check_groups,
                   struct config_errors *errors);

#endif
