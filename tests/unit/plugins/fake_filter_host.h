/* tests/unit/plugins/fake_filter_host.h - a host for one exchange of a filter: plays core
 *
 * Heads, facts and variables are core's own, so that a filter meets what it will meet. What settles
 * an exchange, moves bytes or pauses is only remembered here. A configuration is written as YAML;
 * mistakes are gathered as "line: why\n".
 *
 * In a test: fake_load(&weir_plugin_entry), fake_make("set: ..."), fake_request(...), then the
 * hooks of fake.filter with &fake.state.public, fake_fields(WEIR_REQUEST_HEAD) to see what became
 * of it, and fake_end(). */
#ifndef TESTS_UNIT_PLUGINS_FAKE_FILTER_HOST_H
#define TESTS_UNIT_PLUGINS_FAKE_FILTER_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "abi/configuration.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/exchange/exchange.h"
#include "core/exchange/filter_facts.h"
#include "core/exchange/filter_heads.h"
#include "core/exchange/notes.h"
#include "core/io/network.h"
#include "core/process/yaml.h"

static struct fake {
    const weir_filter *filter; /* what the plugin registered last */
    void *instance;
    struct exchange exchange;
    struct filter_state state;
    struct snapshot snapshot;
    struct upstream_group upstream;
    struct worker worker;
    _Alignas(16) uint8_t filter_state[4096];
    _Alignas(8) uint8_t first_block[4096];
    char mistakes[4096];
    /* What the filter did. */
    uint32_t responded;      /* respond(): the status; 0: it was not called */
    char reply_fields[4096]; /* its fields, as "name: value|" */
    bool aborted, resumed[2];
    char target[256];      /* retarget() */
    char emitted[2][4096]; /* emit() */
    size_t emitted_length[2];
} fake;

/* --- configuration */

static const struct tree_node *fake_node(const weir_section *section)
{
    return (const struct tree_node *)section;
}

static uint32_t fake_kind(const weir_section *section)
{
    return section ? (uint32_t)fake_node(section)->kind : WEIR_SECTION_EMPTY;
}

_Static_assert((int)TREE_TEXT == WEIR_SECTION_TEXT && (int)TREE_LIST == WEIR_SECTION_LIST &&
                   (int)TREE_MAPPING == WEIR_SECTION_MAPPING,
               "fake_kind() does not translate");

static const weir_section *fake_at(const weir_section *section, uint32_t index)
{
    const struct tree_node *node = section ? fake_node(section)->first : NULL;
    while (node && index--)
        node = node->next;
    return (const weir_section *)node;
}

/* "a.b[2].c" */
static const weir_section *fake_find(const weir_section *section, const char *path)
{
    while (section && *path) {
        char key[128];
        size_t length = strcspn(path, ".[");
        if (*path == '[') {
            section = fake_at(section, (uint32_t)strtoul(path + 1, NULL, 10));
            path = strchr(path, ']') + 1;
        } else {
            snprintf(key, sizeof key, "%.*s", (int)length, path);
            bool mapping = fake_node(section)->kind == TREE_MAPPING;
            section = mapping ? (const weir_section *)tree_child(fake_node(section), key) : NULL;
            path += length;
        }
        path += *path == '.';
    }
    return section;
}

static uint32_t fake_count(const weir_section *section)
{
    return section ? fake_node(section)->count : 0;
}

static weir_string fake_key(const weir_section *section)
{
    return section ? fake_node(section)->key : (weir_string){"", 0};
}

static weir_string fake_text(const weir_section *section)
{
    bool is_text = section && fake_node(section)->kind == TREE_TEXT;
    return is_text ? fake_node(section)->text : (weir_string){"", 0};
}

static uint64_t fake_number(const weir_section *section)
{
    uint64_t number = 0;
    string_to_number(fake_text(section), UINT64_MAX, &number);
    return number;
}

static uint32_t fake_flag(const weir_section *section)
{
    return string_equal(fake_text(section), WEIR_STRING("true"));
}

static uint32_t fake_line(const weir_section *section)
{
    return section ? fake_node(section)->place.line : 0;
}

static void fake_mistake(const weir_section *section, weir_string why)
{
    size_t length = strlen(fake.mistakes);
    snprintf(fake.mistakes + length, sizeof fake.mistakes - length, "%u: %.*s\n",
             fake_line(section), (int)why.length, why.bytes);
}

static uint32_t fake_scope(const weir_section *with)
{
    return WEIR_SCOPE_ALL;
}

static const void *fake_parent(const weir_section *with)
{
    return NULL;
}

static bool fake_add_network(const weir_section *section, struct network_list *list)
{
    uint32_t count = 0;
    const char *wrong = network_parse(fake_text(section), list->networks + list->count, &count);
    list->count += count;
    if (wrong)
        fake_mistake(section, string_of(wrong));
    return !wrong;
}

static void fake_networks_free(weir_networks *networks)
{
    struct network_list *list = (struct network_list *)networks;
    if (list)
        free(list->networks);
    free(list);
}

static weir_networks *fake_networks(const weir_section *section, uint32_t forbids)
{
    uint32_t count = fake_kind(section) == WEIR_SECTION_LIST ? fake_count(section) : 1;
    struct network_list *list = calloc(1, sizeof *list);
    bool good = true;
    list->networks = calloc((size_t)count * NETWORKS_OF_TEXT_MOST + 1, sizeof *list->networks);
    list->embedded = forbids;
    if (fake_kind(section) != WEIR_SECTION_LIST)
        good = fake_add_network(section, list);
    for (uint32_t i = 0; fake_kind(section) == WEIR_SECTION_LIST && i < count; i++)
        good &= fake_add_network(fake_at(section, i), list);
    if (good)
        return (weir_networks *)list;
    fake_networks_free((weir_networks *)list);
    return NULL;
}

static uint32_t fake_networks_contain(const weir_networks *networks, weir_string text)
{
    struct address address;
    return address_from_literal(text, 0, &address) &&
           network_list_contains((const struct network_list *)networks, &address);
}

static const weir_configuration_host fake_configuration_host = {
    .size = sizeof fake_configuration_host,
    .kind = fake_kind,
    .find = fake_find,
    .count = fake_count,
    .at = fake_at,
    .key = fake_key,
    .text = fake_text,
    .number = fake_number,
    .flag = fake_flag,
    .line = fake_line,
    .mistake = fake_mistake,
    .scope = fake_scope,
    .parent = fake_parent,
    .networks = fake_networks,
    .networks_free = fake_networks_free,
    .networks_contain = fake_networks_contain,
};

/* --- what a filter does to the exchange */

static const weir_head *fake_request_head(weir_exchange *public)
{
    return fake.exchange.request ? &fake.exchange.request->view : NULL;
}

static const weir_head *fake_response_head(weir_exchange *public)
{
    return fake.exchange.response ? &fake.exchange.response->view : NULL;
}

static weir_result fake_respond(weir_exchange *public, const weir_reply *reply)
{
    if (fake.responded)
        return WEIR_ALREADY;
    fake.responded = reply->status;
    for (uint32_t i = 0; i < reply->count; i++) {
        const weir_field *field = &reply->fields[i];
        size_t length = strlen(fake.reply_fields);
        snprintf(fake.reply_fields + length, sizeof fake.reply_fields - length, "%.*s: %.*s|",
                 (int)field->name.length, field->name.bytes, (int)field->value.length,
                 field->value.bytes);
    }
    return WEIR_OK;
}

static weir_result fake_abort(weir_exchange *public)
{
    fake.aborted = true;
    return WEIR_OK;
}

static weir_result fake_retarget(weir_exchange *public, weir_string target)
{
    snprintf(fake.target, sizeof fake.target, "%.*s", (int)target.length, target.bytes);
    return WEIR_OK;
}

static weir_result fake_emit(weir_exchange *public, uint32_t direction, const weir_slice *slices,
                             uint32_t count, uint32_t flags)
{
    size_t *length = &fake.emitted_length[direction];
    for (uint32_t i = 0; i < count; i++) {
        assert_true(slices[i].length <= sizeof fake.emitted[direction] - *length);
        memcpy(fake.emitted[direction] + *length, slices[i].bytes, slices[i].length);
        *length += slices[i].length;
    }
    return WEIR_OK;
}

static size_t fake_credit(weir_exchange *public, uint32_t direction)
{
    return sizeof fake.emitted[direction] - fake.emitted_length[direction];
}

static weir_result fake_resume(weir_exchange *public, uint32_t direction)
{
    fake.resumed[direction] = true;
    return WEIR_OK;
}

static weir_result fake_set_user(weir_exchange *public, weir_string user)
{
    return notes_set_user(&fake.exchange, user);
}

static const weir_filter_host fake_filter_host = {
    .size = sizeof fake_filter_host,
    .request_head = fake_request_head,
    .response_head = fake_response_head,
    .field = filter_field,
    .field_at = filter_field_at,
    .set_field = filter_set_field,
    .add_field = filter_add_field,
    .remove_field = filter_remove_field,
    .set_part = filter_set_part,
    .set_status = filter_set_status,
    .text = filter_text,
    .number = filter_number,
    .variable = filter_variable,
    .set_variable = filter_set_variable,
    .set_user = fake_set_user,
    .respond = fake_respond,
    .abort = fake_abort,
    .retarget = fake_retarget,
    .emit = fake_emit,
    .credit = fake_credit,
    .resume = fake_resume,
};

/* --- the plugin */

static const void *fake_query(const weir_host *host, const char *name)
{
    if (!strcmp(name, "weir.filter/0"))
        return &fake_filter_host;
    return !strcmp(name, "weir.configuration/0") ? &fake_configuration_host : NULL;
}

static weir_result fake_register_filter(const weir_host *host, const weir_filter *filter)
{
    fake.filter = filter;
    return WEIR_OK;
}

static const uint8_t fake_not_tracing;
static const weir_host fake_host = {.size = sizeof fake_host,
                                    .abi_major = WEIR_ABI_MAJOR,
                                    .abi_minor = WEIR_ABI_MINOR,
                                    .version = "0.0.0",
                                    .query = fake_query,
                                    .tracing = &fake_not_tracing,
                                    .register_filter = fake_register_filter};

/* With an exchange of a client at 192.0.2.1 port 1025 that no head has come of. The schema of the
 * filter's configuration must be JSON. */
static inline void fake_load(const weir_plugin *plugin)
{
    memset(&fake, 0, sizeof fake);
    assert_int_equal(plugin->load(&fake_host), WEIR_OK);
    assert_non_null(fake.filter);
    assert_true(fake.filter->state_size <= sizeof fake.filter_state);
    arena_init(&fake.exchange.arena, fake.first_block, sizeof fake.first_block);
    fake.exchange.snapshot = &fake.snapshot;
    fake.exchange.worker = &fake.worker;
    channel_init(&fake.exchange.client, NULL, &fake.exchange.mark, &fake.exchange.arena);
    channel_init(&fake.exchange.server, NULL, &fake.exchange.mark, &fake.exchange.arena);
    fake.exchange.number = 42;
    notes_of(&fake.exchange);
    address_parse(WEIR_STRING("192.0.2.1:1025"), &fake.exchange.notes->client);
    fake.state.exchange = &fake.exchange;
    fake.state.public.state = fake.filter_state;
}

/* Like `with:` in a configuration. */
static inline weir_result fake_make(const char *with)
{
    struct config_errors errors = {0};
    struct yaml_document *document = yaml_parse(NULL, string_of(with), &errors);
    if (errors.count)
        config_errors_print(&errors, stderr);
    assert_int_equal(errors.count, 0);
    const weir_section *root = (const weir_section *)yaml_root(document);
    weir_result rc = fake.filter->life->make(root, &fake.instance);
    fake.state.public.instance = rc < 0 ? NULL : fake.instance;
    yaml_free(document);
    return rc;
}

/* Fields of "name: value|name: value|". */
static inline void fake_append(struct head *head, const char *fields)
{
    while (*fields) {
        const char *colon = strstr(fields, ": "), *bar = strchr(fields, '|');
        weir_string name = {fields, (size_t)(colon - fields)};
        weir_string value = {colon + 2, (size_t)(bar - colon) - 2};
        head_append(head, arena_copy(head->arena, name), arena_copy(head->arena, value));
        fields = bar + 1;
    }
}

static inline weir_exchange *fake_request(const char *authority, const char *path,
                                          const char *fields)
{
    struct head *head = fake.exchange.request = head_new(&fake.exchange.arena);
    head->view.kind = WEIR_REQUEST;
    head->view.version = WEIR_STRING("1.1");
    head->view.method = WEIR_STRING("GET");
    head->view.scheme = WEIR_STRING("http");
    head->view.authority = string_of(authority);
    head->view.path = string_of(path);
    fake_append(head, fields);
    return &fake.state.public;
}

static inline weir_exchange *fake_response(uint32_t status, const char *fields)
{
    struct head *head = fake.exchange.response = head_new(&fake.exchange.arena);
    head->view.kind = WEIR_REQUEST;
    head->view.version = WEIR_STRING("1.1");
    head->view.status = status;
    fake_append(head, fields);
    return &fake.state.public;
}

/* The client's address and port, or "unix". */
static inline void fake_client(const char *text)
{
    struct address *client = &fake.exchange.notes->client;
    memset(client, 0, sizeof *client);
    if (!strcmp(text, "unix"))
        client->any.sa_family = AF_UNIX;
    else
        assert_true(address_parse(string_of(text), client));
}

/* The request goes to the upstream of that name. */
static inline void fake_upstream(const char *name)
{
    fake.upstream.name = (char *)name;
    fake.exchange.target.group = &fake.upstream;
}

/* As "name: value|name: value|". */
static inline const char *fake_fields(uint32_t which)
{
    static char joined[65536];
    weir_field field;
    size_t length = 0;
    joined[0] = 0;
    for (uint32_t i = 0; !filter_field_at(&fake.state.public, which, i, &field); i++)
        length += (size_t)snprintf(joined + length, sizeof joined - length, "%.*s: %.*s|",
                                   (int)field.name.length, field.name.bytes,
                                   (int)field.value.length, field.value.bytes);
    return joined;
}

static inline void fake_end(void)
{
    if (fake.state.public.instance && fake.filter->close)
        fake.filter->close(&fake.state.public);
    if (fake.state.public.instance && fake.filter->life->free)
        fake.filter->life->free(fake.instance);
    arena_deinit(&fake.exchange.arena);
    arena_pool_deinit();
}

#endif
