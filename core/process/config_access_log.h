/* core/process/config_access_log.h - the access log's format is compiled when it is read */
#ifndef CORE_PROCESS_CONFIG_ACCESS_LOG_H
#define CORE_PROCESS_CONFIG_ACCESS_LOG_H

#include "core/base/snapshot.h"
#include "core/process/tree.h"

struct arena;

/* Sets log->compiled. `root` is of the whole configuration, NULL when there is none. */
void config_access_log(struct access_log_config *log, const struct tree_node *root,
                       struct arena *arena, struct config_errors *errors);

#endif
