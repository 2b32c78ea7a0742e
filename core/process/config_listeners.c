/* core/process/config_listeners.c - what listeners may be, and that none is open by accident */
#include "core/process/config_listeners.h"

#include <string.h>

#include "core/base/string.h"
#include "core/io/address.h"
#include "core/plugins/registry.h"
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
    if (listener->open || listener->guarded || listener->allow_clients ||
        value_is_local(string_of(listener->address)) || (item && says_who(item)))
        return;
    if (item)
        tree_mistake(errors, tree_child(item, "address"),
                     "%s; add \"allow_clients: [ 10.0.0.0/8 ]\" with your networks, a filter "
                     "that decides who may use it, or \"open: true\"",
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

/* --- what clients may speak */

static bool names_it_before(const struct listener_config *listener, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (!strcmp(listener->protocol_names[i], listener->protocol_names[at]))
            return true;
    return false;
}

/* NULL: it is reported what is wrong with that name. */
static const weir_protocol *find_protocol(const struct listener_config *listener, uint32_t at,
                                          const struct tree_node *node, struct registry *registry,
                                          struct config_errors *errors)
{
    char mistake[PLUGIN_MISTAKE_BYTES];
    const char *name = listener->protocol_names[at];
    if (!name)
        return NULL; /* reported */
    if (names_it_before(listener, at)) {
        tree_mistake(errors, node, "%s is listed twice; remove one", name);
        return NULL;
    }
    const weir_protocol *protocol = registry_need_protocol(registry, name, mistake);
    if (!protocol)
        tree_mistake(errors, node, "%s", mistake);
    else if (!protocol->client)
        tree_mistake(errors, node, "%s is a protocol that clients do not speak", name);
    return protocol && protocol->client ? protocol : NULL;
}

static void find_protocols(struct listener_config *listener, const struct tree_node *list,
                           struct registry *registry, struct arena *arena,
                           struct config_errors *errors)
{
    uint32_t count = listener->protocol_count, found = 0;
    const weir_protocol **protocols = arena_allocate(arena, (count + 1) * sizeof *protocols);
    const struct tree_node *node = list->first;
    for (uint32_t i = 0; i < count && node; i++, node = node->next)
        if ((protocols[found] = find_protocol(listener, i, node, registry, errors)))
            found++;
    protocols[found] = NULL;
    listener->protocols = protocols;
}

void config_find_protocols(struct listener_config *listeners, uint32_t count,
                           const struct tree_node *list, struct registry *registry,
                           struct arena *arena, struct config_errors *errors)
{
    const struct tree_node *item = list ? list->first : NULL;
    for (uint32_t i = 0; i < count && item; i++, item = item->next) {
        const struct tree_node *names = tree_child(item, "protocols");
        if (names && listeners[i].protocol_count)
            find_protocols(&listeners[i], names, registry, arena, errors);
    }
}
