/* tests/unit/core/io/address_test.c - addresses as text and back */
#include "core/io/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"

static struct address parsed(const char *text)
{
    struct address address;
    if (!address_parse(string_of(text), &address))
        fail_msg("%s was refused", text);
    return address;
}

static void there_and_back(void **state)
{
    static const struct {
        const char *text, *same;
        int family;
        uint16_t port;
    } good[] = {
        {"127.0.0.1:3128", "127.0.0.1:3128", AF_INET, 3128},
        {"0.0.0.0:0", "0.0.0.0:0", AF_INET, 0},
        {"255.255.255.255:65535", "255.255.255.255:65535", AF_INET, 65535},
        {"10.1.2.3:00080", "10.1.2.3:80", AF_INET, 80},
        {"[::1]:3128", "[::1]:3128", AF_INET6, 3128},
        {"[::]:0", "[::]:0", AF_INET6, 0},
        {"[2001:DB8:0:0:0:0:0:1]:1", "[2001:db8::1]:1", AF_INET6, 1},
        {"[::ffff:192.0.2.1]:65535", "[::ffff:192.0.2.1]:65535", AF_INET6, 65535},
        {"[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535",
         "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535", AF_INET6, 65535},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[ADDRESS_TEXT_BYTES];
        struct address address = parsed(good[i].text);
        assert_int_equal(address.any.sa_family, good[i].family);
        assert_int_equal(address_port(&address), good[i].port);
        assert_int_equal(address_length(&address), good[i].family == AF_INET
                                                       ? sizeof(struct sockaddr_in)
                                                       : sizeof(struct sockaddr_in6));
        assert_ptr_equal(address_format(&address, text), text);
        assert_string_equal(text, good[i].same);
    }
}

static void nonsense(void **state)
{
    static const char *const bad[] = {
        "",
        ":",
        ":80",
        "80",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "127.0.0.1:80x",
        "127.0.0.1: 80",
        " 127.0.0.1:80",
        "127.0.0.1 :80",
        "127.0.0.1:80 ",
        "127.0.0:80",
        "127.0.0.256:80",
        "127.1:80",
        "0x7f.0.0.1:80",
        "127.0.0.01:80",
        "1.2.3.4.5:80",
        "[127.0.0.1]:80",
        "::1:80",
        "::1",
        "[::1]",
        "[::1]80",
        "[::1]:",
        "[]:80",
        "[:80",
        "]:80",
        "[::1:80",
        "::1]:80",
        "[[::1]]:80",
        "[:::1]:80",
        "[::g]:80",
        "[1:2:3:4:5:6:7:8:9]:80",
        "[fe80::1%lo]:80",
        "localhost:80",
        "*:80",
        "127.0.0.1:80:80",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:80",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct address address;
        if (address_parse(string_of(bad[i]), &address))
            fail_msg("\"%s\" was taken", bad[i]);
    }
}

static void literals(void **state)
{
    struct address address;
    char text[ADDRESS_TEXT_BYTES];
    assert_true(address_from_literal(WEIR_STRING("192.0.2.1"), 80, &address));
    assert_string_equal(address_format(&address, text), "192.0.2.1:80");
    assert_string_equal(address_format_host(&address, text), "192.0.2.1");
    assert_true(address_from_literal(WEIR_STRING("::1"), 443, &address));
    assert_string_equal(address_format(&address, text), "[::1]:443");
    assert_string_equal(address_format_host(&address, text), "::1");
    static const char *const names[] = {"",
                                        "[::1]",
                                        "example.com",
                                        "1",
                                        "1.2.3",
                                        "::1 ",
                                        "::1%lo",
                                        "0000:0000:0000:0000:0000:0000:0000:0000:000000",
                                        "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0001"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (address_from_literal(string_of(names[i]), 80, &address))
            fail_msg("\"%s\" is a literal", names[i]);
    /* Only so many bytes count, whatever stands behind them. */
    assert_true(address_from_literal((weir_string){"192.0.2.19", 9}, 80, &address));
    assert_string_equal(address_format(&address, text), "192.0.2.1:80");
}

static void equality(void **state)
{
    struct address a = parsed("127.0.0.1:80"), b = parsed("127.0.0.1:80");
    memset(a.v4.sin_zero, 0xff, sizeof a.v4.sin_zero); /* is no part of the address */
    assert_true(address_equal(&a, &b));
    b = parsed("127.0.0.1:81");
    assert_false(address_equal(&a, &b));
    b = parsed("127.0.0.2:80");
    assert_false(address_equal(&a, &b));
    b = parsed("[::ffff:127.0.0.1]:80");
    assert_false(address_equal(&a, &b));
    a = parsed("[::ffff:127.0.0.1]:80");
    assert_true(address_equal(&a, &b));
    a.v6.sin6_flowinfo = 5;
    assert_true(address_equal(&a, &b));
    a = parsed("[::fffe:127.0.0.1]:80");
    assert_false(address_equal(&a, &b));
    a = parsed("[::ffff:127.0.0.1]:79");
    assert_false(address_equal(&a, &b));
}

/* An IPv4 client on a socket for both becomes what he is; nothing else changes. */
static void mapped(void **state)
{
    static const char *const texts[][2] = {{"::ffff:192.0.2.1", "192.0.2.1:443"},
                                           {"::ffff:0:0:1", "[::ffff:0:0:1]:443"},
                                           {"::192.0.2.1", "[::192.0.2.1]:443"},
                                           {"2001:db8::1", "[2001:db8::1]:443"},
                                           {"192.0.2.1", "192.0.2.1:443"}};
    char text[ADDRESS_TEXT_BYTES];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct address address;
        assert_true(address_from_literal(string_of(texts[i][0]), 443, &address));
        address_unmap(&address);
        assert_string_equal(address_format(&address, text), texts[i][1]);
    }
}

static void destinations(void **state)
{
    static const char *const texts[][2] = {{"0.0.0.0:80", "127.0.0.1:80"},
                                           {"[::ffff:0.0.0.0]:80", "127.0.0.1:80"},
                                           {"[::ffff:192.0.2.1]:80", "192.0.2.1:80"},
                                           {"[::]:80", "[::1]:80"},
                                           {"0.0.0.1:80", "0.0.0.1:80"},
                                           {"[2001:db8::1]:80", "[2001:db8::1]:80"}};
    char text[ADDRESS_TEXT_BYTES];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct address address = parsed(texts[i][0]), to = address_destination(&address);
        assert_string_equal(address_format(&to, text), texts[i][1]);
    }
}

static void kinds(void **state)
{
    struct address nameless = {.any.sa_family = AF_UNIX};
    static const struct {
        const char *text;
        bool wildcard, loopback;
    } kinds[] = {{"0.0.0.0:1", true, false},   {"[::]:1", true, false},
                 {"127.0.0.1:1", false, true}, {"127.255.0.3:1", false, true},
                 {"[::1]:1", false, true},     {"128.0.0.1:1", false, false},
                 {"[::2]:1", false, false},    {"[::ffff:127.0.0.1]:1", false, false}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct address address = parsed(kinds[i].text);
        assert_int_equal(address_is_wildcard(&address), kinds[i].wildcard);
        assert_int_equal(address_is_loopback(&address), kinds[i].loopback);
    }
    assert_false(address_is_wildcard(&nameless) || address_is_loopback(&nameless));
}

static void nameless(void **state)
{
    char text[ADDRESS_TEXT_BYTES];
    struct address address = {.any.sa_family = AF_UNIX};
    assert_string_equal(address_format(&address, text), "unix:");
    assert_int_equal(address_port(&address), 0);
    assert_false(address_equal(&address, &address));
}

static void ports(void **state)
{
    static const char *const texts[] = {"127.0.0.1:1", "[::1]:1"};
    for (int i = 0; i < 2; i++) {
        struct address address = parsed(texts[i]);
        address_set_port(&address, 0x1234);
        assert_int_equal(address_port(&address), 0x1234);
        const uint8_t *bytes =
            (const uint8_t *)&address.v4.sin_port; /* both families: same place */
        assert_int_equal(bytes[0], 0x12);
        assert_int_equal(bytes[1], 0x34);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back), cmocka_unit_test(nonsense),
        cmocka_unit_test(literals),       cmocka_unit_test(equality),
        cmocka_unit_test(ports),          cmocka_unit_test(mapped),
        cmocka_unit_test(nameless),       cmocka_unit_test(kinds),
        cmocka_unit_test(destinations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
