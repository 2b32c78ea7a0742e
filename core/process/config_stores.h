/* core/process/config_stores.h - texts of a configuration that become something else than text
 *
 * Each stores what the text means where `into` says, in memory of the arena, or returns what is
 * wrong with the text, to follow it in a message. */
#ifndef CORE_PROCESS_CONFIG_STORES_H
#define CORE_PROCESS_CONFIG_STORES_H

#include "abi/weir.h"
#include "core/base/memory.h"

/* uint32_t: "0660" */
const char *store_mode(weir_string text, void *into, struct arena *arena);
/* char *: the body of weir's own answers */
const char *store_answer(weir_string text, void *into, struct arena *arena);
/* One more for a struct port_set: "443", "8000-8999" */
const char *store_ports(weir_string text, void *into, struct arena *arena);
/* One more for a struct network_list *, which is made with the first: "private", "10.0.0.0/8". What
 * leads to a denied network through a translator is denied too, and nothing is allowed so. */
const char *store_allowed(weir_string text, void *into, struct arena *arena);
const char *store_denied(weir_string text, void *into, struct arena *arena);

#endif
