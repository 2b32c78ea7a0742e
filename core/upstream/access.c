/* core/upstream/access.c - may this address be dialled for a client? */
#include "core/upstream/access.h"

#include "core/base/string.h"
#include "core/io/network.h"

/* Listening on an address as a whole, "[::]" or "0.0.0.0", shows only in the client's connection; a
 * request that comes back to another of those is stopped by its Via. */
static bool is_own(const struct snapshot *snapshot, const struct address *reached,
                   const struct address *address)
{
    struct address own;
    if (address_equal(reached, address))
        return true;
    for (uint32_t i = 0; i < snapshot->listener_count; i++)
        if (address_parse(string_of(snapshot->listeners[i].address), &own) &&
            address_equal(&own, address))
            return true;
    return false;
}

weir_result access_judge_again(const struct snapshot *snapshot, const struct address *address)
{
    if (snapshot->deny_addresses && network_list_contains(snapshot->deny_addresses, address))
        return WEIR_ADDRESS_PROHIBITED;
    return WEIR_OK;
}

weir_result access_judge(const struct snapshot *snapshot, const struct address *reached,
                         const struct address *address)
{
    if (is_own(snapshot, reached, address))
        return WEIR_LOOP;
    return access_judge_again(snapshot, address);
}
