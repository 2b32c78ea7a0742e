/* core/plugins/copies.h - private copies of plugins' files
 *
 * What is mapped is a copy that nobody else can change, so replacing a plugin's file neither breaks
 * a running weir nor is mistaken for the one that is loaded. The copies are in a directory of this
 * process alone and stay as long as they are mapped, so that backtraces have symbols. All [main].
 */
#ifndef CORE_PLUGINS_COPIES_H
#define CORE_PLUGINS_COPIES_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/plugins/plugin.h"

/* Where the directory may be made, in the order of preference, ended by NULL; borrowed. It is made
 * with the first copy, where programs may be run from. */
void copies_start(const char *const *bases);
/* Makes a copy; `name` is for people. Its path is the caller's (memory_free); NULL: `mistake`. */
char *copies_make(const char *name, weir_string bytes, char mistake[PLUGIN_MISTAKE_BYTES]);
/* When nothing of it is mapped. */
void copies_remove(const char *path);
/* Whether that copy has these bytes. */
bool copies_same(const char *path, weir_string bytes);
/* Before the process becomes that user: so that more can be made afterwards. */
bool copies_give(uid_t user, gid_t group);
/* Removes them and the directory. What a process could not remove, because it crashed or is not
 * root any more, the next one does that makes a directory there. */
void copies_end(void);

#endif
