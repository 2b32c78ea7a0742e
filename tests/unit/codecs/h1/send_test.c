/* tests/unit/codecs/h1/send_test.c - how messages are framed, and what comes back as credit */
#include "codecs/h1/connection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

/* A client's request is there; its channel. */
static struct fake_channel *serve(const char *request)
{
    assert_int_equal(fake_feed(request, strlen(request), 65536), strlen(request));
    struct fake_channel *channel = &fake.channels[fake.begun - 1];
    assert_true(channel->open && channel->head);
    return channel;
}

/* What was written since it was asked last. */
static void written_is(const char *expected)
{
    fake_produce();
    fake_append(&fake.output, "", 0);
    assert_string_equal(fake.output.bytes, expected);
    fake.output.length = 0;
}

static weir_head response(uint32_t status, int64_t content_length)
{
    static const weir_field field = {WEIR_STRING("A"), WEIR_STRING("b")};
    return (weir_head){.size = sizeof(weir_head),
                       .kind = WEIR_REQUEST,
                       .status = status,
                       .reason = WEIR_STRING("Why"),
                       .fields = &field,
                       .count = 1,
                       .content_length = content_length};
}

/* --- responses */

#define GET "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define HEAD "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"
#define GET_CLOSE "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
#define GET_10 "GET / HTTP/1.0\r\n\r\n"
#define GET_10_KEEP "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
#define WHY(status) "HTTP/1.1 " status " Why\r\nA: b\r\n"

static const struct {
    const char *request;
    uint32_t status;
    int64_t content_length;
    uint32_t flags;
    const char *head; /* written, without the empty line */
    const char *body; /* how "hello" is written behind it; NULL: it has ended */
    bool stays;       /* another request may follow */
} answers[] = {
    {GET, 200, 5, 0, WHY("200"), "hello", true},
    {GET, 200, -1, 0, WHY("200") "Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n", true},
    {GET, 200, -1, WEIR_END, WHY("200") "Content-Length: 0\r\n", NULL, true},
    {GET, 200, 0, WEIR_END, WHY("200"), NULL, true},
    {GET, 500, -1, WEIR_END, WHY("500") "Content-Length: 0\r\n", NULL, true},
    {GET, 204, -1, WEIR_END, WHY("204"), NULL, true},
    {GET, 304, -1, WEIR_END, WHY("304"), NULL, true},
    {GET, 304, 5, WEIR_END, WHY("304"), NULL, true},
    {GET, 204, -1, 0, WHY("204"), "", true}, /* a body that must not be is not sent */
    {GET, 304, 5, 0, WHY("304"), "", true},
    {HEAD, 200, 5, WEIR_END, WHY("200"), NULL, true},
    {HEAD, 200, -1, WEIR_END, WHY("200"), NULL, true},
    {HEAD, 200, 5, 0, WHY("200"), "", true},
    {GET, 200, 5, WEIR_LAST, WHY("200") "Connection: close\r\n", "hello", false},
    {GET, 400, -1, WEIR_END | WEIR_LAST, WHY("400") "Content-Length: 0\r\nConnection: close\r\n",
     NULL, false},
    {GET_CLOSE, 200, 5, 0, WHY("200") "Connection: close\r\n", "hello", false},
    {GET_CLOSE, 200, -1, 0, WHY("200") "Transfer-Encoding: chunked\r\nConnection: close\r\n",
     "5\r\nhello\r\n0\r\n\r\n", false},
    {GET_10, 200, 5, 0, WHY("200") "Connection: close\r\n", "hello", false},
    {GET_10, 200, -1, 0, WHY("200") "Connection: close\r\n", "hello", false}, /* until the end */
    {GET_10_KEEP, 200, 5, 0, WHY("200") "Connection: keep-alive\r\n", "hello", true},
    {GET_10_KEEP, 200, -1, 0, WHY("200") "Connection: close\r\n", "hello", false},
    {GET_10_KEEP, 200, -1, WEIR_END, WHY("200") "Content-Length: 0\r\nConnection: keep-alive\r\n",
     NULL, true},
    {GET_10_KEEP, 304, -1, WEIR_END, WHY("304") "Connection: keep-alive\r\n", NULL, true},
};

static void framing_of_responses(void **state)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        char expected[256];
        struct fake_channel *channel = serve(answers[i].request);
        weir_head head = response(answers[i].status, answers[i].content_length);
        assert_int_equal(fake_send_head(channel, &head, answers[i].flags), WEIR_OK);
        if (answers[i].body)
            assert_int_equal(fake_send(channel, "hello", 5, WEIR_END), 5);
        snprintf(expected, sizeof expected, "%s\r\n%s", answers[i].head,
                 answers[i].body ? answers[i].body : "");
        written_is(expected);
        fake_sent();
        assert_int_equal(channel->credit, WEIR_CREDIT); /* also for what was not sent on */
        fake_let_go(channel);
        assert_int_equal(fake.closing, !answers[i].stays);
        if (fake.closing)
            assert_int_equal(fake.close_how, WEIR_CLOSE_FLUSH);
        fake_gone();
        open_client(state);
    }
}

static void bodies_in_pieces(void **state)
{
    weir_head head = response(200, -1);
    struct fake_channel *channel = serve(GET);
    fake_send_head(channel, &head, 0);
    fake_send(channel, "abc", 3, 0);
    written_is(WHY("200") "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    fake_send(channel, "0123456789abcdef", 16, 0);
    fake_send(channel, "x", 1, 0);
    written_is("10\r\n0123456789abcdef\r\n1\r\nx\r\n");
    fake_send(channel, "", 0, WEIR_END);
    written_is("0\r\n\r\n");
    fake_sent();
    fake_let_go(channel);
    head.content_length = 4;
    channel = serve(GET);
    fake_send_head(channel, &head, 0);
    fake_send(channel, "abc", 3, 0);
    fake_send(channel, "d", 1, 0);
    written_is(WHY("200") "\r\nabcd");
    fake_send(channel, "", 0, WEIR_END);
    written_is("");
    fake_sent();
    fake_let_go(channel);
    assert_false(fake.closing);
}

static void trailers(void **state)
{
    const weir_field fields[] = {{WEIR_STRING("X-Sum"), WEIR_STRING("1")}};
    weir_head head = response(200, -1);
    struct fake_channel *channel = serve(GET);
    fake_send_head(channel, &head, 0);
    fake_send(channel, "abc", 3, 0);
    written_is(WHY("200") "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    fake_send_trailers(channel, fields, 1);
    written_is("0\r\nX-Sum: 1\r\n\r\n");
    fake_sent();
    fake_let_go(channel);
    head.content_length = 3; /* there is no place for them */
    channel = serve(GET);
    fake_send_head(channel, &head, 0);
    fake_send(channel, "abc", 3, 0);
    fake_send_trailers(channel, fields, 1);
    written_is(WHY("200") "\r\nabc");
    fake_sent();
    fake_let_go(channel);
    assert_false(fake.closing);
}

static void interim_responses(void **state)
{
    weir_head hint = response(103, -1), head = response(200, 0);
    struct fake_channel *channel = serve(GET);
    assert_int_equal(fake_send_interim(channel, &hint), WEIR_OK);
    assert_int_equal(fake_send_interim(channel, &hint), WEIR_OK);
    fake_send_head(channel, &head, WEIR_END);
    written_is(WHY("103") "\r\n" WHY("103") "\r\n" WHY("200") "\r\n");
    fake_sent();
    fake_let_go(channel);
    channel = serve(GET_10); /* knows none */
    assert_int_equal(fake_send_interim(channel, &hint), WEIR_UNSUPPORTED);
    fake_send_head(channel, &head, WEIR_END);
    written_is(WHY("200") "Connection: close\r\n\r\n");
}

/* More or less than was announced would be read as the next message's. */
static void bodies_that_do_not_fit_their_length(void **state)
{
    weir_head head = response(200, 3);
    for (int more = 0; more < 2; more++) {
        struct fake_channel *channel = serve(GET);
        fake_send_head(channel, &head, 0);
        fake_send(channel, "ab", 2, more ? 0 : WEIR_END);
        if (more)
            fake_send(channel, "cd", 2, 0);
        assert_int_equal(channel->failed, WEIR_INTERNAL);
        fake_produce();
        assert_true(fake.output.length <= strlen(WHY("200") "\r\nab"));
        fake_reset(channel, WEIR_INTERNAL);
        assert_true(fake.closing);
        fake_gone();
        open_client(state);
    }
}

static void nothing_follows_while_draining(void **state)
{
    weir_head head = response(200, 5);
    struct fake_channel *channel = serve(GET);
    fake_drain();
    assert_false(fake.closing); /* it is finished first */
    fake_send_head(channel, &head, 0);
    fake_send(channel, "hello", 5, WEIR_END);
    written_is(WHY("200") "Connection: close\r\n\r\nhello");
    fake_let_go(channel);
    assert_true(fake.closing);
    assert_int_equal(fake.close_how, WEIR_CLOSE_FLUSH);
}

/* --- credit */

static void credit_comes_back_when_bytes_have_left(void **state)
{
    static char body[100000];
    static const int64_t lengths[] = {sizeof body, -1};
    for (int i = 0; i < 2; i++) {
        weir_head head = response(200, lengths[i]);
        struct fake_channel *channel = serve(GET);
        assert_int_equal(channel->credit, WEIR_CREDIT);
        fake_send_head(channel, &head, 0);
        assert_int_equal(fake_send(channel, body, 20000, 0), 20000);
        fake_produce();
        assert_int_equal(fake_send(channel, body, 10000, 0), 10000);
        fake_sent(); /* not the second part: it was not written yet */
        assert_int_equal(channel->credit, WEIR_CREDIT - 10000);
        fake_produce();
        assert_int_equal(channel->credit, WEIR_CREDIT - 10000);
        fake_sent();
        assert_int_equal(channel->credit, WEIR_CREDIT);
        size_t left = sizeof body - 30000;
        while (left) { /* as fast as it leaves */
            size_t sent = fake_send(channel, body, left, WEIR_END);
            left -= sent;
            assert_true(sent > 0 || channel->credit == 0);
            fake_turn();
        }
        assert_int_equal(channel->left, sizeof body);
        fake_let_go(channel);
        fake_turn();
        assert_false(fake.closing);
    }
}

/* A body that is not sent on, to HEAD or with 304, does not use up the credit either. */
static void credit_of_what_is_dropped(void **state)
{
    static char body[300000];
    weir_head head = response(200, sizeof body);
    struct fake_channel *channel = serve(HEAD);
    fake_send_head(channel, &head, 0);
    size_t left = sizeof body;
    for (int turns = 0; left && turns < 100; turns++) {
        left -= fake_send(channel, body, left, WEIR_END);
        fake_turn();
    }
    assert_int_equal(left, 0);
    assert_int_equal(fake.output.length, strlen(WHY("200") "\r\n"));
}

/* --- requests */

static weir_head request(const char *method, int64_t content_length)
{
    static const weir_field field = {WEIR_STRING("A"), WEIR_STRING("b")};
    return (weir_head){.size = sizeof(weir_head),
                       .kind = WEIR_REQUEST,
                       .method = {method, strlen(method)},
                       .scheme = WEIR_STRING("http"),
                       .authority = WEIR_STRING("a"),
                       .path = WEIR_STRING("/p"),
                       .version = WEIR_STRING("1.0"),
                       .fields = &field,
                       .count = 1,
                       .content_length = content_length};
}

static void framing_of_requests(void **state)
{
    static const struct {
        const char *method;
        int64_t content_length;
        uint32_t flags;
        const char *written; /* with the body "hello" unless it has ended */
    } cases[] = {
        {"GET", -1, WEIR_END, "GET /p HTTP/1.1\r\nA: b\r\n\r\n"},
        {"DELETE", -1, WEIR_END, "DELETE /p HTTP/1.1\r\nA: b\r\n\r\n"},
        {"POST", -1, WEIR_END, "POST /p HTTP/1.1\r\nA: b\r\nContent-Length: 0\r\n\r\n"},
        {"PUT", -1, WEIR_END, "PUT /p HTTP/1.1\r\nA: b\r\nContent-Length: 0\r\n\r\n"},
        {"PATCH", -1, WEIR_END, "PATCH /p HTTP/1.1\r\nA: b\r\nContent-Length: 0\r\n\r\n"},
        {"POST", 0, WEIR_END, "POST /p HTTP/1.1\r\nA: b\r\n\r\n"}, /* a field says so */
        {"POST", 5, 0, "POST /p HTTP/1.1\r\nA: b\r\n\r\nhello"},
        {"GET", 5, 0, "GET /p HTTP/1.1\r\nA: b\r\n\r\nhello"},
        {"POST", -1, 0,
         "POST /p HTTP/1.1\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_channel *channel = fake_attach();
        weir_head head = request(cases[i].method, cases[i].content_length);
        assert_int_equal(channel->credit, WEIR_CREDIT);
        assert_int_equal(fake_send_head(channel, &head, cases[i].flags), WEIR_OK);
        if (!(cases[i].flags & WEIR_END))
            fake_send(channel, "hello", 5, WEIR_END);
        written_is(cases[i].written);
        fake_sent();
        fake_feed("HTTP/1.1 204 A\r\n\r\n", 18, 18);
        fake_let_go(channel);
        assert_int_equal(fake_spare(), 1);
    }
}

static void what_is_added_to_requests(void **state)
{
    static const weir_field te[] = {{WEIR_STRING("tE"), WEIR_STRING("trailers")}};
    static const weir_field others[] = {{WEIR_STRING("to"), WEIR_STRING("trailers")},
                                        {WEIR_STRING("xe"), WEIR_STRING("trailers")},
                                        {WEIR_STRING("tea"), WEIR_STRING("trailers")}};
    weir_head head = request("GET", -1);
    head.fields = others;
    head.count = 3;
    struct fake_channel *first = fake_attach();
    fake_send_head(first, &head, WEIR_END);
    written_is("GET /p HTTP/1.1\r\nto: trailers\r\nxe: trailers\r\ntea: trailers\r\n\r\n");
    fake_sent();
    fake_feed("HTTP/1.1 204 A\r\n\r\n", 18, 18);
    fake_let_go(first);
    head = request("GET", -1);
    head.fields = te;
    struct fake_channel *channel = fake_attach();
    fake_send_head(channel, &head, WEIR_END);
    written_is("GET /p HTTP/1.1\r\ntE: trailers\r\nConnection: TE\r\n\r\n");
    fake_sent();
    fake_feed("HTTP/1.1 204 A\r\n\r\n", 18, 18);
    fake_let_go(channel);
    head = request("GET", -1);
    head.protocol = WEIR_STRING("websocket");
    channel = fake_attach();
    fake_send_head(channel, &head, 0);
    written_is("GET /p HTTP/1.1\r\nA: b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
}

/* It died between being chosen and being used: nothing is written. */
static void a_request_on_a_dead_connection_is_refused(void **state)
{
    weir_head head = request("GET", -1);
    struct fake_channel *channel = fake_attach();
    fake_end(WEIR_END_CLEAN);
    assert_int_equal(fake_send_head(channel, &head, WEIR_END), WEIR_REFUSED);
    written_is("");
}

#define CLIENT(function) cmocka_unit_test_setup_teardown(function, open_client, tear_down)
#define SERVER(function) cmocka_unit_test_setup_teardown(function, open_server, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT(framing_of_responses),
        CLIENT(bodies_in_pieces),
        CLIENT(trailers),
        CLIENT(interim_responses),
        CLIENT(bodies_that_do_not_fit_their_length),
        CLIENT(nothing_follows_while_draining),
        CLIENT(credit_comes_back_when_bytes_have_left),
        CLIENT(credit_of_what_is_dropped),
        SERVER(framing_of_requests),
        SERVER(what_is_added_to_requests),
        SERVER(a_request_on_a_dead_connection_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
