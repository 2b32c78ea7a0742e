/* tests/unit/plugins/socks5/socks5_test.c - a SOCKS5 connection: greeting, request, tunnel, end */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CHECK(condition) assert_true(condition)
#include "tests/unit/fake_protocol_host.h"

extern const weir_plugin weir_plugin_entry;

#define NO_METHOD "\5\xff"
#define GREETING "\5\1\0"
#define GREETED "\5\0"
#define OFFER "\5\2\0\2" /* both methods */
#define CHOSEN "\5\2"
#define PASSWORD "\1\4anna\6secret"
#define VERDICT_GOOD "\1\0"
#define VERDICT_BAD "\1\1"
#define NAME_REQUEST                                                                               \
    "\5\1\0\3\x0c"                                                                                 \
    "example.test\0\x50"
#define REPLY(code) "\5" code "\0\1\0\0\0\0\0\0"
#define SUCCEEDED REPLY("\0")

static int set_up(void **state)
{
    assert_int_equal(weir_plugin_entry.load(fake_host()), WEIR_OK);
    fake_open_protocol(fake_registered, WEIR_CLIENT_SIDE);
    return 0;
}

static int tear_down(void **state)
{
    fake_gone();
    return 0;
}

/* --- little words */

static void feed_pieces(const char *bytes, size_t count, size_t piece)
{
    assert_int_equal(fake_feed(bytes, count, piece), count);
}

#define FEED(bytes) feed_pieces(bytes, sizeof bytes - 1, 65536)

/* Exactly that was written since the last time. */
static void said(const char *bytes, size_t count)
{
    fake_turn();
    assert_int_equal(fake.output.length, count);
    if (count)
        assert_memory_equal(fake.output.bytes, bytes, count);
    fake.output.length = 0;
}

#define SAID(bytes) said(bytes, sizeof bytes - 1)

static struct fake_channel *current(void)
{
    assert_true(fake.begun);
    return &fake.channels[fake.begun - 1];
}

static bool is(weir_string string, const char *text)
{
    return string.length == strlen(text) && !memcmp(string.bytes, text, string.length);
}

static void closed(uint32_t how)
{
    assert_true(fake.closing);
    assert_int_equal(fake.close_how, how);
}

static void holds(const struct fake_bytes *bytes, const char *text)
{
    assert_int_equal(bytes->length, strlen(text));
    assert_string_equal(bytes->bytes, text);
}

/* An exchange for that target is begun. */
static struct fake_channel *asked(const char *authority)
{
    assert_int_equal(fake.begun, 1);
    const weir_head *head = &current()->head->view;
    assert_int_equal(head->kind, WEIR_TUNNEL);
    assert_int_equal(head->flags, 0);
    assert_true(is(head->method, "CONNECT") && is(head->version, "SOCKS/5"));
    assert_true(is(head->authority, authority));
    assert_true(!head->scheme.length && !head->path.length && head->content_length == -1);
    return current();
}

/* There was no request; the exchange says so. */
static struct fake_channel *malformed(weir_result error)
{
    assert_int_equal(fake.begun, 1);
    assert_int_equal(current()->head->view.kind, WEIR_MALFORMED_REQUEST);
    assert_int_equal(current()->head->view.error, error);
    assert_true(current()->ended);
    return current();
}

static void accept_tunnel(struct fake_channel *channel)
{
    weir_head head = {
        .size = sizeof head, .kind = WEIR_TUNNEL, .status = 200, .content_length = -1};
    assert_int_equal(fake_send_head(channel, &head, 0), WEIR_OK);
}

/* An answer of HTTP's with a body, whole. */
static void answer(struct fake_channel *channel, uint32_t status, weir_result error)
{
    weir_head head = {.size = sizeof head,
                      .kind = WEIR_REQUEST,
                      .status = status,
                      .error = error,
                      .content_length = 5};
    assert_int_equal(fake_send_head(channel, &head, 0), WEIR_OK);
    fake_send(channel, "text\n", 5, WEIR_END);
    fake_let_go(channel);
}

static struct fake_channel *open_tunnel(void)
{
    FEED(GREETING);
    SAID(GREETED);
    FEED(NAME_REQUEST);
    struct fake_channel *channel = asked("example.test:80");
    accept_tunnel(channel);
    SAID(SUCCEEDED);
    return channel;
}

/* --- whose bytes */

static void sniffing(void **state)
{
    for (unsigned first = 0; first < 256; first++) {
        uint8_t bytes[] = {(uint8_t)first, 1, 0};
        for (size_t count = 1; count <= sizeof bytes; count++)
            for (uint32_t end = 0; end < 2; end++)
                assert_int_equal(fake.protocol->connection->sniff(bytes, count, end),
                                 first == 5 ? WEIR_SNIFF_YES : WEIR_SNIFF_NO);
    }
    assert_int_equal(fake.protocol->connection->sniff(NULL, 0, 0), WEIR_SNIFF_MORE);
    assert_int_equal(fake.protocol->connection->sniff(NULL, 0, 1), WEIR_SNIFF_NO);
}

static void what_it_is(void **state)
{
    assert_string_equal(fake.protocol->name, "socks5");
    assert_non_null(fake.protocol->client);
    assert_null(fake.protocol->server);
}

/* --- step by step */

static void step_by_step(void **state)
{
    assert_int_equal(fake.deadline_ms, 10000);
    FEED(GREETING);
    SAID(GREETED);
    assert_int_equal(fake.begun, 0);
    assert_int_equal(fake.deadline_ms, 10000); /* for all of it */
    FEED(NAME_REQUEST);
    struct fake_channel *channel = asked("example.test:80");
    assert_int_equal(fake.deadline_ms, 0); /* the exchange has limits of its own */
    SAID("");
    accept_tunnel(channel);
    SAID(SUCCEEDED);
    FEED("ping");
    holds(&channel->body, "ping");
    fake_send(channel, "pong", 4, 0);
    SAID("pong");
    assert_false(fake.closing);
}

static void addresses(void **state)
{
    FEED(GREETING "\5\1\0\4\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1\1\xbb");
    asked("[2001:db8::1]:443");
}

/* All at once, with the first bytes of the tunnel; and cut at every place, or everywhere. */
static void run_cut(size_t first, size_t piece)
{
    static const char all[] = GREETING NAME_REQUEST "early\0bytes";
    feed_pieces(all, first, piece);
    feed_pieces(all + first, sizeof all - 1 - first, piece);
    struct fake_channel *channel = asked("example.test:80");
    assert_int_equal(channel->body.length, 11);
    assert_memory_equal(channel->body.bytes, "early\0bytes", 11);
    SAID(GREETED);
    accept_tunnel(channel);
    SAID(SUCCEEDED);
    fake_consume(channel, channel->owed);
    assert_int_equal(fake.carrier_credit, WEIR_CREDIT); /* every byte was granted again */
}

static void cut_anywhere(void **state)
{
    for (size_t first = 0; first <= sizeof(GREETING NAME_REQUEST) + 10; first++) {
        run_cut(first, 65536);
        tear_down(state);
        set_up(state);
    }
    run_cut(0, 1);
}

static void run_cut_with_password(size_t first, size_t piece)
{
    static const char all[] = OFFER PASSWORD NAME_REQUEST "early";
    fake.authenticates = true;
    feed_pieces(all, first, piece);
    feed_pieces(all + first, sizeof all - 1 - first, piece);
    assert_true(fake.judging && !fake.begun);
    fake_authenticated(WEIR_OK);
    holds(&asked("example.test:80")->body, "early");
    SAID(CHOSEN VERDICT_GOOD);
    fake_consume(current(), 5);
    assert_int_equal(fake.carrier_credit, WEIR_CREDIT);
}

static void cut_anywhere_with_password(void **state)
{
    for (size_t first = 0; first < sizeof(OFFER PASSWORD NAME_REQUEST) + 5; first++) {
        run_cut_with_password(first, 65536);
        tear_down(state);
        set_up(state);
    }
    run_cut_with_password(0, 1);
}

/* --- methods and passwords */

static void methods(void **state)
{
    static const struct {
        const char *greeting;
        size_t count;
        bool authenticates;
        const char *said;
        weir_result error; /* WEIR_OK: it goes on */
    } cases[] = {
        {"\5\1\0", 3, false, GREETED, WEIR_OK},
        {"\5\2\0\2", 4, false, GREETED, WEIR_OK},
        {"\5\2\2\0", 4, true, CHOSEN, WEIR_OK},
        {"\5\1\2", 3, true, CHOSEN, WEIR_OK},
        {"\5\1\0", 3, true, NO_METHOD, WEIR_UNAUTHENTICATED},
        {"\5\1\2", 3, false, NO_METHOD, WEIR_NOT_IMPLEMENTED},
        {"\5\1\1", 3, false, NO_METHOD, WEIR_NOT_IMPLEMENTED},
        {"\5\0", 2, false, NO_METHOD, WEIR_NOT_IMPLEMENTED},
        {"\5\0", 2, true, NO_METHOD, WEIR_UNAUTHENTICATED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fake.authenticates = cases[i].authenticates;
        feed_pieces(cases[i].greeting, cases[i].count, 65536);
        said(cases[i].said, 2);
        if (cases[i].error == WEIR_OK) {
            assert_int_equal(fake.begun, 0);
        } else {
            answer(malformed(cases[i].error), 407, cases[i].error);
            SAID("");
            closed(WEIR_CLOSE_LINGER);
        }
        tear_down(state);
        set_up(state);
    }
}

static void good_password(void **state)
{
    fake.authenticates = true;
    FEED(OFFER);
    SAID(CHOSEN);
    FEED(PASSWORD);
    SAID("");
    assert_int_equal(fake.deadline_ms, 0); /* it is not the client who is waited for */
    holds(&fake.scheme, "password");
    holds(&fake.name, "anna");
    holds(&fake.secret, "secret");
    fake_authenticated(WEIR_OK);
    SAID(VERDICT_GOOD);
    assert_int_equal(fake.deadline_ms, 10000);
    FEED(NAME_REQUEST);
    asked("example.test:80");
}

static void bad_password(void **state)
{
    fake.authenticates = true;
    FEED(OFFER PASSWORD NAME_REQUEST);
    fake_authenticated(WEIR_UNAUTHENTICATED);
    closed(WEIR_CLOSE_LINGER);
    SAID(CHOSEN VERDICT_BAD);
    assert_int_equal(fake.begun, 0);
}

static void broken_password(void **state)
{
    fake.authenticates = true;
    FEED(OFFER "\5\1\0\1");
    SAID(CHOSEN VERDICT_BAD);
    answer(malformed(WEIR_MALFORMED), 400, WEIR_MALFORMED);
    SAID("");
    closed(WEIR_CLOSE_LINGER);
    assert_false(fake.judging);
}

/* Whoever floods meanwhile is stopped by the credit. */
static void what_comes_while_they_judge(void **state)
{
    static char flood[200000];
    static const char start[] = NAME_REQUEST;
    fake.authenticates = true;
    FEED(OFFER PASSWORD);
    for (size_t i = 0; i < sizeof flood; i++)
        flood[i] = (char)(i % 251);
    memcpy(flood, start, sizeof start - 1);
    size_t taken = fake_feed(flood, sizeof flood, 7);
    assert_int_equal(taken, WEIR_CREDIT);
    fake_authenticated(WEIR_OK);
    struct fake_channel *channel = asked("example.test:80");
    assert_int_equal(channel->body.length, taken - (sizeof start - 1));
    assert_memory_equal(channel->body.bytes, flood + sizeof start - 1, channel->body.length);
}

static void a_client_that_ends_while_they_judge(void **state)
{
    fake.authenticates = true;
    FEED(OFFER PASSWORD NAME_REQUEST "all");
    fake_end(WEIR_END_CLEAN);
    assert_false(fake.closing);
    fake_authenticated(WEIR_OK);
    holds(&asked("example.test:80")->body, "all");
    assert_true(current()->ended && !fake.closing);
}

static void a_client_that_ends_without_a_request(void **state)
{
    fake.authenticates = true;
    FEED(OFFER PASSWORD "\5\1");
    fake_end(WEIR_END_CLEAN);
    fake_authenticated(WEIR_OK);
    closed(WEIR_CLOSE_FLUSH);
    assert_int_equal(fake.begun, 0);
}

static void a_client_that_dies_while_they_judge(void **state)
{
    fake.authenticates = true;
    FEED(OFFER PASSWORD);
    fake_end(WEIR_END_RESET);
    closed(WEIR_CLOSE_RESET);
}

/* --- replies */

static void replies(void **state)
{
    static const struct {
        uint32_t status;
        weir_result error;
        const char *reply;
    } cases[] = {
        {502, WEIR_CONNECTION_REFUSED, REPLY("\5")},
        {502, WEIR_DNS_ERROR, REPLY("\4")},
        {502, WEIR_UNROUTABLE, REPLY("\3")},
        {504, WEIR_CONNECTION_TIMEOUT, REPLY("\6")},
        {504, WEIR_RESPONSE_TIMEOUT, REPLY("\6")},
        {403, WEIR_ADDRESS_PROHIBITED, REPLY("\2")},
        {403, WEIR_DENIED, REPLY("\2")},
        {407, WEIR_UNAUTHENTICATED, REPLY("\2")},
        {403, WEIR_OK, REPLY("\2")}, /* a filter's */
        {401, WEIR_OK, REPLY("\2")},
        {504, WEIR_OK, REPLY("\6")},
        {200, WEIR_OK, REPLY("\1")}, /* a page instead of a tunnel */
        {400, WEIR_MALFORMED, REPLY("\1")},
        {503, WEIR_LIMIT_REACHED, REPLY("\1")},
        {500, WEIR_INTERNAL, REPLY("\1")},
        {508, WEIR_LOOP, REPLY("\1")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FEED(GREETING NAME_REQUEST);
        SAID(GREETED);
        answer(asked("example.test:80"), cases[i].status, cases[i].error);
        said(cases[i].reply, 10);
        closed(WEIR_CLOSE_LINGER);
        tear_down(state);
        set_up(state);
    }
}

static void requests_not_understood(void **state)
{
    static const struct {
        const char *request;
        size_t count;
        weir_result error;
        const char *reply;
    } cases[] = {
        {"\5\2\0\1\1\2\3\4\0\1", 10, WEIR_NOT_IMPLEMENTED, REPLY("\7")},
        {"\5\3\0\1\1\2\3\4\0\1", 10, WEIR_NOT_IMPLEMENTED, REPLY("\7")},
        {"\5\1\0\2\1\2\3\4\0\1", 10, WEIR_NOT_IMPLEMENTED, REPLY("\10")},
        {"\4\1\0\1\1\2\3\4\0\1", 10, WEIR_MALFORMED, REPLY("\1")},
        {"\5\1\0\3\3a\0b\0\1", 10, WEIR_MALFORMED, REPLY("\1")},
        {"\5\1\0\3\0\0\1", 7, WEIR_MALFORMED, REPLY("\1")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece < 12; piece += 10) {
            FEED(GREETING);
            feed_pieces(cases[i].request, cases[i].count, piece);
            FEED("and more");
            SAID(GREETED);
            assert_int_equal(fake.carrier_credit, WEIR_CREDIT); /* read and dropped */
            answer(malformed(cases[i].error), 400, cases[i].error);
            said(cases[i].reply, 10);
            closed(WEIR_CLOSE_LINGER);
            tear_down(state);
            set_up(state);
        }
}

static void other_protocols(void **state)
{
    FEED("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    answer(malformed(WEIR_MALFORMED), 400, WEIR_MALFORMED);
    SAID("");
    closed(WEIR_CLOSE_LINGER);
}

/* Bytes for the tunnel that is not to be: they must not make the reply come to nothing. */
static void refused_with_early_bytes(void **state)
{
    FEED(GREETING NAME_REQUEST "early");
    struct fake_channel *channel = asked("example.test:80");
    weir_head head = {.size = sizeof head,
                      .kind = WEIR_REQUEST,
                      .status = 502,
                      .error = WEIR_CONNECTION_REFUSED,
                      .content_length = -1};
    fake_send_head(channel, &head, 0);
    FEED("more");
    fake_end(WEIR_END_CLEAN);
    holds(&channel->body, "early");
    size_t credit = channel->credit;
    fake_send(channel, "body", 4, 0);
    assert_int_equal(channel->credit, credit); /* dropped: granted at once */
    fake_send(channel, NULL, 0, WEIR_END);
    fake_let_go(channel);
    SAID(GREETED REPLY("\5"));
    closed(WEIR_CLOSE_LINGER);
}

/* An answer is broken off behind its head: the reply has been said all the same. */
static void a_refusal_that_is_reset(void **state)
{
    FEED(GREETING NAME_REQUEST);
    weir_head head = {
        .size = sizeof head, .kind = WEIR_REQUEST, .status = 403, .content_length = -1};
    fake_send_head(asked("example.test:80"), &head, 0);
    fake_reset(current(), WEIR_INTERNAL);
    SAID(GREETED REPLY("\2"));
    closed(WEIR_CLOSE_LINGER);
}

static void interim_heads_have_no_place(void **state)
{
    weir_head head = {.size = sizeof head, .status = 103, .content_length = -1};
    FEED(GREETING NAME_REQUEST);
    assert_int_equal(fake_send_interim(current(), &head), WEIR_UNSUPPORTED);
    SAID(GREETED);
}

/* --- the tunnel */

/* Its bytes are taken as far as they were granted, and no further than they have left. */
static void credit_both_ways(void **state)
{
    static char bytes[WEIR_CREDIT + 100];
    struct fake_channel *channel = open_tunnel();
    assert_int_equal(channel->credit, WEIR_CREDIT);
    assert_int_equal(fake_send(channel, bytes, sizeof bytes, 0), WEIR_CREDIT);
    fake_produce();
    assert_int_equal(channel->credit, 0);
    fake_sent();
    assert_int_equal(channel->credit, WEIR_CREDIT);
    assert_int_equal(fake.output.length, WEIR_CREDIT);
    assert_int_equal(fake_feed(bytes, sizeof bytes, 65536), WEIR_CREDIT);
    assert_int_equal(channel->owed, WEIR_CREDIT);
    fake_consume(channel, 1000);
    assert_int_equal(fake.carrier_credit, 1000);
}

static void many_small_slices(void **state)
{
    struct fake_channel *channel = open_tunnel();
    char expected[500];
    for (size_t i = 0; i < sizeof expected; i++) {
        expected[i] = (char)(i % 251);
        fake_send(channel, expected + i, 1, 0);
    }
    said(expected, sizeof expected);
    assert_int_equal(channel->credit, WEIR_CREDIT);
}

static void the_client_ends_first(void **state)
{
    struct fake_channel *channel = open_tunnel();
    FEED("question");
    fake_end(WEIR_END_CLEAN);
    assert_true(channel->ended && !fake.closing);
    fake_send(channel, "ans", 3, 0);
    SAID("ans");
    assert_false(fake.half_closed);
    fake_send(channel, "wer", 3, WEIR_END);
    fake_let_go(channel);
    closed(WEIR_CLOSE_FLUSH);
    SAID("wer");
    assert_true(fake.half_closed);
}

static void the_server_ends_first(void **state)
{
    struct fake_channel *channel = open_tunnel();
    fake_send(channel, "bye", 3, WEIR_END);
    SAID("bye");
    assert_true(fake.half_closed && !fake.closing);
    FEED("more");
    holds(&channel->body, "more");
    fake_end(WEIR_END_CLEAN);
    fake_let_go(channel);
    closed(WEIR_CLOSE_FLUSH);
}

static void the_end_before_the_reply(void **state)
{
    FEED(GREETING NAME_REQUEST "all");
    fake_end(WEIR_END_CLEAN);
    struct fake_channel *channel = asked("example.test:80");
    assert_true(channel->ended);
    accept_tunnel(channel);
    fake_send(channel, "answer", 6, WEIR_END);
    fake_let_go(channel);
    closed(WEIR_CLOSE_FLUSH);
    SAID(GREETED SUCCEEDED "answer");
}

static void trailers_are_an_end(void **state)
{
    const weir_field fields[] = {{WEIR_STRING("X"), WEIR_STRING("y")}};
    struct fake_channel *channel = open_tunnel();
    fake_send_trailers(channel, fields, 1);
    SAID("");
    assert_true(fake.half_closed);
}

static void the_client_dies(void **state)
{
    static const uint32_t hows[] = {WEIR_END_RESET, WEIR_END_TRUNCATED, WEIR_END_TIMEOUT};
    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
        struct fake_channel *channel = open_tunnel();
        fake_end(hows[i]);
        assert_int_equal(channel->failed, WEIR_RESET);
        assert_false(channel->ended);
        fake_reset(channel, WEIR_RESET);
        closed(WEIR_CLOSE_RESET);
        tear_down(state);
        set_up(state);
    }
}

static void the_server_dies(void **state)
{
    struct fake_channel *channel = open_tunnel();
    fake_reset(channel, WEIR_RESET);
    closed(WEIR_CLOSE_RESET); /* no end that looks like one */
}

static void half_of_a_tunnel_is_not_an_end(void **state)
{
    struct fake_channel *channel = open_tunnel();
    fake_end(WEIR_END_CLEAN);
    fake_let_go(channel);
    closed(WEIR_CLOSE_RESET);
}

/* --- ends and time limits before there is an exchange */

static void ends_before_a_request(void **state)
{
    static const char all[] = GREETING NAME_REQUEST;
    for (size_t count = 0; count < sizeof all - 1; count++)
        for (int clean = 0; clean < 2; clean++) {
            feed_pieces(all, count, 65536);
            fake_end(clean ? WEIR_END_CLEAN : WEIR_END_RESET);
            closed(clean ? WEIR_CLOSE_FLUSH : WEIR_CLOSE_RESET);
            assert_int_equal(fake.begun, 0);
            tear_down(state);
            set_up(state);
        }
}

static void too_slow_with_its_greeting(void **state)
{
    FEED("\5\2\0");
    fake_timeout();
    answer(malformed(WEIR_HEAD_TIMEOUT), 408, WEIR_HEAD_TIMEOUT);
    SAID("");
    closed(WEIR_CLOSE_LINGER);
}

static void too_slow_with_its_password(void **state)
{
    fake.authenticates = true;
    FEED(OFFER "\1\4an");
    fake_timeout();
    answer(malformed(WEIR_HEAD_TIMEOUT), 408, WEIR_HEAD_TIMEOUT);
    SAID(CHOSEN);
    closed(WEIR_CLOSE_LINGER);
}

static void too_slow_with_its_request(void **state)
{
    FEED(GREETING "\5\1\0\3\x0c"
                  "exam");
    fake_timeout();
    FEED("ple.test");
    assert_int_equal(fake.carrier_credit, WEIR_CREDIT);
    answer(malformed(WEIR_HEAD_TIMEOUT), 408, WEIR_HEAD_TIMEOUT);
    SAID(GREETED REPLY("\1"));
    closed(WEIR_CLOSE_LINGER);
}

/* Bytes do not buy time: there is one limit for all that comes before the exchange. */
static void slow_bytes_do_not_count(void **state)
{
    fake.deadline_ms = 1234;
    FEED("\5");
    FEED("\1");
    FEED("\0");
    FEED("\5\1\0");
    assert_int_equal(fake.deadline_ms, 1234);
}

static void draining_waits_for_what_runs(void **state)
{
    FEED("\5");
    fake_drain();
    assert_false(fake.closing);
    FEED("\1\0" NAME_REQUEST);
    accept_tunnel(asked("example.test:80"));
    fake_drain();
    assert_false(fake.closing);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sniffing),
        TEST(what_it_is),
        TEST(step_by_step),
        TEST(addresses),
        TEST(cut_anywhere),
        TEST(cut_anywhere_with_password),
        TEST(methods),
        TEST(good_password),
        TEST(bad_password),
        TEST(broken_password),
        TEST(what_comes_while_they_judge),
        TEST(a_client_that_ends_while_they_judge),
        TEST(a_client_that_ends_without_a_request),
        TEST(a_client_that_dies_while_they_judge),
        TEST(replies),
        TEST(requests_not_understood),
        TEST(other_protocols),
        TEST(refused_with_early_bytes),
        TEST(a_refusal_that_is_reset),
        TEST(interim_heads_have_no_place),
        TEST(credit_both_ways),
        TEST(many_small_slices),
        TEST(the_client_ends_first),
        TEST(the_server_ends_first),
        TEST(the_end_before_the_reply),
        TEST(trailers_are_an_end),
        TEST(the_client_dies),
        TEST(the_server_dies),
        TEST(half_of_a_tunnel_is_not_an_end),
        TEST(ends_before_a_request),
        TEST(too_slow_with_its_greeting),
        TEST(too_slow_with_its_password),
        TEST(too_slow_with_its_request),
        TEST(slow_bytes_do_not_count),
        TEST(draining_waits_for_what_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
