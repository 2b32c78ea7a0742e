/* core/plugins/registry.c - which protocols and filters there are, by name */
#include "core/plugins/registry.h"

#include <string.h>

enum { PROTOCOLS_MOST = 32, FILTERS_MOST = 64 };

static const weir_protocol *protocols[PROTOCOLS_MOST + 1];
static const weir_filter *filters[FILTERS_MOST + 1];

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

weir_result registry_add_filter(const weir_filter *filter)
{
    uint32_t index = 0;
    while (filters[index] && strcmp(filters[index]->name, filter->name) != 0)
        index++;
    if (filters[index] || index == FILTERS_MOST)
        return WEIR_INVALID;
    filters[index] = filter;
    return WEIR_OK;
}

void registry_clear(void)
{
    memset(protocols, 0, sizeof protocols);
    memset(filters, 0, sizeof filters);
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

const weir_filter *registry_filter_at(uint32_t index)
{
    return index <= FILTERS_MOST ? filters[index] : NULL;
}
