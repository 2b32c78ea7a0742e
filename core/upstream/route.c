/* core/upstream/route.c - where an exchange goes: the first route that fits, or where it says */
#include "core/upstream/route.h"

#include "core/base/log.h"
#include "core/base/string.h"
#include "core/plugins/registry.h"

enum { PORT_HTTP = 80, PORT_HTTPS = 443 };

/* --- which routes have which hosts */

/* One host of one route. Of "*.example" it is ".example". */
struct host_entry {
    struct host_entry *next; /* in its bucket; earlier routes first */
    weir_string host;
    uint32_t route;
};

struct route_index {
    uint32_t buckets_mask; /* how many buckets there are, less one */
    struct host_entry **buckets;
    uint32_t *anywhere; /* routes without a host, in order */
    uint32_t anywhere_count;
};

/* What is looked for. */
struct search {
    const struct snapshot *snapshot;
    const weir_head *request;
    weir_string host, path; /* without port, without query */
    uint16_t port;
    uint32_t best; /* route; none so far: how many there are */
};

static uint32_t hash_of(weir_string host)
{
    uint32_t hash = 0x811c9dc5u; /* FNV-1a */
    for (size_t i = 0; i < host.length; i++)
        hash = (hash ^ (uint8_t)character_lower(host.bytes[i])) * 0x01000193u;
    return hash ^ hash >> 15;
}

static weir_string host_of_pattern(const char *pattern)
{
    weir_string host = string_of(pattern);
    bool wild = *pattern == '*', bracketed = *pattern == '[';
    host.bytes += wild || bracketed;
    host.length -= wild + 2 * bracketed;
    return host.length > 1 && host.bytes[host.length - 1] == '.'
               ? (weir_string){host.bytes, host.length - 1}
               : host;
}

static void add_host(struct route_index *index, const char *pattern, uint32_t route,
                     struct arena *arena)
{
    struct host_entry *entry = arena_allocate(arena, sizeof *entry);
    *entry = (struct host_entry){.host = host_of_pattern(pattern), .route = route};
    struct host_entry **at = &index->buckets[hash_of(entry->host) & index->buckets_mask];
    while (*at)
        at = &(*at)->next;
    *at = entry;
}

static void add_route(struct route_index *index, const struct route_config *route, uint32_t number,
                      struct arena *arena)
{
    for (uint32_t i = 0; i < route->when.hosts.count; i++)
        add_host(index, route->when.hosts.texts[i], number, arena);
    if (!route->when.hosts.count)
        index->anywhere[index->anywhere_count++] = number;
}

const struct route_index *route_index_new(const struct snapshot *snapshot, struct arena *arena)
{
    uint32_t hosts = 0, buckets = 8;
    if (!snapshot->route_count)
        return NULL;
    for (uint32_t i = 0; i < snapshot->route_count; i++)
        hosts += snapshot->routes[i].when.hosts.count;
    while (buckets < 2 * hosts)
        buckets *= 2;
    struct route_index *index = arena_allocate(arena, sizeof *index);
    *index = (struct route_index){.buckets_mask = buckets - 1};
    index->buckets = arena_allocate(arena, buckets * sizeof *index->buckets);
    memset(index->buckets, 0, buckets * sizeof *index->buckets);
    index->anywhere = arena_allocate(arena, snapshot->route_count * sizeof *index->anywhere);
    for (uint32_t i = 0; i < snapshot->route_count; i++)
        add_route(index, &snapshot->routes[i], i, arena);
    return index;
}

/* --- whether a route fits */

static bool has_path(const struct text_list *paths, weir_string path)
{
    for (uint32_t i = 0; i < paths->count; i++) {
        weir_string known = string_of(paths->texts[i]);
        bool begins = known.bytes[known.length - 1] == '*';
        known.length -= begins;
        if (begins ? path.length >= known.length && !memcmp(path.bytes, known.bytes, known.length)
                   : string_equal(path, known))
            return true;
    }
    return !paths->count;
}

static bool has_method(const struct text_list *methods, weir_string method)
{
    for (uint32_t i = 0; i < methods->count; i++)
        if (string_equal(string_of(methods->texts[i]), method))
            return true;
    return !methods->count;
}

/* The host does. */
static void consider(struct search *search, uint32_t number)
{
    const struct route_config *route = &search->snapshot->routes[number];
    if (number < search->best && has_path(&route->when.paths, search->path) &&
        has_method(&route->when.methods, search->request->method) &&
        (!route->when.ports.count || ports_contain(&route->when.ports, search->port)))
        search->best = number;
}

static void consider_host(struct search *search, weir_string host)
{
    const struct route_index *index = search->snapshot->route_index;
    const struct host_entry *entry = index->buckets[hash_of(host) & index->buckets_mask];
    for (; entry && entry->route < search->best; entry = entry->next)
        if (string_equal_nocase(entry->host, host))
            consider(search, entry->route);
}

/* The host itself, then ".b.example" and ".example" of "a.b.example". */
static void consider_hosts(struct search *search)
{
    if (search->host.bytes[0] != '.')
        consider_host(search, search->host);
    for (size_t i = 1; i < search->host.length; i++)
        if (search->host.bytes[i] == '.')
            consider_host(search, (weir_string){search->host.bytes + i, search->host.length - i});
}

static bool is_secure(const weir_head *request)
{
    return string_equal(request->scheme, WEIR_STRING("https"));
}

static void set_place(struct search *search)
{
    struct authority authority;
    const weir_head *request = search->request;
    const char *query =
        request->path.length ? memchr(request->path.bytes, '?', request->path.length) : NULL;
    search->path = request->path;
    if (query)
        search->path.length = (size_t)(query - request->path.bytes);
    uint16_t usual = is_secure(request) ? PORT_HTTPS : PORT_HTTP;
    search->port = usual;
    if (!authority_parse(request->authority, &authority))
        return;
    search->host = authority.host;
    if (authority.host.length > 1 && authority.host.bytes[authority.host.length - 1] == '.')
        search->host.length--;
    search->port = authority.port ? authority.port : usual;
}

static const struct route_config *find_route(const struct snapshot *snapshot,
                                             const weir_head *request)
{
    struct search search = {
        .snapshot = snapshot, .request = request, .best = snapshot->route_count};
    const struct route_index *index = snapshot->route_index;
    if (!index)
        return NULL;
    set_place(&search);
    if (search.host.length)
        consider_hosts(&search);
    for (uint32_t i = 0; i < index->anywhere_count && index->anywhere[i] < search.best; i++)
        consider(&search, index->anywhere[i]);
    return search.best < snapshot->route_count ? &snapshot->routes[search.best] : NULL;
}

/* --- targets */

static weir_result to_authority(weir_string text, uint16_t default_port, struct target *target)
{
    struct authority authority;
    if (!authority_parse(text, &authority) || (!authority.port && !default_port))
        return WEIR_MALFORMED;
    target->host = authority.host;
    target->port = authority.port ? authority.port : default_port;
    return WEIR_OK;
}

/* A protocol that no plugin has, or only for clients, goes nowhere. */
static bool speak(const struct snapshot *snapshot, const char *name, struct target *target)
{
    const weir_protocol *protocol = registry_protocol(snapshot->registry, name);
    target->protocols[0] = protocol;
    target->protocols[1] = NULL;
    target->tls = NULL;
    return protocol && protocol->server;
}

/* Nobody said which protocol: in the clear it is HTTP/1.1, with TLS the server chooses. Not where
 * another protocol is asked for, which a server may know how to switch to in HTTP/1.1 alone. */
static bool speak_either(const struct snapshot *snapshot, const weir_head *request,
                         struct tls_context *tls, struct target *target)
{
    if (!speak(snapshot, "h1", target))
        return false;
    const weir_protocol *better = registry_protocol(snapshot->registry, "h2");
    target->tls = tls;
    if (!tls || request->protocol.length || !better || !better->server)
        return true;
    target->protocols[1] = target->protocols[0];
    target->protocols[0] = better;
    return true;
}

static weir_result to_upstream(const struct snapshot *snapshot, const weir_head *request,
                               const struct upstream_group *group, uint32_t turn,
                               struct target *target)
{
    target->group = group;
    if (group->protocol ? !speak(snapshot, group->protocol, target)
                        : !speak_either(snapshot, request, group->tls.context, target))
        return WEIR_NOT_IMPLEMENTED;
    target->tls = group->tls.context;
    return to_authority(string_of(group->servers[turn % group->count]), PORT_HTTP, target);
}

/* A tunnel carries bytes that are nobody's message: the server's leg speaks no protocol. */
static weir_result to_tunnel_end(const struct snapshot *snapshot, const weir_head *request,
                                 struct target *target)
{
    if (!speak(snapshot, "raw", target))
        return WEIR_NOT_IMPLEMENTED;
    weir_result rc = to_authority(request->authority, 0, target);
    if (rc == WEIR_OK && !ports_contain(&snapshot->connect_ports, target->port))
        rc = WEIR_DENIED;
    return rc;
}

static bool speak_scheme(const struct snapshot *snapshot, const weir_head *request,
                         struct target *target)
{
    struct tls_context *tls = is_secure(request) ? snapshot->server_tls.context : NULL;
    return speak_either(snapshot, request, tls, target);
}

static weir_result to_where_it_says(const struct snapshot *snapshot, const weir_head *request,
                                    struct target *target)
{
    bool secure = is_secure(request);
    if (!request->scheme.length)
        return WEIR_NOT_A_PROXY_REQUEST;
    if ((!secure && !string_equal(request->scheme, WEIR_STRING("http"))) ||
        !speak_scheme(snapshot, request, target))
        return WEIR_NOT_IMPLEMENTED;
    return to_authority(request->authority, secure ? PORT_HTTPS : PORT_HTTP, target);
}

weir_result route_pick(const struct snapshot *snapshot, const weir_head *request, uint32_t turn,
                       struct target *target)
{
    TRACE();
    const struct route_config *route = find_route(snapshot, request);
    const struct upstream_group *group = route ? route->group : snapshot->fixed_upstream;
    target->group = NULL;
    target->route = route;
    if (request->kind == WEIR_TUNNEL)
        return group ? WEIR_DENIED : to_tunnel_end(snapshot, request, target);
    return group ? to_upstream(snapshot, request, group, turn, target)
                 : to_where_it_says(snapshot, request, target);
}

static const struct upstream_group *find_group(const struct snapshot *snapshot, weir_string name)
{
    for (uint32_t i = 0; i < snapshot->upstream_count; i++)
        if (string_equal(string_of(snapshot->upstreams[i].name), name))
            return &snapshot->upstreams[i];
    return NULL;
}

bool route_has_upstream(const struct snapshot *snapshot, weir_string name)
{
    return find_group(snapshot, name) != NULL;
}

weir_result route_named(const struct snapshot *snapshot, const weir_head *request, weir_string name,
                        uint32_t turn, struct target *target)
{
    const struct upstream_group *group = find_group(snapshot, name);
    bool tunnel = request->kind == WEIR_TUNNEL;
    target->group = NULL;
    if (group)
        return tunnel ? WEIR_DENIED : to_upstream(snapshot, request, group, turn, target);
    if (tunnel ? !speak(snapshot, "raw", target) : !speak_scheme(snapshot, request, target))
        return WEIR_NOT_IMPLEMENTED;
    return to_authority(name, 0, target) == WEIR_OK ? WEIR_OK : WEIR_NOT_FOUND;
}
