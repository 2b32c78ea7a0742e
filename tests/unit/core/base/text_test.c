/* tests/unit/core/base/text_test.c - text that grows at its end */
#include "core/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"

static void check(const struct text *text, const char *expected)
{
    assert_int_equal(text->length, strlen(expected));
    assert_memory_equal(text->bytes, expected, text->length);
}

static void test_parts_follow_each_other(void **state)
{
    struct text text = {0};
    text_add(&text, WEIR_STRING("one"));
    text_add(&text, (weir_string){NULL, 0});
    text_format(&text, " %d %s", 2, "three");
    text_format(&text, "%s", "");
    check(&text, "one 2 three");
    assert_true(string_equal(text_string(&text), WEIR_STRING("one 2 three")));
    text_deinit(&text);
    assert_null(text.bytes);
    text_add(&text, WEIR_STRING("again"));
    check(&text, "again");
    text_deinit(&text);
}

static void test_it_grows(void **state)
{
    struct text text = {0};
    for (int i = 0; i < 10000; i++)
        text_format(&text, "%04d", i);
    assert_int_equal(text.length, 40000);
    for (int i = 0; i < 10000; i++) {
        char expected[16];
        snprintf(expected, sizeof expected, "%04d", i);
        assert_memory_equal(text.bytes + i * 4, expected, 4);
    }
    text_deinit(&text);
}

/* Also the longest escapes have room, at any length of what is there. */
static void test_values_are_escaped(void **state)
{
    static char controls[300];
    memset(controls, 1, sizeof controls);
    for (size_t before = 250; before < 260; before++) {
        struct text text = {0};
        for (size_t i = 0; i < before; i++)
            text_add(&text, WEIR_STRING("x"));
        text_escape(&text, (weir_string){controls, sizeof controls}, ESCAPE_JSON);
        assert_int_equal(text.length, before + 6 * sizeof controls);
        assert_memory_equal(text.bytes + text.length - 6, "\\u0001", 6);
        text_deinit(&text);
    }
    struct text text = {0};
    text_escape(&text, WEIR_STRING("a\"b\\"), ESCAPE_JSON);
    text_escape(&text, (weir_string){NULL, 0}, ESCAPE_JSON);
    check(&text, "a\\\"b\\\\");
    text_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_follow_each_other),
        cmocka_unit_test(test_it_grows),
        cmocka_unit_test(test_values_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
