/* tests/unit/core/exchange/access_record_test.c - what becomes of an exchange's facts
 *
 * Clocks and the collecting of lines are this file's own. */
#include "core/exchange/access_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "core/exchange/access_lines.h"
#include "core/io/loop.h"

enum { WALL_US = 1772600767000000 };

static uint64_t now_us;
static struct access_record record; /* the last one */
static char client_text[64], server_text[64], filter_name[64], why_text[64];
static int records;
static bool wanted, failed;

/* --- clocks and lines */

uint64_t loop_now_us(struct loop *loop)
{
    return now_us;
}

uint64_t loop_wall_us(struct loop *loop)
{
    return WALL_US + now_us;
}

bool access_lines_wanted(struct access_lines *lines, uint32_t sample, bool has_failed)
{
    assert_int_equal(sample, 5);
    failed = has_failed;
    return wanted;
}

static weir_string keep(char text[64], weir_string string)
{
    assert_true(string.length < 64);
    if (string.length)
        memcpy(text, string.bytes, string.length);
    return (weir_string){text, string.length};
}

void access_lines_add(struct access_lines *lines, const struct access_format *format,
                      const struct access_record *given)
{
    assert_ptr_equal(lines, (void *)&records);
    assert_ptr_equal(format, (void *)&wanted);
    record = *given;
    record.client = keep(client_text, given->client);
    record.server = keep(server_text, given->server);
    record.filter = keep(filter_name, given->filter);
    record.why = keep(why_text, given->why);
    records++;
}

/* --- an exchange */

static _Alignas(8) uint8_t first_block[65536];
static struct snapshot snapshot;
static struct worker worker;
static struct connection client, server;
static struct carrier client_carrier, server_carrier;
static struct exchange exchange;
static struct filter_record record_of_filters;
static struct filter_chain chain;
static struct head request, response;
static const weir_filter filter = {.size = sizeof filter, .name = "auth"};
static const struct filter_use filter_use = {.filter = &filter, .plugin = "test"};
static struct filter_state replier = {.use = &filter_use};

static struct address address(const char *text)
{
    struct address parsed;
    assert_true(address_parse(string_of(text), &parsed));
    return parsed;
}

static const weir_protocol protocol = {.size = sizeof protocol, .name = "h1"};

static int set_up(void **state)
{
    memset(&exchange, 0, sizeof exchange);
    memset(&record_of_filters, 0, sizeof record_of_filters);
    exchange.filters.record = &record_of_filters;
    memset(&worker, 0, sizeof worker);
    snapshot = (struct snapshot){
        .access_log = {.on = true, .sample = 5, .compiled = (const void *)&wanted}};
    exchange.filters.chains[0] = &chain;
    chain.count = 0;
    worker.index = 2;
    worker.access_lines = (void *)&records;
    exchange.number = 77;
    client_carrier.facts.peer = address("192.0.2.255:1");
    server_carrier.facts.peer = address("10.0.0.1:65535");
    client.carrier = &client_carrier;
    server.carrier = &server_carrier;
    client.protocol = server.protocol = &protocol;
    arena_init(&exchange.arena, first_block, sizeof first_block);
    exchange.worker = &worker;
    exchange.snapshot = &snapshot;
    exchange.request = &request;
    exchange.server.connection = &server;
    now_us = exchange.start_us = 1000;
    response.view.status = 200;
    wanted = true;
    records = 0;
    return 0;
}

/* The server's answer, as far as the log sees it. */
static void run_to_the_answer(void)
{
    access_begin(&exchange, &client);
    exchange.attempt.number = 1;
    now_us = 1500;
    exchange.progress = PROGRESS_SENT;
    access_sent(&exchange);
    now_us = 1800;
    access_answered(&exchange);
    exchange.response = &response;
    exchange.response_sent = true;
    now_us = 2000;
}

static void text_is(weir_string text, const char *expected)
{
    assert_int_equal(text.length, strlen(expected));
    assert_memory_equal(text.bytes, expected, text.length);
}

/* --- tests */

static void off(void **state)
{
    snapshot.access_log.on = false;
    run_to_the_answer();
    access_end(&exchange, WEIR_OK);
    assert_null(exchange.notes);
    assert_int_equal(records, 0);
    snapshot.access_log.on = true;
    worker.access_lines = NULL;
    run_to_the_answer();
    access_end(&exchange, WEIR_OK);
    assert_null(exchange.notes);
}

/* They ask although nothing is logged. */
static void notes_for_filters(void **state)
{
    snapshot.access_log.on = false;
    chain.count = 1;
    run_to_the_answer();
    access_end(&exchange, WEIR_RESET);
    assert_int_equal(records, 0);
    assert_int_equal(exchange.notes->answered_us, 1800);
    assert_int_equal(exchange.notes->cause, WEIR_RESET);
}

static void who_and_what_filters_say(void **state)
{
    run_to_the_answer();
    access_end(&exchange, WEIR_OK);
    assert_int_equal(record.user.length, 0);
    assert_int_equal(notes_set_user(&exchange, WEIR_STRING("alice")), WEIR_OK);
    assert_int_equal(notes_set_user(&exchange, WEIR_STRING("")), WEIR_INVALID);
    assert_int_equal(notes_set_user(&exchange, WEIR_STRING("a\nb")), WEIR_INVALID);
    static char long_name[USER_BYTES + 1];
    memset(long_name, 'a', sizeof long_name);
    assert_int_equal(notes_set_user(&exchange, (weir_string){long_name, sizeof long_name}),
                     WEIR_TOO_MUCH);
    variable_set(&exchange.notes->variables, &exchange.arena, WEIR_STRING("rule"),
                 WEIR_STRING("7"));
    access_end(&exchange, WEIR_OK);
    text_is(record.user, "alice");
    text_is(variable_find(record.variables, WEIR_STRING("rule"))->value, "7");
}

static void all_of_it(void **state)
{
    run_to_the_answer();
    exchange.attempt.reused = true;
    exchange.attempt.times = (struct dial_times){11, 22};
    exchange.client.received_bytes = 33;
    exchange.client.sent_bytes = 44;
    access_end(&exchange, WEIR_OK);
    assert_int_equal(records, 1);
    assert_false(failed);
    assert_int_equal(record.worker, 2);
    assert_int_equal(record.number, 77);
    assert_int_equal(record.time_us, WALL_US + 1000); /* when it began */
    assert_int_equal(record.total_us, 1000);
    assert_int_equal(record.first_byte_us, 300);
    assert_int_equal(record.dns_us, 11);
    assert_int_equal(record.connect_us, 22);
    assert_int_equal(record.request_bytes, 33);
    assert_int_equal(record.response_bytes, 44);
    assert_int_equal(record.attempts, 1);
    assert_true(record.reused);
    assert_ptr_equal(record.request, &request.view);
    assert_ptr_equal(record.response, &response.view);
    assert_int_equal(record.by, ACCESS_BY_SERVER);
    text_is(record.client, "192.0.2.255");
    text_is(record.server, "10.0.0.1:65535");
    text_is(record.why, "ok");
}

/* Connections may be gone when the exchange ends. */
static void addresses_outlive_connections(void **state)
{
    run_to_the_answer();
    exchange.server.connection = NULL;
    memset(&client_carrier, 0, sizeof client_carrier);
    memset(&server_carrier, 0, sizeof server_carrier);
    access_end(&exchange, WEIR_RESET);
    text_is(record.client, "192.0.2.255");
    text_is(record.server, "10.0.0.1:65535");
}

static void kinds_of_addresses(void **state)
{
    client_carrier.facts.peer = address("[2001:db8::1]:5");
    server_carrier.facts.peer = address("[::1]:8");
    run_to_the_answer();
    access_end(&exchange, WEIR_OK);
    text_is(record.client, "2001:db8::1");
    text_is(record.server, "[::1]:8");
    client_carrier.facts.peer = address("[::ffff:192.0.2.1]:5"); /* of a dual-stack listener */
    server_carrier.facts.peer = address("[2001:db8:1111:2222:3333:4444:5555:6666]:65535");
    run_to_the_answer();
    access_end(&exchange, WEIR_OK);
    text_is(record.client, "192.0.2.1");
    text_is(record.server, "[2001:db8:1111:2222:3333:4444:5555:6666]:65535");
    memset(&client_carrier, 0, sizeof client_carrier);
    client_carrier.facts.peer.any.sa_family = AF_UNIX;
    run_to_the_answer();
    access_end(&exchange, WEIR_OK);
    text_is(record.client, "unix");
}

static void every_number_of_an_address(void **state)
{
    for (unsigned i = 0; i < 256; i++) {
        char text[32], expected[32];
        snprintf(text, sizeof text, "10.%u.0.%u:%u", i, 255 - i, i * 257);
        snprintf(expected, sizeof expected, "10.%u.0.%u", i, 255 - i);
        client_carrier.facts.peer = server_carrier.facts.peer = address(text);
        run_to_the_answer();
        access_end(&exchange, WEIR_OK);
        text_is(record.client, expected);
        text_is(record.server, text);
    }
}

static void nothing_was_sent(void **state)
{
    access_begin(&exchange, &client);
    now_us = 1000; /* no time passes */
    access_end(&exchange, WEIR_RESET);
    assert_true(failed);
    assert_null(record.response);
    assert_int_equal(record.by, ACCESS_BY_NOBODY);
    assert_int_equal(record.server.length, 0);
    assert_int_equal(record.first_byte_us, 0);
    assert_int_equal(record.total_us, 1); /* 0 would be none */
    text_is(record.why, "reset");
}

/* The answer to a failure is delivered well; the log says what failed. */
static void weir_answers_a_failure(void **state)
{
    run_to_the_answer();
    exchange.progress = PROGRESS_ANSWERED;
    exchange.cause = WEIR_DNS_ERROR;
    response.view.status = 502;
    access_end(&exchange, WEIR_OK);
    assert_true(failed);
    assert_int_equal(record.by, ACCESS_BY_WEIR);
    text_is(record.why, "dns_error");
    access_end(&exchange, WEIR_RESET); /* when the client did not even take that */
    text_is(record.why, "reset");
}

static void weir_or_a_filter_answers(void **state)
{
    run_to_the_answer();
    exchange.progress = PROGRESS_ANSWERED;
    access_end(&exchange, WEIR_OK);
    assert_int_equal(record.by, ACCESS_BY_WEIR);
    assert_false(failed);
    exchange.filters.record->replier = &replier;
    access_end(&exchange, WEIR_OK);
    assert_int_equal(record.by, ACCESS_BY_FILTER);
    text_is(record.filter, "auth");
    exchange.cause = WEIR_INTERNAL; /* and then another failed */
    access_end(&exchange, WEIR_OK);
    assert_int_equal(record.by, ACCESS_BY_WEIR);
    assert_int_equal(record.filter.length, 0);
}

static void what_counts_as_failed(void **state)
{
    run_to_the_answer();
    for (uint32_t status = 200; status < 600; status++) {
        response.view.status = status;
        access_end(&exchange, WEIR_OK);
        assert_int_equal(failed, status >= 400);
    }
    response.view.status = 200;
    access_end(&exchange, WEIR_TRUNCATED);
    assert_true(failed);
    wanted = false;
    records = 0;
    access_end(&exchange, WEIR_TRUNCATED);
    assert_int_equal(records, 0);
}

/* An answer of weir's own is no first byte of the server; one attempt does not count for the next.
 */
static void first_bytes(void **state)
{
    access_begin(&exchange, &client);
    exchange.progress = PROGRESS_ANSWERED;
    access_answered(&exchange);
    access_end(&exchange, WEIR_OK);
    assert_int_equal(record.first_byte_us, 0);
    run_to_the_answer();
    now_us = 5000;
    server_carrier.facts.peer = address("10.0.0.2:80");
    access_sent(&exchange);
    access_end(&exchange, WEIR_CONNECTION_TERMINATED);
    assert_int_equal(record.first_byte_us, 0);
    text_is(record.server, "10.0.0.2:80");
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(off),
        TEST(notes_for_filters),
        TEST(who_and_what_filters_say),
        TEST(all_of_it),
        TEST(addresses_outlive_connections),
        TEST(kinds_of_addresses),
        TEST(every_number_of_an_address),
        TEST(nothing_was_sent),
        TEST(weir_answers_a_failure),
        TEST(weir_or_a_filter_answers),
        TEST(what_counts_as_failed),
        TEST(first_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
