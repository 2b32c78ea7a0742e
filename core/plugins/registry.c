/* core/plugins/registry.c - which protocols there are, by name */
#include "core/plugins/registry.h"

#include <string.h>

enum { PROTOCOLS_MOST = 32 };

static const weir_protocol *protocols[PROTOCOLS_MOST + 1];

void registry_load_builtins(const weir_host *host)
{
    for (const builtin_protocol *load = builtin_protocols; *load; load++)
        registry_add_protocol((*load)(host));
}

weir_result registry_add_protocol(const weir_protocol *protocol)
{
    uint32_t index = 0;
    while (protocols[index] && strcmp(protocols[index]->name, protocol->name) != 0)
        index++;
    if (protocols[index] || index == PROTOCOLS_MOST)
        return WEIR_INVALID;
    protocols[index] = protocol;
    return WEIR_OK;
}

void registry_clear(void)
{
    memset(protocols, 0, sizeof protocols);
}

const weir_protocol *registry_protocol(const char *name)
{
    uint32_t index = 0;
    while (protocols[index] && strcmp(protocols[index]->name, name) != 0)
        index++;
    return protocols[index];
}

const weir_protocol *registry_protocol_at(uint32_t index)
{
    return index <= PROTOCOLS_MOST ? protocols[index] : NULL;
}
