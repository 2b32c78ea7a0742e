/* tests/unit/core/exchange/reply_test.c - every failure has its answer */
#include "core/exchange/reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"

static _Alignas(8) uint8_t first_block[1024];
static struct arena arena;
static struct turn turn;
static struct mark owner;
static struct channel channel;

static void step(struct mark *mark)
{
}

static int set_up(void **state)
{
    arena_init(&arena, first_block, sizeof first_block);
    turn_init(&turn);
    mark_init(&owner, step);
    channel_init(&channel, &turn, &owner, &arena);
    return 0;
}

static int tear_down(void **state)
{
    channel_close(&channel);
    arena_deinit(&arena);
    arena_pool_deinit();
    return 0;
}

static weir_string value_of(const char *name)
{
    weir_string found = {NULL, 0};
    for (uint32_t i = 0; i < channel.head->count; i++)
        if (string_equal_nocase(channel.head->fields[i].name, string_of(name))) {
            assert_null(found.bytes); /* once at most */
            found = channel.head->fields[i].value;
        }
    return found;
}

static weir_string body(void)
{
    weir_slice slice = {0};
    assert_true(channel.incoming.count <= 1);
    slice_queue_peek(&channel.incoming, &slice, 1, UINT64_MAX);
    return (weir_string){(const char *)slice.bytes, slice.length};
}

/* The channel has a whole answer with that status. */
static void is_answered(uint32_t status, const char *reason)
{
    const weir_head *view = &channel.head->view;
    uint64_t length;
    assert_true(channel_open(&channel));
    assert_true(channel.incoming_ended);
    assert_true(owner.marked);
    assert_int_equal(view->kind, WEIR_REQUEST);
    assert_int_equal(view->status, status);
    assert_true(string_equal(view->reason, string_of(reason)));
    assert_true(string_equal(view->version, WEIR_STRING("1.1")));
    assert_true(string_to_number(value_of("Content-Length"), UINT64_MAX, &length));
    assert_int_equal(length, body().length);
    assert_int_equal(view->content_length, body().length);
}

/* design: what weir says for each cause; RFC 9209 has the names. */
static const struct {
    weir_result cause;
    uint32_t status;
    const char *reason, *error;
} answers[] = {
    {WEIR_DNS_ERROR, 502, "Bad Gateway", "dns_error"},
    {WEIR_CONNECTION_REFUSED, 502, "Bad Gateway", "connection_refused"},
    {WEIR_UNROUTABLE, 502, "Bad Gateway", "destination_ip_unroutable"},
    {WEIR_CONNECTION_TIMEOUT, 504, "Gateway Timeout", "connection_timeout"},
    {WEIR_CONNECTION_TERMINATED, 502, "Bad Gateway", "connection_terminated"},
    {WEIR_TRUNCATED, 502, "Bad Gateway", "connection_terminated"},
    {WEIR_SERVER_PROTOCOL_ERROR, 502, "Bad Gateway", "http_protocol_error"},
    {WEIR_RESPONSE_TIMEOUT, 504, "Gateway Timeout", "http_response_timeout"},
    {WEIR_IDLE_TIMEOUT, 504, "Gateway Timeout", "http_response_timeout"},
    {WEIR_ADDRESS_PROHIBITED, 403, "Forbidden", "destination_ip_prohibited"},
    {WEIR_DENIED, 403, "Forbidden", "http_request_denied"},
    {WEIR_LIMIT_REACHED, 503, "Service Unavailable", "connection_limit_reached"},
    {WEIR_STOPPING, 503, "Service Unavailable", "connection_limit_reached"},
    {WEIR_MALFORMED, 400, "Bad Request", "http_request_error"},
    {WEIR_NOT_A_PROXY_REQUEST, 400, "Bad Request", "http_request_error"},
    {WEIR_REQUEST_TRUNCATED, 400, "Bad Request", "http_request_error"},
    {WEIR_HEAD_TIMEOUT, 408, "Request Timeout", "http_request_error"},
    {WEIR_BODY_TIMEOUT, 408, "Request Timeout", "http_request_error"},
    {WEIR_BODY_TOO_LARGE, 413, "Content Too Large", "http_request_error"},
    {WEIR_TARGET_TOO_LONG, 414, "URI Too Long", "http_request_error"},
    {WEIR_HEAD_TOO_LARGE, 431, "Request Header Fields Too Large", "http_request_error"},
    {WEIR_VERSION_UNSUPPORTED, 505, "HTTP Version Not Supported", "http_request_error"},
    {WEIR_NOT_IMPLEMENTED, 501, "Not Implemented", "http_request_error"},
    {WEIR_LOOP, 508, "Loop Detected", "proxy_loop_detected"},
    {WEIR_INTERNAL, 500, "Internal Server Error", "proxy_internal_error"},
    /* These reach a client only by mistake; then it is the proxy that failed. */
    {WEIR_INVALID, 500, "Internal Server Error", "proxy_internal_error"},
    {WEIR_GONE, 500, "Internal Server Error", "proxy_internal_error"},
    {WEIR_UNSUPPORTED, 500, "Internal Server Error", "proxy_internal_error"},
    {WEIR_CANCELLED, 500, "Internal Server Error", "proxy_internal_error"},
    {-1000, 500, "Internal Server Error", "proxy_internal_error"},
};

static void every_cause_has_its_answer(void **state)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        char expected[128] = "weir-7; error=";
        set_up(state);
        reply_for_cause(&channel, answers[i].cause, WEIR_STRING("weir-7"), NULL);
        is_answered(answers[i].status, answers[i].reason);
        assert_int_equal(channel.head->view.error, answers[i].cause);
        strcat(expected, answers[i].error);
        assert_true(string_equal(value_of("Proxy-Status"), string_of(expected)));
        assert_true(string_equal(value_of("Content-Type"), WEIR_STRING("text/plain")));
        assert_true(body().length > 5 && body().bytes[body().length - 1] == '\n');
        tear_down(state);
    }
    set_up(state);
}

/* No value that weir.h has is without an answer, and those with a name of their own have one. */
static void no_cause_is_forgotten(void **state)
{
    for (weir_result cause = WEIR_DNS_ERROR; cause >= WEIR_REQUEST_TRUNCATED; cause--) {
        set_up(state);
        reply_for_cause(&channel, cause, WEIR_STRING("weir"), NULL);
        assert_true(channel.head->view.status >= 400);
        if (cause != WEIR_INTERNAL)
            assert_true(channel.head->view.status != 500);
        tear_down(state);
    }
    set_up(state);
}

static void body_from(const char *template, weir_result cause, const char *expected,
                      const char *type)
{
    reply_for_cause(&channel, cause, WEIR_STRING("weir"), template);
    assert_true(string_equal(body(), string_of(expected)));
    assert_true(string_equal(value_of("Content-Type"), string_of(type)));
    is_answered(channel.head->view.status, "Forbidden");
    tear_down(NULL);
    set_up(NULL);
}

static void bodies_from_templates(void **state)
{
    static const char plain[] = "text/plain", html[] = "text/html; charset=utf-8";
    body_from("", WEIR_DENIED, "", plain);
    body_from("no", WEIR_DENIED, "no", plain);
    body_from("<p>{status} {reason}: {text}</p>\n", WEIR_DENIED,
              "<p>403 Forbidden: Access is not allowed.</p>\n", html);
    body_from("{status}{status}{reason}", WEIR_DENIED, "403403Forbidden", plain);
    body_from("{ {}{status {statu} {text", WEIR_DENIED, "{ {}{status {statu} {text", plain);
    body_from("{{status}}", WEIR_DENIED, "{403}", plain);
}

static void names_in_logs(void **state)
{
    assert_string_equal(cause_name(WEIR_OK), "ok");
    assert_string_equal(cause_name(WEIR_CANCELLED), "cancelled");
    assert_string_equal(cause_name(WEIR_RESET), "reset");
    assert_string_equal(cause_name(WEIR_DNS_ERROR), "dns_error");
    assert_string_equal(cause_name(WEIR_MALFORMED), "malformed");
    assert_string_equal(cause_name(WEIR_HEAD_TOO_LARGE), "head_too_large"); /* the same error */
    assert_string_equal(cause_name(WEIR_TRUNCATED), "truncated");
    assert_string_equal(cause_name(-1000), "proxy_internal_error");
}

/* Where such a request ends is not believed, or not waited for. */
static void a_doubtful_request_ends_the_connection(void **state)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        uint32_t status = answers[i].status;
        set_up(state);
        reply_for_cause(&channel, answers[i].cause, WEIR_STRING("weir"), NULL);
        assert_int_equal(channel.head->view.flags,
                         status == 400 || status == 408 || status == 413 ? WEIR_LAST : 0);
        tear_down(state);
    }
    set_up(state);
}

static void a_filters_answer(void **state)
{
    struct head *head = head_new(&arena);
    weir_buffer *buffer = buffer_new(100000);
    weir_slice slice = {buffer->bytes, 100000, buffer};
    head->view.status = 403;
    head_append(head, WEIR_STRING("X-Reason"), WEIR_STRING("because"));
    reply_with(&channel, head, &slice, false);
    buffer_release(buffer);
    is_answered(403, "Forbidden");
    assert_true(string_equal(value_of("X-Reason"), WEIR_STRING("because")));
    assert_null(value_of("Proxy-Status").bytes);
    assert_ptr_equal(body().bytes, buffer->bytes); /* of any size, and not copied */
}

static void a_filters_empty_answer(void **state)
{
    struct head *head = head_new(&arena);
    head->view.status = 299;
    reply_with(&channel, head, &(weir_slice){0}, false);
    is_answered(299, ""); /* no words for it */
    assert_int_equal(body().length, 0);
}

static weir_head request_of(const char *method, const char *scheme, const weir_field *fields,
                            uint32_t count)
{
    return (weir_head){.size = sizeof(weir_head),
                       .kind = WEIR_REQUEST,
                       .version = WEIR_STRING("1.0"),
                       .method = string_of(method),
                       .scheme = string_of(scheme),
                       .authority = WEIR_STRING("a.example"),
                       .path = WEIR_STRING("/x?y"),
                       .fields = fields,
                       .count = count};
}

static void trace_echoes_what_is_no_secret(void **state)
{
    static const weir_field fields[] = {
        {WEIR_STRING("Host"), WEIR_STRING("a.example")},
        {WEIR_STRING("COOKIE"), WEIR_STRING("secret")},
        {WEIR_STRING("X-Empty"), WEIR_STRING("")},
        {WEIR_STRING("Authorization"), WEIR_STRING("secret")},
        {WEIR_STRING("proxy-Authorization"), WEIR_STRING("secret")},
        {WEIR_STRING("x"), WEIR_STRING("1")},
    };
    weir_head request = request_of("TRACE", "http", fields, 6);
    reply_own(&channel, REPLY_TRACE, &request);
    is_answered(200, "OK");
    assert_true(string_equal(value_of("Content-Type"), WEIR_STRING("message/http")));
    assert_true(string_equal(body(), WEIR_STRING("TRACE http://a.example/x?y HTTP/1.0\r\n"
                                                 "Host: a.example\r\nX-Empty: \r\nx: 1\r\n\r\n")));
}

static void trace_of_an_origin_form(void **state)
{
    weir_head request = request_of("TRACE", "", NULL, 0);
    reply_own(&channel, REPLY_TRACE, &request);
    is_answered(200, "OK");
    assert_true(string_equal(body(), WEIR_STRING("TRACE /x?y HTTP/1.0\r\n\r\n")));
}

static void options_has_no_body(void **state)
{
    weir_head request = request_of("OPTIONS", "", NULL, 0);
    reply_own(&channel, REPLY_OPTIONS, &request);
    is_answered(200, "OK");
    assert_int_equal(body().length, 0);
}

/* The request's body may still come: it goes nowhere, and so does an abort. */
static void takes_whatever_it_is_sent(void **state)
{
    weir_slice slice = {(const uint8_t *)"abc", 3, NULL};
    reply_for_cause(&channel, WEIR_DENIED, WEIR_STRING("weir"), NULL);
    channel.credit = 10;
    channel_data(&channel, &slice, 1, 3, 0);
    channel_grant(&channel, body().length);
    channel_abort(&channel, WEIR_CANCELLED);
    assert_false(channel_open(&channel));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_cause_has_its_answer),
        TEST(no_cause_is_forgotten),
        TEST(bodies_from_templates),
        TEST(names_in_logs),
        TEST(a_doubtful_request_ends_the_connection),
        TEST(a_filters_answer),
        TEST(a_filters_empty_answer),
        TEST(trace_echoes_what_is_no_secret),
        TEST(trace_of_an_origin_form),
        TEST(options_has_no_body),
        TEST(takes_whatever_it_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
