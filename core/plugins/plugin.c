/* core/plugins/plugin.c - one plugin, built in or loaded: what it registered, and who uses it */
#include "core/plugins/plugin.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/breadcrumb.h"
#include "core/base/list.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/plugins/registry.h"

enum { NAME_BYTES_MOST = 64 };

const struct plugin *plugin_of(const weir_host *host)
{
    return CONTAINER(host, struct plugin, host);
}

static struct plugin *registrant(const weir_host *host)
{
    return (struct plugin *)plugin_of(host); /* its table was made writable, and it is loading */
}

static __attribute__((format(printf, 3, 4))) weir_result
refuse(struct plugin *plugin, weir_result why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(plugin->mistake, sizeof plugin->mistake, format, arguments);
    va_end(arguments);
    return why;
}

/* --- what a plugin's table says */

/* As much as both sides know; the rest reads as NULL. */
static void copy_table(void *into, const void *from, uint32_t size)
{
    uint32_t given;
    memcpy(&given, from, sizeof given);
    memcpy(into, from, given < size ? given : size);
    memcpy(into, &size, sizeof size);
}

static void (*wrap_filter)(weir_filter *filter); /* NULL: hooks stay what they are */

void plugin_wrap_filters(void (*wrap)(weir_filter *filter))
{
    wrap_filter = wrap;
}

void plugin_add_filter(struct plugin *plugin, const weir_filter *filter)
{
    struct plugin_filter *own = memory_zeroed(sizeof *own), **end = &plugin->filters;
    copy_table(&own->filter, filter, sizeof own->filter);
    if (own->filter.life) {
        copy_table(&own->life, own->filter.life, sizeof own->life);
        own->filter.life = &own->life;
    }
    own->written = own->filter;
    if (wrap_filter)
        wrap_filter(&own->filter);
    own->plugin = plugin;
    while (*end)
        end = &(*end)->next;
    *end = own;
}

static const weir_channel_operations *copy_channel(weir_channel_operations *into,
                                                   const weir_channel_operations *from)
{
    if (!from)
        return NULL;
    copy_table(into, from, sizeof *into);
    return into;
}

void plugin_add_protocol(struct plugin *plugin, const weir_protocol *protocol)
{
    struct plugin_protocol *own = memory_zeroed(sizeof *own), **end = &plugin->protocols;
    copy_table(&own->protocol, protocol, sizeof own->protocol);
    if (own->protocol.connection) {
        copy_table(&own->connection, own->protocol.connection, sizeof own->connection);
        own->protocol.connection = &own->connection;
    }
    own->protocol.client = copy_channel(&own->client, own->protocol.client);
    own->protocol.server = copy_channel(&own->server, own->protocol.server);
    while (*end)
        end = &(*end)->next;
    *end = own;
}

/* --- what must be in it */

struct member {
    uint32_t end; /* of the table, when it is the last */
    uint32_t offset;
    const char *name;
};

#define MEMBER(type, name)                                                                         \
    {                                                                                              \
        offsetof(type, name) + sizeof(((type *)0)->name), offsetof(type, name), #name              \
    }
#define CONNECTION(name) MEMBER(weir_connection_operations, name)
#define CHANNEL(name) MEMBER(weir_channel_operations, name)

static const struct member of_connections[] = {
    CONNECTION(open), CONNECTION(data),    CONNECTION(end),   CONNECTION(produce), CONNECTION(sent),
    CONNECTION(wake), CONNECTION(timeout), CONNECTION(drain), CONNECTION(close),   {0}};
static const struct member of_client_connections[] = {CONNECTION(sniff), {0}};
static const struct member of_channels[] = {
    CHANNEL(head),  CHANNEL(interim), CHANNEL(data),  CHANNEL(trailers),
    CHANNEL(reset), CHANNEL(grant),   CHANNEL(close), {0}};
static const struct member of_server_channels[] = {CHANNEL(attach), CHANNEL(spare), {0}};

/* The first of these functions that a table lacks; NULL: none. */
static const char *lacks(const void *table, const struct member *members)
{
    uint32_t size;
    memcpy(&size, table, sizeof size);
    for (; members->name; members++) {
        void *function = NULL;
        if (size >= members->end)
            memcpy(&function, (const char *)table + members->offset, sizeof function);
        if (!function)
            return members->name;
    }
    return NULL;
}

static const char *channel_lacks(const weir_channel_operations *channel,
                                 const struct member *of_this_side)
{
    const char *missing = channel ? lacks(channel, of_channels) : NULL;
    return channel && !missing && of_this_side ? lacks(channel, of_this_side) : missing;
}

static const char *protocol_lacks(const weir_protocol *protocol)
{
    if (protocol->size < offsetof(weir_protocol, alpn) || !protocol->connection)
        return "connection";
    if (!protocol->client && !protocol->server)
        return "client and server";
    const char *missing = lacks(protocol->connection, of_connections);
    if (!missing && protocol->client)
        missing = lacks(protocol->connection, of_client_connections);
    if (!missing)
        missing = channel_lacks(protocol->client, NULL);
    return missing ? missing : channel_lacks(protocol->server, of_server_channels);
}

static bool is_name(const char *name)
{
    if (!name || !*name || strnlen(name, NAME_BYTES_MOST + 1) > NAME_BYTES_MOST)
        return false;
    while (*name > ' ' && *name < 0x7f)
        name++;
    return !*name;
}

/* --- what it asks of its host */

static const char *filter_owner(const struct plugin *plugin, const char *name)
{
    const struct plugin_filter *own = plugin->filters;
    while (own && strcmp(own->filter.name, name) != 0)
        own = own->next;
    return own ? plugin->path : registry_filter_owner(plugin->registering, name);
}

static weir_result register_filter(const weir_host *host, const weir_filter *filter)
{
    struct plugin *plugin = registrant(host);
    if (!plugin->registering)
        return WEIR_WRONG_PHASE;
    if (!filter || filter->size < offsetof(weir_filter, life) || !is_name(filter->name))
        return refuse(plugin, WEIR_INVALID, "registers a filter without a usable name");
    const char *owner = filter_owner(plugin, filter->name);
    if (owner)
        return refuse(plugin, WEIR_ALREADY,
                      "the filter \"%s\" of %s is one of %s already; "
                      "remove one of the two",
                      filter->name, plugin->path, owner);
    plugin_add_filter(plugin, filter);
    return WEIR_OK;
}

static const char *protocol_owner(const struct plugin *plugin, const char *name)
{
    const struct plugin_protocol *own = plugin->protocols;
    while (own && strcmp(own->protocol.name, name) != 0)
        own = own->next;
    return own ? plugin->path : registry_protocol_owner(plugin->registering, name);
}

static weir_result register_protocol(const weir_host *host, const weir_protocol *protocol)
{
    struct plugin *plugin = registrant(host);
    if (!plugin->registering)
        return WEIR_WRONG_PHASE;
    if (!protocol || protocol->size < offsetof(weir_protocol, connection) ||
        !is_name(protocol->name))
        return refuse(plugin, WEIR_INVALID, "registers a protocol without a usable name");
    const char *missing = protocol_lacks(protocol);
    if (missing)
        return refuse(plugin, WEIR_INVALID, "the protocol \"%s\" has no %s", protocol->name,
                      missing);
    const char *owner = protocol_owner(plugin, protocol->name);
    if (owner)
        return refuse(plugin, WEIR_ALREADY,
                      "the protocol \"%s\" of %s is one of %s already; "
                      "remove one of the two",
                      protocol->name, plugin->path, owner);
    plugin_add_protocol(plugin, protocol);
    return WEIR_OK;
}

static void write_log(const weir_host *host, uint32_t level, weir_string line)
{
    log_write(level < LOG_LEVELS ? (enum log_level)level : LOG_ERROR, "%s: %.*s",
              plugin_of(host)->name, (int)line.length, line.bytes);
}

static uint32_t least_level(void)
{
    return log_least();
}

/* --- its life */

struct plugin *plugin_new(const weir_host *host, const char *name, const char *path)
{
    struct plugin *plugin = memory_zeroed(sizeof *plugin);
    plugin->host = *host;
    plugin->host.log = write_log;
    plugin->host.log_level = least_level;
    plugin->host.register_filter = register_filter;
    plugin->host.register_protocol = register_protocol;
    plugin->name = memory_copy_string(string_of(name));
    plugin->path = memory_copy_string(string_of(path));
    plugin->references = 1;
    return plugin;
}

weir_result plugin_load(struct plugin *plugin, weir_result (*load)(const weir_host *host),
                        const struct registry *registry)
{
    struct breadcrumb before = breadcrumb_leave(plugin->name, "load", 0);
    plugin->registering = registry;
    weir_result result = load(&plugin->host);
    plugin->registering = NULL;
    breadcrumb_restore(before);
    if (result >= 0 && plugin->mistake[0])
        result = WEIR_INVALID; /* it did not look at what its registering returned */
    return result < 0 ? result : WEIR_OK;
}

struct plugin *plugin_reference(struct plugin *plugin)
{
    plugin->references++;
    return plugin;
}

void plugin_release(struct plugin *plugin)
{
    if (--plugin->references == 0 && plugin->on_unused)
        plugin->on_unused(plugin);
}

void plugin_free(struct plugin *plugin)
{
    for (struct plugin_filter *next, *at = plugin->filters; at; at = next) {
        next = at->next;
        memory_free(at);
    }
    for (struct plugin_protocol *next, *at = plugin->protocols; at; at = next) {
        next = at->next;
        memory_free(at);
    }
    memory_free(plugin->name);
    memory_free(plugin->path);
    memory_free(plugin);
}
