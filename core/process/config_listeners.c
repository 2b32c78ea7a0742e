/* core/process/config_listeners.c - what listeners may be, and that none is open by accident */
#include "core/process/config_listeners.h"

#include <string.h>

#include "core/base/string.h"
#include "core/io/address.h"
#include "core/process/values.h"

/* --- several listeners */

/* Whether the one takes clients that the other wants. */
static bool covers(const struct listener_config *wide, const struct listener_config *other)
{
    struct address a, b;
    if (!address_parse(string_of(wide->address), &a) || !address_is_wildcard(&a) ||
        !address_parse(string_of(other->address), &b) || !address_port(&a) ||
        address_port(&a) != address_port(&b))
        return false;
    bool both = a.any.sa_family == AF_INET6 && !wide->v6only;
    return a.any.sa_family == b.any.sa_family || (both && b.any.sa_family == AF_INET);
}

/* What is wrong with two listeners; NULL: nothing. */
static const char *find_clash(const struct listener_config *a, const struct listener_config *b)
{
    if (!a->address || !b->address)
        return NULL;
    if (value_same_listener(a->address, b->address))
        return "is the same as";
    return covers(a, b) || covers(b, a) ? "overlaps with" : NULL;
}

static void check_pairs(const struct listener_config *listeners, uint32_t at,
                        const struct tree_node *item, struct config_errors *errors)
{
    for (uint32_t i = 0; i < at; i++) {
        const char *clash = find_clash(&listeners[i], &listeners[at]);
        if (clash && item)
            tree_mistake(errors, tree_child(item, "address"), "%s that of listen[%u]; remove one",
                         clash, i);
        else if (clash)
            config_errors_add(errors, (struct config_place){.file = "weir"},
                              "--listen %s %s --listen %s; remove one", listeners[at].address,
                              clash, listeners[i].address);
    }
}

/* --- one listener */

static void check_key(const struct tree_node *item, const char *key, bool makes_sense,
                      const char *mistake, struct config_errors *errors)
{
    const struct tree_node *node = tree_child(item, key);
    if (node && !makes_sense)
        tree_key_mistake(errors, node, "%s", mistake);
}

/* Keys that say nothing at such an address. */
static void check_keys(const struct listener_config *listener, const struct tree_node *item,
                       struct config_errors *errors)
{
    bool is_unix = value_is_unix(string_of(listener->address));
    bool is_six = listener->address[0] == '[';
    check_key(item, "mode", is_unix, "is for unix: addresses only", errors);
    check_key(item, "v6only", is_six, "is for IPv6 addresses only, such as \"[::]:3128\"", errors);
    check_key(item, "allow_clients", !is_unix,
              "cannot be checked on a unix: address; mode says who may connect there", errors);
    check_key(item, "open", !listener->open || !listener->allow_clients,
              "contradicts allow_clients; remove one", errors);
}

/* Whether it says who may use it, be it wrongly. */
static bool says_who(const struct tree_node *item)
{
    const struct tree_node *open = tree_child(item, "open");
    return tree_child(item, "allow_clients") ||
           (open && !string_equal(open->text, WEIR_STRING("false")));
}

static void check_guard(const struct listener_config *listener, const struct tree_node *item,
                        struct config_errors *errors)
{
    static const char danger[] = "anybody who can connect could use this proxy";
    if (listener->open || listener->allow_clients || value_is_local(string_of(listener->address)) ||
        (item && says_who(item)))
        return;
    if (item)
        tree_mistake(errors, tree_child(item, "address"),
                     "%s; add \"allow_clients: [ 10.0.0.0/8 ]\" with your networks, or "
                     "\"open: true\"",
                     danger);
    else
        config_errors_add(errors, (struct config_place){.file = "weir"},
                          "--listen %s: %s; add --open, or say allow_clients in a configuration "
                          "file",
                          listener->address, danger);
}

void config_check_listeners(const struct listener_config *listeners, uint32_t count, bool open,
                            const struct tree_node *list, struct config_errors *errors)
{
    const struct tree_node *item = list ? list->first : NULL;
    for (uint32_t i = 0; i < count; i++, item = item ? item->next : NULL) {
        if (!listeners[i].address || (list && !(item && tree_child(item, "address"))))
            continue; /* reported */
        check_pairs(listeners, i, item, errors);
        if (item)
            check_keys(&listeners[i], item, errors);
        if (!open)
            check_guard(&listeners[i], item, errors);
    }
}
