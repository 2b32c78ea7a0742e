/* tests/unit/codecs/h2/client_test.c - the client's side: requests, answers, credit, ends */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define CHECK(condition) assert_true(condition)
#include "tests/unit/codecs/h2/peer.h"

static int set_up(void **state)
{
    peer_open(WEIR_CLIENT_SIDE);
    nghttp2_submit_settings(peer.session, NGHTTP2_FLAG_NONE, NULL, 0);
    return 0;
}

static int tear_down(void **state)
{
    peer_gone();
    return 0;
}

static struct fake_channel *current(void)
{
    assert_true(fake.begun);
    return &fake.channels[fake.begun - 1];
}

static weir_head answer(uint32_t status, int64_t length)
{
    return (weir_head){.size = sizeof(weir_head),
                       .kind = WEIR_REQUEST,
                       .status = status,
                       .content_length = length};
}

static void answer_with(struct fake_channel *channel, const char *body)
{
    weir_head head = answer(200, (int64_t)strlen(body));
    fake_send_head(channel, &head, *body ? 0 : WEIR_END);
    if (*body)
        assert_int_equal(fake_send(channel, body, strlen(body), WEIR_END), strlen(body));
    fake_let_go(channel);
}

static void is(weir_string string, const char *text)
{
    assert_int_equal(string.length, strlen(text));
    assert_memory_equal(string.bytes, text, string.length);
}

static bool has_field(const struct fake_bytes *fields, const char *line)
{
    return fields->bytes && strstr(fields->bytes, line);
}

/* --- whose bytes */

static void sniffing(void **state)
{
    const uint8_t *preface = (const uint8_t *)NGHTTP2_CLIENT_MAGIC;
    const weir_connection_operations *operations = fake.protocol->connection;
    for (size_t count = 0; count < NGHTTP2_CLIENT_MAGIC_LEN; count++) {
        assert_int_equal(operations->sniff(preface, count, 0), WEIR_SNIFF_MORE);
        assert_int_equal(operations->sniff(preface, count, 1), WEIR_SNIFF_NO);
    }
    assert_int_equal(operations->sniff(preface, NGHTTP2_CLIENT_MAGIC_LEN, 0), WEIR_SNIFF_YES);
    assert_int_equal(operations->sniff((const uint8_t *)"PRI * HTTP/1.1", 14, 0), WEIR_SNIFF_NO);
    assert_int_equal(operations->sniff((const uint8_t *)"GET /", 5, 0), WEIR_SNIFF_NO);
}

/* --- requests */

static void a_get(void **state)
{
    int32_t id = peer_get("/path?query");
    talk();
    assert_int_equal(fake.begun, 1);
    const weir_head *head = &current()->head->view;
    assert_int_equal(head->kind, WEIR_REQUEST);
    assert_int_equal(head->flags, WEIR_END);
    is(head->method, "GET");
    is(head->scheme, "http");
    is(head->authority, "a.test");
    is(head->path, "/path?query");
    is(head->version, "2");
    answer_with(current(), "hello");
    talk();
    assert_string_equal(peer.streams[id].body.bytes, "hello");
    assert_true(has_field(&peer.streams[id].fields, ":status: 200\n"));
    assert_true(peer.streams[id].closed);
    assert_int_equal(peer.streams[id].code, NGHTTP2_NO_ERROR);
}

static void a_byte_at_a_time(void **state)
{
    peer.piece = 1;
    a_get(state);
    assert_int_equal(fake.carrier_credit, WEIR_CREDIT);
}

static void a_post_with_trailers(void **state)
{
    static const char *const fields[] = {":method", "POST",   ":scheme", "https",    ":path", "/",
                                         "host",    "b.test", "te",      "trailers", NULL};
    nghttp2_nv trailer = {(uint8_t *)"x-sum", (uint8_t *)"7", 5, 1, 0};
    int32_t id = peer_request(fields, "some", true);
    talk();
    is(current()->head->view.authority, "b.test");
    is(current()->head->view.scheme, "https");
    assert_int_equal(current()->head->view.content_length, -1);
    assert_string_equal(current()->body.bytes, "some");
    assert_false(current()->ended);
    nghttp2_submit_trailer(peer.session, id, &trailer, 1);
    talk();
    assert_true(current()->ended);
    is(current()->trailers->fields[0].name, "x-sum");
    is(current()->trailers->fields[0].value, "7");
    weir_head head = answer(200, -1);
    fake_send_head(current(), &head, 0);
    fake_send(current(), "all", 3, 0);
    fake_send_trailers(current(), &(weir_field){WEIR_STRING("Grpc-Status"), WEIR_STRING("0")}, 1);
    fake_let_go(current());
    talk();
    assert_string_equal(peer.streams[id].body.bytes, "all");
    assert_true(has_field(&peer.streams[id].fields, "grpc-status: 0\n"));
    assert_true(peer.streams[id].ended);
}

static void trailers_alone(void **state)
{
    int32_t id = peer_get("/");
    talk();
    weir_head head = answer(200, -1);
    fake_send_head(current(), &head, 0);
    fake_send_trailers(current(), &(weir_field){WEIR_STRING("x"), WEIR_STRING("y")}, 1);
    talk();
    assert_true(has_field(&peer.streams[id].fields, "x: y\n"));
    assert_true(peer.streams[id].closed && peer.streams[id].ended);
}

static void cookies_are_joined(void **state)
{
    static const char *const fields[] = {":method", "GET", ":scheme", "http", ":authority", "a",
                                         ":path",   "/",   "cookie",  "a=1",  "x",          "y",
                                         "cookie",  "b=2", "cookie",  "c=3",  NULL};
    peer_request(fields, NULL, false);
    talk();
    const weir_head *head = &current()->head->view;
    assert_int_equal(head->count, 2);
    is(head->fields[0].name, "cookie");
    is(head->fields[0].value, "a=1; b=2; c=3");
    is(head->fields[1].value, "y");
}

static void many_at_once(void **state)
{
    static char path[16];
    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof path, "/%d", i);
        peer_get(path);
    }
    talk();
    assert_int_equal(fake.begun, 100);
    for (int i = 99; i >= 0; i--)
        answer_with(&fake.channels[i], "x");
    talk();
    for (int i = 0; i < 100; i++)
        assert_true(peer.streams[2 * i + 1].closed && peer.streams[2 * i + 1].ended);
    assert_false(fake.closing);
}

static void interim_answers(void **state)
{
    int32_t id = peer_get("/");
    talk();
    weir_head interim = answer(103, -1);
    assert_int_equal(fake_send_interim(current(), &interim), WEIR_OK);
    talk();
    assert_true(has_field(&peer.streams[id].fields, ":status: 103\n"));
    answer_with(current(), "");
    talk();
    assert_true(has_field(&peer.streams[id].fields, ":status: 200\n"));
    assert_true(peer.streams[id].closed);
}

static void no_body_where_there_must_be_none(void **state)
{
    static const char *const fields[] = {":method", "HEAD",  ":scheme", "http", ":authority",
                                         "a",       ":path", "/",       NULL};
    int32_t id = peer_request(fields, NULL, false);
    talk();
    weir_head head = answer(200, 5);
    fake_send_head(current(), &head, 0);
    assert_int_equal(fake_send(current(), "hello", 5, WEIR_END), 5);
    assert_int_equal(current()->left, 5);
    fake_let_go(current());
    talk();
    assert_int_equal(peer.streams[id].body.length, 0);
    assert_true(peer.streams[id].ended && peer.streams[id].closed);
}

/* --- requests that are none */

static void answer_with_400(void)
{
    weir_head head = answer(400, 3);
    fake_send_head(current(), &head, 0);
    assert_int_equal(fake_send(current(), "no\n", 3, WEIR_END), 3);
}

/* Whoever logs what the client got knows whether it got an answer. */
static void malformed(void **state)
{
    static const char *const cases[][14] = {
        {":method", "GET", ":scheme", "http", ":path", "/", NULL},
        {":method", "GET", ":scheme", "http", ":path", "/", ":authority", "", NULL},
        {":method", "GET", ":scheme", "http", ":path", "/", ":authority", "a@b", NULL},
        {":method", "GET", ":scheme", "http", ":path", "/", ":authority", "a", "host", "b", NULL},
        {":method", "GET", ":scheme", "http", ":path", "/#x", ":authority", "a", NULL},
        {":method", "GET", ":scheme", "ftp", ":path", "x", ":authority", "a", NULL},
        {":method", "GET", ":scheme", "http", ":path", "", ":authority", "a", NULL},
        {":method", "GET", ":scheme", "http", ":path", "/", ":authority", "a", "connection",
         "close", NULL},
        {":method", "GET", ":scheme", "http", ":path", "/", ":authority", "a", "te", "gzip", NULL},
        {":method", "GET", ":scheme", "http", ":path", "/", ":authority", "a", "x", "a\nb", NULL},
        {":method", "GET", ":scheme", "http", ":path", "/", ":authority", "a", "x y", "z", NULL},
        {":method", "GET", ":scheme", "http", ":path", "/", ":authority", "a", "content-length",
         "5", NULL},
        {":method", "CONNECT", ":scheme", "http", ":path", "/", ":authority", "a:1", NULL},
        {":method", "GET", ":scheme", "http", ":path", "/", ":authority", "a", ":protocol",
         "websocket", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t id = peer_request(cases[i], NULL, false);
        talk();
        assert_int_equal(fake.begun, i + 1);
        assert_int_equal(current()->head->view.kind, WEIR_MALFORMED_REQUEST);
        assert_int_equal(current()->head->view.error, WEIR_MALFORMED);
        bool answered = current()->failed == WEIR_OK;
        if (answered)
            answer_with_400();
        else
            assert_int_equal(current()->failed, WEIR_MALFORMED);
        fake_let_go(current());
        talk();
        assert_true(peer.streams[id].closed);
        assert_int_equal(peer.streams[id].code == NGHTTP2_PROTOCOL_ERROR, !answered);
        assert_int_equal(has_field(&peer.streams[id].fields, ":status: 400\n"), answered);
        assert_false(fake.closing);
    }
}

static void length_and_data_disagree(void **state)
{
    static const char *const fields[] = {":method",        "POST", ":scheme", "http",
                                         ":authority",     "a",    ":path",   "/",
                                         "content-length", "5",    NULL};
    int32_t longer = peer_request(fields, "longer", false);
    talk();
    assert_int_equal(peer.streams[longer].code, NGHTTP2_PROTOCOL_ERROR);
    assert_int_equal(current()->failed, WEIR_MALFORMED);
    assert_false(current()->ended);
    fake_let_go(current());
    int32_t less = peer_request(fields, "less", false);
    talk();
    assert_int_equal(peer.streams[less].code, NGHTTP2_PROTOCOL_ERROR);
    assert_int_equal(current()->failed, WEIR_MALFORMED);
    assert_false(current()->ended);
}

static void too_many_fields(void **state)
{
    const char *fields[300] = {":method",    "GET", ":scheme", "http",
                               ":authority", "a",   ":path",   "/"};
    for (size_t i = 8; i < 8 + 2 * 129; i += 2) {
        fields[i] = "x";
        fields[i + 1] = "y";
    }
    int32_t id = peer_request(fields, NULL, false);
    talk();
    assert_int_equal(current()->head->view.error, WEIR_HEAD_TOO_LARGE);
    weir_head head = answer(431, -1);
    fake_send_head(current(), &head, WEIR_END);
    fake_let_go(current());
    talk();
    assert_true(has_field(&peer.streams[id].fields, ":status: 431\n"));
    peer_get("/");
    talk();
    assert_int_equal(current()->head->view.kind, WEIR_REQUEST); /* the table is in step */
}

static void too_long_a_path(void **state)
{
    static char path[9000];
    memset(path, 'a', sizeof path - 1);
    path[0] = '/';
    peer_get(path);
    talk();
    assert_int_equal(current()->head->view.error, WEIR_TARGET_TOO_LONG);
}

/* --- tunnels */

static void connect_on_a_stream(void **state)
{
    static const char *const fields[] = {":method", "CONNECT", ":authority", "a.test:443", NULL};
    int32_t id = peer_request(fields, "ping", true);
    talk();
    const weir_head *request = &current()->head->view;
    assert_int_equal(request->kind, WEIR_TUNNEL);
    is(request->authority, "a.test:443");
    assert_int_equal(request->path.length, 0);
    assert_string_equal(current()->body.bytes, "ping");
    weir_head head = answer(200, -1);
    head.kind = WEIR_TUNNEL;
    fake_send_head(current(), &head, 0);
    fake_send(current(), "pong", 4, 0);
    talk();
    assert_string_equal(peer.streams[id].body.bytes, "pong");
    peer_more(id, "bye", false); /* each direction ends by itself */
    talk();
    assert_string_equal(current()->body.bytes, "pingbye");
    assert_true(current()->ended);
    assert_false(peer.streams[id].closed);
    fake_send(current(), "", 0, WEIR_END);
    fake_let_go(current());
    talk();
    assert_true(peer.streams[id].closed);
    assert_int_equal(peer.streams[id].code, NGHTTP2_NO_ERROR);
}

static void a_tunnel_that_breaks(void **state)
{
    static const char *const fields[] = {":method", "CONNECT", ":authority", "a.test:443", NULL};
    int32_t id = peer_request(fields, NULL, true);
    talk();
    weir_head head = answer(200, -1);
    head.kind = WEIR_TUNNEL;
    fake_send_head(current(), &head, 0);
    fake_send(current(), "half", 4, 0);
    fake_reset(current(), WEIR_RESET);
    talk();
    assert_string_equal(peer.streams[id].body.bytes, "half");
    assert_int_equal(peer.streams[id].code, NGHTTP2_CONNECT_ERROR);
}

static void a_websocket(void **state)
{
    static const char *const fields[] = {
        ":method", "CONNECT", ":protocol",         "websocket",
        ":scheme", "http",    ":authority",        "a.test",
        ":path",   "/chat",   "sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA==",
        NULL};
    talk();
    assert_int_equal(
        nghttp2_session_get_remote_settings(peer.session, NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL),
        1);
    int32_t id = peer_request(fields, NULL, true);
    talk();
    const weir_head *request = &current()->head->view;
    assert_int_equal(request->kind, WEIR_REQUEST);
    assert_int_equal(request->flags, 0);
    is(request->method, "GET");
    is(request->protocol, "websocket");
    is(request->path, "/chat");
    assert_int_equal(request->count, 0); /* the key means nothing here */
    static const weir_field accept = {WEIR_STRING("Sec-WebSocket-Accept"), WEIR_STRING("x")};
    weir_head head = answer(101, -1);
    head.kind = WEIR_TUNNEL;
    head.protocol = WEIR_STRING("websocket");
    head.fields = &accept;
    head.count = 1;
    fake_send_head(current(), &head, 0);
    talk();
    assert_string_equal(peer.streams[id].fields.bytes, ":status: 200\n");
}

static void an_unknown_protocol(void **state)
{
    static const char *const fields[] = {":method", "CONNECT", ":protocol",  "teleport",
                                         ":scheme", "http",    ":authority", "a.test",
                                         ":path",   "/",       NULL};
    talk();
    peer_request(fields, NULL, true);
    talk();
    assert_int_equal(current()->head->view.error, WEIR_NOT_IMPLEMENTED);
}

/* --- credit */

static void nothing_beyond_the_peers_window(void **state)
{
    static char body[100000];
    nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1000};
    memset(body, 'x', sizeof body);
    nghttp2_submit_settings(peer.session, NGHTTP2_FLAG_NONE, &window, 1);
    peer.greedy = false;
    int32_t id = peer_get("/");
    talk();
    weir_head head = answer(200, sizeof body);
    fake_send_head(current(), &head, 0);
    assert_int_equal(current()->credit, 1000);
    assert_int_equal(fake_send(current(), body, sizeof body, WEIR_END), 1000);
    talk();
    assert_int_equal(peer.streams[id].body.length, 1000);
    assert_int_equal(current()->left, 1000);
    assert_int_equal(current()->credit, 0);
    nghttp2_session_consume_stream(peer.session, id, 1000);
    talk();
    assert_int_equal(current()->credit, 1000);
}

static void a_long_answer(void **state)
{
    static char body[400000];
    size_t done = 0;
    memset(body, 'x', sizeof body);
    int32_t id = peer_get("/");
    talk();
    weir_head head = answer(200, sizeof body);
    fake_send_head(current(), &head, 0);
    while (done < sizeof body) {
        size_t now = fake_send(current(), body + done, sizeof body - done, WEIR_END);
        assert_true(now > 0);
        done += now;
        talk();
    }
    assert_int_equal(peer.streams[id].body.length, sizeof body);
    assert_true(peer.streams[id].ended);
    assert_int_equal(current()->left, sizeof body);
}

/* Core has not passed it on: the client's stream stops, its connection does not. */
static void a_stalled_upload_starves_no_other(void **state)
{
    static char body[200000];
    static const char *const fields[] = {":method", "POST",  ":scheme", "http", ":authority",
                                         "a",       ":path", "/",       NULL};
    memset(body, 'x', sizeof body - 1);
    talk(); /* the window is known */
    peer_request(fields, body, false);
    talk();
    assert_int_equal(current()->owed, WEIR_CREDIT);
    struct fake_channel *stalled = current();
    peer_request(fields, body, false);
    while (!current()->ended) {
        talk();
        assert_true(current()->owed > 0);
        fake_consume(current(), current()->owed);
    }
    assert_int_equal(stalled->owed, WEIR_CREDIT);
    assert_int_equal(fake.carrier_credit, WEIR_CREDIT);
}

/* Before it knows better a client may send 65,535 bytes. */
static void an_upload_before_the_window_is_known(void **state)
{
    static char body[200000];
    static const char *const fields[] = {":method", "POST",  ":scheme", "http", ":authority",
                                         "a",       ":path", "/",       NULL};
    memset(body, 'x', sizeof body - 1);
    peer_request(fields, body, false);
    peer_speaks();
    assert_int_equal(current()->owed, 65535);
    fake_consume(current(), 65535);
    talk();
    assert_int_equal(current()->owed, WEIR_CREDIT); /* from now on */
}

/* --- windows that grow */

enum { ROUND_TRIP_MS = 50, UPLOADS = 12 };

static void a_long_way_to_the_client(void)
{
    fake_turn();
    peer_hears();
    fake.now_ms += ROUND_TRIP_MS;
    talk();
    fake.owed_most = WEIR_CREDIT_MOST;
    fake.limits.control_frames = 0;
}

static int32_t upload(void)
{
    static char body[20000000];
    static const char *const fields[] = {":method", "POST",  ":scheme", "http", ":authority",
                                         "a",       ":path", "/",       NULL};
    memset(body, 'x', sizeof body - 1);
    int32_t id = peer_request(fields, body, false);
    talk();
    return id;
}

static void pass_on(struct fake_channel *channel, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        fake_consume(channel, channel->owed);
        fake.now_ms += ROUND_TRIP_MS;
        talk();
    }
}

static void a_window_grows_for_who_uses_it_up(void **state)
{
    a_long_way_to_the_client();
    upload();
    struct fake_channel *channel = current();
    assert_int_equal(channel->owed, WEIR_CREDIT);
    pass_on(channel, 10);
    assert_in_range(channel->owed, WEIR_CREDIT_MOST / 2, WEIR_CREDIT_MOST);
    for (int i = 0; i < 8; i++) { /* a sink that stalls */
        fake.now_ms += 10 * ROUND_TRIP_MS;
        fake_consume(channel, channel->owed);
        talk();
        assert_true(i || channel->owed <= WEIR_CREDIT_MOST / 2);
    }
    assert_int_equal(channel->owed, WEIR_CREDIT);
}

static void a_window_does_not_grow_for_who_is_slow(void **state)
{
    a_long_way_to_the_client();
    upload();
    for (int i = 0; i < 20; i++) {
        fake_consume(current(), current()->owed);
        fake.now_ms += 10 * ROUND_TRIP_MS;
        talk();
    }
    assert_int_equal(current()->owed, WEIR_CREDIT);
}

static void windows_have_a_bound_in_sum(void **state)
{
    size_t owed = 0;
    a_long_way_to_the_client();
    for (int i = 0; i < UPLOADS; i++)
        upload();
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < UPLOADS; i++)
            fake_consume(&fake.channels[i], fake.channels[i].owed);
        fake.now_ms += ROUND_TRIP_MS;
        talk();
    }
    for (int i = 0; i < UPLOADS; i++)
        owed += fake.channels[i].owed;
    assert_in_range(owed, 4 << 20, 8 << 20);
}

/* --- ends */

static void an_early_answer(void **state)
{
    static const char *const fields[] = {":method", "POST",  ":scheme", "http", ":authority",
                                         "a",       ":path", "/",       NULL};
    int32_t id = peer_request(fields, "some", true);
    talk();
    answer_with(current(), "enough");
    talk();
    assert_string_equal(peer.streams[id].body.bytes, "enough");
    assert_true(peer.streams[id].ended && peer.streams[id].closed);
    assert_int_equal(peer.streams[id].code, NGHTTP2_NO_ERROR);
}

static void a_request_that_breaks_off_behind_its_answer(void **state)
{
    static const char *const fields[] = {":method", "POST",  ":scheme", "http", ":authority",
                                         "a",       ":path", "/",       NULL};
    int32_t id = peer_request(fields, "some", true);
    talk();
    weir_head head = answer(200, -1);
    fake_send_head(current(), &head, 0);
    fake_send(current(), "all", 3, WEIR_END);
    talk();
    assert_true(peer.streams[id].ended && !peer.streams[id].closed);
    fake_reset(current(), WEIR_RESET);
    talk();
    assert_int_equal(peer.streams[id].code, NGHTTP2_INTERNAL_ERROR);
    fake_let_go(current());
}

static void an_answer_that_nobody_takes(void **state)
{
    int32_t id = peer_get("/");
    talk();
    weir_head head = answer(200, 100);
    fake_send_head(current(), &head, 0);
    fake_send(current(), "half", 4, 0);
    fake_reset(current(), WEIR_IDLE_TIMEOUT);
    talk();
    assert_int_equal(peer.streams[id].body.length, 0);
    assert_int_equal(peer.streams[id].code, NGHTTP2_INTERNAL_ERROR);
}

static void trailers_of_a_malformed_request(void **state)
{
    static const char *const fields[] = {":method", "POST", ":scheme", "http", ":authority", "a",
                                         ":path",   "/",    "upgrade", "x",    NULL};
    nghttp2_nv trailer = {(uint8_t *)"x-sum", (uint8_t *)"7", 5, 1, 0};
    int32_t id = peer_request(fields, "some", true);
    nghttp2_submit_trailer(peer.session, id, &trailer, 1);
    talk();
    assert_int_equal(current()->failed, WEIR_MALFORMED);
    fake_let_go(current());
    assert_false(fake.closing);
    peer_get("/");
    talk();
    assert_int_equal(current()->head->view.kind, WEIR_REQUEST);
}

static void an_answer_that_breaks_off(void **state)
{
    int32_t id = peer_get("/");
    talk();
    weir_head head = answer(200, 100);
    fake_send_head(current(), &head, 0);
    fake_send(current(), "half", 4, 0);
    fake_reset(current(), WEIR_TRUNCATED);
    talk();
    assert_string_equal(peer.streams[id].body.bytes, "half"); /* as far as it came */
    assert_false(peer.streams[id].ended);
    assert_int_equal(peer.streams[id].code, NGHTTP2_INTERNAL_ERROR);
}

static void a_body_that_is_not_what_was_announced(void **state)
{
    int32_t id = peer_get("/");
    talk();
    weir_head head = answer(200, 3);
    fake_send_head(current(), &head, 0);
    fake_send(current(), "four", 4, WEIR_END);
    assert_int_equal(current()->failed, WEIR_INTERNAL);
    talk();
    assert_false(peer.streams[id].ended);
    assert_int_equal(peer.streams[id].code, NGHTTP2_INTERNAL_ERROR);
}

static void a_client_that_cancels(void **state)
{
    int32_t id = peer_get("/");
    talk();
    nghttp2_submit_rst_stream(peer.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    talk();
    assert_int_equal(current()->failed, WEIR_RESET);
    fake_reset(current(), WEIR_RESET);
    talk();
    assert_false(fake.closing);
    assert_int_equal(peer.resets, 0);
}

static void a_connection_error(void **state)
{
    static const uint8_t zero[4];
    peer_get("/");
    talk();
    peer_frame(NGHTTP2_WINDOW_UPDATE, 0, 0, zero, sizeof zero);
    fake_turn();
    peer_hears();
    assert_int_equal(peer.goaways, 1);
    assert_int_equal(peer.goaway_code, NGHTTP2_PROTOCOL_ERROR);
    assert_true(fake.closing);
    assert_true(current()->failed < 0 && !current()->open);
    assert_non_null(strstr(fake.logged.bytes, "broke the protocol"));
}

static void the_end_of_the_carrier(void **state)
{
    peer_get("/");
    talk();
    fake_end(WEIR_END_RESET);
    assert_true(fake.closing && fake.close_how == WEIR_CLOSE_RESET);
    assert_int_equal(current()->failed, WEIR_RESET);
}

/* Who only closes his direction still gets the answer. */
static void a_half_closed_client(void **state)
{
    int32_t id = peer_get("/");
    talk();
    fake_end(WEIR_END_CLEAN);
    assert_false(fake.closing);
    answer_with(current(), "late");
    fake_turn();
    fake_turn();
    peer_hears();
    assert_string_equal(peer.streams[id].body.bytes, "late");
    assert_true(fake.closing && fake.close_how == WEIR_CLOSE_FLUSH);
}

/* --- what may come only so often */

/* The code of the first GOAWAY that was written; the peer itself may have had enough by then. */
static uint32_t written_goaway(void)
{
    for (size_t at = 0; at + 9 <= fake.output.length;) {
        const uint8_t *frame = (const uint8_t *)fake.output.bytes + at;
        if (frame[3] == NGHTTP2_GOAWAY)
            return frame[16];
        at += 9 + ((size_t)frame[0] << 16 | (size_t)frame[1] << 8 | frame[2]);
    }
    return NGHTTP2_NO_ERROR;
}

static void told_to_calm_down(void)
{
    fake_turn();
    fake_turn();
    assert_int_equal(written_goaway(), NGHTTP2_ENHANCE_YOUR_CALM);
    assert_true(fake.closing);
    assert_int_equal(fake.close_why, WEIR_LIMIT_REACHED);
}

static void rapid_reset(void **state)
{
    fake.limits.resets = 10;
    for (int i = 0; i <= 10; i++) {
        assert_false(fake.closing);
        int32_t id = peer_get("/");
        peer_speaks();
        nghttp2_submit_rst_stream(peer.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
        peer_speaks();
        fake_reset(current(), WEIR_RESET);
    }
    told_to_calm_down();
}

/* The client has them reset, by what it does wrong. */
static void made_to_reset(void **state)
{
    static const char *const fields[] = {":method",        "POST", ":scheme", "http",
                                         ":authority",     "a",    ":path",   "/",
                                         "content-length", "5",    NULL};
    fake.limits.resets = 10;
    for (int i = 0; i <= 10; i++) {
        assert_false(fake.closing);
        peer_request(fields, "longer", false);
        peer_speaks();
        fake_turn();
        fake_reset(current(), WEIR_RESET);
    }
    told_to_calm_down();
}

/* They come no faster than core ends what became of them. */
static void resets_wait_for_core(void **state)
{
    fake.limits.streams = 10;
    fake.limits.resets = 0;
    talk();
    for (int i = 0; i < 20; i++) {
        int32_t id = peer_get("/");
        peer_speaks();
        nghttp2_submit_rst_stream(peer.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
        peer_speaks();
    }
    assert_true(fake.carrier_credit < WEIR_CREDIT);
    for (uint32_t i = 0; i < fake.begun; i++)
        fake_reset(&fake.channels[i], WEIR_RESET);
    assert_int_equal(fake.carrier_credit, WEIR_CREDIT);
    assert_false(fake.closing);
}

static void continuation_flood(void **state)
{
    talk();
    peer_frame(NGHTTP2_HEADERS, 0, 1, "\x82", 1);
    for (int i = 0; i < 20 && !fake.closing; i++)
        peer_frame(NGHTTP2_CONTINUATION, 0, 1, "", 0);
    assert_true(fake.closing);
    assert_int_equal(fake.begun, 0);
    assert_non_null(strstr(fake.logged.bytes, "CONTINUATION"));
}

/* One entry of the table, named again and again in a byte each. */
static void hpack_bomb(void **state)
{
    static uint8_t block[16000];
    static const uint8_t field[] = {
        0x40, 1, 'a', 0x7f, 0x80 | (3900 - 127) % 128, (3900 - 127) / 128};
    static const uint8_t required[] = {0x82, 0x86, 0x84, 0x41, 1, 'a'};
    size_t at = sizeof required + sizeof field;
    memcpy(block, required, sizeof required);
    memcpy(block + sizeof required, field, sizeof field);
    memset(block + at, 'v', 3900);
    memset(block + at + 3900, 0x80 | 62, sizeof block - at - 3900);
    talk();
    peer_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1, block,
               sizeof block);
    assert_int_equal(current()->head->view.error, WEIR_HEAD_TOO_LARGE);
    assert_false(fake.closing);
}

/* Answers to what it sends are never read. */
static void acknowledgements_that_nobody_reads(void **state)
{
    fake.limits.control_frames = 0;
    talk();
    for (int i = 0; i < 2000 && !fake.closing; i++)
        peer_frame(NGHTTP2_PING, 0, 0, "12345678", 8);
    assert_true(fake.closing);
    assert_non_null(strstr(fake.logged.bytes, "not read"));
}

/* Frames in states and on streams that have no such frames. */
static void wrong_states(void **state)
{
    static const struct {
        uint8_t type, flags;
        int32_t id;
        size_t length;
        const char *payload;
    } frames[] = {
        {NGHTTP2_DATA, 0, 1, 1, "x"},                              /* idle */
        {NGHTTP2_DATA, 0, 0, 1, "x"},                              /* no stream */
        {NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 2, 1, "\x82"}, /* a server's */
        {NGHTTP2_WINDOW_UPDATE, 0, 1, 4, "\0\0\0\1"},              /* idle */
        {NGHTTP2_RST_STREAM, 0, 1, 4, "\0\0\0\1"},
        {NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, 1, 1, "\x82"}, /* of nothing */
        {NGHTTP2_PING, 0, 1, 8, "12345678"},
        {NGHTTP2_SETTINGS, 0, 0, 5, "12345"},
        {NGHTTP2_GOAWAY, 0, 1, 8, "12345678"},
        {NGHTTP2_PUSH_PROMISE, NGHTTP2_FLAG_END_HEADERS, 1, 5, "\0\0\0\2\x82"},
        {NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, 1, "\xff"}, /* no such field */
    };
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        talk();
        peer_frame(frames[i].type, frames[i].flags, frames[i].id, frames[i].payload,
                   frames[i].length);
        fake_turn();
        fake_turn();
        assert_true(fake.closing);
        assert_int_not_equal(written_goaway(), NGHTTP2_NO_ERROR);
        assert_non_null(strstr(fake.logged.bytes, "broke the protocol"));
        peer_gone();
        set_up(state);
    }
}

static void floods(void **state)
{
    static const uint8_t payload[8] = {0, 0, 0, 1, 'u', '=', '1'};
    static const struct {
        uint8_t type;
        int32_t id;
        size_t length;
    } frames[] = {{NGHTTP2_PING, 0, 8},
                  {NGHTTP2_SETTINGS, 0, 0},
                  {NGHTTP2_PRIORITY_UPDATE, 0, 7},
                  {NGHTTP2_DATA, 1, 0}};
    static const char *const post[] = {":method", "POST",  ":scheme", "http", ":authority",
                                       "a",       ":path", "/",       NULL};
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        fake.limits.control_frames = 20;
        peer_request(post, NULL, true);
        talk();
        for (int count = 0; count <= 20 && !fake.closing; count++) {
            peer_frame(frames[i].type, 0, frames[i].id, payload, frames[i].length);
            fake_turn();
        }
        told_to_calm_down();
        peer_gone();
        set_up(state);
    }
}

/* --- time limits and drain */

static void deadlines(void **state)
{
    assert_int_equal(fake.deadline_ms, 10000); /* for SETTINGS */
    talk();
    assert_int_equal(fake.deadline_ms, 70000);
    peer_get("/");
    talk();
    assert_int_equal(fake.deadline_ms, 0);
    answer_with(current(), "");
    talk();
    assert_int_equal(fake.deadline_ms, 70000);
    fake_timeout();
    fake_turn();
    peer_hears();
    assert_int_equal(peer.goaways, 1);
    assert_int_equal(peer.goaway_code, NGHTTP2_NO_ERROR);
    assert_true(fake.closing);
}

static void a_head_that_does_not_end(void **state)
{
    talk();
    peer_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 1, "\x82", 1);
    assert_int_equal(fake.deadline_ms, 10000);
    fake_timeout();
    fake_turn();
    peer_hears();
    assert_int_equal(peer.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    assert_true(fake.closing);
    assert_int_equal(fake.close_why, WEIR_HEAD_TIMEOUT);
    assert_non_null(strstr(fake.logged.bytes, "timeouts.head"));
}

/* What is left of a complete answer, when the client takes nothing of it any more. */
static void an_answer_that_is_not_taken(void **state)
{
    nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 10};
    nghttp2_submit_settings(peer.session, NGHTTP2_FLAG_NONE, &window, 1);
    peer.greedy = false;
    int32_t id = peer_get("/");
    talk();
    weir_head head = answer(200, -1);
    fake_send_head(current(), &head, 0);
    window.value = 2;
    fake_send(current(), "0123456789", 10, WEIR_END);
    nghttp2_submit_settings(peer.session, NGHTTP2_FLAG_NONE, &window, 1);
    peer_speaks(); /* 8 bytes must wait */
    fake_let_go(current());
    talk();
    assert_int_equal(peer.streams[id].body.length, 2);
    assert_int_equal(fake.deadline_ms, 30000);
    nghttp2_session_consume_stream(peer.session, id, 2);
    nghttp2_submit_window_update(peer.session, NGHTTP2_FLAG_NONE, id, 1);
    talk();
    fake_timeout(); /* some left */
    assert_false(fake.closing);
    fake_timeout();
    assert_true(fake.closing && fake.close_how == WEIR_CLOSE_RESET);
    assert_non_null(strstr(fake.logged.bytes, "30 seconds"));
}

static void draining_an_idle_connection(void **state)
{
    talk();
    fake_drain();
    talk();
    assert_int_equal(peer.goaways, 1);
    assert_int_equal(peer.last_stream, 0);
    assert_true(fake.closing && fake.close_how == WEIR_CLOSE_FLUSH);
}

static void draining_while_exchanges_run(void **state)
{
    int32_t first = peer_get("/first");
    talk();
    fake_drain();
    int32_t second = peer_get("/second"); /* on its way already */
    talk();
    assert_int_equal(peer.goaways, 2);
    assert_int_equal(peer.last_stream, second);
    assert_int_equal(fake.begun, 2);
    assert_false(fake.closing);
    answer_with(&fake.channels[0], "1");
    answer_with(&fake.channels[1], "2");
    talk();
    assert_true(peer.streams[first].closed && peer.streams[second].closed);
    assert_string_equal(peer.streams[second].body.bytes, "2");
    assert_true(fake.closing && fake.close_how == WEIR_CLOSE_FLUSH);
}

/* --- priorities (RFC 9218) */

static void urgent_answers_first(void **state)
{
    static char body[50000];
    const char *fields[] = {":method", "GET", ":scheme",  "http", ":authority", "a",
                            ":path",   "/",   "priority", "u=7",  NULL};
    memset(body, 'x', sizeof body);
    int32_t late = peer_request(fields, NULL, false);
    fields[9] = "u=0";
    int32_t urgent = peer_request(fields, NULL, false);
    talk();
    weir_head head = answer(200, -1);
    for (int i = 0; i < 2; i++) {
        fake_send_head(&fake.channels[i], &head, 0);
        fake_send(&fake.channels[i], body, 30000, WEIR_END);
    }
    fake_turn(); /* one round: the window of the connection takes both, in order */
    size_t first = 0;
    for (size_t at = peer.read; at + 9 <= fake.output.length;) {
        const uint8_t *frame = (const uint8_t *)fake.output.bytes + at;
        if (frame[3] == NGHTTP2_DATA && !first)
            first = frame[8];
        at += 9 + ((size_t)frame[0] << 16 | (size_t)frame[1] << 8 | frame[2]);
    }
    assert_int_equal(first, urgent);
    talk();
    assert_true(peer.streams[late].ended && peer.streams[urgent].ended);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(sniffing),
        CASE(a_get),
        CASE(a_byte_at_a_time),
        CASE(a_post_with_trailers),
        CASE(trailers_alone),
        CASE(cookies_are_joined),
        CASE(many_at_once),
        CASE(interim_answers),
        CASE(no_body_where_there_must_be_none),
        CASE(malformed),
        CASE(length_and_data_disagree),
        CASE(too_many_fields),
        CASE(too_long_a_path),
        CASE(connect_on_a_stream),
        CASE(a_tunnel_that_breaks),
        CASE(a_websocket),
        CASE(an_unknown_protocol),
        CASE(nothing_beyond_the_peers_window),
        CASE(a_long_answer),
        CASE(a_stalled_upload_starves_no_other),
        CASE(an_upload_before_the_window_is_known),
        CASE(a_window_grows_for_who_uses_it_up),
        CASE(a_window_does_not_grow_for_who_is_slow),
        CASE(windows_have_a_bound_in_sum),
        CASE(an_early_answer),
        CASE(an_answer_that_breaks_off),
        CASE(an_answer_that_nobody_takes),
        CASE(a_request_that_breaks_off_behind_its_answer),
        CASE(trailers_of_a_malformed_request),
        CASE(a_body_that_is_not_what_was_announced),
        CASE(a_client_that_cancels),
        CASE(a_connection_error),
        CASE(the_end_of_the_carrier),
        CASE(a_half_closed_client),
        CASE(rapid_reset),
        CASE(made_to_reset),
        CASE(resets_wait_for_core),
        CASE(continuation_flood),
        CASE(hpack_bomb),
        CASE(acknowledgements_that_nobody_reads),
        CASE(wrong_states),
        CASE(floods),
        CASE(deadlines),
        CASE(a_head_that_does_not_end),
        CASE(an_answer_that_is_not_taken),
        CASE(draining_an_idle_connection),
        CASE(draining_while_exchanges_run),
        CASE(urgent_answers_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
