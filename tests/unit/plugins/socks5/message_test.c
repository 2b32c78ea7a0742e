/* tests/unit/plugins/socks5/message_test.c - what a SOCKS5 client says is understood, or is not */
#include "plugins/socks5/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A copy of just that size: whoever reads behind it is caught. */
static uint8_t *exactly(const char *bytes, size_t count)
{
    uint8_t *copy = malloc(count);
    assert_true(!count || copy);
    if (count)
        memcpy(copy, bytes, count);
    return copy;
}

/* --- greetings */

static enum socks5_parsed greet(const char *bytes, size_t count, struct socks5_greeting *greeting)
{
    uint8_t *copy = exactly(bytes, count);
    enum socks5_parsed parsed = socks5_parse_greeting(copy, count, greeting);
    free(copy);
    return parsed;
}

static void greetings(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
        bool none, password;
    } cases[] = {{"\5\0", 2, false, false},         {"\5\1\0", 3, true, false},
                 {"\5\1\2", 3, false, true},        {"\5\2\0\2", 4, true, true},
                 {"\5\3\1\2\0", 5, true, true},     {"\5\2\1\3", 4, false, false},
                 {"\5\3\x80\xff\2", 5, false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct socks5_greeting greeting;
        for (size_t cut = 0; cut < cases[i].count; cut++)
            assert_int_equal(greet(cases[i].bytes, cut, &greeting), SOCKS5_MORE);
        assert_int_equal(greet(cases[i].bytes, cases[i].count, &greeting), SOCKS5_DONE);
        assert_int_equal(greeting.consumed, cases[i].count);
        assert_int_equal(greeting.none, cases[i].none);
        assert_int_equal(greeting.password, cases[i].password);
    }
}

static void a_greeting_with_all_methods(void **state)
{
    char bytes[2 + 255 + 1];
    struct socks5_greeting greeting;
    memset(bytes, 9, sizeof bytes);
    bytes[0] = 5;
    bytes[1] = (char)255;
    bytes[256] = 2;
    bytes[257] = 0; /* not of it any more */
    assert_int_equal(greet(bytes, 256, &greeting), SOCKS5_MORE);
    assert_int_equal(greet(bytes, 258, &greeting), SOCKS5_DONE);
    assert_int_equal(greeting.consumed, 257);
    assert_true(greeting.password && !greeting.none);
}

static void greetings_of_others(void **state)
{
    static const char *const others[] = {"\4\1\0\x50\1\2\3\4", "GET / HTTP/1.1\r\n", "\x16\3\1",
                                         "\6\1\1"};
    struct socks5_greeting greeting;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (size_t count = 1; count < 4; count++)
            assert_int_equal(greet(others[i], count, &greeting), SOCKS5_BROKEN);
}

/* --- credentials */

static enum socks5_parsed present(const uint8_t *bytes, size_t count,
                                  struct socks5_credentials *credentials)
{
    return socks5_parse_credentials(bytes, count, credentials);
}

static void credentials(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
        const char *name, *secret;
    } cases[] = {
        {"\1\4anna\6secret", 13, "anna", "secret"},
        {"\1\1a\0", 4, "a", ""},
        {"\1\0\1b", 4, "", "b"},
        {"\1\0\0", 3, "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct socks5_credentials found;
        for (size_t cut = 0; cut <= cases[i].count; cut++) {
            uint8_t *copy = exactly(cases[i].bytes, cut);
            bool whole = cut == cases[i].count;
            assert_int_equal(present(copy, cut, &found), whole ? SOCKS5_DONE : SOCKS5_MORE);
            if (whole) {
                assert_int_equal(found.consumed, cut);
                assert_int_equal(found.name.length, strlen(cases[i].name));
                assert_memory_equal(found.name.bytes, cases[i].name, found.name.length);
                assert_int_equal(found.secret.length, strlen(cases[i].secret));
                assert_memory_equal(found.secret.bytes, cases[i].secret, found.secret.length);
            }
            free(copy);
        }
    }
}

static void the_longest_credentials(void **state)
{
    char bytes[513];
    struct socks5_credentials found;
    memset(bytes, 'x', sizeof bytes);
    bytes[0] = 1;
    bytes[1] = bytes[257] = (char)255;
    for (size_t count = 1; count < sizeof bytes; count++) {
        uint8_t *copy = exactly(bytes, count);
        assert_int_equal(present(copy, count, &found), SOCKS5_MORE);
        free(copy);
    }
    assert_int_equal(present((uint8_t *)bytes, sizeof bytes, &found), SOCKS5_DONE);
    assert_true(found.name.length == 255 && found.secret.length == 255);
}

static void credentials_of_another_version(void **state)
{
    struct socks5_credentials found;
    assert_int_equal(present((const uint8_t *)"\5", 1, &found), SOCKS5_BROKEN);
    assert_int_equal(present((const uint8_t *)"\2\1a\1b", 5, &found), SOCKS5_BROKEN);
}

/* --- requests */

static enum socks5_parsed request(const char *bytes, size_t count, struct socks5_request *found)
{
    uint8_t *copy = exactly(bytes, count);
    enum socks5_parsed parsed = socks5_parse_request(copy, count, found);
    free(copy);
    return parsed;
}

/* However much of it there is, it is not whole before it is. */
static void goes_to(const char *bytes, size_t count, const char *authority)
{
    struct socks5_request found;
    for (size_t cut = 0; cut < count; cut++)
        assert_int_equal(request(bytes, cut, &found), SOCKS5_MORE);
    assert_int_equal(request(bytes, count, &found), SOCKS5_DONE);
    assert_int_equal(found.consumed, count);
    assert_string_equal(found.authority, authority);
}

#define GOES_TO(bytes, authority) goes_to(bytes, sizeof bytes - 1, authority)

static void requests_for_addresses(void **state)
{
    GOES_TO("\5\1\0\1\xc0\0\2\1\0\x50", "192.0.2.1:80");
    GOES_TO("\5\1\0\1\0\0\0\0\xff\xff", "0.0.0.0:65535");
    GOES_TO("\5\1\0\1\xff\xff\xff\xff\0\0", "255.255.255.255:0"); /* for others to refuse */
    GOES_TO("\5\1\0\4\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1\1\xbb", "[2001:db8::1]:443");
    GOES_TO("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\1", "[::1]:1");
    GOES_TO("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1\0\1", "[::ffff:127.0.0.1]:1");
    GOES_TO("\5\1\x7f\1\1\2\3\4\0\1", "1.2.3.4:1"); /* what is reserved is not looked at */
}

static void requests_for_names(void **state)
{
    GOES_TO("\5\1\0\3\x0c"
            "example.test\0\x50",
            "example.test:80");
    GOES_TO("\5\1\0\3\1a\0\x50", "a:80");
    GOES_TO("\5\1\0\3\2a.\0\x50", "a.:80");
    GOES_TO("\5\1\0\3\x0e"
            "_x.Y-9.example\x1f\x90",
            "_x.Y-9.example:8080");
}

static void names_that_are_addresses(void **state)
{
    GOES_TO("\5\1\0\3\x09"
            "127.0.0.1\0\x50",
            "127.0.0.1:80");
    GOES_TO("\5\1\0\3\3::1\0\x50", "[::1]:80");
    GOES_TO("\5\1\0\3\5[::1]\0\x50", "[::1]:80");
    GOES_TO("\5\1\0\3\x0e"
            "2001:DB8:0:0::\0\x50",
            "[2001:db8::]:80");
}

static void refused(const char *bytes, size_t count, size_t known, enum socks5_reply reply)
{
    struct socks5_request found;
    for (size_t cut = 0; cut < known; cut++)
        assert_int_equal(request(bytes, cut, &found), SOCKS5_MORE);
    for (size_t cut = known; cut <= count; cut++) {
        assert_int_equal(request(bytes, cut, &found), SOCKS5_BROKEN);
        assert_int_equal(found.reply, reply);
    }
}

/* `known`: how many bytes it takes to see that. */
#define REFUSED(bytes, known, reply) refused(bytes, sizeof bytes - 1, known, reply)

static void requests_that_are_none(void **state)
{
    REFUSED("\4\1\0\1\1\2\3\4\0\1", 1, REPLY_FAILURE);
    REFUSED("\5\2\0\1\1\2\3\4\0\1", 2, REPLY_COMMAND_UNSUPPORTED); /* BIND */
    REFUSED("\5\3\0\1\1\2\3\4\0\1", 2, REPLY_COMMAND_UNSUPPORTED); /* UDP ASSOCIATE */
    REFUSED("\5\0\0\1\1\2\3\4\0\1", 2, REPLY_COMMAND_UNSUPPORTED);
    REFUSED("\5\1\0\0\1\2\3\4\0\1", 4, REPLY_ADDRESS_UNSUPPORTED);
    REFUSED("\5\1\0\2\1\2\3\4\0\1", 4, REPLY_ADDRESS_UNSUPPORTED);
    REFUSED("\5\1\0\5\1\2\3\4\0\1", 4, REPLY_ADDRESS_UNSUPPORTED);
}

static void names_that_are_none(void **state)
{
    REFUSED("\5\1\0\3\0\0\x50", 7, REPLY_FAILURE);
    REFUSED("\5\1\0\3\3a\0b\0\x50", 10, REPLY_FAILURE);
    REFUSED("\5\1\0\3\3a\nb\0\x50", 10, REPLY_FAILURE);
    REFUSED("\5\1\0\3\3a b\0\x50", 10, REPLY_FAILURE);
    REFUSED("\5\1\0\3\3a:1\0\x50", 10, REPLY_FAILURE);
    REFUSED("\5\1\0\3\3a/b\0\x50", 10, REPLY_FAILURE);
    REFUSED("\5\1\0\3\3a@b\0\x50", 10, REPLY_FAILURE);
    REFUSED("\5\1\0\3\3a\x7f"
            "b\0\x50",
            10, REPLY_FAILURE);
    REFUSED("\5\1\0\3\3\xc3\xa4z\0\x50", 10, REPLY_FAILURE);
    REFUSED("\5\1\0\3\2[]\0\x50", 9, REPLY_FAILURE);
    REFUSED("\5\1\0\3\4[1.]\0\x50", 11, REPLY_FAILURE);
    REFUSED("\5\1\0\3\6fe80%1\0\x50", 13, REPLY_FAILURE);
}

static void how_long_names_may_be(void **state)
{
    char bytes[5 + 255 + 2];
    struct socks5_request found;
    for (size_t length = 250; length <= 255; length++)
        for (int dot = 0; dot < 2; dot++) {
            memset(bytes, 'a', sizeof bytes);
            memcpy(bytes, "\5\1\0\3", 4);
            bytes[4] = (char)length;
            bytes[4 + length] = dot ? '.' : 'a';
            bytes[5 + length] = 0;
            bytes[6 + length] = 7;
            bool good = length <= (dot ? 254 : 253);
            assert_int_equal(request(bytes, 7 + length, &found),
                             good ? SOCKS5_DONE : SOCKS5_BROKEN);
            if (good)
                assert_int_equal(strlen(found.authority), length + 2);
        }
}

/* What is behind a request is not of it. */
static void what_follows_is_left(void **state)
{
    struct socks5_request found;
    assert_int_equal(request("\5\1\0\1\1\2\3\4\0\1\5\1\0", 13, &found), SOCKS5_DONE);
    assert_int_equal(found.consumed, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greetings),
        cmocka_unit_test(a_greeting_with_all_methods),
        cmocka_unit_test(greetings_of_others),
        cmocka_unit_test(credentials),
        cmocka_unit_test(the_longest_credentials),
        cmocka_unit_test(credentials_of_another_version),
        cmocka_unit_test(requests_for_addresses),
        cmocka_unit_test(requests_for_names),
        cmocka_unit_test(names_that_are_addresses),
        cmocka_unit_test(requests_that_are_none),
        cmocka_unit_test(names_that_are_none),
        cmocka_unit_test(how_long_names_may_be),
        cmocka_unit_test(what_follows_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
