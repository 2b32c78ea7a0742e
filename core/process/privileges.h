/* core/process/privileges.h - who the process is, once what only root may do is done */
#ifndef CORE_PROCESS_PRIVILEGES_H
#define CORE_PROCESS_PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/snapshot.h"

struct account {
    bool wanted; /* false: the process stays who it is */
    uid_t user;
    gid_t group;
    char name[256]; /* of the user, for its other groups; "": it has none */
};

/* [main] Who `user` and `group` of the configuration are, by name or number. False, and said in the
 * log, when there is nobody of that name. */
bool privileges_find(const struct snapshot *snapshot, struct account *account);
/* [main] Becomes that account, for good: before there are threads. False, and said in the log, when
 * the system does not let it, or would let it come back. */
bool privileges_drop(const struct account *account);

#endif
