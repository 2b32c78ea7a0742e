/* tests/unit/plugins/fake_filter_host.h - a host for one exchange of a filter: plays core
 *
 * Heads, facts, variables and the configuration are core's own, so that a filter meets what it will
 * meet. What settles an exchange, moves bytes or pauses is only remembered here. A configuration is
 * written as YAML; mistakes are gathered as "line: why\n".
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
#include "core/exchange/authentication.h"
#include "core/exchange/exchange.h"
#include "core/exchange/filter_facts.h"
#include "core/exchange/filter_heads.h"
#include "core/exchange/notes.h"
#include "core/process/plugin_schema.h"
#include "core/process/schema.h"
#include "core/process/section.h"
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

/* Without the path in the section, which a place says as well. */
static void fake_keep_mistakes(const struct config_errors *errors)
{
    for (uint32_t i = 0; i < errors->kept; i++) {
        const char *text = errors->list[i].text, *colon = strstr(text, ": ");
        bool has_path = colon && strcspn(text, "\"") > (size_t)(colon - text);
        const char *why = has_path ? colon + 2 : text;
        size_t length = strlen(fake.mistakes);
        snprintf(fake.mistakes + length, sizeof fake.mistakes - length, "%u: %s\n",
                 errors->list[i].line, why);
    }
}

/* The filter's schema, which must be one. */
static struct plugin_schema *fake_schema(void)
{
    struct config_errors errors = {0};
    struct plugin_schema *schema = plugin_schema_parse(fake.filter->life->schema, &errors);
    if (!schema)
        config_errors_print(&errors, stderr);
    assert_non_null(schema);
    return schema;
}

static inline void fake_free(void)
{
    if (fake.instance && fake.filter->life->free)
        fake.filter->life->free(fake.instance);
    fake.instance = NULL;
}

/* As core does it: what the schema does not allow does not come to make(). */
static weir_result fake_make_of(struct tree_node *root, struct config_errors *errors)
{
    struct arena arena;
    uint64_t first_block[256];
    struct plugin_schema *schema = fake_schema();
    const struct schema_type *type = plugin_schema_type(schema);
    weir_result rc = WEIR_INVALID;
    arena_init(&arena, first_block, sizeof first_block);
    schema_check(type, root, errors);
    if (!errors->count) {
        schema_complete(type, root, &arena);
        section_begin(errors, WEIR_SCOPE_ALL, NULL);
        rc = fake.filter->life->make(section_of(root), &fake.instance);
        section_end();
    }
    arena_deinit(&arena);
    plugin_schema_free(schema);
    return rc;
}

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
    .credentials = filter_credentials,
};

/* --- the plugin */

static const void *fake_query(const weir_host *host, const char *name)
{
    if (!strcmp(name, "weir.filter/0"))
        return &fake_filter_host;
    return !strcmp(name, "weir.configuration/0") ? &section_host : NULL;
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

/* Like `with:` in a configuration; takes the place of one that was made before. */
static inline weir_result fake_make(const char *with)
{
    fake_free();
    struct config_errors errors = {0};
    struct yaml_document *document = yaml_parse(NULL, string_of(with), &errors);
    if (errors.count)
        config_errors_print(&errors, stderr);
    assert_int_equal(errors.count, 0);
    weir_result rc = fake_make_of((struct tree_node *)(uintptr_t)yaml_root(document), &errors);
    fake_keep_mistakes(&errors);
    config_errors_deinit(&errors);
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
    fake_free();
    arena_deinit(&fake.exchange.arena);
    arena_pool_deinit();
}

#endif
