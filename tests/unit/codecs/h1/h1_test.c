/* tests/unit/codecs/h1/h1_test.c - the life of a connection: taken, kept, drained, given up */
#include "codecs/h1/h1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CHECK(condition) assert_true(condition)
#include "tests/unit/codecs/h1/fake_host.h"

static int tear_down(void **state)
{
    fake_gone();
    return 0;
}

static int open_server(void **state)
{
    fake_open(WEIR_SERVER_SIDE);
    return 0;
}

static int open_client(void **state)
{
    fake_open(WEIR_CLIENT_SIDE);
    return 0;
}

static size_t feed(const char *text)
{
    return fake_feed(text, strlen(text), 65536);
}

static struct fake_channel *current(void)
{
    struct fake_channel *channel = &fake.channels[fake.begun - 1];
    assert_true(fake.begun && channel->open);
    return channel;
}

/* A head with a body of so many bytes, -1: of unknown length. */
static void begin_answer(struct fake_channel *channel, int64_t length)
{
    weir_head head = {.size = sizeof head,
                      .kind = WEIR_REQUEST,
                      .status = 200,
                      .reason = WEIR_STRING("OK"),
                      .content_length = length};
    fake_send_head(channel, &head, length ? 0 : WEIR_END);
}

static void begin_tunnel(struct fake_channel *channel)
{
    weir_head head = {.size = sizeof head,
                      .kind = WEIR_TUNNEL,
                      .status = 200,
                      .reason = WEIR_STRING("OK"),
                      .content_length = -1};
    fake_send_head(channel, &head, 0);
}

static void closed(uint32_t how)
{
    assert_true(fake.closing);
    assert_int_equal(fake.close_how, how);
}

#define GET "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

/* --- whose bytes */

static void sniffing(void **state)
{
    static const struct {
        const char *bytes;
        int32_t answer, at_end;
    } cases[] = {
        {"", WEIR_SNIFF_MORE, WEIR_SNIFF_NO},       {"\r", WEIR_SNIFF_MORE, WEIR_SNIFF_NO},
        {"\r\n\n", WEIR_SNIFF_MORE, WEIR_SNIFF_NO}, {"G", WEIR_SNIFF_YES, WEIR_SNIFF_YES},
        {"z", WEIR_SNIFF_YES, WEIR_SNIFF_YES},      {"a", WEIR_SNIFF_YES, WEIR_SNIFF_YES},
        {"Z", WEIR_SNIFF_YES, WEIR_SNIFF_YES},      {"A", WEIR_SNIFF_YES, WEIR_SNIFF_YES},
        {"\r\nA", WEIR_SNIFF_YES, WEIR_SNIFF_YES},  {"\x16\x03\x01", WEIR_SNIFF_NO, WEIR_SNIFF_NO},
        {"\x05\x01", WEIR_SNIFF_NO, WEIR_SNIFF_NO}, {"1", WEIR_SNIFF_NO, WEIR_SNIFF_NO},
        {" GET", WEIR_SNIFF_NO, WEIR_SNIFF_NO},     {"\r\n@", WEIR_SNIFF_NO, WEIR_SNIFF_NO},
        {"[", WEIR_SNIFF_NO, WEIR_SNIFF_NO},        {"`", WEIR_SNIFF_NO, WEIR_SNIFF_NO},
        {"{", WEIR_SNIFF_NO, WEIR_SNIFF_NO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t *bytes = (const uint8_t *)cases[i].bytes;
        size_t count = strlen(cases[i].bytes);
        assert_int_equal(fake.protocol->connection->sniff(bytes, count, 0), cases[i].answer);
        assert_int_equal(fake.protocol->connection->sniff(bytes, count, 1), cases[i].at_end);
    }
}

/* --- a client's connection */

static void deadlines_of_a_client(void **state)
{
    assert_int_equal(fake.deadline_ms, 10000); /* for the first head */
    feed("GET / HT");
    assert_int_equal(fake.deadline_ms, 10000);
    feed("TP/1.1\r\nHost: a\r\n\r\n");
    assert_int_equal(fake.deadline_ms, 0); /* the exchange has limits of its own */
    begin_answer(current(), 0);
    fake_let_go(current());
    assert_int_equal(fake.deadline_ms, 70000); /* idle */
    fake_turn();
    feed("\r\nG");
    assert_int_equal(fake.deadline_ms, 10000); /* in a head again */
}

static void an_idle_client_just_ends(void **state)
{
    fake_timeout();
    closed(WEIR_CLOSE_FLUSH);
    assert_int_equal(fake.begun, 0);
    fake_gone();
    open_client(state);
    feed(GET);
    begin_answer(current(), 0);
    fake_let_go(current());
    fake_turn();
    fake_timeout();
    closed(WEIR_CLOSE_FLUSH);
}

static void a_late_timeout_means_nothing(void **state)
{
    feed(GET);
    fake.deadline_ms = 1; /* it was cleared, yet it comes */
    fake_timeout();
    assert_false(fake.closing);
    assert_int_equal(fake.begun, 1);
}

static void draining_a_client(void **state)
{
    fake_drain(); /* idle: at once */
    closed(WEIR_CLOSE_FLUSH);
    fake_gone();
    open_client(state);
    feed("GET / HTTP/1.1\r\n"); /* in a head: it is served */
    fake_drain();
    assert_false(fake.closing);
    feed("Host: a\r\n\r\n" GET);
    begin_answer(current(), 0);
    fake_let_go(current());
    assert_true(fake.closing);
    fake_turn();
    assert_int_equal(fake.begun, 1); /* and nothing behind it */
}

/* --- how it is closed when an exchange is given up */

static void a_cut_that_shows_needs_no_reset(void **state)
{
    feed(GET);
    begin_answer(current(), 100);
    fake_send(current(), "half of it", 10, 0);
    fake_reset(current(), WEIR_TRUNCATED);
    closed(WEIR_CLOSE_LINGER);
    fake_gone();
    open_client(state);
    feed(GET);
    begin_answer(current(), -1);
    fake_send(current(), "a chunk", 7, 0);
    fake_reset(current(), WEIR_TRUNCATED);
    closed(WEIR_CLOSE_LINGER);
    fake_produce();
    assert_null(strstr(fake.output.bytes, "0\r\n\r\n")); /* never a complete message */
    assert_int_equal(fake.close_why, WEIR_TRUNCATED);
}

static void a_cut_that_would_look_complete_is_a_reset(void **state)
{
    feed("GET / HTTP/1.0\r\n\r\n");
    begin_answer(current(), -1);
    fake_send(current(), "half of it", 10, 0);
    fake_reset(current(), WEIR_TRUNCATED);
    closed(WEIR_CLOSE_RESET);
    fake_gone();
    open_client(state);
    feed("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n");
    begin_tunnel(current());
    fake_reset(current(), WEIR_TRUNCATED);
    closed(WEIR_CLOSE_RESET);
}

/* An exchange that is let go in the middle, without a reset. */
static void let_go_in_the_middle(void **state)
{
    feed(GET);
    begin_answer(current(), 100);
    fake_send(current(), "half of it", 10, 0);
    fake_let_go(current());
    assert_true(fake.closing);
    assert_true(fake.close_how != WEIR_CLOSE_NOW);
    fake_gone();
    open_client(state);
    feed("GET / HTTP/1.0\r\n\r\n");
    begin_answer(current(), -1);
    fake_send(current(), "half of it", 10, 0);
    fake_let_go(current());
    closed(WEIR_CLOSE_RESET);
    fake_gone();
    open_client(state);
    feed("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n");
    begin_tunnel(current());
    fake_send(current(), "", 0, WEIR_END); /* one direction has ended, the other not */
    fake_let_go(current());
    closed(WEIR_CLOSE_RESET);
}

static void a_tunnel_that_ended_in_both_directions(void **state)
{
    feed("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n");
    begin_tunnel(current());
    fake_end(WEIR_END_CLEAN);
    fake_send(current(), "bye", 3, WEIR_END);
    fake_let_go(current());
    assert_true(fake.closing);
    assert_true(fake.close_how <= WEIR_CLOSE_LINGER); /* what is queued still leaves */
}

/* --- requests answered before they are whole */

enum { DISCARDED_MOST = 1024 * 1024 };

static void answer_early(const char *head)
{
    feed(head);
    begin_answer(current(), 2);
    fake_send(current(), "no", 2, WEIR_END);
    fake_let_go(current());
    assert_false(fake.closing);
    assert_int_equal(fake.deadline_ms, 2000);
}

static void the_rest_of_an_answered_request_is_discarded(void **state)
{
    static char body[300000];
    answer_early("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\nabc");
    fake_turn();
    assert_int_equal(fake_feed(body, sizeof body - 3, 10000), sizeof body - 3);
    assert_int_equal(fake.carrier_credit, WEIR_CREDIT);
    assert_int_equal(fake.deadline_ms, 70000);
    feed(GET);
    assert_int_equal(fake.begun, 2); /* the connection goes on behind it */
}

static void the_rest_of_chunks_is_discarded(void **state)
{
    answer_early("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab");
    fake_turn();
    feed("c\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n" GET);
    assert_int_equal(fake.begun, 2);
    assert_int_equal(fake.carrier_credit, WEIR_CREDIT);
}

static void the_rest_of_trailers_is_discarded(void **state)
{
    answer_early("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ");
    fake_turn();
    feed("y\r\n\r\n" GET);
    assert_int_equal(fake.begun, 2);
    assert_int_equal(fake.carrier_credit, WEIR_CREDIT);
}

static void not_more_than_a_mebibyte_is_discarded(void **state)
{
    static char body[2 * DISCARDED_MOST];
    answer_early("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n");
    fake_turn();
    assert_int_equal(fake_feed(body, DISCARDED_MOST, 16384), DISCARDED_MOST);
    assert_false(fake.closing);
    fake_feed(body, 1, 1);
    assert_true(fake.closing);
}

/* Closed while bytes behind it are in hand: nothing of them begins an exchange any more. */
static void nothing_is_begun_behind_a_close(void **state)
{
    static char body[DISCARDED_MOST];
    answer_early("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n");
    fake_turn();
    fake_feed(body, DISCARDED_MOST, 16384);
    assert_false(fake.closing);
    feed("\r\n1\r\nx\r\n0\r\n\r\n" GET GET);
    assert_true(fake.closing);
    assert_int_equal(fake.begun, 1);
    fake_gone();
    open_client(state);
    answer_early("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n");
    fake_turn();
    fake_feed(body, DISCARDED_MOST, 16384);
    feed("x" GET);
    assert_true(fake.closing);
    assert_int_equal(fake.begun, 1);
}

static void discarding_ends_some_time(void **state)
{
    answer_early("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n");
    fake_turn();
    fake_timeout();
    assert_true(fake.closing);
    assert_int_equal(fake.begun, 1);
    fake_gone();
    open_client(state);
    answer_early("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n");
    fake_turn();
    fake_end(WEIR_END_CLEAN);
    assert_true(fake.closing);
    fake_gone();
    open_client(state);
    answer_early("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    fake_turn();
    feed("nonsense\r\n" GET);
    assert_true(fake.closing);
    assert_int_equal(fake.begun, 1);
}

/* --- a half-closed client */

static void requests_before_the_end_are_answered(void **state)
{
    feed(GET GET GET);
    fake_end(WEIR_END_CLEAN);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(fake.begun, i);
        assert_false(fake.closing);
        begin_answer(current(), 0);
        fake_let_go(current());
        fake_turn();
        fake_turn();
    }
    closed(WEIR_CLOSE_FLUSH);
}

static void the_end_between_two_of_them(void **state)
{
    feed(GET GET);
    begin_answer(current(), 0);
    fake_let_go(current());
    fake_end(WEIR_END_CLEAN); /* before the next was looked at */
    fake_turn();
    fake_turn();
    assert_int_equal(fake.begun, 2);
    assert_false(fake.closing);
    begin_answer(current(), 0);
    fake_let_go(current());
    fake_turn();
    fake_turn();
    closed(WEIR_CLOSE_FLUSH);
}

/* --- a server's connection */

static struct fake_channel *exchange(const char *answer)
{
    struct fake_channel *channel = fake_attach();
    weir_head head = {.size = sizeof head,
                      .kind = WEIR_REQUEST,
                      .method = WEIR_STRING("GET"),
                      .path = WEIR_STRING("/"),
                      .content_length = -1};
    assert_int_equal(fake_send_head(channel, &head, WEIR_END), WEIR_OK);
    fake_turn();
    feed(answer);
    return channel;
}

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static void a_server_is_used_again(void **state)
{
    assert_int_equal(fake_spare(), 1);
    for (int i = 0; i < 3; i++) {
        struct fake_channel *channel = exchange(OK);
        assert_int_equal(fake_spare(), 0);
        assert_int_equal(fake.deadline_ms, 0);
        assert_true(channel->ended);
        fake_let_go(channel);
        assert_int_equal(fake_spare(), 1);
        assert_int_equal(fake.deadline_ms, 70000);
    }
    fake_timeout();
    closed(WEIR_CLOSE_FLUSH);
    assert_int_equal(fake_spare(), 0);
}

static void a_server_that_closes_is_not(void **state)
{
    struct fake_channel *channel =
        exchange("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    fake_let_go(channel);
    closed(WEIR_CLOSE_FLUSH);
    fake_gone();
    open_server(state);
    channel = exchange(OK);
    fake_end(WEIR_END_CLEAN);
    assert_int_equal(channel->failed, WEIR_OK); /* the answer is whole */
    fake_let_go(channel);
    closed(WEIR_CLOSE_FLUSH);
}

static void an_exchange_given_up_ends_the_connection(void **state)
{
    struct fake_channel *channel = exchange("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
    fake_let_go(channel); /* nobody wants the rest */
    closed(WEIR_CLOSE_RESET);
    fake_gone();
    open_server(state);
    channel = exchange("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
    fake_reset(channel, WEIR_CANCELLED);
    closed(WEIR_CLOSE_RESET);
}

static void a_request_that_was_not_sent_to_its_end(void **state)
{
    struct fake_channel *channel = fake_attach();
    weir_head head = {.size = sizeof head,
                      .kind = WEIR_REQUEST,
                      .method = WEIR_STRING("POST"),
                      .path = WEIR_STRING("/"),
                      .content_length = 100};
    fake_send_head(channel, &head, 0);
    fake_send(channel, "abc", 3, 0);
    fake_turn();
    feed(OK); /* an early answer */
    assert_true(channel->ended);
    fake_let_go(channel);
    closed(WEIR_CLOSE_RESET);
}

/* It still leaves; bytes of it that the server never read would count as the next one's. */
static void a_request_that_has_not_left(void **state)
{
    struct fake_channel *channel = fake_attach();
    weir_head head = {.size = sizeof head,
                      .kind = WEIR_REQUEST,
                      .method = WEIR_STRING("POST"),
                      .path = WEIR_STRING("/"),
                      .content_length = 3};
    fake_send_head(channel, &head, 0);
    fake_send(channel, "abc", 3, WEIR_END);
    fake_produce();
    feed(OK);
    assert_true(channel->ended);
    fake_let_go(channel);
    closed(WEIR_CLOSE_FLUSH);
    assert_int_equal(fake_spare(), 0);
}

static void the_last_bytes_of_an_upgrade(void **state)
{
    struct fake_channel *channel = fake_attach();
    weir_head head = {.size = sizeof head,
                      .kind = WEIR_REQUEST,
                      .method = WEIR_STRING("GET"),
                      .path = WEIR_STRING("/"),
                      .protocol = WEIR_STRING("websocket"),
                      .content_length = -1};
    assert_int_equal(fake_send_head(channel, &head, 0), WEIR_OK);
    fake_turn();
    feed("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    fake_end(WEIR_END_CLEAN);
    fake_send(channel, "bye", 3, WEIR_END);
    fake_produce(); /* the server reads slowly */
    fake_let_go(channel);
    closed(WEIR_CLOSE_FLUSH);
}

static void draining_a_server(void **state)
{
    fake_drain(); /* idle */
    closed(WEIR_CLOSE_FLUSH);
    fake_gone();
    open_server(state);
    struct fake_channel *channel = exchange("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
    fake_drain();
    assert_false(fake.closing);
    feed("ok");
    assert_true(channel->ended);
    fake_let_go(channel);
}

#define CLIENT(function) cmocka_unit_test_setup_teardown(function, open_client, tear_down)
#define SERVER(function) cmocka_unit_test_setup_teardown(function, open_server, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT(sniffing),
        CLIENT(deadlines_of_a_client),
        CLIENT(an_idle_client_just_ends),
        CLIENT(a_late_timeout_means_nothing),
        CLIENT(draining_a_client),
        CLIENT(a_cut_that_shows_needs_no_reset),
        CLIENT(a_cut_that_would_look_complete_is_a_reset),
        CLIENT(let_go_in_the_middle),
        CLIENT(a_tunnel_that_ended_in_both_directions),
        CLIENT(the_rest_of_an_answered_request_is_discarded),
        CLIENT(the_rest_of_chunks_is_discarded),
        CLIENT(the_rest_of_trailers_is_discarded),
        CLIENT(not_more_than_a_mebibyte_is_discarded),
        CLIENT(nothing_is_begun_behind_a_close),
        CLIENT(discarding_ends_some_time),
        CLIENT(requests_before_the_end_are_answered),
        CLIENT(the_end_between_two_of_them),
        SERVER(a_server_is_used_again),
        SERVER(a_server_that_closes_is_not),
        SERVER(an_exchange_given_up_ends_the_connection),
        SERVER(a_request_that_was_not_sent_to_its_end),
        SERVER(a_request_that_has_not_left),
        SERVER(the_last_bytes_of_an_upgrade),
        SERVER(draining_a_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
