/* tests/unit/core/base/string_test.c - numbers, lists and authorities, good and bad */
#include "core/base/string.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define STRING(literal) WEIR_STRING(literal)

static void equality(void **state)
{
    assert_true(string_equal(STRING("Host"), STRING("Host")));
    assert_false(string_equal(STRING("Host"), STRING("host")));
    assert_false(string_equal(STRING("Host"), STRING("Hosts")));
    assert_true(string_equal((weir_string){"", 0}, STRING("")));
    assert_true(string_equal(STRING("a\0b"), STRING("a\0b")));
    assert_false(string_equal(STRING("a\0b"), STRING("a\0c")));
}

static void equality_without_case(void **state)
{
    assert_true(string_equal_nocase(STRING("Content-LENGTH"), STRING("content-length")));
    assert_true(string_equal_nocase(STRING(""), STRING("")));
    assert_false(string_equal_nocase(STRING("ab"), STRING("abc")));
    assert_false(string_equal_nocase(STRING("ab"), STRING("ac")));
    /* Letters of ASCII alone: not what differs from them in the same bit. */
    for (int c = 0; c < 256; c++) {
        char upper = (char)c, lower = (char)(c ^ 0x20);
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        assert_int_equal(string_equal_nocase((weir_string){&upper, 1}, (weir_string){&lower, 1}),
                         letter);
        assert_int_equal((unsigned char)character_lower(upper), c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
}

static void number_is(const char *text, uint64_t most, uint64_t expected)
{
    uint64_t number = 4711;
    if (!string_to_number(string_of(text), most, &number) || number != expected)
        fail_msg("\"%s\" is not %llu", text, (unsigned long long)expected);
}

static void no_number(weir_string text, uint64_t most)
{
    uint64_t number = 4711;
    if (string_to_number(text, most, &number))
        fail_msg("\"%.*s\" is a number", (int)text.length, text.bytes);
    assert_int_equal(number, 4711);
}

static void numbers(void **state)
{
    number_is("0", UINT64_MAX, 0);
    number_is("0", 0, 0);
    number_is("000", 9, 0);
    number_is("0009", 9, 9);
    number_is("65535", 65535, 65535);
    number_is("9223372036854775807", INT64_MAX, INT64_MAX);
    number_is("18446744073709551615", UINT64_MAX, UINT64_MAX);
    number_is("5", 5, 5);
    no_number(STRING("1"), 0);
    no_number(STRING("6"), 5);
    no_number(STRING("9"), 5);
    no_number(STRING("10"), 9);
    no_number(STRING("65536"), 65535);
    no_number(STRING("9223372036854775808"), INT64_MAX);
    no_number(STRING("18446744073709551616"), UINT64_MAX);
    no_number(STRING("18446744073709551620"), UINT64_MAX);
    no_number(STRING("99999999999999999999999999"), UINT64_MAX);
    static const weir_string nonsense[] = {
        STRING(""),     STRING(" "),   STRING("1 "),  STRING(" 1"),  STRING("+1"),
        STRING("-1"),   STRING("0x1"), STRING("1a"),  STRING("a1"),  STRING("1.0"),
        STRING("1,1"),  STRING("1_0"), STRING("1\0"), STRING("/"),   STRING(":"),
        STRING("\xb1"), STRING("1\n"), STRING("١"),   STRING("1e3"),
    };
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        no_number(nonsense[i], UINT64_MAX);
}

static void trimmed_is(const char *text, const char *expected)
{
    assert_true(string_equal(string_trim(string_of(text)), string_of(expected)));
}

static void trims_spaces_and_tabs(void **state)
{
    trimmed_is("", "");
    trimmed_is(" \t ", "");
    trimmed_is("a", "a");
    trimmed_is(" \ta b\t ", "a b");
    trimmed_is("\na\n", "\na\n");
    trimmed_is("\va\r", "\va\r");
}

/* The elements of the list, joined by bars. */
static void elements_are(const char *list, const char *expected)
{
    char joined[256] = "";
    size_t length = 0;
    weir_string rest = string_of(list), element;
    while (string_next_element(&rest, &element))
        length += (size_t)snprintf(joined + length, sizeof joined - length, "%.*s|",
                                   (int)element.length, element.bytes);
    assert_string_equal(joined, expected);
    assert_int_equal(rest.length, 0);
}

static void lists(void **state)
{
    elements_are("", "");
    elements_are(" ", "");
    elements_are(",", "");
    elements_are(" , ,,\t,", "");
    elements_are("a", "a|");
    elements_are("a,b", "a|b|");
    elements_are(" close , Keep-Alive\t,x ", "close|Keep-Alive|x|");
    elements_are(",,a,,b,,", "a|b|");
    elements_are("a b,c", "a b|c|");
    elements_are("a;q=0.5, trailers", "a;q=0.5|trailers|");
}

static const struct {
    weir_string text;
    const char *host;
    uint16_t port;
    bool bracketed;
} good_authorities[] = {
    {STRING("example.com"), "example.com", 0, false},
    {STRING("example.com:80"), "example.com", 80, false},
    {STRING("EXAMPLE.com:8080"), "EXAMPLE.com", 8080, false},
    {STRING("a:1"), "a", 1, false},
    {STRING("a:65535"), "a", 65535, false},
    {STRING("a:00080"), "a", 80, false},
    {STRING("example.com:"), "example.com", 0, false},
    {STRING("localhost"), "localhost", 0, false},
    {STRING("example.com.:443"), "example.com.", 443, false},
    {STRING("127.0.0.1:3128"), "127.0.0.1", 3128, false},
    {STRING("256.1.1.1"), "256.1.1.1", 0, false}, /* a name, if a strange one */
    {STRING("xn--bcher-kva.example"), "xn--bcher-kva.example", 0, false},
    {STRING("a_b.example"), "a_b.example", 0, false},
    {STRING("b%C3%BCcher.example"), "b%C3%BCcher.example", 0, false},
    {STRING("-._~%!$&'()*+,;="), "-._~%!$&'()*+,;=", 0, false},
    {STRING("[::1]"), "::1", 0, true},
    {STRING("[::1]:443"), "::1", 443, true},
    {STRING("[::1]:"), "::1", 0, true},
    {STRING("[2001:DB8::fF]:65535"), "2001:DB8::fF", 65535, true},
    {STRING("[::ffff:192.0.2.1]:1"), "::ffff:192.0.2.1", 1, true},
    {STRING("[::]"), "::", 0, true},
};

static const weir_string bad_authorities[] = {
    STRING(""),
    STRING(":"),
    STRING(":80"),
    STRING("a:0"),
    STRING("a:00"),
    STRING("a:65536"),
    STRING("a:99999999999999999999"),
    STRING("a:-1"),
    STRING("a:+1"),
    STRING("a:http"),
    STRING("a:80x"),
    STRING("a:8 0"),
    STRING("a: 80"),
    STRING("a:80 "),
    STRING(" a:80"),
    STRING("a :80"),
    STRING("a b"),
    STRING("a:80:80"),
    STRING("a::80"),
    STRING("::1"),
    STRING("::1:80"),
    STRING("2001:db8::1"),
    STRING("user@example.com"),
    STRING("user:password@example.com:80"),
    STRING("@example.com"),
    STRING("example.com@"),
    STRING("example.com/"),
    STRING("example.com:80/"),
    STRING("example.com?"),
    STRING("example.com#"),
    STRING("exam\\ple.com"),
    STRING("\"a\""),
    STRING("<a>"),
    STRING("a|b"),
    STRING("a^b"),
    STRING("a`b"),
    STRING("{a}"),
    STRING("b\xc3\xbc"
           "cher.example"),
    STRING("a\0b"),
    STRING("a\0"),
    STRING("\0"),
    STRING("a:80\0"),
    STRING("a\tb"),
    STRING("a\r\nb"),
    STRING("a\x7f"),
    STRING("["),
    STRING("]"),
    STRING("[]"),
    STRING("[]:80"),
    STRING("[::1"),
    STRING("::1]"),
    STRING("[::1]80"),
    STRING("[::1]a:80"),
    STRING("[::1]:0"),
    STRING("[::1]:65536"),
    STRING("[::1]]:80"),
    STRING("[[::1]]:80"),
    STRING("[::1]::80"),
    STRING("[fe80::1%25eth0]"),
    STRING("[fe80::1%eth0]:80"),
    STRING("[v1.fe80]"),
    STRING("[example.com]"),
    STRING("[::g]"),
    STRING("[:: 1]"),
    STRING("a[::1]"),
    STRING("[:\0:1]"),
};

static void authorities(void **state)
{
    for (size_t i = 0; i < sizeof good_authorities / sizeof *good_authorities; i++) {
        weir_string text = good_authorities[i].text;
        struct authority authority = {.port = 4711};
        if (!authority_parse(text, &authority))
            fail_msg("%s was refused", text.bytes);
        assert_true(string_equal(authority.host, string_of(good_authorities[i].host)));
        assert_int_equal(authority.port, good_authorities[i].port);
        assert_int_equal(authority.bracketed, good_authorities[i].bracketed);
        assert_true(authority.host.bytes >= text.bytes); /* a part of what was given */
        assert_true(authority.host.bytes + authority.host.length <= text.bytes + text.length);
    }
    for (size_t i = 0; i < sizeof bad_authorities / sizeof *bad_authorities; i++) {
        struct authority authority;
        if (authority_parse(bad_authorities[i], &authority))
            fail_msg("\"%s\" was taken", bad_authorities[i].bytes);
    }
}

/* Every byte, alone and in the middle of a name. */
static void bytes_of_hosts(void **state)
{
    for (int c = 0; c < 256; c++) {
        char text[] = {'a', (char)c, 'b'};
        struct authority authority;
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool good = letter || (c >= '0' && c <= '9') || (c && strchr("-._~%!$&'()*+,;=", c));
        assert_int_equal(authority_parse((weir_string){text, 3}, &authority), good);
        assert_int_equal(authority_parse((weir_string){text + 1, 1}, &authority), good);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equality),       cmocka_unit_test(equality_without_case),
        cmocka_unit_test(numbers),        cmocka_unit_test(trims_spaces_and_tabs),
        cmocka_unit_test(lists),          cmocka_unit_test(authorities),
        cmocka_unit_test(bytes_of_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
