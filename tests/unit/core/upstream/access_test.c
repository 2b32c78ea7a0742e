/* tests/unit/core/upstream/access_test.c - addresses that nobody may be led to, however written */
#include "core/upstream/access.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "core/io/network.h"

static char listener[64], admin[64];
static struct listener_config listeners[1] = {{.address = listener}};
static struct snapshot snapshot;

/* Where weir is, and where the client came in. */
static weir_result judge(const char *where, const char *reached, const char *to)
{
    struct address in, address;
    snprintf(listener, sizeof listener, "%s", where);
    assert_true(address_parse(string_of(reached), &in));
    assert_true(address_parse(string_of(to), &address));
    return access_judge(&snapshot, &in, &address);
}

static int set_up(void **state)
{
    snapshot = (struct snapshot){.listeners = listeners, .listener_count = 1};
    listeners[0].v6only = false;
    return 0;
}

static void own_listener(void **state)
{
    static const char *const own[] = {"127.0.0.1:3128", "0.0.0.0:3128", "[::ffff:127.0.0.1]:3128",
                                      "[::ffff:0.0.0.0]:3128"};
    static const char *const others[] = {"127.0.0.1:3129", "127.0.0.2:3128", "[::1]:3128",
                                         "[::]:3128", "192.0.2.1:3128"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        assert_int_equal(judge("127.0.0.1:3128", "127.0.0.1:3128", own[i]), WEIR_LOOP);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(judge("127.0.0.1:3128", "127.0.0.1:3128", others[i]), WEIR_OK);
    assert_int_equal(judge("[::ffff:127.0.0.1]:3128", "127.0.0.1:3128", "127.0.0.1:3128"),
                     WEIR_LOOP);
    assert_int_equal(judge("[::1]:3128", "[::1]:3128", "[::]:3128"), WEIR_LOOP);
}

/* Of a wildcard weir knows loopback, and where the client came in. */
static void own_wildcard(void **state)
{
    static const char *const four[] = {"127.0.0.1:80", "127.9.9.9:80", "0.0.0.0:80",
                                       "[::ffff:127.0.0.1]:80", "192.0.2.1:80"};
    static const char *const six[] = {"[::1]:80", "[::]:80"};
    for (size_t i = 0; i < sizeof four / sizeof *four; i++) {
        assert_int_equal(judge("0.0.0.0:80", "192.0.2.1:80", four[i]), WEIR_LOOP);
        assert_int_equal(judge("[::]:80", "192.0.2.1:80", four[i]), WEIR_LOOP);
    }
    for (size_t i = 0; i < sizeof six / sizeof *six; i++) {
        assert_int_equal(judge("0.0.0.0:80", "192.0.2.1:80", six[i]), WEIR_OK);
        assert_int_equal(judge("[::]:80", "192.0.2.1:80", six[i]), WEIR_LOOP);
    }
    listeners[0].v6only = true;
    assert_int_equal(judge("[::]:80", "[2001:db8::1]:80", "[::1]:80"), WEIR_LOOP);
    assert_int_equal(judge("[::]:80", "[2001:db8::1]:80", "127.0.0.1:80"), WEIR_OK);
    assert_int_equal(judge("[::]:80", "[2001:db8::1]:80", "127.0.0.1:81"), WEIR_OK);
}

static void admin_listener(void **state)
{
    static const char *const texts[] = {"127.0.0.1:9901", "0.0.0.0:9901", "[::ffff:127.0.0.1]:9901",
                                        "[::ffff:0:0]:9901"};
    snapshot.admin = admin;
    snprintf(admin, sizeof admin, "127.0.0.1:9901");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(judge("127.0.0.1:80", "127.0.0.1:80", texts[i]), WEIR_ADDRESS_PROHIBITED);
    assert_int_equal(judge("127.0.0.1:80", "127.0.0.1:80", "[::1]:9901"), WEIR_OK);
    assert_int_equal(judge("127.0.0.1:80", "127.0.0.1:80", "127.0.0.1:9902"), WEIR_OK);
    snprintf(admin, sizeof admin, "unix:/run/weir.sock");
    assert_int_equal(judge("127.0.0.1:80", "127.0.0.1:80", "127.0.0.1:9901"), WEIR_OK);
}

static void a_socket_has_no_address(void **state)
{
    struct address in = {.any.sa_family = AF_UNIX}, address;
    snprintf(listener, sizeof listener, "unix:/run/weir.sock");
    assert_true(address_parse(WEIR_STRING("127.0.0.1:80"), &address));
    assert_int_equal(access_judge(&snapshot, &in, &address), WEIR_OK);
}

static void denied(void **state)
{
    struct network network[NETWORKS_OF_TEXT_MOST];
    struct network_list list = {.networks = network};
    assert_null(network_parse(WEIR_STRING("192.0.2.0/24"), network, &list.count));
    snapshot.deny_addresses = &list;
    assert_int_equal(judge("127.0.0.1:80", "127.0.0.1:80", "192.0.2.7:80"),
                     WEIR_ADDRESS_PROHIBITED);
    assert_int_equal(judge("127.0.0.1:80", "127.0.0.1:80", "[::ffff:192.0.2.7]:80"),
                     WEIR_ADDRESS_PROHIBITED);
    assert_int_equal(judge("127.0.0.1:80", "127.0.0.1:80", "192.0.3.7:80"), WEIR_OK);
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(own_listener), TEST(own_wildcard), TEST(admin_listener), TEST(a_socket_has_no_address),
        TEST(denied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
