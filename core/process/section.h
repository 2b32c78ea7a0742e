/* core/process/section.h - a part of a configuration as plugins read it: abi/configuration.h
 *
 * A weir_section is a node of the tree. What make() reads beside it, files and what is in them,
 * lives until it has returned. [main] */
#ifndef CORE_PROCESS_SECTION_H
#define CORE_PROCESS_SECTION_H

#include "abi/configuration.h"
#include "core/process/config_errors.h"
#include "core/process/tree.h"

/* From now until section_end() plugins may read sections; mistakes go to `errors`. `scope` and
 * `parent` are what the instance that is made is told of itself. */
void section_begin(struct config_errors *errors, uint32_t scope, const void *parent);
void section_end(void);

const weir_section *section_of(const struct tree_node *node);

/* The table behind query("weir.configuration/0"). */
extern const weir_configuration_host section_host;

#endif
