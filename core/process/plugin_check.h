/* core/process/plugin_check.h - `weir plugin check`: what plugins are, or why they are refused */
#ifndef CORE_PROCESS_PLUGIN_CHECK_H
#define CORE_PROCESS_PLUGIN_CHECK_H

#include <stdint.h>

/* [main] Loads each, by its path or by its name in the plugin directory, as a configuration would:
 * its load() runs. Returns how the program is to end: 0, or 1 when one of them is refused. */
int plugin_check(const char *const *names, uint32_t count);

#endif
