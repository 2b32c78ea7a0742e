/* plugins/redirect/read.h - rules as users write them: in the configuration, in CSV and YAML files
 */
#ifndef REDIRECT_READ_H
#define REDIRECT_READ_H

#include <stdbool.h>

#include "abi/configuration.h"
#include "plugins/redirect/rules.h"

/* What `with:` may hold, for weir_life. */
extern const char read_schema[];

/* The rules of a filter's section: those of `rules` and then those of `file`. *inline_count says
 * how many the first are. NULL: mistakes were reported. */
struct rules *read_rules(const weir_configuration_host *host, const weir_section *with,
                         uint32_t *inline_count);

#endif
