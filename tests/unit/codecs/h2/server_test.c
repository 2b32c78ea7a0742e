/* tests/unit/codecs/h2/server_test.c - the server's side: requests, answers, what was not processed
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CHECK(condition) assert_true(condition)
#include "tests/unit/codecs/h2/peer.h"

static int set_up(void **state)
{
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 3},
                                         {NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1}};
    peer_open(WEIR_SERVER_SIDE);
    nghttp2_submit_settings(peer.session, NGHTTP2_FLAG_NONE, settings, 2);
    return 0;
}

static int tear_down(void **state)
{
    peer_gone();
    return 0;
}

static struct fake_channel *ask(const char *method, uint32_t flags)
{
    struct fake_channel *channel = fake_attach();
    static const weir_field fields[] = {{WEIR_STRING("Host"), WEIR_STRING("a.test")},
                                        {WEIR_STRING("X-Name"), WEIR_STRING("Value")}};
    weir_head head = {.size = sizeof head,
                      .kind = WEIR_REQUEST,
                      .method = {method, strlen(method)},
                      .scheme = WEIR_STRING("http"),
                      .authority = WEIR_STRING("a.test"),
                      .path = WEIR_STRING("/path"),
                      .fields = fields,
                      .count = 2,
                      .content_length = -1};
    assert_int_equal(fake_send_head(channel, &head, flags), WEIR_OK);
    return channel;
}

static void respond(int32_t id, const char *const *fields, const char *body)
{
    nghttp2_nv nv[20];
    nghttp2_data_provider2 provider = {.read_callback = peer_read};
    size_t count = peer_fields(nv, fields);
    peer_stream(id)->to_send = body;
    peer_stream(id)->left = body ? strlen(body) : 0;
    nghttp2_submit_response2(peer.session, id, nv, count, body ? &provider : NULL);
    talk();
}

static const char *const ok[] = {":status", "200", "x", "y", NULL};

static void a_get(void **state)
{
    talk();
    struct fake_channel *channel = ask("GET", WEIR_END);
    talk();
    assert_string_equal(peer.streams[1].fields.bytes,
                        ":method: GET\n:scheme: http\n:authority: a.test\n:path: /path\n"
                        "x-name: Value\n");
    assert_true(peer.streams[1].ended);
    respond(1, ok, "hello");
    assert_int_equal(channel->head->view.status, 200);
    assert_string_equal(channel->body.bytes, "hello");
    assert_true(channel->ended);
    fake_let_go(channel);
    talk();
    assert_int_equal(peer.resets, 0);
    assert_int_equal(fake_spare(), 3);
    assert_false(fake.closing);
}

static void a_post_both_ways_at_once(void **state)
{
    talk();
    struct fake_channel *channel = ask("POST", 0);
    fake_send(channel, "some", 4, 0);
    talk();
    assert_string_equal(peer.streams[1].body.bytes, "some");
    respond(1, ok, NULL);
    assert_true(channel->ended); /* an early answer */
    fake_let_go(channel);
    talk();
    assert_int_equal(peer.streams[1].code, NGHTTP2_CANCEL);
}

static void request_trailers(void **state)
{
    talk();
    struct fake_channel *channel = ask("POST", 0);
    fake_send(channel, "some", 4, 0);
    fake_send_trailers(channel, &(weir_field){WEIR_STRING("X-Sum"), WEIR_STRING("1")}, 1);
    talk();
    assert_non_null(strstr(peer.streams[1].fields.bytes, "x-sum: 1\n"));
    assert_true(peer.streams[1].ended);
    assert_int_equal(channel->left, 4);
}

static void interim_answers(void **state)
{
    static const char *const hints[] = {":status", "103", "link", "x", NULL};
    nghttp2_nv nv[4];
    talk();
    struct fake_channel *channel = ask("GET", WEIR_END);
    talk();
    nghttp2_submit_headers(peer.session, NGHTTP2_FLAG_NONE, 1, NULL, nv, peer_fields(nv, hints),
                           NULL);
    respond(1, ok, NULL);
    assert_int_equal(channel->interims, 1);
    assert_int_equal(channel->interim->view.status, 103);
    assert_int_equal(channel->head->view.status, 200);
    assert_true(channel->ended);
}

static void as_many_as_the_server_allows(void **state)
{
    assert_int_equal(fake_spare(), WEIR_SPARE_LATER);
    talk();
    assert_int_equal(fake.spare_changes, 1);
    assert_int_equal(fake_spare(), 3);
    ask("GET", WEIR_END);
    ask("GET", WEIR_END);
    assert_int_equal(fake_spare(), 1);
    struct fake_channel *last = ask("GET", WEIR_END);
    assert_int_equal(fake_spare(), 0);
    fake_reset(last, WEIR_CANCELLED);
    talk();
    assert_int_equal(fake_spare(), 1);
}

static void what_is_refused_was_not_processed(void **state)
{
    talk();
    struct fake_channel *channel = ask("GET", WEIR_END);
    talk();
    nghttp2_submit_rst_stream(peer.session, NGHTTP2_FLAG_NONE, 1, NGHTTP2_REFUSED_STREAM);
    talk();
    assert_true(channel->failed < 0 && channel->unprocessed);
    fake_let_go(channel);
    channel = ask("GET", WEIR_END);
    talk();
    nghttp2_submit_rst_stream(peer.session, NGHTTP2_FLAG_NONE, 3, NGHTTP2_INTERNAL_ERROR);
    talk();
    assert_true(channel->failed < 0 && !channel->unprocessed);
}

static void what_goaway_leaves_out_was_not_processed(void **state)
{
    talk();
    struct fake_channel *first = ask("GET", WEIR_END), *second = ask("GET", WEIR_END);
    talk();
    nghttp2_submit_goaway(peer.session, NGHTTP2_FLAG_NONE, 1, NGHTTP2_NO_ERROR, NULL, 0);
    talk();
    assert_int_equal(fake_spare(), 0);
    assert_true(second->failed < 0 && second->unprocessed);
    assert_int_equal(first->failed, WEIR_OK);
    fake_let_go(second);
    respond(1, ok, "last");
    assert_string_equal(first->body.bytes, "last");
    fake_let_go(first);
    talk();
    assert_true(fake.closing);
}

static void an_answer_that_breaks_off(void **state)
{
    static const char *const longer[] = {":status", "200", "content-length", "10", NULL};
    talk();
    struct fake_channel *channel = ask("GET", WEIR_END);
    talk();
    respond(1, longer, "short");
    assert_false(channel->ended);
    assert_true(channel->failed < 0);
}

static void no_error_behind_a_whole_answer(void **state)
{
    talk();
    struct fake_channel *channel = ask("POST", 0);
    talk();
    respond(1, ok, "enough");
    nghttp2_submit_rst_stream(peer.session, NGHTTP2_FLAG_NONE, 1, NGHTTP2_NO_ERROR);
    talk();
    assert_true(channel->ended);
    assert_int_equal(channel->failed, WEIR_OK);
    assert_true(fake_send(channel, "more", 4, 0) > 0); /* goes nowhere */
    assert_int_equal(channel->left, 4);
    fake_let_go(channel);
}

static void the_carrier_ends(void **state)
{
    talk();
    struct fake_channel *channel = ask("GET", WEIR_END);
    talk();
    fake_end(WEIR_END_CLEAN);
    assert_int_equal(channel->failed, WEIR_CONNECTION_TERMINATED);
    assert_false(channel->unprocessed);
    assert_int_equal(fake_spare(), 0);
    fake_let_go(channel);
    assert_true(fake.closing);
}

static void the_carrier_ends_behind_a_whole_answer(void **state)
{
    talk();
    struct fake_channel *whole = ask("GET", WEIR_END), *cut = ask("GET", WEIR_END);
    talk();
    respond(1, ok, "whole");
    nghttp2_submit_goaway(peer.session, NGHTTP2_FLAG_NONE, 3, NGHTTP2_NO_ERROR, NULL, 0);
    talk();
    fake_end(WEIR_END_RESET);
    assert_int_equal(whole->failed, WEIR_OK);
    assert_true(cut->failed < 0);
    fake_let_go(cut);
    assert_false(fake.closing); /* it may still be passed on */
    fake_let_go(whole);
    assert_true(fake.closing);
}

static void nothing_begins_on_one_that_drains(void **state)
{
    static const weir_head head = {.size = sizeof head,
                                   .kind = WEIR_REQUEST,
                                   .method = WEIR_STRING("GET"),
                                   .scheme = WEIR_STRING("http"),
                                   .authority = WEIR_STRING("a.test"),
                                   .path = WEIR_STRING("/"),
                                   .content_length = -1};
    talk();
    struct fake_channel *channel = fake_attach();
    fake_drain();
    talk();
    assert_int_equal(fake_send_head(channel, &head, WEIR_END), WEIR_REFUSED);
    fake_let_go(channel);
}

static void a_malformed_answer_fails_at_once(void **state)
{
    static const char *const nonsense[] = {":status", "2x0", NULL};
    talk();
    struct fake_channel *channel = ask("GET", WEIR_END);
    talk();
    respond(1, nonsense, NULL);
    assert_int_equal(channel->failed, WEIR_SERVER_PROTOCOL_ERROR);
    fake_let_go(channel);
}

static struct fake_channel *ask_for_websocket(void)
{
    struct fake_channel *channel = fake_attach();
    static const weir_field key = {WEIR_STRING("Sec-WebSocket-Key"), WEIR_STRING("k")};
    weir_head head = {.size = sizeof head,
                      .kind = WEIR_REQUEST,
                      .method = WEIR_STRING("GET"),
                      .scheme = WEIR_STRING("http"),
                      .authority = WEIR_STRING("a.test"),
                      .path = WEIR_STRING("/"),
                      .protocol = WEIR_STRING("websocket"),
                      .fields = &key,
                      .count = 1,
                      .content_length = -1};
    fake_send_head(channel, &head, 0);
    return channel;
}

static void a_websocket(void **state)
{
    talk();
    struct fake_channel *channel = ask_for_websocket();
    talk();
    assert_string_equal(peer.streams[1].fields.bytes,
                        ":method: CONNECT\n:protocol: websocket\n:scheme: http\n"
                        ":authority: a.test\n:path: /\n");
    peer.streams[1].keeps_open = true;
    respond(1, ok, "frame");
    assert_int_equal(channel->head->view.kind, WEIR_TUNNEL);
    assert_string_equal(channel->body.bytes, "frame");
    fake_send(channel, "other", 5, WEIR_END);
    talk();
    assert_string_equal(peer.streams[1].body.bytes, "other");
}

static void a_websocket_waits_for_settings(void **state)
{
    struct fake_channel *channel = ask_for_websocket();
    fake_turn();
    size_t before = fake.output.length;
    fake_turn();
    assert_int_equal(fake.output.length, before);
    talk();
    assert_non_null(strstr(peer.streams[1].fields.bytes, ":protocol: websocket\n"));
    respond(1, ok, NULL);
    assert_int_equal(channel->head->view.kind, WEIR_TUNNEL);
}

static void no_websocket_for_a_server_that_knows_none(void **state)
{
    peer_gone();
    peer_open(WEIR_SERVER_SIDE); /* SETTINGS say nothing */
    nghttp2_submit_settings(peer.session, NGHTTP2_FLAG_NONE, NULL, 0);
    struct fake_channel *early = ask_for_websocket();
    talk();
    struct fake_channel *late = ask_for_websocket();
    talk();
    assert_int_equal(early->failed, WEIR_NOT_IMPLEMENTED);
    assert_int_equal(late->failed, WEIR_NOT_IMPLEMENTED);
    assert_false(early->unprocessed || late->unprocessed);
    assert_null(peer.streams[1].fields.bytes);
    assert_false(fake.closing);
}

/* --- liveness */

/* Idle for so long that it has to prove itself. */
static void become_doubtful(void)
{
    talk();
    struct fake_channel *channel = ask("GET", WEIR_END);
    talk();
    respond(1, ok, NULL);
    fake_let_go(channel);
    talk();
    assert_int_equal(fake.deadline_ms, 5000);
    fake_timeout();
    assert_int_equal(fake.deadline_ms, 65000);
    assert_int_equal(fake_spare(), 3);
}

static void who_was_silent_is_asked_first(void **state)
{
    become_doubtful();
    struct fake_channel *channel = ask("POST", 0);
    assert_int_equal(channel->credit, 0); /* no byte of a body before the answer */
    fake_turn();
    peer_hears();
    assert_null(peer.streams[3].fields.bytes);
    talk();
    assert_non_null(strstr(peer.streams[3].fields.bytes, ":method: POST\n"));
    assert_true(channel->credit > 0);
    fake_send(channel, "body", 4, WEIR_END);
    talk();
    assert_string_equal(peer.streams[3].body.bytes, "body");
    respond(3, ok, NULL);
    assert_true(channel->ended);
}

static void who_does_not_answer_processed_nothing(void **state)
{
    become_doubtful();
    struct fake_channel *channel = ask("POST", 0), *next = ask("GET", WEIR_END);
    fake_turn();
    assert_int_equal(fake.deadline_ms, 5000);
    fake_timeout();
    assert_true(fake.closing && fake.close_how == WEIR_CLOSE_RESET);
    assert_true(channel->failed < 0 && channel->unprocessed);
    assert_true(next->failed < 0 && next->unprocessed);
}

static void one_that_is_given_up_while_it_waits(void **state)
{
    become_doubtful();
    fake_reset(ask("POST", 0), WEIR_CANCELLED);
    struct fake_channel *with_trailers = ask("POST", 0);
    fake_send_trailers(with_trailers, &(weir_field){WEIR_STRING("X-Sum"), WEIR_STRING("1")}, 1);
    talk();
    assert_non_null(strstr(peer.streams[3].fields.bytes, "x-sum: 1\n"));
    assert_int_equal(peer.resets, 0);
}

static void a_silent_server_is_asked_while_exchanges_run(void **state)
{
    talk();
    struct fake_channel *channel = ask("GET", WEIR_END);
    talk();
    assert_int_equal(fake.deadline_ms, 15000);
    nghttp2_submit_ping(peer.session, NGHTTP2_FLAG_NONE, NULL);
    talk();
    fake_timeout(); /* it was heard of in that time */
    assert_int_equal(fake.deadline_ms, 15000);
    fake_timeout();
    assert_int_equal(fake.deadline_ms, 5000);
    talk();
    assert_int_equal(fake.deadline_ms, 310000); /* not again and again */
    fake_timeout();
    assert_int_equal(fake.deadline_ms, 5000);
    fake_turn();
    fake_timeout();
    assert_true(fake.closing);
    assert_true(channel->failed < 0 && !channel->unprocessed);
}

static void a_server_that_says_nothing_at_all(void **state)
{
    struct fake_channel *channel = ask("GET", WEIR_END);
    fake_turn();
    assert_int_equal(fake.deadline_ms, 10000);
    fake_timeout();
    fake_turn();
    fake_turn();
    assert_true(fake.closing);
    assert_int_equal(channel->failed, WEIR_RESPONSE_TIMEOUT);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_get),
        CASE(a_post_both_ways_at_once),
        CASE(request_trailers),
        CASE(interim_answers),
        CASE(as_many_as_the_server_allows),
        CASE(what_is_refused_was_not_processed),
        CASE(what_goaway_leaves_out_was_not_processed),
        CASE(an_answer_that_breaks_off),
        CASE(no_error_behind_a_whole_answer),
        CASE(the_carrier_ends),
        CASE(the_carrier_ends_behind_a_whole_answer),
        CASE(a_malformed_answer_fails_at_once),
        CASE(nothing_begins_on_one_that_drains),
        CASE(a_websocket),
        CASE(a_websocket_waits_for_settings),
        CASE(no_websocket_for_a_server_that_knows_none),
        CASE(who_was_silent_is_asked_first),
        CASE(who_does_not_answer_processed_nothing),
        CASE(one_that_is_given_up_while_it_waits),
        CASE(a_silent_server_is_asked_while_exchanges_run),
        CASE(a_server_that_says_nothing_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
