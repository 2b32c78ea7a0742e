/* core/process/config_keys.h - all that a configuration file may say, and what it becomes
 *
 * Every key is here once, with its range, standard and help; docs/configuration.md is checked
 * against it. */
#ifndef CORE_PROCESS_CONFIG_KEYS_H
#define CORE_PROCESS_CONFIG_KEYS_H

#include "core/base/memory.h"
#include "core/base/snapshot.h"
#include "core/process/schema.h"

/* What the keys' offsets are relative to: a snapshot and what it is made from. */
struct config {
    struct snapshot snapshot; /* first: who has it has the whole */
    char *fixed_upstream;     /* the name of the group */
    char **plugins;           /* paths and names as written: the registry has the plugins */
    uint32_t plugin_count;
    char *plugin_directory;        /* NULL: the standard one */
    char *include;                 /* never set: files have been merged by then */
    struct filter_source *sources; /* of the snapshot's uses, while it is loaded */
    struct tls_context **contexts; /* of all its listeners, groups and servers */
    uint32_t context_count;
    struct arena arena; /* all that the snapshot points to */
    uint64_t first_block[128];
};

#define CONFIG_STANDARD_LISTENER "127.0.0.1:3128"

extern const struct schema_type config_schema;
extern const struct schema_type config_listener; /* one entry of `listen` */
extern const struct schema_type config_group;    /* one entry of `upstream` */

#endif
