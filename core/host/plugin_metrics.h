/* core/host/plugin_metrics.h - query("weir.metrics/0"): what plugins count, and how it is shown
 *
 * Definitions and series live until exit: a plugin that comes back with a reload goes on counting
 * where it was. */
#ifndef CORE_HOST_PLUGIN_METRICS_H
#define CORE_HOST_PLUGIN_METRICS_H

#include "abi/services.h"
#include "core/base/text.h"

extern const weir_metrics_host metrics_host;

/* [main] All that something was counted of, and those without labels, in Prometheus' text format.
 */
void plugin_metrics_write(struct text *text);

#endif
