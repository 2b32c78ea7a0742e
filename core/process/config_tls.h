/* core/process/config_tls.h - keys and certificates that a configuration names are read */
#ifndef CORE_PROCESS_CONFIG_TLS_H
#define CORE_PROCESS_CONFIG_TLS_H

#include "core/process/config_errors.h"
#include "core/process/config_keys.h"
#include "core/process/tree.h"

/* Makes what TLS needs of each listener and group that has a section for it, and of the servers
 * that requests name. After protocols were found; `root` may be NULL. */
void config_tls(struct config *config, const struct tree_node *root, struct config_errors *errors);
void config_free_tls(struct config *config);

#endif
