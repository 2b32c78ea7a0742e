/* tests/unit/plugins/redirect/path_test.c - normal forms, hosts, and what is passed on */
#include "plugins/redirect/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static weir_string text(const char *bytes)
{
    return (weir_string){bytes, strlen(bytes)};
}

static void check_normal(const char *raw, const char *expected)
{
    char normal[256], again[256];
    size_t length = path_normalize(text(raw), normal);
    weir_string form = {normal, length};
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(normal, expected, length);
    assert_int_equal(path_normalize(form, again), length);
    assert_memory_equal(again, normal, length);
    assert_true(path_equal(text(raw), form));
    assert_false(path_equal(text(raw), (weir_string){normal, length - 1}));
    if (path_is_normal(text(raw)))
        assert_string_equal(raw, expected);
    assert_int_equal(path_raw_offset(text(raw), length), strlen(raw));
}

static void test_normal_forms(void **state)
{
    check_normal("/a-b_c.d~e/9", "/a-b_c.d~e/9");
    check_normal("/%61%2D%5f%2e%7E%39", "/a-_.~9");
    check_normal("/%2f%c3%a9%C3%A9", "/%2F%C3%A9%C3%A9");
    check_normal("/caf\xc3\xa9", "/caf%C3%A9");
    check_normal("/a b\r\n\x7f", "/a%20b%0D%0A%7F");
    check_normal("/100%", "/100%25");
    check_normal("/%2", "/%252");
    check_normal("/%2%35", "/%2525");
    check_normal("/%zz%4", "/%25zz%254");
    check_normal("/[a]{b}|^`\"<>\\#", "/%5Ba%5D%7Bb%7D%7C%5E%60%22%3C%3E%5C%23");
    check_normal("//a/./../b//", "//a/./../b//");
    check_normal("/!$&'()*+,;=:@", "/!$&'()*+,;=:@");
    check_normal("/%00", "/%00");
}

static void test_the_fast_answer_is_the_same(void **state)
{
    assert_true(path_is_normal(text("/usual/path.html")));
    assert_false(path_is_normal(text("/%41")));
    assert_false(path_is_normal(text("/%2F"))); /* it is, but that is not known at once */
}

static void test_places_are_found_again(void **state)
{
    weir_string raw = text("/%61b%2fc\xc3");
    assert_int_equal(path_raw_offset(raw, 0), 0);
    assert_int_equal(path_raw_offset(raw, 1), 1);
    assert_int_equal(path_raw_offset(raw, 2), 4);
    assert_int_equal(path_raw_offset(raw, 3), 5);
    assert_int_equal(path_raw_offset(raw, 6), 8);
    assert_int_equal(path_raw_offset(raw, 100), raw.length);
}

static void check_passed(const char *raw, const char *expected)
{
    char passed[256];
    size_t length = path_pass_on(text(raw), passed);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(passed, expected, length);
}

static void test_what_is_passed_on_is_harmless_and_else_as_it_came(void **state)
{
    check_passed("/%61/%2f/[x]?a=b&c|d", "/%61/%2f/[x]?a=b&c|d");
    check_passed("a\r\nb\tc\\d#e\"f<g>", "a%0D%0Ab%09c%5Cd%23e%22f%3Cg%3E");
    check_passed("\xc3\xa9\x7f%", "%C3%A9%7F%");
}

static void check_host(const char *authority, const char *expected)
{
    char host[HOST_MOST];
    size_t length = path_host(text(authority), host);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(host, expected, length);
}

static void test_hosts(void **state)
{
    char long_name[300];
    check_host("WWW.Example.org", "www.example.org");
    check_host("example.org:8080", "example.org");
    check_host("example.org.:80", "example.org");
    check_host("[2001:DB8::1]:443", "[2001:db8::1]");
    check_host("[2001:DB8::1]", "[2001:db8::1]");
    check_host("[::1", "[::1");
    check_host("", "");
    check_host(":80", "");
    check_host(".", "");
    memset(long_name, 'a', sizeof long_name);
    assert_int_equal(path_host((weir_string){long_name, HOST_MOST}, long_name), HOST_MOST);
    assert_int_equal(path_host((weir_string){long_name, HOST_MOST + 1}, long_name), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal_forms),
        cmocka_unit_test(test_the_fast_answer_is_the_same),
        cmocka_unit_test(test_places_are_found_again),
        cmocka_unit_test(test_what_is_passed_on_is_harmless_and_else_as_it_came),
        cmocka_unit_test(test_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
