/* core/process/plugin_new.h - `weir plugin new`: writes the beginning of a plugin
 *
 * A directory with everything that builds and tests one outside weir's tree, from the files of
 * core/process/templates. */
#ifndef CORE_PROCESS_PLUGIN_NEW_H
#define CORE_PROCESS_PLUGIN_NEW_H

#include <stdbool.h>

/* [main] `directory` NULL: one of that name. Says on standard output what to do next, on standard
 * error what is wrong. Returns how the program is to end: 0; 1 when something cannot be written,
 * also when the directory is there already; 2 when it is no name. */
int plugin_new_write(const char *name, const char *directory, bool protocol);

#endif
