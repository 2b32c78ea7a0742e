/* core/process/config_filters.h - lists of filters become instances and chains
 *
 * In this order: config_find_filters() once all plugins are known, config_make_instances() once
 * everything else was checked, config_make_chains() when there are no mistakes. */
#ifndef CORE_PROCESS_CONFIG_FILTERS_H
#define CORE_PROCESS_CONFIG_FILTERS_H

#include "core/process/config_errors.h"
#include "core/process/config_keys.h"
#include "core/process/tree.h"

/* Which filters they are, whether what is written for each is right, and who is guarded by one.
 * Memory that the sources need until config_free_sources() is theirs. */
void config_find_filters(struct config *config, const struct tree_node *root,
                         struct config_errors *errors);
/* Of each whose section has no mistake. */
void config_make_instances(struct config *config, struct config_errors *errors);
void config_make_chains(struct config *config);
/* Whether all listeners have a filter that decides who may use them. */
bool config_all_guarded(const struct config *config);
/* Nothing of the tree is needed any more. */
void config_free_sources(struct config *config);

#endif
