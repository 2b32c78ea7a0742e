/* core/process/config_filters.c - lists of filters become instances and chains */
#include "core/process/config_filters.h"

#include <string.h>

#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/exchange/filters.h"
#include "core/plugins/instance.h"
#include "core/plugins/registry.h"
#include "core/process/nearest.h"
#include "core/process/plugin_schema.h"
#include "core/process/section.h"

/* Where one use is written, while the configuration is loaded. */
struct filter_source {
    const struct tree_node *item; /* of the list */
    struct tree_node *with;
    uint32_t scope;
    struct plugin_schema *schema; /* its filter's; NULL: it cannot be used, reported */
    bool owns_schema;             /* the first use of that filter */
    bool fine;                    /* its section has no mistake */
};

/* What finding and making go through. */
struct finder {
    struct config *config;
    struct config_errors *errors;
    uint32_t next; /* use */
};

/* --- all lists */

static void visit_list(struct finder *finder, struct filter_list *list,
                       const struct tree_node *owner, uint32_t scope,
                       void (*visit)(struct finder *finder, struct filter_list *list,
                                     const struct tree_node *node, uint32_t scope))
{
    visit(finder, list, owner ? tree_child(owner, "filters") : NULL, scope);
}

/* That of all listeners, then those of listeners and of routes. */
static void visit_lists(struct finder *finder, const struct tree_node *root,
                        void (*visit)(struct finder *finder, struct filter_list *list,
                                      const struct tree_node *node, uint32_t scope))
{
    struct snapshot *snapshot = &finder->config->snapshot;
    const struct tree_node *listen = tree_child(root, "listen"),
                           *routes = tree_child(root, "routes");
    const struct tree_node *item = listen ? listen->first : NULL;
    visit_list(finder, &snapshot->filters, root, WEIR_SCOPE_ALL, visit);
    for (uint32_t i = 0; i < snapshot->listener_count && item; i++, item = item->next)
        visit_list(finder, &snapshot->listeners[i].filters, item, WEIR_SCOPE_LISTENER, visit);
    item = routes ? routes->first : NULL;
    for (uint32_t i = 0; i < snapshot->route_count && item; i++, item = item->next)
        visit_list(finder, &snapshot->routes[i].filters, item, WEIR_SCOPE_ROUTE, visit);
}

static void count_list(struct finder *finder, struct filter_list *list,
                       const struct tree_node *node, uint32_t scope)
{
    (void)node, (void)scope;
    list->first = finder->next;
    finder->next += list->count;
}

/* --- one use */

/* What is written for it; a place for what is not written. */
static struct tree_node *with_of(const struct config *config, const struct tree_node *item,
                                 const struct filter_entry *entry)
{
    if (entry->with)
        return entry->with;
    struct arena *arena = (struct arena *)&config->arena;
    struct tree_node *with = arena_allocate(arena, sizeof *with);
    *with = (struct tree_node){.kind = TREE_MAPPING,
                               .place = item->place,
                               .key = WEIR_STRING("with"),
                               .key_place = item->place,
                               .parent = (struct tree_node *)(uintptr_t)item,
                               .depth = item->depth + 1};
    return with;
}

static void report_schema(struct finder *finder, const struct tree_node *node,
                          const struct config_errors *mistakes)
{
    const struct config_error *first = &mistakes->list[0];
    tree_mistake(finder->errors, node,
                 "cannot be used: what its plugin says of its section is wrong: %u:%u: %s",
                 first->line, first->column, first->text);
}

/* That of the first use of the same filter; NULL: there is none. */
static struct plugin_schema *known_schema(const struct config *config, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (config->snapshot.uses[i].filter == config->snapshot.uses[index].filter)
            return config->sources[i].schema;
    return NULL;
}

static struct plugin_schema *find_schema(struct finder *finder, uint32_t index,
                                         const struct tree_node *node)
{
    struct config *config = finder->config;
    const weir_life *life = config->snapshot.uses[index].filter->life;
    struct config_errors mistakes = {0};
    struct plugin_schema *schema = known_schema(config, index);
    if (schema)
        return schema;
    schema = plugin_schema_parse(life ? life->schema : NULL, &mistakes);
    config->sources[index].owns_schema = true;
    if (!schema)
        report_schema(finder, node, &mistakes);
    config_errors_deinit(&mistakes);
    return schema;
}

static void check_section(struct finder *finder, struct filter_source *source)
{
    const struct schema_type *type = plugin_schema_type(source->schema);
    uint32_t before = finder->errors->count;
    schema_check(type, source->with, finder->errors);
    source->fine = finder->errors->count == before;
    if (source->fine)
        schema_complete(type, source->with, &finder->config->arena);
}

static void set_use(struct filter_use *use, const struct plugin_filter *found,
                    const struct filter_entry *entry, uint32_t index)
{
    *use = (struct filter_use){.filter = &found->filter,
                               .plugin = found->plugin->name,
                               .index = index,
                               .skip_on_fault = entry->on_fault == 1,
                               .pause_limit_ms = entry->pause_limit_ms,
                               .buffer_limit = entry->buffer_limit};
}

static void check_guard(struct finder *finder, const struct filter_use *use,
                        const struct tree_node *item)
{
    const struct tree_node *node = tree_child(item, "on_fault");
    if (node && use->skip_on_fault && (use->filter->flags & WEIR_FILTER_GUARDS))
        tree_mistake(finder->errors, node,
                     "would let anybody in when %s fails, which decides who may use the proxy",
                     use->filter->name);
}

static void unknown_filter(struct finder *finder, const struct tree_node *node, const char *mistake)
{
    const struct registry *registry = finder->config->snapshot.registry;
    const struct plugin_filter *known;
    char hint[NEAREST_HINT_BYTES];
    struct nearest nearest = nearest_to(node->text);
    for (uint32_t i = 0; !node->secret && (known = registry_filter_at(registry, i)); i++)
        nearest_consider(&nearest, known->filter.name);
    tree_mistake(finder->errors, node, "%s%s", mistake, nearest_hint(&nearest, hint));
}

static void find_one(struct finder *finder, const struct filter_entry *entry,
                     const struct tree_node *item, uint32_t scope)
{
    char mistake[PLUGIN_MISTAKE_BYTES];
    uint32_t index = finder->next++;
    struct snapshot *snapshot = &finder->config->snapshot;
    struct filter_source *source = &finder->config->sources[index];
    const struct tree_node *name = tree_child(item, "use");
    if (!entry->name || !name)
        return; /* reported */
    const struct plugin_filter *found =
        registry_need_filter(snapshot->registry, entry->name, mistake);
    if (!found) {
        unknown_filter(finder, name, mistake);
        return;
    }
    set_use(&snapshot->uses[index], found, entry, index);
    source->item = item;
    source->scope = scope;
    source->with = with_of(finder->config, item, entry);
    check_guard(finder, &snapshot->uses[index], item);
    if ((source->schema = find_schema(finder, index, name)))
        check_section(finder, source);
}

static void find_list(struct finder *finder, struct filter_list *list, const struct tree_node *node,
                      uint32_t scope)
{
    const struct tree_node *item = node ? node->first : NULL;
    for (uint32_t i = 0; i < list->count && item; i++, item = item->next)
        find_one(finder, &list->entries[i], item, scope);
}

/* --- what a chain may be */

static bool guards(const struct snapshot *snapshot, const struct filter_list *list)
{
    for (uint32_t i = list->first; i < list->first + list->count; i++)
        if (snapshot->uses[i].filter && (snapshot->uses[i].filter->flags & WEIR_FILTER_GUARDS))
            return true;
    return false;
}

bool config_all_guarded(const struct config *config)
{
    return guards(&config->snapshot, &config->snapshot.filters);
}

static void check_length(struct finder *finder, struct filter_list *list,
                         const struct tree_node *node, uint32_t scope)
{
    uint32_t all = scope == WEIR_SCOPE_LISTENER ? finder->config->snapshot.filters.count : 0;
    if (node && list->count + all > CHAIN_FILTERS_MOST)
        tree_mistake(finder->errors, node,
                     "has too many entries; with those of all listeners there may be %d",
                     CHAIN_FILTERS_MOST);
}

void config_find_filters(struct config *config, const struct tree_node *root,
                         struct config_errors *errors)
{
    struct snapshot *snapshot = &config->snapshot;
    struct finder finder = {config, errors, 0};
    visit_lists(&finder, root, count_list);
    snapshot->use_count = finder.next;
    snapshot->uses = memory_zeroed(finder.next * sizeof *snapshot->uses + 1);
    config->sources = memory_zeroed(finder.next * sizeof *config->sources + 1);
    finder.next = 0;
    visit_lists(&finder, root, find_list);
    visit_lists(&finder, root, check_length);
    for (uint32_t i = 0; i < snapshot->listener_count; i++)
        snapshot->listeners[i].guarded =
            config_all_guarded(config) || guards(snapshot, &snapshot->listeners[i].filters);
}

/* --- instances */

/* Of the same filter, made for all listeners. */
static const void *find_parent(const struct config *config, uint32_t index)
{
    const struct snapshot *snapshot = &config->snapshot;
    const struct filter_list *all = &snapshot->filters;
    for (uint32_t i = all->first; i < all->first + all->count && i < index; i++)
        if (config->sources[index].scope != WEIR_SCOPE_ALL &&
            snapshot->uses[i].filter == snapshot->uses[index].filter)
            return snapshot->uses[i].instance;
    return NULL;
}

void config_make_instances(struct config *config, struct config_errors *errors)
{
    for (uint32_t i = 0; i < config->snapshot.use_count; i++) {
        struct filter_source *source = &config->sources[i];
        struct filter_use *use = &config->snapshot.uses[i];
        uint32_t before = errors->count;
        if (!source->fine)
            continue;
        section_begin(errors, source->scope, find_parent(config, i));
        weir_result rc = instance_make(use, section_of(source->with));
        section_end();
        if (rc < 0 && errors->count == before)
            tree_mistake(errors, source->item, "%s refuses what is written for it",
                         use->filter->name);
    }
}

void config_free_sources(struct config *config)
{
    for (uint32_t i = 0; i < config->snapshot.use_count; i++)
        if (config->sources[i].owns_schema)
            plugin_schema_free(config->sources[i].schema);
    memory_free(config->sources);
    config->sources = NULL;
}

/* --- chains */

static void add_uses(const struct snapshot *snapshot, const struct filter_list *list,
                     const struct filter_use **uses, uint32_t *count)
{
    for (uint32_t i = list->first; i < list->first + list->count; i++)
        uses[(*count)++] = &snapshot->uses[i];
}

/* `all` may be NULL. */
static const struct filter_chain *make_chain(struct config *config, const struct filter_list *all,
                                             const struct filter_list *own)
{
    const struct filter_use *uses[CHAIN_FILTERS_MOST];
    uint32_t count = 0;
    struct filter_chain *chain = arena_allocate(&config->arena, sizeof *chain);
    if (all)
        add_uses(&config->snapshot, all, uses, &count);
    add_uses(&config->snapshot, own, uses, &count);
    filter_chain_build(chain, uses, count);
    return chain;
}

void config_make_chains(struct config *config)
{
    struct snapshot *snapshot = &config->snapshot;
    for (uint32_t i = 0; i < snapshot->listener_count; i++)
        snapshot->listeners[i].chain =
            make_chain(config, &snapshot->filters, &snapshot->listeners[i].filters);
    for (uint32_t i = 0; i < snapshot->route_count; i++)
        snapshot->routes[i].chain = make_chain(config, NULL, &snapshot->routes[i].filters);
}
