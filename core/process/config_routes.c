/* core/process/config_routes.c - where routes lead, and that every group is led to */
#include "core/process/config_routes.h"

#include <string.h>

#include "core/base/string.h"
#include "core/process/nearest.h"
#include "core/upstream/route.h"

static const char direct[] = "direct";

/* NULL: there is none of that name, reported at the node that says it. */
static const struct upstream_group *find_group(const struct snapshot *snapshot, const char *name,
                                               const struct tree_node *node,
                                               struct config_errors *errors)
{
    char shown[VALUE_TEXT_BYTES], hint[NEAREST_HINT_BYTES] = "";
    struct nearest nearest = nearest_to(string_of(name));
    for (uint32_t i = 0; i < snapshot->upstream_count; i++) {
        const struct upstream_group *known = &snapshot->upstreams[i];
        if (!known->name)
            continue;
        if (!strcmp(known->name, name))
            return known;
        nearest_consider(&nearest, known->name);
    }
    tree_mistake(errors, node, "there is no upstream \"%s\"%s", tree_show(node, shown),
                 node->secret ? "" : nearest_hint(&nearest, hint));
    return NULL;
}

static void find_fixed(struct config *config, const struct tree_node *root,
                       struct config_errors *errors)
{
    const struct tree_node *node = tree_child(root, "fixed_upstream");
    if (node && config->fixed_upstream)
        config->snapshot.fixed_upstream =
            find_group(&config->snapshot, config->fixed_upstream, node, errors);
}

static void find_targets(struct snapshot *snapshot, const struct tree_node *root,
                         struct config_errors *errors)
{
    const struct tree_node *list = tree_child(root, "routes");
    const struct tree_node *item = list ? list->first : NULL;
    for (uint32_t i = 0; i < snapshot->route_count && item; i++, item = item->next) {
        struct route_config *route = &snapshot->routes[i];
        const struct tree_node *to = tree_child(item, "to");
        if (to && route->to && strcmp(route->to, direct) != 0)
            route->group = find_group(snapshot, route->to, to, errors);
    }
}

static bool is_used(const struct snapshot *snapshot, const struct upstream_group *group)
{
    for (uint32_t i = 0; i < snapshot->route_count; i++)
        if (snapshot->routes[i].group == group)
            return true;
    return snapshot->fixed_upstream == group;
}

/* A group without requests is a mistake: who wrote it wants no forward proxy. But a filter may send
 * requests to any. */
static void check_use(const struct snapshot *snapshot, const struct tree_node *map,
                      struct config_errors *errors)
{
    const struct tree_node *node = map->first;
    for (uint32_t i = 0; i < snapshot->upstream_count && node; i++, node = node->next) {
        if (is_used(snapshot, &snapshot->upstreams[i]))
            continue;
        if (snapshot->fixed_upstream)
            tree_key_mistake(errors, node, "no request goes there; fixed_upstream is \"%s\"",
                             snapshot->fixed_upstream->name);
        else
            tree_key_mistake(errors, node,
                             "no request goes there; add \"fixed_upstream: %s\", or a route",
                             node->key.bytes);
    }
}

static void check_names(const struct tree_node *map, struct config_errors *errors)
{
    const struct tree_node *node = tree_child(map, direct);
    if (node)
        tree_key_mistake(errors, node, "is the word for no group in routes; use another name");
}

void config_routes(struct config *config, const struct tree_node *root, bool check_groups,
                   struct config_errors *errors)
{
    struct snapshot *snapshot = &config->snapshot;
    const struct tree_node *map = tree_child(root, "upstream");
    find_fixed(config, root, errors);
    find_targets(snapshot, root, errors);
    if (map)
        check_names(map, errors);
    if (map && check_groups && !errors->count && !snapshot->use_count)
        check_use(snapshot, map, errors);
    if (!errors->count)
        snapshot->route_index = route_index_new(snapshot, &config->arena);
}
