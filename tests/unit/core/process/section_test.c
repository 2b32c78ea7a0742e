/* tests/unit/core/process/section_test.c - what plugins say may be written, and how they read it */
#include "core/process/section.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "core/base/text.h"
#include "core/process/plugin_schema.h"
#include "core/process/schema.h"
#include "core/process/yaml.h"
#include "tests/unit/core/process/scratch.h"

static const weir_configuration_host *const host = &section_host;
static struct config_errors errors;
static struct plugin_schema *schema;
static struct yaml_document *document;
static struct arena arena;
static uint64_t first_block[64];
static bool reading;
static const int parent;

static int set_up(void **state)
{
    scratch_make();
    arena_init(&arena, first_block, sizeof first_block);
    return 0;
}

static int clean(void **state)
{
    if (reading)
        section_end();
    reading = false;
    plugin_schema_free(schema);
    yaml_free(document);
    schema = NULL;
    document = NULL;
    config_errors_deinit(&errors);
    arena_deinit(&arena);
    arena_pool_deinit();
    scratch_remove();
    return 0;
}

static void no_mistakes(void)
{
    if (errors.count)
        fail_msg("%u:%u %s", errors.list[0].line, errors.list[0].column, errors.list[0].text);
}

/* The section in a file of the scratch directory, checked and completed. */
static const weir_section *open_section(const char *description, const char *text)
{
    schema = plugin_schema_parse(description, &errors);
    no_mistakes();
    assert_non_null(schema);
    document = yaml_parse(scratch_path("weir.yaml"), string_of(text), &errors);
    assert_non_null(document);
    schema_check(plugin_schema_type(schema), yaml_root(document), &errors);
    if (!errors.count)
        schema_complete(plugin_schema_type(schema), yaml_root(document), &arena);
    section_begin(&errors, WEIR_SCOPE_ROUTE, &parent);
    reading = true;
    return section_of(yaml_root(document));
}

static const weir_section *read_right(const char *description, const char *text)
{
    const weir_section *section = open_section(description, text);
    no_mistakes();
    return section;
}

static void is_text(const weir_section *section, const char *path, const char *text)
{
    weir_string found = host->text(host->find(section, path));
    assert_string_equal(found.bytes, text);
    assert_int_equal(found.length, strlen(text));
}

/* --- schemas */

#define PROPERTY(name, rest) "{\"type\":\"object\",\"properties\":{\"" name "\":{" rest "}}}"

static void wrong_schema(const char *text, const char *mistake)
{
    assert_null(plugin_schema_parse(text, &errors));
    assert_true(errors.count > 0);
    if (!strstr(errors.list[0].text, mistake))
        fail_msg("%s: %s", text, errors.list[0].text);
    config_errors_deinit(&errors);
}

static void test_wrong_schemas(void **state)
{
    wrong_schema("", "is empty");
    wrong_schema("{", "not valid YAML");
    wrong_schema("[]", "must be keys and values");
    wrong_schema("{\"type\":\"array\"}", "must be of type object");
    wrong_schema("{\"type\":\"thing\"}", "is not one of: object");
    wrong_schema(PROPERTY("a", "\"pattern\":\"x\""), "unknown key");
    wrong_schema(PROPERTY("a", "\"typ\":\"string\""), "did you mean \"type\"");
    wrong_schema(PROPERTY("a", "\"type\":\"string\",\"items\":{}"),
                 "is for these types only: array");
    wrong_schema(PROPERTY("a", "\"minimum\":1"), "is for these types only");
    wrong_schema(PROPERTY("a", "\"type\":\"string\",\"minimum\":1"), "are for numbers");
    wrong_schema(PROPERTY("a", "\"type\":\"integer\",\"format\":\"size\""), "is for strings");
    wrong_schema(PROPERTY("a", "\"type\":\"string\",\"format\":\"status\""), "is for integers");
    wrong_schema(PROPERTY("a", "\"type\":\"integer\",\"minimum\":\"x\""), "is no whole number");
    wrong_schema(PROPERTY("a", "\"type\":\"integer\",\"default\":\"x\""), "properties.a.default");
    wrong_schema(PROPERTY("a", "\"type\":\"string\",\"enum\":[\"b\"],\"default\":\"c\""),
                 "is not one of: b");
    wrong_schema("{\"type\":\"object\",\"required\":[\"a\"]}", "is not one of the properties");
    wrong_schema("{\"type\":\"object\",\"properties\":[]}", "must be an object");
}

/* --- mistakes of users */

static void wrong_text(const char *description, const char *text, uint32_t line, uint32_t column,
                       const char *mistake)
{
    errors.file = NULL;
    open_section(description, text);
    assert_int_equal(errors.count, 1);
    if (strcmp(errors.list[0].text, mistake) != 0)
        fail_msg("%s", errors.list[0].text);
    assert_int_equal(errors.list[0].line, line);
    assert_int_equal(errors.list[0].column, column);
    section_end();
    reading = false;
    plugin_schema_free(schema);
    yaml_free(document);
    schema = NULL;
    document = NULL;
    config_errors_deinit(&errors);
}

static void test_mistakes_of_users(void **state)
{
    static const char several[] =
        "{\"type\":\"object\",\"required\":[\"wait\"],\"properties\":{"
        "\"wait\":{\"type\":\"string\",\"format\":\"duration\",\"minimum\":\"1s\",\"maximum\":"
        "60000},"
        "\"names\":{\"type\":\"string\",\"format\":\"name\",\"orList\":true},"
        "\"many\":{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"maximum\":9},\"minItems\":"
        "1,"
        "\"maxItems\":2},"
        "\"share\":{\"type\":\"number\",\"maximum\":1},"
        "\"code\":{\"type\":\"integer\",\"format\":\"status\"},"
        "\"mode\":{\"type\":\"string\",\"enum\":[\"fast\",\"slow\"]},"
        "\"on\":{\"type\":\"boolean\"}}}";
    wrong_text(several, "on: true", 1, 1, "\"wait\" is missing");
    wrong_text(several, "wait: 5s\nnames:\n  - a\n  - b c\n", 4, 5,
               "names[1]: \"b c\" is not a name of 1 to 64 letters, digits, - and _");
    wrong_text(several, "wait: 5s\nnames: b c\n", 2, 8,
               "names: \"b c\" is not a name of 1 to 64 letters, digits, - and _");
    wrong_text(several, "wait: 500ms", 1, 7, "wait: 500ms is out of range; write 1s to 1m");
    wrong_text(several, "wait: soon", 1, 7,
               "wait: \"soon\" is not a duration such as 500ms, 10s, 5m or 1h");
    wrong_text(several, "wait: 5s\nnmaes: a", 2, 1, "nmaes: unknown key; did you mean \"names\"?");
    wrong_text(several, "wait: 5s\nmany: []", 2, 7, "many: has 0 entries; it must have 1 to 2");
    wrong_text(several, "wait: 5s\nmany: [10]", 2, 8, "many[0]: 10 is out of range; write 0 to 9");
    wrong_text(several, "wait: 5s\nshare: 1.5", 2, 8, "share: 1.5 is out of range; write 0 to 1");
    wrong_text(several, "wait: 5s\nshare: .5", 2, 8, "share: \".5\" is not a number such as 0.5");
    wrong_text(several, "wait: 5s\ncode: 99", 2, 7, "code: 99 is out of range; write 100 to 599");
    wrong_text(several, "wait: 5s\nmode: fsat", 2, 7,
               "mode: \"fsat\" is not one of: fast, slow; did you mean \"fast\"?");
    wrong_text(several, "wait: 5s\non: yes", 2, 5, "on: \"yes\" is not true or false");
    wrong_text(NULL, "a: 1", 1, 1, "a: unknown key; known here: none");
    wrong_text("{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}}", "a: x", 1,
               4, "a: \"x\" is not a whole number");
}

/* --- reading */

static void test_values(void **state)
{
    static const char description[] =
        "{\"type\":\"object\",\"properties\":{"
        "\"wait\":{\"type\":\"string\",\"format\":\"duration\",\"default\":\"2s\"},"
        "\"size\":{\"type\":\"string\",\"format\":\"size\"},"
        "\"rate\":{\"type\":\"string\",\"format\":\"rate\"},"
        "\"speed\":{\"type\":\"string\",\"format\":\"byte-rate\"},"
        "\"names\":{\"type\":\"string\",\"orList\":true,\"default\":[\"x\",\"y\"]},"
        "\"inner\":{\"type\":\"object\",\"default\":{},\"properties\":{"
        "\"on\":{\"type\":\"boolean\",\"default\":true},\"count\":{\"type\":\"integer\"}}},"
        "\"rules\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
        "\"from\":{\"type\":\"string\"},\"to\":{\"type\":\"string\",\"default\":\"/\"}}}},"
        "\"free\":{},"
        "\"share\":{\"type\":\"number\"}},"
        "\"additionalProperties\":{\"type\":\"integer\"}}";
    const weir_section *with =
        read_right(description, "size: 2KiB\nrate: 50/s\nspeed: 1KiB/s\n"
                                "names: one\nshare: 2.5\nextra: 7\n"
                                "rules: [ { from: a }, { from: b, to: c } ]\n"
                                "free: { deep: [ 1, { x: true } ] }\n");
    assert_int_equal(host->kind(with), WEIR_SECTION_MAPPING);
    assert_int_equal(host->number(host->find(with, "wait")), 2000);
    assert_int_equal(host->line(host->find(with, "wait")), 0);
    assert_int_equal(host->number(host->find(with, "size")), 2048);
    assert_int_equal(host->line(host->find(with, "rate")), 2);
    assert_int_equal(host->number(host->find(with, "rate")), 50 * 3600);
    assert_int_equal(host->number(host->find(with, "speed")), 1024);
    assert_int_equal(host->number(host->find(with, "share")), 2);
    assert_int_equal(host->number(host->find(with, "extra")), 7);
    assert_int_equal(host->kind(host->find(with, "names")), WEIR_SECTION_LIST);
    is_text(with, "names[0]", "one");
    assert_null(host->find(with, "names[1]"));
    assert_int_equal(host->flag(host->find(with, "inner.on")), 1);
    assert_null(host->find(with, "inner.count"));
    is_text(with, "rules[0].to", "/");
    is_text(with, "rules[1].to", "c");
    is_text(with, "free.deep[0]", "1");
    assert_int_equal(host->flag(host->find(with, "free.deep[1].x")), 1);
    assert_int_equal(host->scope(with), WEIR_SCOPE_ROUTE);
    assert_ptr_equal(host->parent(with), &parent);
    assert_int_equal(host->path(with).length, 0);
    weir_string path = host->path(host->find(with, "rules[1].to"));
    assert_true(string_equal(path, WEIR_STRING("rules[1].to")));
}

static void test_parts_and_what_is_not_there(void **state)
{
    const weir_section *with = read_right("{\"type\":\"object\",\"additionalProperties\":true}",
                                          "a: [ x, y, z ]\nb: {}\n");
    const weir_section *list = host->find(with, "a");
    assert_int_equal(host->count(list), 3);
    assert_string_equal(host->text(host->at(list, 2)).bytes, "z");
    assert_string_equal(host->text(host->at(list, 0)).bytes, "x");
    assert_string_equal(host->text(host->at(list, 1)).bytes, "y");
    assert_null(host->at(list, 3));
    assert_string_equal(host->key(host->at(with, 1)).bytes, "b");
    assert_string_equal(host->key(host->at(list, 1)).bytes, "");
    assert_ptr_equal(host->find(with, ""), with);
    const char *const nowhere[] = {"c", "a.b", "a[3]", "a[", "a[x]", "a[-1]", "b.c", "[0]", "."};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        assert_null(host->find(with, nowhere[i]));
    assert_int_equal(host->kind(NULL), WEIR_SECTION_EMPTY);
    assert_int_equal(host->count(NULL), 0);
    assert_null(host->at(NULL, 0));
    assert_null(host->find(NULL, "a"));
    assert_string_equal(host->text(NULL).bytes, "");
    assert_int_equal(host->number(NULL), 0);
    assert_int_equal(host->flag(NULL), 0);
    assert_int_equal(host->line(NULL), 0);
    assert_int_equal(host->path(NULL).length, 0);
}

static void test_mistakes_of_plugins_have_a_place(void **state)
{
    const weir_section *with =
        read_right("{\"type\":\"object\",\"additionalProperties\":true}", "a:\n  - b\n");
    host->mistake(host->find(with, "a[0]"), WEIR_STRING("is a fruit"));
    assert_int_equal(errors.count, 1);
    assert_string_equal(errors.list[0].text, "a[0]: is a fruit");
    assert_int_equal(errors.list[0].line, 2);
    assert_int_equal(errors.list[0].column, 5);
}

static void test_nothing_may_be_read_later(void **state)
{
    const weir_section *with =
        read_right("{\"type\":\"object\",\"additionalProperties\":true}", "a: 1\n");
    section_end();
    reading = false;
    assert_int_equal(host->kind(with), WEIR_SECTION_EMPTY);
    assert_null(host->find(with, "a"));
    assert_null(host->networks(with, 0));
    host->mistake(with, WEIR_STRING("late"));
    assert_int_equal(errors.count, 0);
}

/* --- files */

static const char open_schema[] =
    "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\","
    "\"format\":\"path\"}},\"additionalProperties\":true}";

static void test_files(void **state)
{
    weir_string bytes;
    scratch_write_bytes("data", "a\0b", 3);
    const weir_section *with = read_right(open_schema, "a: data\npath: data\nb: missing\n");
    assert_int_equal(host->file(host->find(with, "a"), 3, &bytes), 1);
    assert_int_equal(bytes.length, 3);
    assert_memory_equal(bytes.bytes, "a\0b", 3);
    assert_int_equal(host->file(host->find(with, "path"), 10, &bytes), 1);
    is_text(with, "path", scratch_path("data"));
    assert_int_equal(host->file(host->find(with, "a"), 2, &bytes), 0);
    assert_string_equal(errors.list[0].text, "a: file \"data\" is larger than 2B");
    assert_int_equal(host->file(host->find(with, "b"), 2, &bytes), 0);
    assert_int_equal(errors.list[1].line, 3);
    assert_int_equal(host->file(with, 2, &bytes), 0);
    assert_int_equal(host->file(NULL, 2, &bytes), 0);
    assert_int_equal(errors.count, 4);
}

static void test_trees_and_tables(void **state)
{
    scratch_directory("sub");
    scratch_write("sub/rules.yaml", "rules:\n  - { from: a, file: near }\n");
    scratch_write("sub/near", "yes");
    scratch_write("table.csv", "# old,new\na,\"b,c\"\n");
    scratch_write("bad.csv", "\n\"a");
    scratch_write("bad.json", "{ \"a\": [ }");
    scratch_write("empty.yaml", "");
    const weir_section *with = read_right(
        open_schema,
        "t: sub/rules.yaml\nc: table.csv\nx: bad.csv\ny: bad.json\nz: empty.yaml\nn: none\n");
    const weir_section *tree = host->tree(host->find(with, "t"));
    weir_string bytes;
    is_text(tree, "rules[0].from", "a");
    assert_int_equal(host->line(host->find(tree, "rules[0].from")), 2);
    assert_int_equal(host->file(host->find(tree, "rules[0].file"), 3, &bytes), 1);
    const weir_section *table = host->table(host->find(with, "c"));
    assert_int_equal(host->count(table), 1);
    is_text(table, "[0][1]", "b,c");
    assert_int_equal(host->line(host->find(table, "[0][1]")), 2);
    no_mistakes();
    host->mistake(host->find(tree, "rules[0].from"), WEIR_STRING("is odd"));
    assert_string_equal(errors.list[0].file, scratch_path("sub/rules.yaml"));
    assert_string_equal(errors.list[0].text, "rules[0].from: is odd");
    assert_int_equal(errors.list[0].column, 13);
    assert_null(host->table(host->find(with, "x")));
    assert_null(host->tree(host->find(with, "y")));
    assert_null(host->tree(host->find(with, "z")));
    assert_null(host->tree(host->find(with, "n")));
    assert_null(host->table(host->find(with, "n")));
    assert_int_equal(errors.count, 6);
}

/* --- speed: a reload reads everything again while the main thread serves nobody */

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void test_many_rules_are_read_fast(void **state)
{
    enum { RULES = 11500, SLOW = 6 /* with sanitizers */ };
    struct text text = {0};
    for (int i = 0; i < RULES; i++)
        text_format(&text, "- { from: /old/page/%d, to: /new/page/%d, status: 301 }\n", i, i);
    scratch_write_bytes("rules.yaml", text.bytes, text.length);
    text_deinit(&text);
    const weir_section *with = read_right(open_schema, "path: rules.yaml\n");
    uint64_t start = now_us();
    const weir_section *rules = host->tree(host->find(with, "path"));
    uint64_t read = now_us(), sum = 0;
    assert_int_equal(host->count(rules), RULES);
    for (uint32_t i = 0; i < RULES; i++)
        sum += host->number(host->find(host->at(rules, i), "status"));
    uint64_t done = now_us();
    assert_int_equal(sum, RULES * 301);
    assert_in_range(read - start, 0, SLOW * 100000);
    assert_in_range(done - read, 0, SLOW * 10000);
}

/* --- networks */

static void test_networks(void **state)
{
    const weir_section *with =
        read_right(open_schema, "a: [ 10.0.0.0/8, loopback ]\nb: 192.0.2.1\nc: [ 10.0.0.0/40 ]\n");
    weir_networks *networks = host->networks(host->find(with, "a"), 1);
    weir_networks *one = host->networks(host->find(with, "b"), 0);
    weir_networks *none = host->networks(NULL, 0);
    no_mistakes();
    assert_null(host->networks(host->find(with, "c"), 0));
    assert_int_equal(errors.count, 1);
    assert_int_equal(errors.list[0].line, 3);
    assert_int_equal(host->networks_contain(networks, WEIR_STRING("10.1.2.3")), 1);
    assert_int_equal(host->networks_contain(networks, WEIR_STRING("64:ff9b::10.0.0.1")), 1);
    assert_int_equal(host->networks_contain(networks, WEIR_STRING("::1")), 1);
    assert_int_equal(host->networks_contain(networks, WEIR_STRING("11.0.0.1")), 0);
    assert_int_equal(host->networks_contain(networks, WEIR_STRING("ten")), 0);
    assert_int_equal(host->networks_contain(one, WEIR_STRING("192.0.2.1")), 1);
    assert_int_equal(host->networks_contain(none, WEIR_STRING("192.0.2.1")), 0);
    assert_int_equal(host->networks_contain(NULL, WEIR_STRING("192.0.2.1")), 0);
    host->networks_free(networks);
    host->networks_free(one);
    host->networks_free(none);
    host->networks_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_wrong_schemas),
        TEST(test_mistakes_of_users),
        TEST(test_values),
        TEST(test_parts_and_what_is_not_there),
        TEST(test_mistakes_of_plugins_have_a_place),
        TEST(test_nothing_may_be_read_later),
        TEST(test_files),
        TEST(test_trees_and_tables),
        TEST(test_many_rules_are_read_fast),
        TEST(test_networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
