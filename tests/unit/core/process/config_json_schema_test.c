/* tests/unit/core/process/config_json_schema_test.c - the JSON Schema says what the program does
 *
 * A small validator, of the words that the schema uses, checks files that weir takes or refuses.
 * JSON is YAML, so yaml.c reads the schema too. */
#include "core/process/config_json_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <regex.h>

#include "core/base/string.h"
#include "core/host/host.h"
#include "core/plugins/registry.h"
#include "core/process/config.h"
#include "core/process/config_keys.h"
#include "core/process/yaml.h"

/* --- the validator */

static char wrong[256]; /* the first thing that is; "": nothing */

static __attribute__((format(printf, 2, 3))) void say(const struct tree_node *node,
                                                      const char *format, ...)
{
    char path[TREE_PATH_BYTES], text[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!*wrong)
        snprintf(wrong, sizeof wrong, "%.100s: %s", tree_path(node, path), text);
}

static bool is(const struct tree_node *node, const char *text)
{
    return string_equal(node->text, string_of(text));
}

static bool matches(weir_string text, const char *pattern)
{
    regex_t expression;
    char copy[256];
    snprintf(copy, sizeof copy, "%.*s", (int)text.length, text.bytes);
    assert_int_equal(regcomp(&expression, pattern, REG_EXTENDED | REG_NOSUB), 0);
    bool found = !regexec(&expression, copy, 0, NULL, 0);
    regfree(&expression);
    return found;
}

/* As YAML 1.2 has it. */
static const char *type_of(const struct tree_node *node)
{
    if (node->kind == TREE_LIST || node->kind == TREE_MAPPING)
        return node->kind == TREE_LIST ? "array" : "object";
    if (node->kind == TREE_EMPTY || (!node->quoted && (is(node, "null") || is(node, "~"))))
        return "null";
    if (!node->quoted && (is(node, "true") || is(node, "false")))
        return "boolean";
    return !node->quoted && matches(node->text, "^[-+]?[0-9]+$") ? "integer" : "string";
}

static bool has_text(const struct tree_node *list_or_text, const char *text)
{
    const struct tree_node *item =
        list_or_text->kind == TREE_LIST ? list_or_text->first : list_or_text;
    for (; item; item = list_or_text->kind == TREE_LIST ? item->next : NULL)
        if (is(item, text))
            return true;
    return false;
}

static uint64_t bound(const struct tree_node *schema, const char *name, uint64_t otherwise)
{
    const struct tree_node *node = tree_child(schema, name);
    return node ? strtoull(node->text.bytes, NULL, 10) : otherwise;
}

static void check_bounds(const struct tree_node *schema, const struct tree_node *node,
                         uint64_t number, const char *least, const char *most)
{
    if (number < bound(schema, least, 0) || number > bound(schema, most, UINT64_MAX))
        say(node, "is out of range");
}

static void check_number(const struct tree_node *schema, const struct tree_node *node)
{
    if (node->text.bytes[0] == '-')
        say(node, "is out of range");
    else
        check_bounds(schema, node, strtoull(node->text.bytes, NULL, 10), "minimum", "maximum");
}

static void validate(const struct tree_node *schema, const struct tree_node *node);

static void validate_object(const struct tree_node *schema, const struct tree_node *node)
{
    const struct tree_node *properties = tree_child(schema, "properties");
    const struct tree_node *others = tree_child(schema, "additionalProperties");
    const struct tree_node *required = tree_child(schema, "required");
    if (!others)
        return; /* open: a plugin's */
    check_bounds(schema, node, node->count, "minProperties", "maxProperties");
    for (const struct tree_node *child = node->first; child; child = child->next) {
        const struct tree_node *known =
            properties ? tree_child(properties, child->key.bytes) : NULL;
        if (known || others->kind == TREE_MAPPING)
            validate(known ? known : others, child);
        else
            say(child, "is not allowed");
    }
    for (const struct tree_node *name = required ? required->first : NULL; name; name = name->next)
        if (!tree_child(node, name->text.bytes))
            say(node, "lacks %s", name->text.bytes);
}

static void validate_array(const struct tree_node *schema, const struct tree_node *node)
{
    check_bounds(schema, node, node->count, "minItems", "maxItems");
    for (const struct tree_node *item = node->first; item; item = item->next)
        validate(tree_child(schema, "items"), item);
}

/* What the validator does not know would check nothing. */
static void check_words(const struct tree_node *schema)
{
    static const char known[] =
        " $schema title description default type enum pattern items properties required "
        "anyOf additionalProperties minimum maximum minItems maxItems minProperties maxProperties ";
    for (const struct tree_node *word = schema->first; word; word = word->next) {
        char with_spaces[64];
        snprintf(with_spaces, sizeof with_spaces, " %s ", word->key.bytes);
        if (!strstr(known, with_spaces))
            fail_msg("the validator does not know %s", word->key.bytes);
    }
}

static void validate_any(const struct tree_node *schemas, const struct tree_node *node)
{
    for (const struct tree_node *schema = schemas->first; schema && !*wrong;
         schema = schema->next) {
        validate(schema, node);
        if (!*wrong)
            return;
        wrong[0] = schema->next ? 0 : wrong[0];
    }
}

static void validate(const struct tree_node *schema, const struct tree_node *node)
{
    check_words(schema);
    if (tree_child(schema, "anyOf")) {
        validate_any(tree_child(schema, "anyOf"), node);
        return;
    }
    const struct tree_node *types = tree_child(schema, "type");
    const struct tree_node *choice = tree_child(schema, "enum");
    const struct tree_node *pattern = tree_child(schema, "pattern");
    const char *type = type_of(node);
    assert_true(types || choice);
    if (types && !has_text(types, type))
        say(node, "is of type %s", type);
    else if (choice && (node->kind != TREE_TEXT || !has_text(choice, node->text.bytes)))
        say(node, "is none of the words");
    else if (pattern && !strcmp(type, "string") && !matches(node->text, pattern->text.bytes))
        say(node, "does not match %s", pattern->text.bytes);
    else if (!strcmp(type, "integer"))
        check_number(schema, node);
    else if (node->kind == TREE_MAPPING)
        validate_object(schema, node);
    else if (node->kind == TREE_LIST)
        validate_array(schema, node);
}

/* --- the schema */

static struct yaml_document *document;
static struct config_errors errors;
static char *printed;

static struct yaml_document *parse(const char *text)
{
    struct yaml_document *parsed = yaml_parse(NULL, string_of(text), &errors);
    if (!parsed || errors.count)
        fail_msg("%s: %s", text, errors.kept ? errors.list[0].text : "no document");
    return parsed;
}

static int set_up(void **state)
{
    size_t size = 0;
    FILE *stream = open_memstream(&printed, &size);
    config_print_json_schema(stream);
    fclose(stream);
    document = parse(printed);
    return 0;
}

static int tear_down(void **state)
{
    yaml_free(document);
    free(printed);
    config_errors_deinit(&errors);
    return 0;
}

static bool validates(const char *text)
{
    struct yaml_document *file = parse(text);
    wrong[0] = 0;
    validate(yaml_root(document), yaml_root(file));
    yaml_free(file);
    return !*wrong;
}

static bool weir_takes(const char *text)
{
    struct options options = {0};
    struct config_errors mistakes = {0};
    struct snapshot *snapshot = config_read(string_of(text), &options, &mistakes);
    config_errors_deinit(&mistakes);
    snapshot_free(snapshot);
    return snapshot != NULL;
}

static void test_what_weir_takes_is_allowed(void **state)
{
    static const char *const files[] = {
        "{}\n",
        "workers: 3\n",
        "workers: auto\nlog: { level: warning }\n",
        "listen:\n  - address: 127.0.0.1:3128\n  - { address: \"[::]:1\", open: true, v6only: "
        "true }\n  - { address: 0.0.0.0:1, allow_clients: [ private, 192.0.2.1, 2001:db8::/32 ] }\n"
        "  - { address: unix:/run/weir.sock, mode: 0660 }\n  - { address: unix:/a, mode: '640' }\n",
        "listen: [ { address: 127.0.0.1:1, protocols: [ h1 ] } ]\n",
        "upstream: { app: { servers: [ a:1, \"[::1]:2\" ], protocol: h1 } }\nfixed_upstream: app\n",
        "upstream: { 1: { servers: [ a:1 ] } }\nfixed_upstream: 1\n",
        "connect_ports: [ 443, 8000-8999, '22' ]\ndeny_addresses: [ loopback, metadata, ::1 ]\n",
        "connect_ports: []\ndeny_addresses: []\n",
        "limits: { request_line: 256B, header: 1MiB, fields: 8, connections_max: auto }\n",
        "limits: { connections_max: 5000, connections_per_address: 10, requests_per_connection: "
        "none, request_body_max: 1024TiB, body_rate_min: 100B/s }\n",
        "timeouts: { head: 1s, idle: none, body: 7d, connect: 500ms, response: 1m, exchange_idle: "
        "1h, tunnel_idle: none }\ndrain_timeout: none\n",
        "log: { access: { format: json, file: access.log, sample: 10 } }\n",
        "log: { access: { format: '{client} {status}' } }\nerror_bodies: '{status} {reason}'\n",
        "admin: unix:/run/admin.sock\nuser: nobody\ngroup: 65534\npid_file: weir.pid\n",
        "admin: 127.0.0.1:9100\nuser: 1000\n",
        "{\"workers\": 1, \"listen\": [{\"address\": \"127.0.0.1:0\"}], \"timeouts\": "
        "{\"idle\": \"10s\"}}\n",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!weir_takes(files[i]))
            fail_msg("weir does not take %s", files[i]);
        if (!validates(files[i]))
            fail_msg("%s: %s", files[i], wrong);
    }
}

static char *read_document(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s is not there: run from the root of the checkout", path);
    assert_true(getdelim(&text, &size, 0, file) > 0);
    fclose(file);
    return text;
}

static void test_examples_of_the_reference_are_allowed(void **state)
{
    char *reference = read_document("docs/configuration.md"), *start = reference, *end;
    uint32_t examples = 0;
    for (; (start = strstr(start, "```yaml\n")); start = end + 1, examples++) {
        start = strchr(start, '\n') + 1;
        end = strstr(start, "```");
        *end = 0;
        if (!validates(start))
            fail_msg("%s: %s", start, wrong);
    }
    free(reference);
    assert_int_equal(examples, 5);
}

static void test_what_is_not_allowed_weir_does_not_take(void **state)
{
    static const char *const files[] = {
        "- a\n",
        "wrokers: 1\n",
        "workers: 0\n",
        "workers: -1\n",
        "workers: 257\n",
        "workers: none\n",
        "workers: '2'\n",
        "workers: [ 1 ]\n",
        "workers:\n",
        "listen: []\n",
        "listen: 127.0.0.1:1\n",
        "listen: [ 127.0.0.1:1 ]\n",
        "listen: [ { open: false } ]\n",
        "listen: [ { address: 127.0.0.1:1, adress: 127.0.0.1:1 } ]\n",
        "listen: [ { address: 127.0.0.1:1, open: yes } ]\n",
        "listen: [ { address: 127.0.0.1:1, open: 'true' } ]\n",
        "listen: [ { address: 0.0.0.0:1, allow_clients: [] } ]\n",
        "listen: [ { address: 0.0.0.0:1, allow_clients: private } ]\n",
        "upstream: { a: {} }\nfixed_upstream: a\n",
        "upstream: { a: { servers: [] } }\nfixed_upstream: a\n",
        "upstream: { a: { servers: [ a:1 ], protocol: h9 } }\nfixed_upstream: a\n",
        "connect_ports: 443\n",
        "deny_addresses: [ [ private ] ]\n",
        "limits: { fields: 7 }\n",
        "limits: { header: 65536 }\n",
        "limits: { request_body_max: 1GB }\n",
        "limits: { body_rate_min: 1KiB }\n",
        "limits: { connections_max: none }\n",
        "timeouts: { head: 10 }\n",
        "timeouts: { head: 1h30m }\n",
        "timeouts: none\n",
        "log: { level: loud }\n",
        "log: { access: { sample: 0 } }\n",
        "log: { access: json }\n",
        "admin: 9100\n",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (weir_takes(files[i]))
            fail_msg("weir takes %s", files[i]);
        if (validates(files[i]))
            fail_msg("the schema allows %s", files[i]);
    }
}

/* Counts them, so that the test sees whether there are any. */
static uint32_t check_defaults(const struct tree_node *schema)
{
    uint32_t count = 0;
    const struct tree_node *properties = tree_child(schema, "properties");
    const struct tree_node *items = tree_child(schema, "items");
    const struct tree_node *standard = tree_child(schema, "default");
    const struct tree_node *others = tree_child(schema, "additionalProperties");
    const struct tree_node *child = properties ? properties->first : NULL;
    for (; child; child = child->next)
        count += check_defaults(child);
    if (items)
        count += check_defaults(items);
    if (others)
        count += check_defaults(others);
    if (standard) {
        wrong[0] = 0;
        validate(schema, standard);
        if (*wrong)
            fail_msg("%s", wrong);
    }
    return count + (standard != NULL);
}

static void test_defaults_are_allowed(void **state)
{
    assert_int_equal(check_defaults(yaml_root(document)), 45);
}

static void test_the_published_one_is_this_one(void **state)
{
    char *published = read_document("docs/weir.schema.json");
    bool same = !strcmp(published, printed);
    free(published);
    if (!same)
        fail_msg("docs/weir.schema.json is not what `weir schema` prints");
}

static int start(void **state)
{
    registry_start(host_table("test"));
    return 0;
}

static int end(void **state)
{
    registry_end();
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_weir_takes_is_allowed),
        TEST(test_examples_of_the_reference_are_allowed),
        TEST(test_what_is_not_allowed_weir_does_not_take),
        TEST(test_defaults_are_allowed),
        TEST(test_the_published_one_is_this_one),
    };
    return cmocka_run_group_tests(tests, start, end);
}
