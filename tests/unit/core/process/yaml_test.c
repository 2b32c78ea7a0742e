/* tests/unit/core/process/yaml_test.c - trees, places and bounds of YAML texts, good and hostile */
#include "core/process/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "core/base/string.h"

static struct config_errors errors;
static struct yaml_document *document;

static const struct tree_node *parse(const char *text)
{
    document = yaml_parse(NULL, string_of(text), &errors);
    if (!document || errors.count)
        fail_msg("\"%s\": %s", text, errors.kept ? errors.list[0].text : "no document");
    return yaml_root(document);
}

static int clean(void **state)
{
    yaml_free(document);
    document = NULL;
    config_errors_deinit(&errors);
    return 0;
}

static void check_place(struct config_place place, uint32_t line, uint32_t column)
{
    assert_int_equal(place.line, line);
    assert_int_equal(place.column, column);
}

static const struct tree_node *check_text(const struct tree_node *node, const char *text)
{
    assert_non_null(node);
    assert_int_equal(node->kind, TREE_TEXT);
    assert_string_equal(node->text.bytes, text);
    assert_int_equal(node->text.length, strlen(text));
    return node;
}

/* --- what is understood */

static void test_tree(void **state)
{
    const struct tree_node *root = parse("a: 1\nb:\n  - x\n  - { c: 'y', d: }\n");
    assert_int_equal(root->kind, TREE_MAPPING);
    assert_int_equal(root->count, 2);
    assert_null(root->parent);
    const struct tree_node *a = check_text(tree_child(root, "a"), "1");
    check_place(a->key_place, 1, 1);
    check_place(a->place, 1, 4);
    assert_false(a->quoted);
    const struct tree_node *b = tree_child(root, "b");
    assert_int_equal(b->kind, TREE_LIST);
    assert_int_equal(b->count, 2);
    check_place(check_text(b->first, "x")->place, 3, 5);
    const struct tree_node *mapping = b->first->next, *c = tree_child(mapping, "c");
    assert_int_equal(mapping->kind, TREE_MAPPING);
    assert_int_equal(mapping->index, 1);
    assert_null(mapping->next);
    check_place(mapping->place, 4, 5);
    check_place(check_text(c, "y")->place, 4, 10);
    assert_true(c->quoted);
    const struct tree_node *d = tree_child(mapping, "d");
    assert_int_equal(d->kind, TREE_EMPTY);
    check_place(d->place, 4, 15);
    assert_int_equal(d->depth, 3);
    assert_null(tree_child(root, "c"));
}

static void test_path(void **state)
{
    char path[TREE_PATH_BYTES];
    const struct tree_node *root = parse("a: [ 1, { b: [ x, y ] } ]\n\"c d\\e[1m\": 1\n");
    assert_string_equal(tree_path(root, path), "");
    const struct tree_node *mapping = tree_child(root, "a")->first->next;
    assert_string_equal(tree_path(mapping, path), "a[1]");
    assert_string_equal(tree_path(mapping->first->first->next, path), "a[1].b[1]");
    assert_string_equal(tree_path(root->last, path), "c d?[1m");
}

static void test_path_of_any_length_is_cut(void **state)
{
    char text[4000] = "", path[TREE_PATH_BYTES];
    for (int i = 0; i < 20; i++)
        strcat(strcat(text, "{ a_key_of_some_length_in_a_deeply_nested_mapping_"), ": ");
    strcat(text, "x");
    for (int i = 0; i < 20; i++)
        strcat(text, "}");
    const struct tree_node *node = parse(text);
    while (node->first)
        node = node->first;
    assert_int_equal(strlen(tree_path(node, path)), TREE_PATH_BYTES - 1);
}

static void test_styles(void **state)
{
    const struct tree_node *root = parse("%YAML 1.2\n---\n"
                                         "? a\n: >-\n  folded\n  text\n"
                                         "b: |\n  kept\n  lines\n"
                                         "\"c\\u0041\": \"caf\\u00e9\\n\"\n"
                                         "'it''s': plain # remark\n"
                                         "empty: ''\nblock: >\n...\n");
    check_text(tree_child(root, "a"), "folded text");
    check_text(tree_child(root, "b"), "kept\nlines\n");
    check_text(tree_child(root, "cA"), "caf\xc3\xa9\n");
    check_text(tree_child(root, "it's"), "plain");
    check_text(tree_child(root, "empty"), "");
    check_text(tree_child(root, "block"), "");
}

static void test_columns_count_characters(void **state)
{
    const struct tree_node *root = parse("\xef\xbb\xbf{ \"caf\xc3\xa9\": \xe2\x82\xac, x:\ty }\n");
    check_place(root->place, 1, 1);
    check_place(root->first->key_place, 1, 3);
    check_place(root->first->place, 1, 11);
    check_place(root->last->key_place, 1, 14);
    check_place(root->last->place, 1, 17);
}

static void test_line_ends_of_other_systems(void **state)
{
    const struct tree_node *root = parse("a: 1\r\nb: 2\r\n");
    check_place(check_text(tree_child(root, "b"), "2")->place, 2, 4);
}

static void test_nothing(void **state)
{
    const char *const texts[] = {"", "\n\n", "# only a remark\n", "---\n...\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct tree_node *root = parse(texts[i]);
        if (root && root->kind != TREE_EMPTY)
            fail_msg("\"%s\" is something", texts[i]);
        clean(state);
    }
}

/* --- what is refused */

static void check_refused(weir_string text, uint32_t line, uint32_t column, const char *part)
{
    document = yaml_parse(NULL, text, &errors);
    if (document || errors.count != 1)
        fail_msg("%.60s: %u mistakes", text.bytes, errors.count);
    const struct config_error *error = &errors.list[0];
    if (error->line != line || error->column != column || !strstr(error->text, part))
        fail_msg("%.60s:%u:%u: %s", text.bytes, error->line, error->column, error->text);
    clean(NULL);
}

static void test_what_configuration_has_no_use_for(void **state)
{
    check_refused(string_of("a: &x 1\nb: *x\n"), 1, 4, "anchors and aliases");
    check_refused(string_of("a: 1\nb: [ *x ]\n"), 2, 6, "anchors and aliases");
    check_refused(string_of("a: &x { b: 1 }\n"), 1, 4, "anchors and aliases");
    check_refused(string_of("a: !environment X\n"), 1, 4, "must be !env or !file; put other");
    check_refused(string_of("a: !!str X\n"), 1, 4, "must be !env or !file; put other");
    check_refused(string_of("a: !!map { b: 1 }\n"), 1, 4, "must be !env or !file; put other");
    check_refused(string_of("a: ! X\n"), 1, 4, "must be !env or !file; put other");
    check_refused(string_of("a: !env { b: 1 }\n"), 1, 4, "only a value can come from");
    check_refused(string_of("a: !file [ b ]\n"), 1, 4, "only a value can come from");
    check_refused(string_of("!env a: b\n"), 1, 1, "only a value can come from");
    check_refused(string_of("!file { a: b }\n"), 1, 1, "only a value can come from");
    check_refused(string_of("a: 1\n---\nb: 1\n"), 2, 1, "second document");
    check_refused(string_of("? [ a, b ]\n: c\n"), 1, 3, "a key must be text");
    check_refused(string_of("? { a: b }\n: c\n"), 1, 3, "a key must be text");
    check_refused(string_of(": c\n"), 1, 1, "a key must be text");
    check_refused(string_of("a: \"x\\0y\"\n"), 1, 4, "NUL");
    check_refused(string_of("\"x\\0y\": 1\n"), 1, 1, "NUL");
    check_refused(string_of("a: ''''''''''\n"), 1, 4, "too many '");
}

static void test_what_is_not_text(void **state)
{
    check_refused((weir_string){"a\0b", 3}, 1, 2, "byte 0x00");
    check_refused(string_of("a: 1\n\xc3\xa9: \x1b[0m\n"), 2, 4, "byte 0x1b");
    const char *const wrong[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc3",
        "\xc3(",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xe2\x82",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff\xfe",
        "\xc2\x80",
        "\x7f",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[16];
        snprintf(text, sizeof text, "a: %s", wrong[i]);
        check_refused(string_of(text), 1, 4, "is not text");
    }
}

static void test_all_characters_of_unicode(void **state)
{
    check_text(parse("\xc2\xa0\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80"),
               "\xc2\xa0\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80");
}

/* The reasons are libfyaml's, the places and the remedies ours. */
static void test_what_is_no_yaml(void **state)
{
    check_refused(string_of("a: 1\n\tb: 2\n"), 2, 1, "; indent with spaces, not with tabs");
    check_refused(string_of("a:\n\t- 1\n"), 2, 1, "; indent with spaces, not with tabs");
    check_refused(string_of("a: 1\n  b: 2\n"), 2, 3, "; check how far this line is indented");
    check_refused(string_of("a:\n  b: 1\n c: 2\n"), 3, 2, "; check how far this line is indented");
    check_refused(string_of("a: [::1]:80\n"), 1, 9,
                  "; put an address that begins with [ in quotes");
    check_refused(string_of("a: { b: [::]:80 }\n"), 1, 13,
                  "; put an address that begins with [ in quotes");
    check_refused(string_of("a: b: c\n"), 1, 5, "not valid YAML: ");
    check_refused(string_of("a: \"b\n"), 1, 5, "not valid YAML: ");
    check_refused(string_of("a: @b\n"), 1, 4, "not valid YAML: ");
    check_refused(string_of("a: [ b\nc: d\n"), 3, 1, "not valid YAML: ");
}

static void test_libfyaml_prints_nothing(void **state)
{
    char printed[64];
    FILE *file = tmpfile();
    int before = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    document = yaml_parse(NULL, string_of("a: [ b\nc: \"\n"), &errors);
    bool refused = !document;
    clean(state);
    document = yaml_parse(NULL, string_of("%YAML 9.9\n---\na: 1\n"), &errors);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    size_t count = fread(printed, 1, sizeof printed, file);
    fclose(file);
    assert_true(refused);
    assert_int_equal(count, 0);
}

static void test_keys_given_twice(void **state)
{
    document =
        yaml_parse(NULL, string_of("a: 1\nb: 2\na: 3\nc: { d: 1, d: 2 }\n'a': 4\n"), &errors);
    assert_non_null(document);
    assert_int_equal(errors.count, 3);
    assert_int_equal(errors.list[0].line, 3);
    assert_string_equal(errors.list[0].text, "a: is given twice, first on line 1");
    assert_int_equal(errors.list[1].column, 12);
    assert_string_equal(errors.list[1].text, "c.d: is given twice, first on line 4");
    assert_int_equal(errors.list[2].line, 5);
    assert_string_equal(errors.list[2].text, "a: is given twice, first on line 1");
}

/* --- bounds */

/* That many times the text, between two others. */
static weir_string repeat(const char *start, const char *text, size_t times, const char *end)
{
    size_t length = strlen(start) + strlen(text) * times + strlen(end);
    char *bytes = memory_allocate(length + 1), *at = stpcpy(bytes, start);
    for (size_t i = 0; i < times; i++)
        at = stpcpy(at, text);
    strcpy(at, end);
    return (weir_string){bytes, length};
}

static void check_bound(weir_string text, uint32_t line, uint32_t column, const char *part)
{
    check_refused(text, line, column, part);
    memory_free((void *)(uintptr_t)text.bytes);
}

static void test_bounds(void **state)
{
    check_bound(repeat("", "[", 250001, ""), 1, 250001, "more than 250000 of the characters");
    check_bound(repeat("- ", "a, ", 250001, ""), 1, 750004, "more than 250000 of the characters");
    check_bound(repeat("", "[", 100000, ""), 1, 34, "nested deeper than 32 levels");
    check_bound(repeat("", "- ", 1000000, "x"), 1, 67, "nested deeper than 32 levels");
    check_bound(repeat("", "{a: ", 100000, ""), 1, 133, "nested deeper than 32 levels");
    check_bound(repeat("", "- x\n", 100001, ""), 100000, 3, "more than 100000 values");
    check_bound(repeat("# ", "x", YAML_BYTES_MOST, ""), 0, 0, "larger than 4 MiB");
}

static void test_just_within_bounds(void **state)
{
    weir_string deep = repeat("", "[", 32, "x]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
    weir_string many = repeat("", "- x\n", 99999, "");
    weir_string large = repeat("#", "x", YAML_BYTES_MOST - 1, "");
    assert_non_null(parse(deep.bytes));
    clean(state);
    assert_int_equal(parse(many.bytes)->count, 99999);
    clean(state);
    assert_null(parse(large.bytes));
    memory_free((void *)(uintptr_t)deep.bytes);
    memory_free((void *)(uintptr_t)many.bytes);
    memory_free((void *)(uintptr_t)large.bytes);
}

/* Comparing each key with each would take minutes. */
static void test_many_keys_are_quick(void **state)
{
    char *text = memory_allocate(50000 * 12 + 1), *at = text;
    for (int i = 0; i < 50000; i++)
        at += sprintf(at, "k%07d: 1\n", i);
    assert_int_equal(parse(text)->count, 50000);
    memory_free(text);
}

#define TEST(name) cmocka_unit_test_teardown(name, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_tree),
        TEST(test_path),
        TEST(test_path_of_any_length_is_cut),
        TEST(test_styles),
        TEST(test_columns_count_characters),
        TEST(test_line_ends_of_other_systems),
        TEST(test_nothing),
        TEST(test_what_configuration_has_no_use_for),
        TEST(test_what_is_not_text),
        TEST(test_all_characters_of_unicode),
        TEST(test_what_is_no_yaml),
        TEST(test_libfyaml_prints_nothing),
        TEST(test_keys_given_twice),
        TEST(test_bounds),
        TEST(test_just_within_bounds),
        TEST(test_many_keys_are_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
