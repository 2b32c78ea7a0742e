/* tests/unit/core/edge/admission_test.c - whom to let in: by address and by number */
#include "core/edge/admission.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "core/io/network.h"

static struct snapshot snapshot;
static struct listener_config config;

static int reset(void **state)
{
    memset(&snapshot, 0, sizeof snapshot);
    memset(&config, 0, sizeof config);
    admission_start(UINT32_MAX);
    return 0;
}

static struct address address_of(const char *text)
{
    struct address address;
    assert_true(address_from_literal(string_of(text), 1234, &address));
    return address;
}

static enum admission enter(const char *text)
{
    struct address address = address_of(text);
    return admission_enter(&snapshot, &config, &address);
}

static void leave(enum admission admission, const char *text)
{
    struct address address = address_of(text);
    admission_leave(admission, &address);
}

static void test_only_who_is_allowed(void **state)
{
    struct network networks[NETWORKS_OF_TEXT_MOST];
    struct network_list list = {.networks = networks};
    assert_null(network_parse(WEIR_STRING("10.0.0.0/8"), networks, &list.count));
    config.allow_clients = &list;
    assert_int_equal(enter("127.0.0.1"), ADMISSION_REFUSED);
    assert_int_equal(enter("::1"), ADMISSION_REFUSED);
    assert_int_equal(enter("10.1.2.3"), ADMISSION_COUNTED);
    leave(ADMISSION_COUNTED, "10.1.2.3");
    struct address nameless = {.any.sa_family = AF_UNIX};
    snapshot.connections_per_address = 1;
    for (int i = 0; i < 3; i++)
        assert_int_equal(admission_enter(&snapshot, &config, &nameless), ADMISSION_COUNTED);
    for (int i = 0; i < 3; i++)
        admission_leave(ADMISSION_COUNTED, &nameless);
}

static void test_so_many_in_all(void **state)
{
    snapshot.connections_max = 2;
    assert_false(admission_full(&snapshot));
    assert_int_equal(enter("127.0.0.1"), ADMISSION_COUNTED);
    assert_false(admission_full(&snapshot));
    assert_int_equal(enter("127.0.0.2"), ADMISSION_COUNTED);
    assert_true(admission_full(&snapshot));
    snapshot.connections_max = 3;
    assert_false(admission_full(&snapshot));
    snapshot.connections_max = 0; /* automatic */
    assert_false(admission_full(&snapshot));
    admission_start(2);
    assert_true(admission_full(&snapshot));
    leave(ADMISSION_UNCOUNTED, "127.0.0.1");
    assert_true(admission_full(&snapshot));
    leave(ADMISSION_COUNTED, "127.0.0.1");
    assert_false(admission_full(&snapshot));
    leave(ADMISSION_COUNTED, "127.0.0.2");
}

static void test_so_many_of_one_address(void **state)
{
    snapshot.connections_per_address = 2;
    assert_int_equal(enter("192.0.2.1"), ADMISSION_COUNTED_BY_ADDRESS);
    assert_int_equal(enter("192.0.2.1"), ADMISSION_COUNTED_BY_ADDRESS);
    assert_int_equal(enter("192.0.2.1"), ADMISSION_REFUSED);
    assert_int_equal(enter("192.0.2.2"), ADMISSION_COUNTED_BY_ADDRESS);
    leave(ADMISSION_COUNTED_BY_ADDRESS, "192.0.2.1");
    assert_int_equal(enter("192.0.2.1"), ADMISSION_COUNTED_BY_ADDRESS);
    assert_int_equal(enter("192.0.2.1"), ADMISSION_REFUSED);
    leave(ADMISSION_COUNTED_BY_ADDRESS, "192.0.2.1");
    leave(ADMISSION_COUNTED_BY_ADDRESS, "192.0.2.1");
    leave(ADMISSION_COUNTED_BY_ADDRESS, "192.0.2.2");
}

static void test_an_ipv6_network_counts_as_one(void **state)
{
    snapshot.connections_per_address = 1;
    assert_int_equal(enter("2001:db8:0:1::1"), ADMISSION_COUNTED_BY_ADDRESS);
    assert_int_equal(enter("2001:db8:0:1:ffff::2"), ADMISSION_REFUSED);
    assert_int_equal(enter("2001:db8:0:2::1"), ADMISSION_COUNTED_BY_ADDRESS);
    assert_int_equal(enter("0.0.0.1"), ADMISSION_COUNTED_BY_ADDRESS);
    assert_int_equal(enter("::1"), ADMISSION_COUNTED_BY_ADDRESS);
    leave(ADMISSION_COUNTED_BY_ADDRESS, "2001:db8:0:1::1");
    leave(ADMISSION_COUNTED_BY_ADDRESS, "2001:db8:0:2::1");
    leave(ADMISSION_COUNTED_BY_ADDRESS, "0.0.0.1");
    leave(ADMISSION_COUNTED_BY_ADDRESS, "::1");
}

/* Who came before the limit was set is not counted, and does not count when he goes. */
static void test_limit_that_is_set_later(void **state)
{
    enum admission early = enter("192.0.2.1");
    snapshot.connections_per_address = 1;
    enum admission late = enter("192.0.2.1");
    assert_int_equal(late, ADMISSION_COUNTED_BY_ADDRESS);
    leave(early, "192.0.2.1");
    assert_int_equal(enter("192.0.2.1"), ADMISSION_REFUSED);
    snapshot.connections_per_address = 0;
    leave(late, "192.0.2.1");
}

enum { ADDRESSES = 3000, THREADS = 4, ROUNDS = 20000 };

static void test_many_addresses(void **state)
{
    snapshot.connections_per_address = 1;
    for (int go = 0; go < 2; go++) {
        char text[32];
        for (int i = 0; i < ADDRESSES; i++) {
            snprintf(text, sizeof text, "10.0.%d.%d", i / 256, i % 256);
            assert_int_equal(enter(text), ADMISSION_COUNTED_BY_ADDRESS);
            assert_int_equal(enter(text), ADMISSION_REFUSED);
        }
        for (int i = 0; i < ADDRESSES; i++) {
            snprintf(text, sizeof text, "10.0.%d.%d", i / 256, i % 256);
            leave(ADMISSION_COUNTED_BY_ADDRESS, text);
        }
    }
}

static void *come_and_go(void *user)
{
    struct address address = *(const struct address *)user;
    for (int i = 0; i < ROUNDS; i++) {
        enum admission admission = admission_enter(&snapshot, &config, &address);
        if (admission != ADMISSION_REFUSED)
            admission_leave(admission, &address);
    }
    return NULL;
}

static void test_from_many_threads(void **state)
{
    pthread_t threads[THREADS];
    struct address address = address_of("192.0.2.1");
    snapshot.connections_per_address = 2;
    snapshot.connections_max = 1;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &address), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_false(admission_full(&snapshot)); /* nobody is left */
    assert_int_equal(enter("192.0.2.1"), ADMISSION_COUNTED_BY_ADDRESS);
    assert_true(admission_full(&snapshot));
    leave(ADMISSION_COUNTED_BY_ADDRESS, "192.0.2.1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_only_who_is_allowed, reset),
        cmocka_unit_test_setup(test_so_many_in_all, reset),
        cmocka_unit_test_setup(test_so_many_of_one_address, reset),
        cmocka_unit_test_setup(test_an_ipv6_network_counts_as_one, reset),
        cmocka_unit_test_setup(test_limit_that_is_set_later, reset),
        cmocka_unit_test_setup(test_many_addresses, reset),
        cmocka_unit_test_setup(test_from_many_threads, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
