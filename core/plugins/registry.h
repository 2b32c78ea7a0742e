/* core/plugins/registry.h - which protocols there are, by name
 *
 * Filled on the main thread before workers start, read by all afterwards. What is built in is
 * linked as a table that codecs/builtins.c defines; core names none of them. */
#ifndef CORE_PLUGINS_REGISTRY_H
#define CORE_PLUGINS_REGISTRY_H

#include "abi/protocol.h"

/* Defined in codecs/builtins.c, ends with NULL. Each returns its protocol, ready for that host. */
typedef const weir_protocol *(*builtin_protocol)(const weir_host *host);
extern const builtin_protocol builtin_protocols[];

/* [main] Asks every built-in for its protocol. */
void registry_load_builtins(const weir_host *host);
/* [main] WEIR_INVALID when the name is taken or the table is full. */
weir_result registry_add_protocol(const weir_protocol *protocol);
void registry_clear(void);

const weir_protocol *registry_protocol(const char *name);  /* NULL: none of that name */
const weir_protocol *registry_protocol_at(uint32_t index); /* in order of registration; NULL: end */

#endif
