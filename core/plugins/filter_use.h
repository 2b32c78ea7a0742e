/* core/plugins/filter_use.h - one `use:` of a filter in a configuration, with its instance
 *
 * Made on the main thread when the configuration is loaded, constant afterwards, gone with the
 * snapshot. */
#ifndef CORE_PLUGINS_FILTER_USE_H
#define CORE_PLUGINS_FILTER_USE_H

#include <stdbool.h>

#include "abi/filter.h"

struct filter_use {
    const weir_filter *filter; /* of full size: what the plugin's table does not reach is NULL */
    const char *plugin;        /* whose it is; of weir's own "weir" */
    void *instance;
    uint32_t index;          /* in the snapshot's list, and among a worker's states */
    bool made;               /* the instance was */
    bool skip_on_fault;      /* on_fault: skip; else fail */
    uint32_t pause_limit_ms; /* how long a pause may last */
    uint64_t buffer_limit;   /* bytes of a body that it may have whole */
};

#endif
