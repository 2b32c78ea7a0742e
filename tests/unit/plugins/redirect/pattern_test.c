/* tests/unit/plugins/redirect/pattern_test.c - beginnings of patterns, groups, limits */
#include "plugins/redirect/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static weir_string text(const char *bytes)
{
    return (weir_string){bytes, strlen(bytes)};
}

static void check_beginning(const char *pattern, const char *expected)
{
    char beginning[PATTERN_BEGINNING + 1] = {0};
    assert_int_equal(pattern_beginning(text(pattern), beginning), strlen(expected));
    assert_string_equal(beginning, expected);
}

static void test_beginnings(void **state)
{
    check_beginning("^/blog/(\\d+)", "/blog/");
    check_beginning("/blog/.*", "/blog/");
    check_beginning("^/a\\.b\\-c\\d", "/a.b-c");
    check_beginning("/abc?d", "/ab");
    check_beginning("/abc*d", "/ab");
    check_beginning("/abc{0,2}", "/ab");
    check_beginning("/abc+d", "/abc");
    check_beginning("/abc\\.?", "/abc");
    check_beginning("(?i)/abc", "");
    check_beginning("/abc$", "/abc");
    check_beginning("/a|/b", "");
    check_beginning("/(a|b)/c", "/");
    check_beginning("/x(a|b)|/y", "");
    check_beginning("/a\\|b", "/a|b");
    check_beginning("/a[|(]b", "/a");
    check_beginning("/a[]|]b", "/a");
    check_beginning("/a[^]|]b", "/a");
    check_beginning("/a[[:alpha:]|(]b", "/a");
    check_beginning("/a[\\]|]b", "/a");
    check_beginning("/a[x]|/b", "");
    check_beginning("/a\\E*", "");
    check_beginning("/a(?#|)b", "");
    check_beginning("", "");
    check_beginning("^", "");
    check_beginning("/0123456789012345678901234567890123456789", "/012345678901234567890123456789");
}

static void check_refused(const char *pattern, const char *why)
{
    char said[200] = "";
    assert_null(pattern_compile(text(pattern), said));
    assert_non_null(strstr(said, why));
}

static void test_wrong_patterns_are_refused(void **state)
{
    char groups[200] = "/";
    for (int i = 0; i < 32; i++)
        snprintf(groups + strlen(groups), sizeof groups - strlen(groups), "(a)");
    check_refused("", "empty");
    check_refused("/a(", "at character 4");
    check_refused("blog/.*", "from the beginning");
    check_refused("/\\C", "\\C");
    check_refused("(*UTF)/", "UTF");
    check_refused(groups, "31 groups");
}

static void test_groups_have_numbers_and_names(void **state)
{
    char why[200];
    pcre2_code *pattern = pattern_compile(text("/(?<year>\\d+)/(.*)"), why);
    assert_non_null(pattern);
    assert_true(pattern_bytes(pattern) > 0);
    assert_int_equal(pattern_group(pattern, text("year")), 1);
    assert_int_equal(pattern_group(pattern, text("2")), 2);
    assert_int_equal(pattern_group(pattern, text("0")), 0);
    assert_int_equal(pattern_group(pattern, text("3")), -1);
    assert_int_equal(pattern_group(pattern, text("999")), -1);
    assert_int_equal(pattern_group(pattern, text("month")), -1);
    assert_int_equal(pattern_group(pattern, text("")), -1);
    pattern_free(pattern);
}

static enum pattern_answer match(const char *expression, weir_string path)
{
    char why[200];
    const size_t *groups;
    struct matcher matcher;
    pcre2_code *pattern = pattern_compile(text(expression), why);
    assert_non_null(pattern);
    matcher_init(&matcher);
    enum pattern_answer answer = pattern_match(pattern, &matcher, path, &groups);
    matcher_deinit(&matcher);
    pattern_free(pattern);
    return answer;
}

static void test_a_match_begins_at_the_beginning(void **state)
{
    assert_int_equal(match("/a", text("/ab")), PATTERN_MATCHES);
    assert_int_equal(match("/a$", text("/ab")), PATTERN_MISSES);
    assert_int_equal(match("/b", text("/a/b")), PATTERN_MISSES);
    assert_int_equal(match(".*/b", text("/a/b")), PATTERN_MATCHES);
}

/* Each would take longer than the universe lasts. */
static void test_a_hostile_path_takes_bounded_time(void **state)
{
    static const char *const evil[] = {"/(a+)+$",   "/(a|aa)+$",           "/(a*)*$",
                                       "/(.*)*!b$", "/(?:a?){300}a{300}$", "/(a+a+)+!b$"};
    static char path[8000];
    memset(path, 'a', sizeof path);
    path[0] = '/';
    path[sizeof path - 2] = 'b';
    path[sizeof path - 1] = '!';
    for (size_t i = 0; i < sizeof evil / sizeof *evil; i++) {
        clock_t start = clock();
        assert_int_not_equal(match(evil[i], (weir_string){path, sizeof path}), PATTERN_MATCHES);
        assert_true(clock() - start < CLOCKS_PER_SEC / 2);
    }
    assert_int_equal(match("/(a+)+$", (weir_string){path, sizeof path}), PATTERN_OVER_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beginnings),
        cmocka_unit_test(test_wrong_patterns_are_refused),
        cmocka_unit_test(test_groups_have_numbers_and_names),
        cmocka_unit_test(test_a_match_begins_at_the_beginning),
        cmocka_unit_test(test_a_hostile_path_takes_bounded_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
