/* tests/unit/core/process/csv_test.c - fields, quotes, comments, and where mistakes are */
#include "core/process/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/base/string.h"

static struct arena arena;
static struct config_errors errors;
static uint64_t first_block[64];

static int set_up(void **state)
{
    arena_init(&arena, first_block, sizeof first_block);
    return 0;
}

static int clean(void **state)
{
    arena_deinit(&arena);
    arena_pool_deinit();
    config_errors_deinit(&errors);
    return 0;
}

static const struct tree_node *field(const struct tree_node *table, uint32_t line, uint32_t at)
{
    const struct tree_node *node = table->first;
    while (node && line--)
        node = node->next;
    node = node ? node->first : NULL;
    while (node && at--)
        node = node->next;
    assert_non_null(node);
    assert_int_equal(node->kind, TREE_TEXT);
    assert_int_equal(node->text.bytes[node->text.length], 0);
    return node;
}

static const struct tree_node *read_right(const char *text)
{
    const struct tree_node *table = csv_parse("a.csv", string_of(text), &arena, &errors);
    if (!table || errors.count)
        fail_msg("\"%s\": %s", text, errors.kept ? errors.list[0].text : "no table");
    return table;
}

static void is(const struct tree_node *node, const char *text, uint32_t line, uint32_t column)
{
    assert_string_equal(node->text.bytes, text);
    assert_int_equal(node->text.length, strlen(text));
    assert_int_equal(node->place.line, line);
    assert_int_equal(node->place.column, column);
}

static void test_plain_fields(void **state)
{
    const struct tree_node *table = read_right("a,b c,\nd\r\n,\n");
    assert_int_equal(table->count, 3);
    is(field(table, 0, 0), "a", 1, 1);
    is(field(table, 0, 1), "b c", 1, 3);
    is(field(table, 0, 2), "", 1, 7);
    is(field(table, 1, 0), "d", 2, 1);
    assert_int_equal(table->first->next->count, 1);
    is(field(table, 2, 1), "", 3, 2);
}

static void test_quotes(void **state)
{
    const struct tree_node *table = read_right("\"a,\"\"b\"\"\n\r\nc\",d\n\"\",e");
    assert_int_equal(table->count, 2);
    is(field(table, 0, 0), "a,\"b\"\n\r\nc", 1, 1);
    is(field(table, 0, 1), "d", 3, 4);
    is(field(table, 1, 0), "", 4, 1);
    is(field(table, 1, 1), "e", 4, 4);
}

static void test_what_is_no_line(void **state)
{
    const struct tree_node *table = read_right("# a,\"b\n\n\r\nx,#y\n#\n# end");
    assert_int_equal(table->count, 1);
    is(field(table, 0, 0), "x", 4, 1);
    is(field(table, 0, 1), "#y", 4, 3);
    assert_int_equal(read_right("")->count, 0);
    assert_int_equal(read_right("\xef\xbb\xbfz")->count, 1);
}

static void test_columns_count_characters(void **state)
{
    is(field(read_right("\xc3\xa9\xe2\x82\xac,b"), 0, 1), "b", 1, 4);
}

static void read_wrong(const char *text, size_t length, const char *mistake, uint32_t line,
                       uint32_t column)
{
    errors.file = "a.csv";
    assert_null(csv_parse("a.csv", (weir_string){text, length}, &arena, &errors));
    assert_int_equal(errors.count, 1);
    assert_non_null(strstr(errors.list[0].text, mistake));
    assert_int_equal(errors.list[0].line, line);
    assert_int_equal(errors.list[0].column, column);
    config_errors_deinit(&errors);
}

static void test_mistakes(void **state)
{
    read_wrong("a,b\nc,\"d", 8, "does not end", 2, 3);
    read_wrong("\"a\"\"", 4, "does not end", 1, 1);
    read_wrong("a,b\"c\"", 6, "put the whole field in quotes", 1, 4);
    read_wrong("\"a\"b", 4, "behind the closing quote", 1, 4);
    read_wrong("a\rb", 3, "control character", 1, 2);
    read_wrong("a\0b", 3, "control character", 1, 2);
    read_wrong("\"a\0b\"", 5, "control character", 1, 3);
}

static void test_bounds(void **state)
{
    char *many = memory_allocate(CSV_FIELDS_MOST + 1);
    memset(many, ',', CSV_FIELDS_MOST);
    assert_null(csv_parse("a.csv", (weir_string){many, CSV_FIELDS_MOST}, &arena, &errors));
    assert_non_null(strstr(errors.list[0].text, "too many fields"));
    memory_free(many);
    config_errors_deinit(&errors);
    many = memory_zeroed(CSV_BYTES_MOST + 1);
    assert_null(csv_parse("a.csv", (weir_string){many, CSV_BYTES_MOST + 1}, &arena, &errors));
    assert_non_null(strstr(errors.list[0].text, "larger than 8 MiB"));
    memory_free(many);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_plain_fields),    TEST(test_quotes),
        TEST(test_what_is_no_line), TEST(test_columns_count_characters),
        TEST(test_mistakes),        TEST(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
