/* core/process/networks.h - lists of networks that plugins read from their sections and keep */
#ifndef CORE_PROCESS_NETWORKS_H
#define CORE_PROCESS_NETWORKS_H

#include "abi/configuration.h"
#include "core/process/config_errors.h"
#include "core/process/tree.h"

/* Of a text or a list of texts; NULL is an empty list. NULL: reported. */
weir_networks *networks_read(const struct tree_node *node, bool forbids,
                             struct config_errors *errors);
void networks_free(weir_networks *networks); /* [any] NULL is ignored */
uint32_t networks_contain(const weir_networks *networks, weir_string address); /* [any] */

#endif
