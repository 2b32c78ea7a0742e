/* tests/unit/plugins/rate-limit/key_test.c - whose bucket a request's is */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "plugins/rate-limit/key.h"

static struct key client(const char *address, uint32_t bits)
{
    struct key key;
    key_begin(&key, WEIR_STRING("name"));
    key_add_client(&key, string_of(address), bits);
    return key;
}

static struct key host(const char *authority)
{
    struct key key;
    key_begin(&key, WEIR_STRING("name"));
    key_add_host(&key, string_of(authority));
    return key;
}

static struct key user(const char *name, const char *text)
{
    struct key key;
    key_begin(&key, string_of(name));
    key_add_user(&key, string_of(text));
    return key;
}

static bool equal(struct key one, struct key other)
{
    return string_equal(key_string(&one), key_string(&other));
}

static void addresses(void **state)
{
    assert_true(equal(client("192.0.2.1", 64), client("192.0.2.1", 64)));
    assert_false(equal(client("192.0.2.1", 64), client("192.0.2.2", 64)));
    assert_true(equal(client("::ffff:192.0.2.1", 64), client("192.0.2.1", 64)));
    assert_false(equal(client("::ffff:192.0.2.1", 1), client("::ffff:192.0.2.2", 1)));
    assert_true(equal(client("unix", 64), client("unix", 64)));
    assert_false(equal(client("unix", 64), client("192.0.2.1", 64)));
    assert_false(equal(client("192.0.2.1", 64), client("", 64)));
}

static void networks(void **state)
{
    assert_true(equal(client("2001:db8::1", 64), client("2001:db8::ffff:0:0:2", 64)));
    assert_false(equal(client("2001:db8::1", 64), client("2001:db8:0:1::1", 64)));
    assert_false(equal(client("2001:db8::1", 128), client("2001:db8::2", 128)));
    assert_true(equal(client("2001:db8::1", 127), client("2001:db8::", 127)));
    assert_true(equal(client("2001:db8:0:10::", 60), client("2001:db8:0:1f::", 60)));
    assert_false(equal(client("2001:db8:0:10::", 60), client("2001:db8:0:20::", 60)));
    assert_true(equal(client("8000::", 1), client("ffff::", 1)));
    assert_false(equal(client("8000::", 1), client("7fff::", 1)));
}

static void hosts(void **state)
{
    assert_true(equal(host("a.example"), host("A.EXAMPLE.:443")));
    assert_true(equal(host("[2001:db8::1]:80"), host("[2001:DB8::1]")));
    assert_false(equal(host("[2001:db8::1]"), host("[2001:db8::2]")));
    assert_false(equal(host("a.example"), host("b.example")));
    assert_false(equal(host("a.example"), host("")));
}

static void users(void **state)
{
    assert_true(equal(user("n", "anna"), user("n", "anna")));
    assert_false(equal(user("n", "anna"), user("n", "Anna")));
    assert_false(equal(user("n", "anna"), user("m", "anna")));
    assert_false(equal(user("na", "nna"), user("n", "anna")));
    assert_false(equal(user("name", "a"), host("a")));
    assert_false(equal(user("name", "unix"), client("unix", 64)));
    assert_false(equal(user("name", "\xc0\x00\x02\x01"), client("192.0.2.1", 64)));
}

static void long_ones_are_cut(void **state)
{
    char *text = malloc(100001);
    memset(text, 'a', 100000);
    text[100000] = 0;
    struct key key = host(text);
    assert_int_equal(key.length, KEY_BYTES_MOST);
    assert_int_equal(user(text, text).length, KEY_BYTES_MOST);
    text[1024] = 0;
    struct key whole = user("name", text);
    text[1023] = 'b';
    assert_false(equal(whole, user("name", text)));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses), cmocka_unit_test(networks),          cmocka_unit_test(hosts),
        cmocka_unit_test(users),     cmocka_unit_test(long_ones_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
