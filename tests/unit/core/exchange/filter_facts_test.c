/* tests/unit/core/exchange/filter_facts_test.c - what filters are told of an exchange
 *
 * Clocks are this file's own. */
#include "core/exchange/filter_facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/exchange/access_lines.h"
#include "core/exchange/access_record.h"
#include "core/io/loop.h"

enum { WALL_US = 1772600767000000 };

static uint64_t now_us;

uint64_t loop_now_us(struct loop *loop)
{
    return now_us;
}

uint64_t loop_wall_us(struct loop *loop)
{
    return WALL_US + now_us;
}

/* Nothing is logged. */
bool access_lines_wanted(struct access_lines *lines, uint32_t sample, bool failed)
{
    fail();
    return false;
}

void access_lines_add(struct access_lines *lines, const struct access_format *format,
                      const struct access_record *record)
{
    fail();
}

static _Alignas(8) uint8_t first_block[4096];
static struct snapshot snapshot;
static struct worker worker;
static struct connection client, server;
static struct carrier client_carrier, server_carrier;
static struct connection_terms terms;
static struct filter_chain chain;
static const struct filter_chain no_chain;
static struct exchange exchange;
static struct filter_record record_of_filters;
static struct filter_state filter;
static struct head request, response;
static const weir_filter other = {.size = sizeof other, .name = "auth"};
static const struct filter_use other_use = {.filter = &other, .plugin = "test"};
static struct filter_state replier = {.use = &other_use};
static const weir_filter_host table = {
    .size = sizeof table,
    .text = filter_text,
    .number = filter_number,
    .variable = filter_variable,
    .set_variable = filter_set_variable,
};
static const weir_filter_host *const host = &table;

static struct address address(const char *text)
{
    struct address parsed;
    assert_true(address_parse(string_of(text), &parsed));
    return parsed;
}

static const weir_protocol h1 = {.size = sizeof h1, .name = "h1"};
static const weir_protocol h2 = {.size = sizeof h2, .name = "h2"};
static const struct tls_peer peer = {.subject = "CN=ann", .fingerprint = "c0ffee"};
static const struct tls_facts tls = {.version = "TLSv1.3",
                                     .cipher = "TLS_AES_128_GCM_SHA256",
                                     .alpn = WEIR_STRING("h2"),
                                     .server_name = WEIR_STRING("a.example"),
                                     .peer = &peer};

static int set_up(void **state)
{
    memset(&exchange, 0, sizeof exchange);
    memset(&record_of_filters, 0, sizeof record_of_filters);
    exchange.filters.record = &record_of_filters;
    memset(&worker, 0, sizeof worker);
    snapshot = (struct snapshot){0};
    worker.index = 2;
    exchange.number = 77;
    client_carrier.facts.peer = address("[::ffff:192.0.2.255]:1025");
    client_carrier.facts.local = address("[::ffff:192.0.2.9]:3128");
    server_carrier.facts.peer = address("[2001:db8::1]:80");
    terms.listener = "[::]:3128";
    client = (struct connection){.carrier = &client_carrier, .protocol = &h1, .terms = &terms};
    server = (struct connection){.carrier = &server_carrier, .protocol = &h2};
    chain.count = 1;
    arena_init(&exchange.arena, first_block, sizeof first_block);
    exchange.worker = &worker;
    exchange.snapshot = &snapshot;
    exchange.filters.chains[0] = &chain;
    exchange.filters.chains[1] = &no_chain;
    exchange.request = &request;
    exchange.client.connection = &client;
    exchange.server.connection = &server;
    filter = (struct filter_state){.exchange = &exchange};
    now_us = exchange.start_us = 1000;
    response.view.status = 200;
    access_begin(&exchange, &client);
    return 0;
}

static int tear_down(void **state)
{
    arena_deinit(&exchange.arena);
    arena_pool_deinit();
    return 0;
}

static void text_is(uint32_t what, const char *expected)
{
    weir_string value = {"unset", 5};
    assert_int_equal(host->text(&filter.public, what, &value), WEIR_OK);
    assert_int_equal(value.length, strlen(expected));
    assert_memory_equal(value.bytes, expected, value.length);
}

static void number_is(uint32_t what, int64_t expected)
{
    int64_t value = -7;
    assert_int_equal(host->number(&filter.public, what, &value), WEIR_OK);
    assert_int_equal(value, expected);
}

static void answer(void)
{
    exchange.attempt.number = 1;
    exchange.progress = PROGRESS_SENT;
    now_us = 1500;
    access_sent(&exchange);
    now_us = 1800;
    access_answered(&exchange);
    exchange.response = &response;
}

static void before_anything_happens(void **state)
{
    text_is(WEIR_CLIENT_ADDRESS, "192.0.2.255");
    text_is(WEIR_LOCAL_ADDRESS, "192.0.2.9:3128");
    text_is(WEIR_SERVER_ADDRESS, "");
    text_is(WEIR_LISTENER, "[::]:3128");
    text_is(WEIR_ROUTE, "");
    text_is(WEIR_UPSTREAM, "");
    text_is(WEIR_USER, "");
    text_is(WEIR_ANSWERED_BY, "");
    text_is(WEIR_CAUSE, "");
    text_is(WEIR_IDENTITY, "2-77");
    text_is(WEIR_CLIENT_SCHEME, "http");
    text_is(WEIR_CLIENT_PROTOCOL, "h1");
    for (uint32_t what = WEIR_CLIENT_TLS; what <= WEIR_CLIENT_FINGERPRINT; what++)
        text_is(what, "");
    number_is(WEIR_STATUS, 0);
    number_is(WEIR_EXCHANGE_NUMBER, 77);
    number_is(WEIR_ATTEMPTS, 0);
    number_is(WEIR_REQUEST_BYTES, 0);
    number_is(WEIR_RESPONSE_BYTES, 0);
    number_is(WEIR_STARTED_US, WALL_US + 1000);
    number_is(WEIR_FIRST_BYTE_US, 0);
    number_is(WEIR_TOTAL_US, 0);
    number_is(WEIR_CLIENT_PORT, 1025);
}

static void both_legs_with_tls(void **state)
{
    client_carrier.facts.tls = server_carrier.facts.tls = &tls;
    access_begin(&exchange, &client);
    answer();
    client_carrier.facts.tls = server_carrier.facts.tls = NULL; /* the connections are gone */
    text_is(WEIR_CLIENT_PROTOCOL, "h1");
    text_is(WEIR_CLIENT_TLS, "TLSv1.3");
    text_is(WEIR_CLIENT_CIPHER, "TLS_AES_128_GCM_SHA256");
    text_is(WEIR_CLIENT_TLS_NAME, "a.example");
    text_is(WEIR_SERVER_PROTOCOL, "h2");
    text_is(WEIR_SERVER_TLS, "TLSv1.3");
    text_is(WEIR_SERVER_CIPHER, "TLS_AES_128_GCM_SHA256");
    text_is(WEIR_SERVER_TLS_NAME, "a.example");
    text_is(WEIR_CLIENT_CERTIFICATE, "CN=ann");
    text_is(WEIR_CLIENT_FINGERPRINT, "c0ffee");
}

static void afterwards(void **state)
{
    answer();
    exchange.client.received_bytes = 33;
    exchange.client.sent_bytes = 44;
    exchange.target.group = &(struct upstream_group){.name = (char *)"app"};
    exchange.target.route = &(struct route_config){.name = (char *)"main"};
    now_us = 5000;
    exchange.finished = true;
    access_end(&exchange, WEIR_OK);
    text_is(WEIR_SERVER_ADDRESS, "[2001:db8::1]:80");
    text_is(WEIR_UPSTREAM, "app");
    text_is(WEIR_ROUTE, "main");
    text_is(WEIR_ANSWERED_BY, "server");
    text_is(WEIR_CAUSE, "ok");
    number_is(WEIR_STATUS, 200);
    number_is(WEIR_ATTEMPTS, 1);
    number_is(WEIR_REQUEST_BYTES, 33);
    number_is(WEIR_RESPONSE_BYTES, 44);
    number_is(WEIR_STARTED_US, WALL_US + 1000);
    number_is(WEIR_FIRST_BYTE_US, 800);
    number_is(WEIR_TOTAL_US, 4000);
}

/* close() asks when both legs are gone. */
static void connections_may_be_gone(void **state)
{
    answer();
    exchange.client.connection = exchange.server.connection = NULL;
    memset(&client_carrier, 0, sizeof client_carrier);
    memset(&server_carrier, 0, sizeof server_carrier);
    text_is(WEIR_CLIENT_ADDRESS, "192.0.2.255");
    text_is(WEIR_SERVER_ADDRESS, "[2001:db8::1]:80");
    text_is(WEIR_LOCAL_ADDRESS, "");
}

static void who_answered_and_why(void **state)
{
    answer();
    exchange.progress = PROGRESS_ANSWERED;
    exchange.cause = WEIR_DNS_ERROR;
    text_is(WEIR_ANSWERED_BY, "weir");
    text_is(WEIR_CAUSE, "dns_error");
    exchange.cause = WEIR_OK;
    exchange.filters.record->replier = &replier;
    text_is(WEIR_ANSWERED_BY, "auth");
    text_is(WEIR_CAUSE, "");
}

static void a_unix_client_has_no_port(void **state)
{
    memset(&exchange.notes->client, 0, sizeof exchange.notes->client);
    exchange.notes->client.any.sa_family = AF_UNIX;
    text_is(WEIR_CLIENT_ADDRESS, "unix");
    number_is(WEIR_CLIENT_PORT, 0);
}

/* Each has its own place: all of them are there at once. */
static void texts_live_until_the_hook_returns(void **state)
{
    weir_string client_text, local_text, server_text, id;
    answer();
    host->text(&filter.public, WEIR_CLIENT_ADDRESS, &client_text);
    host->text(&filter.public, WEIR_LOCAL_ADDRESS, &local_text);
    host->text(&filter.public, WEIR_SERVER_ADDRESS, &server_text);
    host->text(&filter.public, WEIR_IDENTITY, &id);
    assert_true(string_equal(client_text, WEIR_STRING("192.0.2.255")));
    assert_true(string_equal(local_text, WEIR_STRING("192.0.2.9:3128")));
    assert_true(string_equal(server_text, WEIR_STRING("[2001:db8::1]:80")));
    assert_true(string_equal(id, WEIR_STRING("2-77")));
}

static void no_such_fact(void **state)
{
    weir_string text = {"unset", 5};
    int64_t number = -7;
    static const uint32_t none[] = {0, 1000, UINT32_MAX};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(host->text(&filter.public, none[i], &text), WEIR_UNSUPPORTED);
        assert_int_equal(host->number(&filter.public, none[i], &number), WEIR_UNSUPPORTED);
    }
    assert_int_equal(text.length, 5);
    assert_int_equal(number, -7);
}

static void variables(void **state)
{
    weir_string value, name = WEIR_STRING("acme.rule");
    assert_int_equal(host->variable(&filter.public, name, &value), WEIR_NOT_FOUND);
    assert_int_equal(host->set_variable(&filter.public, WEIR_STRING("a b"), name), WEIR_INVALID);
    assert_int_equal(host->set_variable(&filter.public, name, WEIR_STRING("7")), WEIR_OK);
    assert_int_equal(host->variable(&filter.public, name, &value), WEIR_OK);
    assert_true(string_equal(value, WEIR_STRING("7")));
    exchange.notes = NULL; /* of an exchange that nobody asked about */
    assert_int_equal(host->variable(&filter.public, name, &value), WEIR_NOT_FOUND);
    assert_int_equal(host->set_variable(&filter.public, name, WEIR_STRING("8")), WEIR_OK);
    assert_int_equal(host->variable(&filter.public, name, &value), WEIR_OK);
    text_is(WEIR_CLIENT_ADDRESS, "");
}

static void the_user(void **state)
{
    char user[] = "alice";
    assert_int_equal(notes_set_user(&exchange, string_of(user)), WEIR_OK);
    memset(user, 'z', 5);
    text_is(WEIR_USER, "alice");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(before_anything_happens),
        TEST(both_legs_with_tls),
        TEST(afterwards),
        TEST(connections_may_be_gone),
        TEST(who_answered_and_why),
        TEST(a_unix_client_has_no_port),
        TEST(texts_live_until_the_hook_returns),
        TEST(no_such_fact),
        TEST(variables),
        TEST(the_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
