/* core/process/config.h - the configuration file and the command line become a snapshot */
#ifndef CORE_PROCESS_CONFIG_H
#define CORE_PROCESS_CONFIG_H

#include "abi/weir.h"
#include "core/base/snapshot.h"
#include "core/process/config_errors.h"
#include "core/process/options.h"

/* [main] Options win over the file, the file over what is standard; `file` may be NULL. The
 * snapshot is the caller's. NULL when anything is wrong: `errors` then says what, and is to be
 * deinitialized in either case. errors->file borrows `file`. */
struct snapshot *config_load(const char *file, const struct options *options,
                             struct config_errors *errors);
/* The same from text that was read already. */
struct snapshot *config_read(weir_string text, const struct options *options,
                             struct config_errors *errors);
/* [main] Only where the admin listens, for the caller to free: no plugin is loaded, and only the
 * file's own keys are checked. NULL without errors: it does not say. */
char *config_load_admin(const char *file, struct config_errors *errors);
void snapshot_free(struct snapshot *snapshot); /* [main] NULL is ignored */

#endif
