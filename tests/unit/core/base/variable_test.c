/* tests/unit/core/base/variable_test.c - variables are found, overwritten, and bounded */
#include "core/base/variable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"

static _Alignas(8) uint8_t first_block[512];
static struct arena arena;
static struct variables variables;
static char many[VARIABLES_BYTES + 1];

static int set_up(void **state)
{
    arena_init(&arena, first_block, sizeof first_block);
    variables = (struct variables){0};
    memset(many, 'x', sizeof many);
    return 0;
}

static int tear_down(void **state)
{
    arena_deinit(&arena);
    arena_pool_deinit();
    return 0;
}

static weir_result set(const char *name, weir_string value)
{
    return variable_set(&variables, &arena, string_of(name), value);
}

static void value_is(const char *name, const char *expected)
{
    const struct variable *variable = variable_find(&variables, string_of(name));
    assert_non_null(variable);
    assert_int_equal(variable->value.length, strlen(expected));
    assert_memory_equal(variable->value.bytes, expected, strlen(expected));
}

static void names_tell_cases_apart(void **state)
{
    assert_null(variable_find(&variables, WEIR_STRING("a")));
    assert_int_equal(set("a", WEIR_STRING("1")), WEIR_OK);
    assert_int_equal(set("A", WEIR_STRING("2")), WEIR_OK);
    assert_int_equal(set("acme.b-c", WEIR_STRING("")), WEIR_OK);
    value_is("a", "1");
    value_is("A", "2");
    value_is("acme.b-c", "");
}

static void values_are_copies(void **state)
{
    char value[] = "one";
    assert_int_equal(set("a", string_of(value)), WEIR_OK);
    memset(value, 'z', 3);
    value_is("a", "one");
}

static void a_value_is_overwritten(void **state)
{
    assert_int_equal(set("a", WEIR_STRING("one")), WEIR_OK);
    assert_int_equal(set("a", WEIR_STRING("2")), WEIR_OK);
    value_is("a", "2");
    assert_int_equal(set("a", WEIR_STRING("four")), WEIR_OK);
    value_is("a", "four");
    assert_int_equal(set("a", WEIR_STRING("")), WEIR_OK);
    value_is("a", "");
    assert_int_equal(variables.count, 1);
    const struct variable *variable = variable_find(&variables, WEIR_STRING("a"));
    assert_int_equal(set("a", WEIR_STRING("abcd")), WEIR_OK);
    assert_int_equal(set("a", (weir_string){variable->value.bytes + 1, 3}), WEIR_OK); /* its own */
    value_is("a", "bcd");
}

static void a_counter_takes_no_memory(void **state)
{
    assert_int_equal(set("count", WEIR_STRING("00000000")), WEIR_OK);
    const uint8_t *next = arena.next;
    for (int i = 0; i < 100000; i++) {
        char text[16];
        snprintf(text, sizeof text, "%08d", i);
        assert_int_equal(set("count", string_of(text)), WEIR_OK);
    }
    assert_ptr_equal(arena.next, next);
}

static void names_are_tokens(void **state)
{
    char name[VARIABLE_NAME_BYTES + 2] = "";
    assert_int_equal(set("", WEIR_STRING("1")), WEIR_INVALID);
    assert_int_equal(set("a b", WEIR_STRING("1")), WEIR_INVALID);
    assert_int_equal(set("a}", WEIR_STRING("1")), WEIR_INVALID);
    memset(name, 'n', VARIABLE_NAME_BYTES + 1);
    assert_int_equal(set(name, WEIR_STRING("1")), WEIR_INVALID);
    name[VARIABLE_NAME_BYTES] = 0;
    assert_int_equal(set(name, WEIR_STRING("1")), WEIR_OK);
}

static void they_are_bounded(void **state)
{
    char name[16];
    for (int i = 0; i < VARIABLES_MOST; i++) {
        snprintf(name, sizeof name, "v%d", i);
        assert_int_equal(set(name, WEIR_STRING("")), WEIR_OK);
    }
    assert_int_equal(set("one-more", WEIR_STRING("")), WEIR_TOO_MUCH);
    assert_int_equal(set("v0", WEIR_STRING("as many as before")), WEIR_OK);
}

static void their_bytes_are_bounded(void **state)
{
    assert_int_equal(set("a", (weir_string){many, VARIABLES_BYTES}), WEIR_TOO_MUCH);
    assert_int_equal(set("a", (weir_string){many, SIZE_MAX}), WEIR_TOO_MUCH);
    assert_int_equal(variables.count, 0);
    assert_int_equal(set("a", (weir_string){many, VARIABLES_BYTES - 3}), WEIR_OK);
    assert_int_equal(set("a", (weir_string){many, VARIABLES_BYTES - 2}), WEIR_TOO_MUCH);
    assert_int_equal(variable_find(&variables, WEIR_STRING("a"))->value.length,
                     VARIABLES_BYTES - 3);
    assert_int_equal(set("b", WEIR_STRING("1")), WEIR_OK);
    assert_int_equal(set("c", WEIR_STRING("")), WEIR_TOO_MUCH);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_tell_cases_apart),    TEST(values_are_copies), TEST(a_value_is_overwritten),
        TEST(a_counter_takes_no_memory), TEST(names_are_tokens),  TEST(they_are_bounded),
        TEST(their_bytes_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
