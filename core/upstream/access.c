/* core/upstream/access.c - may this address be dialled for a client? */
#include "core/upstream/access.h"

#include "core/base/string.h"
#include "core/io/network.h"

/* Whether connecting to `to` leads to who listens at `text`. Listening on an address as a whole,
 * "[::]" or "0.0.0.0", is known of loopback and of where the client came in; a request that comes
 * back at another of the machine's addresses is stopped by its Via. */
static bool leads_to(const struct address *to, const char *text, bool v6_only)
{
    struct address listener;
    if (!address_parse(string_of(text), &listener) || address_port(&listener) != address_port(to))
        return false;
    if (!address_is_wildcard(&listener)) {
        listener = address_destination(&listener);
        return address_equal(&listener, to);
    }
    bool both = listener.any.sa_family == AF_INET6 && !v6_only;
    return address_is_loopback(to) && (both || listener.any.sa_family == to->any.sa_family);
}

static bool is_own(const struct snapshot *snapshot, const struct address *reached,
                   const struct address *to)
{
    if (address_equal(reached, to))
        return true;
    for (uint32_t i = 0; i < snapshot->listener_count; i++)
        if (leads_to(to, snapshot->listeners[i].address, snapshot->listeners[i].v6only))
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
    struct address to = address_destination(address);
    if (is_own(snapshot, reached, &to))
        return WEIR_LOOP;
    if (snapshot->admin && leads_to(&to, snapshot->admin, false))
        return WEIR_ADDRESS_PROHIBITED; /* it is for those on this machine, not for clients */
    return access_judge_again(snapshot, address);
}
