/* core/process/config_tls.c - keys and certificates that a configuration names are read */
#include "core/process/config_tls.h"

#include <stdlib.h>
#include <string.h>

#include "core/io/tls.h"
#include "core/plugins/registry.h"

/* Where tools such as Wireshark expect the secrets of connections, for debugging. */
static const char *key_log(void)
{
    return getenv("SSLKEYLOGFILE");
}

static const struct tree_node *child_at(const struct tree_node *list, uint32_t index)
{
    const struct tree_node *node = list->kind == TREE_LIST ? list->first : list;
    while (node && index--)
        node = node->next;
    return node;
}

/* Where it says what is wrong; the section itself when nothing there does. */
static const struct tree_node *place_of(const struct tree_node *section,
                                        const struct tls_mistake *mistake)
{
    static const char *const lists[] = {
        [TLS_CERTIFICATE] = "certificates", [TLS_KEY] = "certificates", [TLS_CA_FILE] = "ca_files"};
    const char *list = mistake->setting <= TLS_CA_FILE ? lists[mistake->setting] : NULL;
    const struct tree_node *node = tree_child(section, list ? list : "client_ca");
    const struct tree_node *item = node && list ? child_at(node, mistake->index) : node;
    if (item && item->kind == TREE_MAPPING)
        item = tree_child(item, mistake->setting == TLS_KEY ? "key" : "certificate");
    return item ? item : section;
}

/* Keeps it until the snapshot goes. */
static struct tls_context *keep(struct config *config, struct tls_context *context,
                                const struct tree_node *section, const struct tls_mistake *mistake,
                                struct config_errors *errors)
{
    if (context) {
        size_t size = (config->context_count + 1) * sizeof *config->contexts;
        config->contexts = memory_resize(config->contexts, size);
        config->contexts[config->context_count++] = context;
    } else if (section) {
        tree_mistake(errors, place_of(section, mistake), "%s", mistake->text);
    } else {
        config_errors_add(errors, (struct config_place){.file = "weir"}, "%s", mistake->text);
    }
    return context;
}

static void make_client_context(struct config *config, struct tls_client_settings *settings,
                                const struct tree_node *section, struct config_errors *errors)
{
    struct tls_mistake mistake = {0};
    struct tls_context *context = builtin_tls->client_context(settings, key_log(), &mistake);
    settings->context = keep(config, context, section, &mistake, errors);
}

/* --- listeners */

static void find_alpn(struct config *config, struct listener_config *listener)
{
    const weir_protocol *const *protocols = listener->protocols;
    if (!protocols)
        protocols = registry_standard_protocols(config->snapshot.registry);
    const char **names = arena_allocate(&config->arena, (TLS_ALPN_MOST + 1) * sizeof *names);
    uint32_t count = 0;
    for (; *protocols && count < TLS_ALPN_MOST; protocols++)
        if (WEIR_HAS(weir_protocol, *protocols, alpn))
            names[count++] = (*protocols)->alpn;
    names[count] = NULL;
    listener->alpn = names;
}

/* All that it needs is there: what is not was reported. */
static bool is_whole(const struct tls_server_settings *settings)
{
    for (uint32_t i = 0; i < settings->certificate_count; i++)
        if (!settings->certificates[i].certificate || !settings->certificates[i].key)
            return false;
    return settings->certificate_count > 0;
}

static void check_client_ca(const struct listener_config *listener, const struct tree_node *section,
                            struct config_errors *errors)
{
    const struct tree_node *node = tree_child(section, "client_ca");
    if (node && listener->tls.client_certificates == TLS_CLIENTS_OFF)
        tree_key_mistake(errors, node,
                         "says nothing while client_certificates is off; write "
                         "\"client_certificates: optional\", or required");
}

static void make_listener(struct config *config, struct listener_config *listener,
                          const struct tree_node *section, struct config_errors *errors)
{
    struct tls_mistake mistake = {0};
    check_client_ca(listener, section, errors);
    if (!is_whole(&listener->tls))
        return;
    find_alpn(config, listener);
    struct tls_context *context = builtin_tls->server_context(&listener->tls, key_log(), &mistake);
    listener->tls.context = keep(config, context, section, &mistake, errors);
}

/* --- the whole */

static void make_listeners(struct config *config, const struct tree_node *root,
                           struct config_errors *errors)
{
    struct snapshot *snapshot = &config->snapshot;
    const struct tree_node *list = tree_child(root, "listen");
    const struct tree_node *item = list ? list->first : NULL;
    for (uint32_t i = 0; i < snapshot->listener_count && item; i++, item = item->next) {
        const struct tree_node *section = tree_child(item, "tls");
        if (section && section->kind == TREE_MAPPING)
            make_listener(config, &snapshot->listeners[i], section, errors);
    }
}

static void make_groups(struct config *config, const struct tree_node *root,
                        struct config_errors *errors)
{
    struct snapshot *snapshot = &config->snapshot;
    const struct tree_node *map = tree_child(root, "upstream");
    const struct tree_node *item = map ? map->first : NULL;
    for (uint32_t i = 0; i < snapshot->upstream_count && item; i++, item = item->next) {
        const struct tree_node *section = tree_child(item, "tls");
        if (section && section->kind == TREE_MAPPING)
            make_client_context(config, &snapshot->upstreams[i].tls, section, errors);
    }
}

void config_tls(struct config *config, const struct tree_node *root, struct config_errors *errors)
{
    bool any = root && root->kind == TREE_MAPPING;
    if (any) {
        make_listeners(config, root, errors);
        make_groups(config, root, errors);
    }
    make_client_context(config, &config->snapshot.server_tls,
                        any ? tree_child(root, "server_tls") : NULL, errors);
}

void config_free_tls(struct config *config)
{
    for (uint32_t i = 0; i < config->context_count; i++)
        builtin_tls->context_drop(config->contexts[i]);
    memory_free(config->contexts);
}
