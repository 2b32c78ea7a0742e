/* tests/unit/plugins/redirect/read_test.c - rules in a configuration and in files, and their
 * mistakes
 */
#include "plugins/redirect/read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/process/plugin_schema.h"
#include "core/process/schema.h"
#include "core/process/section.h"
#include "core/process/yaml.h"
#include "tests/unit/core/process/scratch.h"

static struct config_errors errors;
static struct rules *rules;
static uint32_t inline_count;
static struct arena arena;
static uint64_t first_block[64];

static int set_up(void **state)
{
    scratch_make();
    return 0;
}

static int clean(void **state)
{
    rules_free(rules);
    rules = NULL;
    config_errors_deinit(&errors);
    arena_pool_deinit();
    scratch_remove();
    return 0;
}

/* As the host does it for `with:` of that text. */
static void read_text(const char *text)
{
    arena_init(&arena, first_block, sizeof first_block);
    struct plugin_schema *schema = plugin_schema_parse(read_schema, &errors);
    assert_int_equal(errors.count, 0);
    struct yaml_document *document =
        yaml_parse(scratch_path("weir.yaml"), string_of(text), &errors);
    assert_non_null(document);
    schema_check(plugin_schema_type(schema), yaml_root(document), &errors);
    if (!errors.count) {
        schema_complete(plugin_schema_type(schema), yaml_root(document), &arena);
        section_begin(&errors, WEIR_SCOPE_ALL, NULL);
        rules = read_rules(&section_host, section_of(yaml_root(document)), &inline_count);
        section_end();
        assert_int_equal(!rules, errors.count > 0);
    }
    yaml_free(document);
    plugin_schema_free(schema);
    arena_deinit(&arena);
}

static void read_right(const char *text, uint32_t count)
{
    read_text(text);
    if (errors.count)
        fail_msg("%s:%u %s", errors.list[0].file, errors.list[0].line, errors.list[0].text);
    assert_int_equal(rules_count(rules), count);
}

static void read_wrong(const char *text, const char *file, uint32_t line, const char *why)
{
    read_text(text);
    if (!errors.count || errors.list[0].line != line || !strstr(errors.list[0].text, why))
        fail_msg("line %u: %s", errors.list[0].line, errors.count ? errors.list[0].text : "none");
    assert_non_null(strstr(errors.list[0].file, file));
    config_errors_deinit(&errors);
}

static void leads(const char *target, const char *location)
{
    struct lookup *lookup = lookup_new(rules);
    struct rule_answer answer = {0};
    assert_true(rules_find(rules, lookup, WEIR_STRING("h"), string_of(target), &answer));
    assert_int_equal(answer.location.length, strlen(location));
    assert_memory_equal(answer.location.bytes, location, strlen(location));
    lookup_free(lookup);
}

static void test_rules_in_the_configuration(void **state)
{
    read_right("trailing_slash: true\n"
               "rules:\n"
               "  - { path: /a, to: /b }\n"
               "  - { kind: prefix, host: h, path: /p, when: x=1, to: /q, status: 308, "
               "query: drop }\n"
               "  - { kind: regex, path: \"/r/(.*)\", to: \"/s/$1\" }\n"
               "  - { path: /gone, status: 410 }\n",
               4);
    leads("/a/", "/b");
    leads("/p/t?x=1", "/q/t");
    leads("/r/x", "/s/x");
    leads("/gone", "");
    assert_int_equal(inline_count, 4);
    assert_int_equal(rules_line(rules, 1), 4);
}

static void test_rules_in_a_table(void **state)
{
    scratch_write("r.csv", "# what moved\n"
                           "to,path,kind,status\n"
                           "/b,/a\n"
                           "/m,\"/d,e\",prefix,302\n"
                           ",/gone,,410\n");
    read_right("{ file: r.csv, rules: [ { path: /x, to: /y } ] }", 4);
    leads("/a", "/b");
    leads("/d,e/f", "/m/f");
    leads("/gone", "");
    leads("/x", "/y");
    assert_int_equal(inline_count, 1);
    assert_int_equal(rules_line(rules, 2), 4);
}

static void test_rules_in_a_tree(void **state)
{
    scratch_write("r.yaml", "- path: /a\n  to: /b\n- { kind: regex, path: /c.*, to: /d }\n");
    read_right("file: r.yaml", 2);
    leads("/a", "/b");
    leads("/cc", "/d");
    rules_free(rules);
    scratch_write("r.json", "[{\"path\": \"/a\", \"to\": \"/b\", \"status\": 307}]");
    read_right("file: r.json", 1);
    leads("/a", "/b");
}

static void test_mistakes_name_their_lines(void **state)
{
    read_wrong("rules: []\nfile: r.txt", "weir.yaml", 2, "ends in .csv");
    read_wrong("trailing_slash: true", "weir.yaml", 1, "there are no rules");
    read_wrong("rules:\n  - path: /a\n    to: /b\n  - path: /c\n    to: d", "weir.yaml", 5,
               "begins with a slash");
    read_wrong("rules:\n  - path: /a\n  - { path: /b, to: /c }\n", "weir.yaml", 2, "no target");
    read_wrong("rules:\n  - { path: /a, too: /b }", "weir.yaml", 2, "unknown key");
    read_wrong("file: absent.csv", "weir.yaml", 1, "absent.csv");
    scratch_write("a.csv", "path,to\n/a,/b\n\n/c,d\n/e,/f,302\n/g,/h\n");
    read_wrong("file: a.csv", "a.csv", 4, "begins with a slash");
    scratch_write("b.csv", "path,to\n/e,/f,302\n");
    read_wrong("file: b.csv", "b.csv", 2, "more fields than columns");
    scratch_write("c.csv", "path,target\n/e,/f\n");
    read_wrong("file: c.csv", "c.csv", 1, "no such part");
    scratch_write("d.csv", "path,path\n/e,/f\n");
    read_wrong("file: d.csv", "d.csv", 1, "twice");
    scratch_write("a.yaml", "- path: /a\n  to: /b\n- path: /a\n  to: /c\n");
    read_wrong("file: a.yaml", "a.yaml", 3, "line 1");
    scratch_write("b.yaml", "- path: /a\n  to: [/b]\n");
    read_wrong("file: b.yaml", "b.yaml", 2, "must be text");
    scratch_write("c.yaml", "path: /a\n");
    read_wrong("file: c.yaml", "c.yaml", 1, "are a list");
    scratch_write("d.yaml", "- /a\n");
    read_wrong("file: d.yaml", "d.yaml", 1, "is a mapping");
    scratch_write("e.yaml", "- path: /a\n  target: /b\n");
    read_wrong("file: e.yaml", "e.yaml", 2, "no such part");
}

static void test_mistakes_have_an_end(void **state)
{
    char text[2000] = "path,to\n";
    for (int i = 0; i < 100; i++)
        strcat(text, "a,/b\n");
    scratch_write("r.csv", text);
    read_text("file: r.csv");
    assert_int_equal(errors.count, 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rules_in_the_configuration),
        TEST(test_rules_in_a_table),
        TEST(test_rules_in_a_tree),
        TEST(test_mistakes_name_their_lines),
        TEST(test_mistakes_have_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
