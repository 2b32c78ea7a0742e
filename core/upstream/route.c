/* core/upstream/route.c - where an exchange goes: to the target itself, or to the fixed upstream */
#include "core/upstream/route.h"

#include "core/base/log.h"
#include "core/base/string.h"
#include "core/plugins/registry.h"

enum { PORT_HTTP = 80 };

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
    target->protocol = registry_protocol(snapshot->registry, name);
    return target->protocol && target->protocol->server;
}

static weir_result to_upstream(const struct snapshot *snapshot, const struct upstream_group *group,
                               uint32_t turn, struct target *target)
{
    target->configured = true;
    if (!speak(snapshot, group->protocol, target))
        return WEIR_NOT_IMPLEMENTED;
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

weir_result route_pick(const struct snapshot *snapshot, const weir_head *request, uint32_t turn,
                       struct target *target)
{
    TRACE();
    target->configured = false;
    if (request->kind == WEIR_TUNNEL)
        return snapshot->fixed_upstream ? WEIR_DENIED : to_tunnel_end(snapshot, request, target);
    if (snapshot->fixed_upstream)
        return to_upstream(snapshot, snapshot->fixed_upstream, turn, target);
    if (!request->scheme.length)
        return WEIR_NOT_A_PROXY_REQUEST;
    if (!string_equal(request->scheme, WEIR_STRING("http")) || !speak(snapshot, "h1", target))
        return WEIR_NOT_IMPLEMENTED;
    return to_authority(request->authority, PORT_HTTP, target);
}

static const struct upstream_group *find_group(const struct snapshot *snapshot, weir_string name)
{
    for (uint32_t i = 0; i < snapshot->upstream_count; i++)
        if (string_equal(string_of(snapshot->upstreams[i].name), name))
            return &snapshot->upstreams[i];
    return NULL;
}

weir_result route_named(const struct snapshot *snapshot, const weir_head *request, weir_string name,
                        uint32_t turn, struct target *target)
{
    const struct upstream_group *group = find_group(snapshot, name);
    bool tunnel = request->kind == WEIR_TUNNEL;
    target->configured = false;
    if (group)
        return tunnel ? WEIR_DENIED : to_upstream(snapshot, group, turn, target);
    if (!speak(snapshot, tunnel ? "raw" : "h1", target))
        return WEIR_NOT_IMPLEMENTED;
    return to_authority(name, 0, target) == WEIR_OK ? WEIR_OK : WEIR_NOT_FOUND;
}
