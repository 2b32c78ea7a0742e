/* tests/unit/core/exchange/hop_test.c - what is taken out of heads, what is put in, what must stay
 */
#include "core/exchange/hop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"

static _Alignas(8) uint8_t first_block[1024];
static struct arena arena;

static int set_up(void **state)
{
    arena_init(&arena, first_block, sizeof first_block);
    return 0;
}

static int tear_down(void **state)
{
    arena_deinit(&arena);
    arena_pool_deinit();
    return 0;
}

/* A head of the fields in "name: value|name: value|". */
static struct head *head_of(const char *fields)
{
    struct head *head = head_new(&arena);
    head->view.version = WEIR_STRING("1.1");
    head->view.authority = WEIR_STRING("a.example:81");
    while (*fields) {
        const char *colon = strstr(fields, ": "), *bar = strchr(fields, '|');
        head_append(head, (weir_string){fields, (size_t)(colon - fields)},
                    (weir_string){colon + 2, (size_t)(bar - colon) - 2});
        fields = bar + 1;
    }
    return head;
}

static void fields_are(const struct head *head, const char *expected)
{
    char joined[4096] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < head->count; i++)
        length += (size_t)snprintf(joined + length, sizeof joined - length, "%.*s: %.*s|",
                                   (int)head->fields[i].name.length, head->fields[i].name.bytes,
                                   (int)head->fields[i].value.length, head->fields[i].value.bytes);
    assert_string_equal(joined, expected);
    assert_int_equal(head->view.count, head->count);
}

static void request_becomes(const char *fields, const char *expected)
{
    struct head *head = head_of(fields);
    hop_request(head, WEIR_STRING("weir"));
    fields_are(head, expected);
}

static void response_becomes(const char *fields, const char *expected)
{
    struct head *head = head_of(fields);
    head->view.status = 200;
    hop_response(head, WEIR_STRING("weir"));
    fields_are(head, expected);
}

static void trailers_become(const char *fields, const char *expected)
{
    struct head *head = head_of(fields);
    hop_trailers(head);
    fields_are(head, expected);
}

#define HOST "Host: a.example:81|"
#define VIA "Via: 1.1 weir|"

static void what_is_of_one_connection_goes(void **state)
{
    request_becomes(HOST "Connection: close|Keep-Alive: 5|Proxy-Connection: close|"
                         "Transfer-Encoding: chunked|Upgrade: h2c|A: 1|",
                    HOST "A: 1|" VIA);
    response_becomes("Connection: close|Keep-Alive: 5|Proxy-Connection: close|"
                     "Transfer-Encoding: chunked|Upgrade: h2c|A: 1|",
                     "A: 1|" VIA);
}

static void what_connection_lists_goes(void **state)
{
    request_becomes(HOST "X-One: 1|Connection: x-one, X-TWO ,,\tx-three|x-two: 2|X-Four: 4|"
                         "X-THREE: 3|",
                    HOST "X-Four: 4|" VIA);
    request_becomes(HOST "a: 1|A: 2|connection: A|CONNECTION: b|B: 3|ab: 4|",
                    HOST "ab: 4|" VIA); /* all of that name, of every list */
    response_becomes("X-One: 1|Connection: X-ONE|Set-Cookie: 1|Set-Cookie: 2|",
                     "Set-Cookie: 1|Set-Cookie: 2|" VIA);
    request_becomes(HOST "Connection: Expect, Max-Forwards|Expect: 100-continue|Max-Forwards: 3|",
                    HOST VIA);
    request_becomes(HOST "Connection: x y, |x y: 1|x: 2|", HOST "x: 2|" VIA);
}

/* 128 names in all, as many as a message may have fields: what comes behind them is not looked at.
 */
static void what_connection_lists_has_an_end(void **state)
{
    char names[300] = "", fields[1024];
    while (strlen(names) < 2 * 127)
        strcat(names, "x,");
    snprintf(fields, sizeof fields, HOST "A: 1|B: 2|Connection: %sa|Connection: b|", names);
    request_becomes(fields, HOST "B: 2|" VIA);
}

/* Whoever could take these away by naming them would change what the message is. */
static void what_the_message_needs_stays(void **state)
{
    request_becomes("Connection: Host, content-length, VIA, connection|" HOST
                    "Content-Length: 5|Via: 1.0 a|",
                    HOST "Content-Length: 5|Via: 1.0 a, 1.1 weir|");
    response_becomes("Connection: Content-Length, via|Content-Length: 5|Via: 1.0 a|",
                     "Content-Length: 5|Via: 1.0 a, 1.1 weir|");
}

static void what_has_no_body_has_no_length(void **state)
{
    static const uint32_t without[] = {100, 103, 199, 204}, with[] = {200, 206, 304, 404};
    for (size_t i = 0; i < 4; i++) {
        struct head *head = head_of("X: 1|Content-Length: 5|content-length: 5|");
        head->view.status = without[i];
        head->view.content_length = 5;
        hop_response(head, WEIR_STRING("weir"));
        fields_are(head, "X: 1|Via: 1.1 weir|");
        assert_int_equal(head->view.content_length, -1);
        head = head_of("Content-Length: 5|");
        head->view.status = with[i];
        head->view.content_length = 5;
        hop_response(head, WEIR_STRING("weir"));
        fields_are(head, "Content-Length: 5|Via: 1.1 weir|");
        assert_int_equal(head->view.content_length, 5);
    }
}

/* RFC 9110 9.3.6: also of the answer that opens a CONNECT's. */
static void a_tunnel_has_no_length(void **state)
{
    struct head *head = head_of("X: 1|Content-Length: 5|");
    head->view.status = 200;
    head->view.kind = WEIR_TUNNEL;
    head->view.content_length = 5;
    hop_response(head, WEIR_STRING("weir"));
    fields_are(head, "X: 1|Via: 1.1 weir|");
    assert_int_equal(head->view.content_length, -1);
}

static void te_says_trailers_or_nothing(void **state)
{
    static const char *const gone[] = {"gzip",    "",          "trailers;q=1",
                                       "trailer", "trailerss", "deflate;q=0.5, gzip"};
    static const char *const kept[] = {"trailers", "TRAILERS", "gzip, trailers",
                                       "trailers,deflate;q=0.5", ",,\tTrailers ,"};
    char fields[256];
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        snprintf(fields, sizeof fields, HOST "TE: %s|Connection: TE|", gone[i]);
        request_becomes(fields, HOST VIA);
    }
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        snprintf(fields, sizeof fields, HOST "te: %s|Connection: te|", kept[i]);
        request_becomes(fields, HOST "te: trailers|" VIA);
    }
}

static void credentials_for_this_proxy_end_here(void **state)
{
    request_becomes(HOST "Proxy-Authorization: a|Authorization: b|proxy-authorization: c|",
                    HOST "Authorization: b|" VIA);
    response_becomes("Proxy-Authenticate: Basic|WWW-Authenticate: Basic|",
                     "Proxy-Authenticate: Basic|WWW-Authenticate: Basic|" VIA);
}

static void via_goes_to_the_last_one(void **state)
{
    request_becomes(HOST "Via: 1.0 a|X: 1|via: 1.1 b, 2 c|Y: 2|",
                    HOST "Via: 1.0 a|X: 1|via: 1.1 b, 2 c, 1.1 weir|Y: 2|");
    response_becomes("Via: 1.0 a|X: 1|", "Via: 1.0 a, 1.1 weir|X: 1|");
    response_becomes("VIA: 1.0 a|Via: 1.1 b|", "VIA: 1.0 a|Via: 1.1 b, 1.1 weir|");
    struct head *head = head_of(HOST);
    head->view.version = WEIR_STRING("1.0"); /* how it came here */
    hop_request(head, WEIR_STRING("other"));
    fields_are(head, HOST "Via: 1.0 other|");
}

/* RFC 9112 3.2.2 */
static void host_is_the_targets_authority(void **state)
{
    request_becomes("A: 1|Host: b.example|B: 2|", "A: 1|" HOST "B: 2|" VIA);
    request_becomes("A: 1|host: A.EXAMPLE:81|", "A: 1|host: a.example:81|" VIA);
    request_becomes("A: 1|", HOST "A: 1|" VIA);
    request_becomes("", HOST VIA);
    response_becomes("Host: b.example|", "Host: b.example|" VIA);
}

static void the_rest_stays_as_it_was(void **state)
{
    request_becomes("accept: a|" HOST "ACCEPT: b|Cookie: 1|X-: |cookie: 2|accept: c|",
                    "accept: a|" HOST "ACCEPT: b|Cookie: 1|X-: |cookie: 2|accept: c|" VIA);
    request_becomes(HOST "Expect: 100-continue|Max-Forwards: 1|Trailer: x|",
                    HOST "Expect: 100-continue|Max-Forwards: 1|Trailer: x|" VIA);
}

/* --- requests that go no further */

static struct head *request_to(const char *method, const char *scheme, const char *path,
                               const char *fields)
{
    struct head *head = head_of(fields);
    head->view.method = string_of(method);
    head->view.scheme = string_of(scheme);
    head->view.path = string_of(path);
    return head;
}

/* RFC 9110 7.6.2 */
static void hops_are_counted(void **state)
{
    static const struct {
        const char *method, *value, *left; /* NULL: it ends here */
    } cases[] = {
        {"TRACE", "0", NULL},          {"OPTIONS", "0", NULL},
        {"TRACE", "1", "0"},           {"OPTIONS", "10", "9"},
        {"TRACE", "007", "6"},         {"OPTIONS", "4294967295", "4294967294"},
        {"TRACE", "4294967296", NULL}, {"TRACE", "", NULL},
        {"TRACE", "x", NULL},          {"TRACE", "-1", NULL},
        {"OPTIONS", "1.5", NULL},      {"GET", "0", "0"},
        {"trace", "0", "0"},           {"POST", "5", "5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char fields[64];
        snprintf(fields, sizeof fields, "max-forwards: %s|", cases[i].value);
        struct head *head = request_to(cases[i].method, "http", "/", fields);
        enum reply_own own = hop_own_answer(head, false);
        if (!cases[i].left) {
            assert_int_equal(own, cases[i].method[0] == 'T' ? REPLY_TRACE : REPLY_OPTIONS);
            continue;
        }
        assert_int_equal(own, REPLY_NOT_OURS);
        snprintf(fields, sizeof fields, "max-forwards: %s|", cases[i].left);
        fields_are(head, fields);
    }
}

static void without_a_count_it_goes_on(void **state)
{
    assert_int_equal(hop_own_answer(request_to("TRACE", "http", "/", ""), false), REPLY_NOT_OURS);
    assert_int_equal(hop_own_answer(request_to("OPTIONS", "http", "*", ""), false),
                     REPLY_NOT_OURS); /* the server as a whole */
    assert_int_equal(hop_own_answer(request_to("OPTIONS", "", "/", ""), false), REPLY_NOT_OURS);
}

/* "OPTIONS *" without a target is a question about this proxy, unless it stands for a server. */
static void options_about_the_proxy(void **state)
{
    assert_int_equal(hop_own_answer(request_to("OPTIONS", "", "*", ""), false), REPLY_OPTIONS);
    assert_int_equal(hop_own_answer(request_to("OPTIONS", "", "*", ""), true), REPLY_NOT_OURS);
}

static void loops_are_seen(void **state)
{
    static const char *const loops[] = {"1.1 weir",           "1.0 a, 1.1 weir", "HTTP/1.1 weir",
                                        "1.1 weir (comment)", ",,1.1\t weir",    "1.1   weir ,2 b"};
    static const char *const others[] = {"1.1 weird", "1.1 Weir", "weir",         "1.1",
                                         "weir 1.1",  "",         "1.1 a (weir)", "1.1 we, ir"};
    char fields[128];
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        snprintf(fields, sizeof fields, "Via: 1.1 b|A: b|via: %s|", loops[i]);
        if (!hop_is_loop(head_of(fields), WEIR_STRING("weir")))
            fail_msg("%s is no loop", loops[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(fields, sizeof fields, "Via: %s|X: 1.1 weir|", others[i]);
        if (hop_is_loop(head_of(fields), WEIR_STRING("weir")))
            fail_msg("%s is a loop", others[i]);
    }
    assert_false(hop_is_loop(head_of(""), WEIR_STRING("weir")));
}

/* What this proxy adds is what it looks for. */
static void own_via_is_a_loop(void **state)
{
    struct head *head = head_of("Via: 1.0 a|");
    assert_false(hop_is_loop(head, WEIR_STRING("weir-1")));
    hop_request(head, WEIR_STRING("weir-1"));
    assert_true(hop_is_loop(head, WEIR_STRING("weir-1")));
    assert_false(hop_is_loop(head, WEIR_STRING("weir-2")));
}

static void expectations(void **state)
{
    assert_true(hop_expects_continue(head_of("A: b|Expect: 100-continue|")));
    assert_true(hop_expects_continue(head_of("EXPECT: 100-Continue|")));
    assert_false(hop_expects_continue(head_of("Expect: 200-ok|")));
    assert_false(hop_expects_continue(head_of("Expect: |")));
    assert_false(hop_expects_continue(head_of("X: 100-continue|")));
}

/* RFC 9110 6.5.1 */
static void trailers_that_would_be_believed_go(void **state)
{
    trailers_become("X-Checksum: 1|Content-Length: 5|Transfer-Encoding: chunked|Host: b|"
                    "Connection: x|TE: a|Trailer: a|Upgrade: a|Keep-Alive: 1|Expect: 1|"
                    "Max-Forwards: 1|Proxy-Authenticate: a|Proxy-Authorization: a|"
                    "Proxy-Connection: a|Via: 1.1 a|grpc-status: 0|",
                    "X-Checksum: 1|grpc-status: 0|");
    trailers_become("Host: b|", "");
    trailers_become("", "");
}

static void trailers_that_say_who_or_how_go(void **state)
{
    static const char *const gone[] = {"Authorization",
                                       "WWW-Authenticate",
                                       "Proxy-Authentication-Info",
                                       "Cookie",
                                       "set-cookie",
                                       "AGE",
                                       "Cache-Control",
                                       "Date",
                                       "Expires",
                                       "Location",
                                       "Retry-After",
                                       "Vary",
                                       "Warning",
                                       "Content-Encoding",
                                       "Content-Type",
                                       "Content-Range",
                                       "Range",
                                       "If-Match",
                                       "If-None-Match",
                                       "If-Modified-Since",
                                       "If-Unmodified-Since",
                                       "If-Range",
                                       "Pragma",
                                       "Forwarded",
                                       "X-Forwarded-For",
                                       "HTTP2-Settings"};
    static const char *const kept[] = {"ETag", "Proxy-Status", "Server-Timing", "Digest",
                                       "If",   "Set-Cookie2",  "Accept-Ranges", "Last-Modified",
                                       "Rang"};
    char fields[64];
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        snprintf(fields, sizeof fields, "%s: x|A: 1|", gone[i]);
        trailers_become(fields, "A: 1|");
    }
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        snprintf(fields, sizeof fields, "%s: x|", kept[i]);
        trailers_become(fields, fields);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_of_one_connection_goes),
        TEST(what_connection_lists_goes),
        TEST(what_connection_lists_has_an_end),
        TEST(what_the_message_needs_stays),
        TEST(what_has_no_body_has_no_length),
        TEST(a_tunnel_has_no_length),
        TEST(te_says_trailers_or_nothing),
        TEST(credentials_for_this_proxy_end_here),
        TEST(via_goes_to_the_last_one),
        TEST(host_is_the_targets_authority),
        TEST(the_rest_stays_as_it_was),
        TEST(hops_are_counted),
        TEST(without_a_count_it_goes_on),
        TEST(options_about_the_proxy),
        TEST(loops_are_seen),
        TEST(own_via_is_a_loop),
        TEST(expectations),
        TEST(trailers_that_would_be_believed_go),
        TEST(trailers_that_say_who_or_how_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
