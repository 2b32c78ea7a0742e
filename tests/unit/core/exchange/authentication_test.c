/* tests/unit/core/exchange/authentication_test.c - credentials of a request, as filters read them
 */
#include "core/exchange/authentication.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "core/exchange/exchange.h"

static _Alignas(8) uint8_t first_block[4096];
static struct exchange exchange;
static struct filter_state filter = {.exchange = &exchange};
static weir_credentials credentials;

static int set_up(void **state)
{
    memset(&exchange, 0, sizeof exchange);
    arena_init(&exchange.arena, first_block, sizeof first_block);
    exchange.request = head_new(&exchange.arena);
    return 0;
}

static int tear_down(void **state)
{
    arena_deinit(&exchange.arena);
    arena_pool_deinit();
    return 0;
}

static weir_result ask(const char *name)
{
    memset(&credentials, 0xff, sizeof credentials);
    credentials.size = sizeof credentials;
    return filter_credentials(&filter.public, string_of(name), &credentials);
}

static void take(const char *value)
{
    head_append(exchange.request, WEIR_STRING("Authorization"), string_of(value));
    assert_int_equal(ask("authorization"), WEIR_OK);
    exchange.request->count = 0;
}

static void are(const char *scheme, const char *name, const char *secret, const char *token)
{
    assert_true(string_equal(credentials.scheme, string_of(scheme)));
    assert_true(string_equal(credentials.name, string_of(name)));
    assert_true(string_equal(credentials.secret, string_of(secret)));
    assert_true(string_equal(credentials.token, string_of(token)));
}

static void basic(void **state)
{
    take("Basic dTpw");
    are("basic", "u", "p", "dTpw");
    take("BASIC   dTpwOnE=");
    are("basic", "u", "p:q", "dTpwOnE=");
    take("Basic Og==");
    are("basic", "", "", "Og==");
    take("Basic dTpwOnE");
    are("basic", "u", "p:q", "dTpwOnE");
}

static void broken(void **state)
{
    take("Basic");
    are("basic", "", "", "");
    take("Basic dQ==");
    are("basic", "", "", "dQ==");
    take("Basic d!pw");
    are("basic", "", "", "d!pw");
    take("");
    are("", "", "", "");
}

static void others(void **state)
{
    take("Bearer abc.def");
    are("bearer", "", "", "abc.def");
}

static void absent(void **state)
{
    assert_int_equal(ask("Authorization"), WEIR_NOT_FOUND);
    are("", "", "", "");
}

/* Which field it is says the caller; the first of that name counts. */
static void any_field(void **state)
{
    head_append(exchange.request, WEIR_STRING("X-Key"), WEIR_STRING("Key one"));
    head_append(exchange.request, WEIR_STRING("x-key"), WEIR_STRING("Key two"));
    assert_int_equal(ask("x-key"), WEIR_OK);
    are("key", "", "", "one");
}

/* A plugin that was built when there was less of it gets no more. */
static void shorter(void **state)
{
    head_append(exchange.request, WEIR_STRING("Authorization"), WEIR_STRING("Basic dTpw"));
    memset(&credentials, 0xff, sizeof credentials);
    credentials.size = offsetof(weir_credentials, token);
    weir_string before = credentials.token;
    assert_int_equal(filter_credentials(&filter.public, WEIR_STRING("Authorization"), &credentials),
                     WEIR_OK);
    assert_int_equal(credentials.size, offsetof(weir_credentials, token));
    assert_true(string_equal(credentials.secret, WEIR_STRING("p")));
    assert_int_equal(credentials.token.length, before.length);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(basic),  TEST(broken),    TEST(others),
                                       TEST(absent), TEST(any_field), TEST(shorter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
