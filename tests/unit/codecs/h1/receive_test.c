/* tests/unit/codecs/h1/receive_test.c - what arrives, in pieces of any size, and the credit for it
 */
#include "codecs/h1/connection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define CHECK(condition) assert_true(condition)
#include "tests/unit/codecs/h1/fake_host.h"

static const size_t pieces[] = {1, 2, 3, 5, 7, 16, 64, 1000, 65536};
enum { PIECES = sizeof pieces / sizeof *pieces };

static int tear_down(void **state)
{
    fake_gone();
    return 0;
}

static size_t feed(const char *text)
{
    return fake_feed(text, strlen(text), 65536);
}

/* --- a whole connection with a core that answers each request when it is whole */

static char story[8192]; /* what was received, in words */

static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *format, ...)
{
    size_t length = strlen(story);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(story + length, sizeof story - length, format, arguments);
    va_end(arguments);
    assert_true(strlen(story) < sizeof story - 1);
}

static void tell_fields(const struct head *head)
{
    for (uint32_t i = 0; head && i < head->count; i++)
        tell(" %.*s=%.*s", (int)head->fields[i].name.length, head->fields[i].name.bytes,
             (int)head->fields[i].value.length, head->fields[i].value.bytes);
}

static void tell_request(const struct fake_channel *channel)
{
    const weir_head *head = &channel->head->view;
    tell("%.*s %.*s", (int)head->method.length, head->method.bytes, (int)head->path.length,
         head->path.bytes);
    tell_fields(channel->head);
    tell(" [%.*s]", (int)channel->body.length, channel->body.bytes);
    tell_fields(channel->trailers);
    if (head->kind == WEIR_MALFORMED_REQUEST)
        tell(" malformed %d", head->error);
    if (channel->error)
        tell(" error %d", channel->error);
    tell("\n");
}

static void answer(struct fake_channel *channel)
{
    char body[32];
    snprintf(body, sizeof body, "%u", (unsigned)(channel - fake.channels));
    weir_field field = {WEIR_STRING("Content-Length"), WEIR_STRING("1")};
    weir_head head = {.size = sizeof head,
                      .status = 200,
                      .reason = WEIR_STRING("OK"),
                      .fields = &field,
                      .count = 1,
                      .content_length = 1};
    fake_send_head(channel, &head, 0);
    assert_int_equal(fake_send(channel, body, 1, WEIR_END), 1);
}

static struct fake_channel *current(void)
{
    struct fake_channel *last = fake.begun ? &fake.channels[fake.begun - 1] : NULL;
    return last && last->open ? last : NULL;
}

static void step_core(void)
{
    for (int i = 0; i < 200; i++) { /* until nothing more happens */
        struct fake_channel *channel = current();
        if (channel) {
            fake_consume(channel, channel->owed);
            if (channel->ended || channel->error || channel->failed) {
                tell_request(channel);
                answer(channel);
                fake_let_go(channel);
            }
        }
        fake_turn();
    }
}

/* Plays the bytes in such pieces; what was received and what was answered goes to story. */
static void play(const char *bytes, size_t length, size_t piece)
{
    story[0] = 0;
    fake_open(WEIR_CLIENT_SIDE);
    for (size_t at = 0; at < length && !fake.closing;) {
        at += fake_feed(bytes + at, fake_least(piece, length - at), piece);
        step_core();
    }
    if (!fake.closing && !current())
        assert_int_equal(fake.carrier_credit + h1_of(&fake.public)->rest.length -
                             h1_of(&fake.public)->granted_before,
                         WEIR_CREDIT); /* what was received and is kept nowhere was granted */
    fake_end(WEIR_END_CLEAN);
    step_core();
    tell("%.*s%s", (int)fake.output.length, fake.output.bytes, fake.closing ? "closed" : "open");
}

static void plays(const char *bytes, size_t length, const char *expected)
{
    fake_gone(); /* the one of set_up */
    for (int i = 0; i < PIECES; i++) {
        play(bytes, length, pieces[i]);
        assert_string_equal(story, expected);
        fake_gone();
    }
    for (size_t first = 0; first <= length && length < 500; first++) { /* in two, at every place */
        story[0] = 0;
        fake_open(WEIR_CLIENT_SIDE);
        fake_feed(bytes, first, first);
        step_core();
        fake_feed(bytes + first, length - first, length);
        step_core();
        fake_end(WEIR_END_CLEAN);
        step_core();
        tell("%.*s%s", (int)fake.output.length, fake.output.bytes,
             fake.closing ? "closed" : "open");
        assert_string_equal(story, expected);
        fake_gone();
    }
    fake_open(WEIR_CLIENT_SIDE);
}

#define PLAYS(input, expected) plays(input, sizeof(input) - 1, expected)
#define HOST "Host: a\r\n"
#define ANSWER(n) "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" n

static void requests_one_after_another(void **state)
{
    PLAYS("", "closed");
    PLAYS("\r\n\r\n\r", "closed");
    PLAYS("GET /1 HTTP/1.1\r\n" HOST "\r\n", "GET /1 Host=a []\n" ANSWER("0") "closed");
    PLAYS("GET /1 HTTP/1.1\r\n" HOST "\r\n\r\n\r\nGET /2 HTTP/1.1\r\n" HOST "\r\n"
          "GET /3 HTTP/1.1\r\n" HOST "X: y\r\n\r\n",
          "GET /1 Host=a []\nGET /2 Host=a []\nGET /3 Host=a X=y []\n" ANSWER("0") ANSWER("1")
              ANSWER("2") "closed");
}

static void bodies_end_where_they_say(void **state)
{
    PLAYS("POST /1 HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhelloGET /2 HTTP/1.1\r\n" HOST
          "\r\n",
          "POST /1 Host=a Content-Length=5 [hello]\nGET /2 Host=a []\n" ANSWER("0")
              ANSWER("1") "closed");
    PLAYS("POST /1 HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\nGET /2 HTTP/1.1\r\n" HOST "\r\n",
          "POST /1 Host=a Content-Length=0 []\nGET /2 Host=a []\n" ANSWER("0")
              ANSWER("1") "closed");
    PLAYS("POST /1 HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
          "3;x=y\r\nabc\r\n0004\r\ndefg\r\n0\r\n\r\nGET /2 HTTP/1.1\r\n" HOST "\r\n",
          "POST /1 Host=a Transfer-Encoding=chunked [abcdefg]\nGET /2 Host=a []\n" ANSWER("0")
              ANSWER("1") "closed");
    PLAYS("POST /1 HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
          "1\r\n\n\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\nGET /2 HTTP/1.1\r\n" HOST "\r\n",
          "POST /1 Host=a Transfer-Encoding=chunked [\n] X-Sum=1 Y=\nGET /2 Host=a []\n" ANSWER("0")
              ANSWER("1") "closed");
    PLAYS("POST /1 HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
          "POST /1 Host=a Transfer-Encoding=chunked []\n" ANSWER("0") "closed");
}

#define CLOSE(n) "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n" n

static void nothing_follows_what_is_broken(void **state)
{
    PLAYS("GET /1 HTTP/1.1\r\n" HOST "\r\nGET\r\n\r\nGET /3 HTTP/1.1\r\n" HOST "\r\n",
          "GET /1 Host=a []\n  [] malformed -30\n" ANSWER("0") CLOSE("1") "closed");
    PLAYS("GET /1 HTTP/1.1\r\n\r\nGET /3 HTTP/1.1\r\n" HOST "\r\n",
          "  [] malformed -30\n" CLOSE("0") "closed");
    PLAYS("\r\n\nGET /1 HTTP/1.1\r\n" HOST "\r\n", "  [] malformed -30\n" CLOSE("0") "closed");
    PLAYS("\r\n\rGET /1 HTTP/1.1\r\n" HOST "\r\n", "  [] malformed -30\n" CLOSE("0") "closed");
    PLAYS("GET /1 HTTP/2.0\r\n" HOST "\r\nGET /3 HTTP/1.1\r\n" HOST "\r\n",
          "  [] malformed -34\n" CLOSE("0") "closed");
    PLAYS("POST /1 HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n"
          "GET /3 HTTP/1.1\r\n" HOST "\r\n",
          "POST /1 Host=a Transfer-Encoding=chunked [ab] error -30\n" CLOSE("0") "closed");
    PLAYS("POST /1 HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\nX Y: z\r\n\r\n"
          "GET /3 HTTP/1.1\r\n" HOST "\r\n",
          "POST /1 Host=a Transfer-Encoding=chunked [] error -30\n" CLOSE("0") "closed");
}

/* What was asked before says nothing about the answer to what is broken. */
static void what_is_broken_is_no_head_request(void **state)
{
    PLAYS("HEAD /1 HTTP/1.1\r\n" HOST "\r\nGET\r\n\r\n",
          "HEAD /1 Host=a []\n  [] malformed -30\n"
          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" CLOSE("1") "closed");
    PLAYS("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET\r\n\r\n",
          "GET /1 Connection=keep-alive []\n  [] malformed -30\n"
          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n0" CLOSE(
              "1") "closed");
}

/* A client that ends in the middle is told so, if it still listens. */
static void early_ends(void **state)
{
    PLAYS("GET /1 HTTP/1.1\r\nHo", "closed");
    PLAYS("POST /1 HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhell",
          "POST /1 Host=a Content-Length=5 [hell] error -41\n" CLOSE("0") "closed");
    PLAYS("POST /1 HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n",
          "POST /1 Host=a Content-Length=5 [] error -41\n" CLOSE("0") "closed");
    PLAYS("POST /1 HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
          "POST /1 Host=a Transfer-Encoding=chunked [hello] error -41\n" CLOSE("0") "closed");
    PLAYS("POST /1 HTTP/1.1\r\n" HOST
          "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n",
          "POST /1 Host=a Transfer-Encoding=chunked [hello] error -41\n" CLOSE("0") "closed");
}

static void limits_are_told(void **state)
{
    static char text[80000];
    fake_gone();
    for (int i = 0; i < PIECES; i++) {
        memset(text, 'x', sizeof text);
        memcpy(text, "GET /", 5);
        play(text, 9000, pieces[i]);
        assert_string_equal(story, "  [] malformed -32\n" CLOSE("0") "closed");
        fake_gone();
        memcpy(text, "GET / HTTP/1.1\r\nHost: a\r\nX: ", 28);
        play(text, sizeof text, pieces[i]);
        assert_string_equal(story, "  [] malformed -33\n" CLOSE("0") "closed");
        fake_gone();
    }
    fake_open(WEIR_CLIENT_SIDE);
}

/* --- order */

static int open_client(void **state)
{
    fake_open(WEIR_CLIENT_SIDE);
    return 0;
}

static int open_server(void **state)
{
    fake_open(WEIR_SERVER_SIDE);
    return 0;
}

static void the_next_request_waits_for_the_answer(void **state)
{
    feed("GET /1 HTTP/1.1\r\n" HOST "\r\nGET /2 HTTP/1.1\r\n" HOST "\r\nGET /3");
    assert_int_equal(fake.begun, 1);
    feed(" HTTP/1.1\r\n" HOST "\r\n");
    fake_turn();
    assert_int_equal(fake.begun, 1);
    answer(&fake.channels[0]);
    fake_turn();
    assert_int_equal(fake.begun, 1); /* it was answered, but is not over */
    fake_let_go(&fake.channels[0]);
    assert_int_equal(fake.begun, 1); /* not from inside that call */
    fake_step();
    assert_int_equal(fake.begun, 2);
    answer(&fake.channels[1]);
    fake_let_go(&fake.channels[1]);
    fake_step();
    assert_int_equal(fake.begun, 2); /* the answer has not left */
    fake_produce();
    fake_step();
    assert_int_equal(fake.begun, 2);
    fake_sent();
    fake_step();
    assert_int_equal(fake.begun, 3);
}

/* Whether it is a request or broken: what the answer before was credited with is not its own. */
static void nothing_begins_before_the_answer_has_left(void **state)
{
    static const char *const next[] = {"GET /2 HTTP/1.1\r\n" HOST "\r\n", "\rGET", "\nGET",
                                       "\r\n\rGET", "\r\n\r\n\nGET"};
    for (size_t i = 0; i < sizeof next / sizeof *next; i++) {
        feed("GET / HTTP/1.1\r\n" HOST "\r\n");
        answer(current());
        fake_let_go(current());
        feed(next[i]);
        fake_step();
        assert_int_equal(fake.begun, 1); /* it waits to be written */
        fake_produce();
        feed("\r\n");
        fake_step();
        assert_int_equal(fake.begun, 1); /* it was written and has not left */
        fake_sent();
        fake_step();
        assert_int_equal(fake.begun, 2);
        assert_int_equal(fake.channels[1].credit, WEIR_CREDIT);
        assert_int_equal(fake.channels[1].head->view.kind,
                         i ? WEIR_MALFORMED_REQUEST : WEIR_REQUEST);
        fake_gone();
        open_client(state);
    }
}

static void empty_lines_wait_for_the_answer_too(void **state)
{
    feed("GET / HTTP/1.1\r\n" HOST "\r\n");
    answer(current());
    fake_let_go(current());
    feed("\r\n\r\n");
    fake_turn();
    fake_step();
    assert_int_equal(fake.carrier_credit, WEIR_CREDIT);
    assert_int_equal(h1_of(&fake.public)->rest.length, 0);
    fake_end(WEIR_END_CLEAN);
    assert_true(fake.closing);
    assert_int_equal(fake.begun, 1);
}

/* What waits unparsed counts against the credit: a client cannot send requests without end. */
static void pipelined_bytes_are_held_within_the_credit(void **state)
{
    static const char one[] = "GET / HTTP/1.1\r\n" HOST "\r\n";
    while (feed(one))
        ;
    assert_int_equal(fake.carrier_credit, 0);
    assert_int_equal(fake.begun, 1);
    assert_int_equal(fake.fed, WEIR_CREDIT + sizeof one - 1);
    for (int i = 0; i < 20; i++) {
        struct fake_channel *channel = current();
        answer(channel);
        fake_let_go(channel);
        fake_turn();
        fake_turn();
    }
    assert_int_equal(fake.begun, 21);
    assert_int_equal(fake.carrier_credit, 20 * (sizeof one - 1)); /* each that was read */
}

/* --- credit */

static void a_head_may_be_longer_than_the_credit(void **state)
{
    enum { LENGTH = 200000 };
    static char text[LENGTH];
    fake.limits.header_bytes = 300000;
    for (size_t piece = 1; piece < 70000; piece = piece * 7 + 1) {
        memset(text, 'x', sizeof text);
        memcpy(text, "GET / HTTP/1.1\r\nHost: a\r\nX: ", 28);
        memcpy(text + LENGTH - 4, "\r\n\r\n", 4);
        assert_int_equal(fake_feed(text, LENGTH, piece), LENGTH);
        struct fake_channel *channel = current();
        assert_non_null(channel);
        assert_int_equal(channel->head->fields[1].value.length, LENGTH - 32);
        assert_int_equal(fake.carrier_credit, WEIR_CREDIT);
        answer(channel);
        fake_let_go(channel);
        fake_turn();
        fake_turn();
    }
}

static void body_bytes_are_granted_when_they_are_consumed(void **state)
{
    static char body[100000];
    feed("POST / HTTP/1.1\r\n" HOST "Content-Length: 100000\r\n\r\n");
    struct fake_channel *channel = current();
    assert_int_equal(fake.carrier_credit, WEIR_CREDIT);
    assert_int_equal(fake_feed(body, sizeof body, 1000), WEIR_CREDIT);
    assert_int_equal(channel->owed, WEIR_CREDIT);
    fake_consume(channel, 10000);
    assert_int_equal(fake.carrier_credit, 10000);
    assert_int_equal(fake_feed(body, sizeof body - WEIR_CREDIT, 65536), 10000);
    fake_consume(channel, WEIR_CREDIT);
    assert_int_equal(fake_feed(body, sizeof body - WEIR_CREDIT - 10000, 65536),
                     sizeof body - WEIR_CREDIT - 10000);
    assert_true(channel->ended);
    fake_consume(channel, channel->owed);
    assert_int_equal(fake.carrier_credit, WEIR_CREDIT);
}

static void chunk_framing_is_granted_at_once(void **state)
{
    feed("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 5000; i++) /* more framing than the credit */
        fake_feed("00000000000003;abcdefgh\r\nabc\r\n", 30, (size_t)(i % 40 + 1));
    struct fake_channel *channel = current();
    assert_int_equal(channel->error, WEIR_MALFORMED); /* extensions have their limit */
    assert_int_equal(channel->owed % 3, 0);
    fake_consume(channel, channel->owed);
    assert_int_equal(fake.carrier_credit, WEIR_CREDIT);
}

static void what_is_dropped_is_granted(void **state)
{
    static char rubbish[300000];
    feed("NONSENSE\r\n\r\n");
    assert_int_equal(fake_feed(rubbish, sizeof rubbish, 65536), sizeof rubbish);
    assert_int_equal(fake.carrier_credit, WEIR_CREDIT);
}

static void a_head_that_came_too_slowly_owes_nothing(void **state)
{
    feed("GET / HTTP/1.1\r\nX: ");
    fake_timeout();
    struct fake_channel *channel = current();
    assert_int_equal(channel->head->view.kind, WEIR_MALFORMED_REQUEST);
    assert_int_equal(channel->head->view.error, WEIR_HEAD_TIMEOUT);
    feed("y\r\nthe rest of it, which nobody wants\r\n\r\n");
    assert_int_equal(fake.carrier_credit, WEIR_CREDIT);
    assert_int_equal(fake.begun, 1);
}

/* --- tunnels */

static void tunnel_bytes_before_the_answer(void **state)
{
    feed("CONNECT a:443 HTTP/1.1\r\n" HOST "\r\nearly");
    struct fake_channel *channel = current();
    assert_int_equal(channel->head->view.kind, WEIR_TUNNEL);
    assert_false(channel->ended);
    assert_int_equal(channel->body.length, 5);
    feed(" and more\r\n\r\n");
    weir_head head = {.size = sizeof head,
                      .kind = WEIR_TUNNEL,
                      .status = 200,
                      .reason = WEIR_STRING("OK"),
                      .content_length = -1};
    fake_send_head(channel, &head, 0);
    feed("\r\n\0");
    fake_end(WEIR_END_CLEAN);
    assert_int_equal(channel->body.length, 20);
    assert_memory_equal(channel->body.bytes, "early and more\r\n\r\n\r\n", 20);
    assert_true(channel->ended);
    fake_send(channel, "back", 4, WEIR_END);
    fake_turn();
    assert_int_equal(fake.output.length, 23);
    assert_memory_equal(fake.output.bytes, "HTTP/1.1 200 OK\r\n\r\nback", 23);
    assert_true(fake.half_closed);
    fake_let_go(channel);
    assert_true(fake.closing);
    assert_true(fake.close_how <= WEIR_CLOSE_LINGER);
}

/* What follows is nobody's body, whatever the head says of its length. */
static void a_tunnel_has_no_length(void **state)
{
    feed("CONNECT a:443 HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\nearly");
    assert_int_equal(current()->head->view.kind, WEIR_TUNNEL);
    assert_int_equal(current()->head->view.content_length, -1);
    assert_int_equal(current()->body.length, 5);
}

static void a_refused_tunnel_is_http_again(void **state)
{
    feed("CONNECT a:443 HTTP/1.1\r\n" HOST "\r\n");
    answer(current());
    fake_let_go(current());
    fake_turn();
    assert_false(fake.closing);
    feed("GET /2 HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(fake.begun, 2);
}

/* Whether these were meant for the tunnel or are the next request nobody can tell. */
static void a_refused_tunnel_with_early_bytes_ends(void **state)
{
    feed("CONNECT a:443 HTTP/1.1\r\n" HOST "\r\nGET / HTTP/1.1\r\n" HOST "\r\n");
    struct fake_channel *channel = current();
    answer(channel);
    assert_int_equal(fake.begun, 1);
    fake_consume(channel, channel->owed);
    fake_let_go(channel);
    fake_turn();
    assert_true(fake.closing);
    assert_non_null(strstr(fake.output.bytes, "Connection: close\r\n"));
    assert_int_equal(fake.begun, 1);
}

static void a_switch_that_is_refused(void **state)
{
    feed("GET / HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    struct fake_channel *channel = current();
    assert_int_equal(channel->head->view.kind, WEIR_REQUEST);
    assert_int_equal(channel->head->view.protocol.length, 9);
    assert_false(channel->ended);
    answer(channel);
    fake_let_go(channel);
    fake_turn();
    feed("GET /2 HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(fake.begun, 2);
}

static void a_switch_that_is_granted(void **state)
{
    feed("GET / HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    struct fake_channel *channel = current();
    weir_head head = {.size = sizeof head,
                      .kind = WEIR_TUNNEL,
                      .status = 101,
                      .reason = WEIR_STRING("Switching Protocols"),
                      .protocol = WEIR_STRING("websocket"),
                      .content_length = -1};
    fake_send_head(channel, &head, 0);
    fake_send(channel, "server", 6, 0);
    fake_turn();
    feed("client");
    assert_int_equal(channel->body.length, 6);
    static const char expected[] = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                                   "Upgrade: websocket\r\n\r\nserver";
    assert_int_equal(fake.output.length, sizeof expected - 1);
    assert_memory_equal(fake.output.bytes, expected, sizeof expected - 1);
}

static void ends_of_the_carrier_that_are_not_clean(void **state)
{
    static const uint32_t hows[] = {WEIR_END_TRUNCATED, WEIR_END_RESET, WEIR_END_TIMEOUT};
    for (int i = 0; i < 3; i++) {
        feed("GET / HTTP/1.1\r\n" HOST "\r\n");
        fake_end(hows[i]); /* while it is served */
        assert_int_equal(fake.channels[0].failed, WEIR_RESET);
        fake_gone();
        open_client(state);
        fake_end(hows[i]); /* while nobody is */
        assert_true(fake.closing);
        assert_int_equal(fake.close_how, WEIR_CLOSE_RESET);
        fake_gone();
        open_client(state);
        feed("CONNECT a:1 HTTP/1.1\r\n" HOST "\r\n");
        fake_end(hows[i]); /* never the clean end of a tunnel */
        assert_int_equal(fake.channels[0].failed, WEIR_RESET);
        assert_false(fake.channels[0].ended);
        fake_gone();
        open_client(state);
    }
}

/* --- the server's side */

static struct fake_channel *send_request(const char *method)
{
    struct fake_channel *channel = fake_attach();
    weir_head head = {.size = sizeof head,
                      .kind = WEIR_REQUEST,
                      .flags = WEIR_END,
                      .method = {method, strlen(method)},
                      .path = WEIR_STRING("/"),
                      .content_length = -1};
    assert_int_equal(fake_send_head(channel, &head, WEIR_END), WEIR_OK);
    fake_turn();
    return channel;
}

static void tell_response(const struct fake_channel *channel)
{
    if (channel->interims)
        tell("%u interim, ", channel->interims);
    if (channel->head) {
        tell("%u", channel->head->view.status);
        tell_fields(channel->head);
        tell(" [%.*s]", (int)channel->body.length, channel->body.bytes);
    }
    tell_fields(channel->trailers);
    tell(channel->ended ? " ended" : " not ended");
    if (channel->failed)
        tell(" failed %d", channel->failed);
}

/* A request with that method, then these bytes in such pieces, then an end. */
static void receive(const char *method, const char *bytes, size_t length, size_t first,
                    size_t piece, uint32_t how)
{
    story[0] = 0;
    fake_open(WEIR_SERVER_SIDE);
    struct fake_channel *channel = send_request(method);
    fake_feed(bytes, first, piece);
    fake_consume(channel, channel->owed);
    fake_feed(bytes + first, length - first, piece);
    fake_consume(channel, channel->owed);
    if (channel->failed == WEIR_OK)
        assert_int_equal(fake.carrier_credit + h1_of(&fake.public)->rest.length -
                             h1_of(&fake.public)->granted_before,
                         WEIR_CREDIT);
    if (how != WEIR_OK + 100)
        fake_end(how);
    tell_response(channel);
    fake_let_go(channel);
    tell(fake_spare() ? " reusable" : "");
}

enum { NO_END = WEIR_OK + 100 };

static void receives(const char *method, const char *bytes, size_t length, uint32_t how,
                     const char *expected)
{
    fake_gone(); /* the one of set_up */
    for (size_t first = 0; first <= length; first++)
        for (int i = 0; i < PIECES; i++) {
            receive(method, bytes, length, first, pieces[i], how);
            if (strcmp(story, expected) != 0)
                fail_msg("%s: at %zu, pieces of %zu: %s", bytes, first, pieces[i], story);
            fake_gone();
        }
    fake_open(WEIR_SERVER_SIDE);
}

#define RECEIVES(method, input, how, expected)                                                     \
    receives(method, input, sizeof(input) - 1, how, expected)

static void responses_end_where_they_say(void **state)
{
    RECEIVES("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", NO_END,
             "200 Content-Length=5 [hello] ended reusable");
    RECEIVES("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", NO_END,
             "200 Content-Length=0 [] ended reusable");
    RECEIVES(
        "GET",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x\r\nd\r\n0\r\n\r\n",
        NO_END, "200 Transfer-Encoding=chunked [abcd] ended reusable");
    RECEIVES("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: 1\r\n\r\n",
             NO_END, "200 Transfer-Encoding=chunked [] X=1 ended reusable");
    RECEIVES("GET", "HTTP/1.1 200 OK\r\n\r\nhello", NO_END, "200 [hello] not ended");
    RECEIVES("GET", "HTTP/1.1 200 OK\r\n\r\nhello", WEIR_END_CLEAN, "200 [hello] ended");
    RECEIVES("GET", "HTTP/1.1 204 No\r\n\r\n", NO_END, "204 [] ended reusable");
    RECEIVES("GET", "HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n", NO_END,
             "304 Content-Length=5 [] ended reusable");
    RECEIVES("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", NO_END,
             "200 Content-Length=5 [] ended reusable");
    RECEIVES("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", NO_END,
             "200 Transfer-Encoding=chunked [] ended reusable");
    RECEIVES("HEAD", "HTTP/1.1 200 OK\r\n\r\n", NO_END, "200 [] ended reusable");
    RECEIVES("GET", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", NO_END,
             "200 Content-Length=2 [ok] ended");
    RECEIVES("GET", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok",
             NO_END, "200 Content-Length=2 Connection=keep-alive [ok] ended reusable");
    RECEIVES("GET", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", NO_END,
             "200 Content-Length=2 Connection=close [ok] ended");
    RECEIVES("GET",
             "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
             "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
             NO_END, "2 interim, 200 Content-Length=0 [] ended reusable");
}

static void responses_that_break_off(void **state)
{
    static const uint32_t hows[] = {WEIR_END_CLEAN, WEIR_END_TRUNCATED, WEIR_END_RESET};
    for (int i = 0; i < 3; i++) {
        RECEIVES("GET", "", hows[i], " not ended failed -24"); /* perhaps safe to repeat */
        RECEIVES("GET", "H", hows[i], " not ended failed -7");
        RECEIVES("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", hows[i],
                 " not ended failed -7");
        RECEIVES("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", hows[i],
                 "200 Content-Length=5 [hell] not ended failed -7");
        RECEIVES("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
                 hows[i], "200 Transfer-Encoding=chunked [abc] not ended failed -7");
        RECEIVES("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n",
                 hows[i], "200 Transfer-Encoding=chunked [] not ended failed -7");
        if (hows[i] != WEIR_END_CLEAN)
            RECEIVES("GET", "HTTP/1.1 200 OK\r\n\r\nhello", hows[i],
                     "200 [hello] not ended failed -7");
    }
}

static void responses_that_are_nonsense(void **state)
{
    RECEIVES("GET", "SSH-2.0-OpenSSH\r\n\r\n", NO_END, " not ended failed -25");
    RECEIVES("GET", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", NO_END,
             " not ended failed -25");
    RECEIVES("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n", NO_END,
             "200 Transfer-Encoding=chunked [abc] not ended failed -25");
    RECEIVES("GET", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nabc", NO_END,
             " not ended failed -25"); /* nobody asked */
}

/* Empty lines before a response: nobody's, as before a request, and no work without end. */
static void empty_lines_before_a_response(void **state)
{
    RECEIVES("GET", "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", NO_END,
             "200 Content-Length=2 [ok] ended reusable");
    RECEIVES("GET", "HTTP/1.1 100 A\r\n\r\n\r\n\r\nHTTP/1.1 204 A\r\n\r\n", NO_END,
             "1 interim, 204 [] ended reusable");
    struct fake_channel *channel = send_request("GET");
    feed("\r\n\r\n");
    assert_int_equal(h1_of(&fake.public)->rest.length, 0);
    fake_end(WEIR_END_CLEAN);
    assert_int_equal(channel->failed, WEIR_CONNECTION_TERMINATED);
}

static void interim_answers_have_a_limit(void **state)
{
    struct fake_channel *channel = send_request("GET");
    for (int i = 0; i < 1000 && channel->failed == WEIR_OK; i++)
        feed("HTTP/1.1 100 Continue\r\n\r\n");
    assert_int_equal(channel->failed, WEIR_SERVER_PROTOCOL_ERROR);
    assert_true(channel->interims >= 10 && channel->interims <= 100);
}

/* Whoever answers what was not asked is not trusted with another request. */
static void unexpected_bytes(void **state)
{
    struct fake_channel *channel = send_request("GET");
    feed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n");
    assert_true(channel->ended);
    assert_int_equal(channel->body.length, 2);
    fake_let_go(channel);
    assert_int_equal(fake_spare(), 0);
    assert_true(fake.closing);
    fake_gone();
    open_server(state);
    channel = send_request("GET");
    feed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    fake_let_go(channel);
    assert_int_equal(fake_spare(), 1);
    feed("HTTP/1.1 408 Too slow\r\n\r\n");
    assert_true(fake.closing);
    assert_int_equal(fake.close_how, WEIR_CLOSE_RESET);
    fake_gone();
    open_server(state);
    feed("HTTP/1.1 200 OK\r\n\r\n"); /* before the first request */
    assert_true(fake.closing);
}

static void an_idle_connection_that_ends(void **state)
{
    struct fake_channel *channel = send_request("GET");
    feed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    fake_let_go(channel);
    fake_end(WEIR_END_CLEAN);
    assert_true(fake.closing);
    assert_int_equal(fake_spare(), 0);
}

static struct fake_channel *ask_to_switch(void)
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
    return channel;
}

#define SWITCHING                                                                                  \
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"

static void a_server_that_switches(void **state)
{
    struct fake_channel *channel = ask_to_switch();
    feed(SWITCHING "\r\nhi");
    assert_int_equal(channel->head->view.kind, WEIR_TUNNEL);
    assert_int_equal(channel->head->view.status, 101);
    assert_int_equal(channel->body.length, 2);
    fake_send(channel, "hello", 5, WEIR_END);
    fake_turn();
    assert_true(fake.half_closed);
    assert_memory_equal(fake.output.bytes + fake.output.length - 5, "hello", 5);
    fake_end(WEIR_END_CLEAN);
    assert_true(channel->ended);
    fake_let_go(channel);
    assert_true(fake.closing);
}

/* RFC 9112 6.3: a 101 has no body, whatever it says of its length. */
static void a_switch_with_a_length(void **state)
{
    struct fake_channel *channel = ask_to_switch();
    feed(SWITCHING "Content-Length: 2\r\n\r\nhi");
    assert_int_equal(channel->head->view.kind, WEIR_TUNNEL);
    assert_int_equal(channel->head->view.content_length, -1);
    assert_false(channel->ended);
    feed(" there");
    assert_int_equal(channel->body.length, 8);
    fake_end(WEIR_END_CLEAN);
    assert_true(channel->ended);
}

static void a_server_that_does_not_switch(void **state)
{
    struct fake_channel *channel = ask_to_switch();
    feed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_int_equal(channel->head->view.kind, WEIR_REQUEST);
    assert_true(channel->ended);
    fake_let_go(channel);
    assert_int_equal(fake_spare(), 1);
}

#define CLIENT(function) cmocka_unit_test_setup_teardown(function, open_client, tear_down)
#define SERVER(function) cmocka_unit_test_setup_teardown(function, open_server, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT(requests_one_after_another),
        CLIENT(bodies_end_where_they_say),
        CLIENT(nothing_follows_what_is_broken),
        CLIENT(what_is_broken_is_no_head_request),
        CLIENT(early_ends),
        CLIENT(limits_are_told),
        CLIENT(the_next_request_waits_for_the_answer),
        CLIENT(nothing_begins_before_the_answer_has_left),
        CLIENT(empty_lines_wait_for_the_answer_too),
        CLIENT(pipelined_bytes_are_held_within_the_credit),
        CLIENT(a_head_may_be_longer_than_the_credit),
        CLIENT(body_bytes_are_granted_when_they_are_consumed),
        CLIENT(chunk_framing_is_granted_at_once),
        CLIENT(what_is_dropped_is_granted),
        CLIENT(a_head_that_came_too_slowly_owes_nothing),
        CLIENT(tunnel_bytes_before_the_answer),
        CLIENT(a_tunnel_has_no_length),
        CLIENT(a_refused_tunnel_is_http_again),
        CLIENT(a_refused_tunnel_with_early_bytes_ends),
        CLIENT(a_switch_that_is_refused),
        CLIENT(a_switch_that_is_granted),
        CLIENT(ends_of_the_carrier_that_are_not_clean),
        SERVER(responses_end_where_they_say),
        SERVER(responses_that_break_off),
        SERVER(responses_that_are_nonsense),
        SERVER(empty_lines_before_a_response),
        SERVER(interim_answers_have_a_limit),
        SERVER(unexpected_bytes),
        SERVER(an_idle_connection_that_ends),
        SERVER(a_server_that_switches),
        SERVER(a_switch_with_a_length),
        SERVER(a_server_that_does_not_switch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
