/* core/plugins/plugin.h - one plugin, built in or loaded: what it registered, and who uses it
 *
 * All [main]. The tables are the host's own copies of full size: what a plugin's table does not
 * reach is NULL in them. They are constant after load() and shared by all configurations that the
 * plugin is in; the last one to let go of it tells its owner. */
#ifndef CORE_PLUGINS_PLUGIN_H
#define CORE_PLUGINS_PLUGIN_H

#include "abi/filter.h"
#include "abi/protocol.h"

struct registry;

enum { PLUGIN_MISTAKE_BYTES = 512 };

struct plugin_filter {
    weir_filter filter;  /* `life` is the copy below, or NULL */
    weir_filter written; /* the same before plugin_wrap_filters()' function changed it */
    weir_life life;
    const struct plugin *plugin;
    struct plugin_filter *next;
};

struct plugin_protocol {
    weir_protocol protocol; /* its tables are the copies below, or NULL */
    weir_connection_operations connection;
    weir_channel_operations client, server;
    struct plugin_protocol *next;
};

struct plugin {
    weir_host host;                    /* first: the plugin's own, by which its calls are known */
    char *name;                        /* "acme.trace" */
    char *path;                        /* as it was given; of what is built in "weir" */
    struct plugin_filter *filters;     /* in the order of their registration */
    struct plugin_protocol *protocols; /* likewise */
    uint32_t references;
    const struct registry *registering; /* in load(): where it would come in force; else NULL */
    char mistake[PLUGIN_MISTAKE_BYTES]; /* what was wrong with what it registered; or "" */
    void (*on_unused)(struct plugin *plugin); /* the last reference went; may be NULL */
};

/* With one reference; `host` is copied. */
struct plugin *plugin_new(const weir_host *host, const char *name, const char *path);
struct plugin *plugin_reference(struct plugin *plugin);
void plugin_release(struct plugin *plugin); /* never frees */
void plugin_free(struct plugin *plugin);

/* Calls it with the plugin's host. WEIR_OK: what it registered collides with nothing in the
 * registry. Else plugin->mistake says what was wrong, unless load() alone knows. */
weir_result plugin_load(struct plugin *plugin, weir_result (*load)(const weir_host *host),
                        const struct registry *registry);
/* Once, before the first plugin: `wrap` may put hooks of its own in the place of those in the table
 * of each filter. */
void plugin_wrap_filters(void (*wrap)(weir_filter *filter));
/* Copies the tables, which are not judged. */
void plugin_add_filter(struct plugin *plugin, const weir_filter *filter);
void plugin_add_protocol(struct plugin *plugin, const weir_protocol *protocol);

/* Whose that host is. */
const struct plugin *plugin_of(const weir_host *host);

#endif
