/* tests/unit/codecs/h1/parse_test.c - heads and chunked bodies: what is understood, what is refused
 *
 * Every text is also given in two pieces at every place, as two reads would bring it: what is
 * understood must not depend on that. All bytes lie in memory of just their size. */
#include "codecs/h1/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const weir_limits usual = {
    .size = sizeof usual, .request_line_bytes = 8192, .header_bytes = 65536, .header_fields = 128};
static const weir_limits *limits;
static llhttp_t parser;

static int set_up(void **state)
{
    limits = &usual;
    return 0;
}

struct text {
    const char *bytes;
    size_t length;
};
#define TEXT(literal)                                                                              \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

static uint8_t *copy_of(const char *bytes, size_t length)
{
    uint8_t *copy = malloc(length ? length : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, length);
    return copy;
}

enum side { REQUEST, RESPONSE, RESPONSE_TO_HEAD };

static enum h1_parsed parse(enum side side, const uint8_t *bytes, size_t count,
                            const struct h1_head **head)
{
    if (side == REQUEST)
        return h1_parse_request(&parser, limits, bytes, count, head);
    return h1_parse_response(&parser, limits, side == RESPONSE_TO_HEAD, bytes, count, head);
}

/* What was understood, in words. */
static void describe(const struct h1_head *head, char *text, size_t size)
{
    static const char *const framings[] = {"none", "length", "chunked", "until end", "tunnel"};
    const weir_head *view = &head->head;
    int at = snprintf(
        text, size,
        "%u %u %u %.*s [%.*s] [%.*s] [%.*s] [%.*s] [%.*s] {%.*s} %s %lld "
        "%s %s consumed %zu\n",
        view->kind, view->flags, view->status, (int)view->version.length, view->version.bytes,
        (int)view->method.length, view->method.bytes, (int)view->scheme.length, view->scheme.bytes,
        (int)view->authority.length, view->authority.bytes, (int)view->path.length,
        view->path.bytes, (int)view->reason.length, view->reason.bytes, (int)view->protocol.length,
        view->protocol.bytes, framings[head->framing], (long long)view->content_length,
        head->keep_alive ? "keep" : "close", head->http_10 ? "1.0" : "1.1", head->consumed);
    for (uint32_t i = 0; i < view->count; i++)
        at += snprintf(text + at, size - (size_t)at, "%.*s=%.*s\n",
                       (int)view->fields[i].name.length, view->fields[i].name.bytes,
                       (int)view->fields[i].value.length, view->fields[i].value.bytes);
    assert_true((size_t)at < size);
}

/* The text in two reads: as one connection would do it, see worth_parsing() in receive.c. */
static enum h1_parsed parse_in_two(enum side side, struct text text, size_t first,
                                   const struct h1_head **head, uint8_t **kept)
{
    size_t scanned = 0;
    uint8_t *piece = copy_of(text.bytes, first);
    enum h1_parsed parsed = parse(side, piece, first, head);
    if (parsed == H1_MORE && h1_head_is_whole(piece, first, &scanned))
        fail_msg("%s: waits for more of a whole head", text.bytes);
    free(piece);
    *kept = copy_of(text.bytes, text.length);
    if (parsed != H1_MORE)
        return parsed == H1_BROKEN ? parsed : parse(side, *kept, text.length, head);
    if (!h1_head_is_whole(*kept, text.length, &scanned) &&
        h1_head_size_error(limits, *kept, text.length) == WEIR_OK)
        return H1_MORE;
    return parse(side, *kept, text.length, head);
}

/* Understood, the same in one piece, in two, and with other bytes behind it. */
static void understood(enum side side, struct text text, char *description, size_t size)
{
    const struct h1_head *head;
    uint8_t *bytes = copy_of(text.bytes, text.length);
    if (parse(side, bytes, text.length, &head) != H1_DONE)
        fail_msg("%s: refused", text.bytes);
    describe(head, description, size);
    size_t consumed = head->consumed;
    free(bytes);
    for (size_t first = 0; first <= text.length; first++) {
        char again[4096];
        assert_int_equal(parse_in_two(side, text, first, &head, &bytes), H1_DONE);
        describe(head, again, sizeof again);
        free(bytes);
        assert_string_equal(again, description);
        bytes = copy_of(text.bytes, first);
        if (first < consumed)
            assert_int_equal(parse(side, bytes, first, &head), H1_MORE);
        free(bytes);
    }
}

static void refused(enum side side, struct text text, weir_result error)
{
    const struct h1_head *head;
    for (size_t first = 0; first <= text.length; first++) {
        uint8_t *bytes;
        enum h1_parsed parsed = parse_in_two(side, text, first, &head, &bytes);
        if (parsed != H1_BROKEN || head->error != error)
            fail_msg("%s: in two at %zu: %d, error %d", text.bytes, first, parsed,
                     parsed == H1_BROKEN ? head->error : 0);
        free(bytes);
    }
}

/* --- requests */

static const struct {
    struct text text;
    const char *method, *scheme, *authority, *path;
    enum h1_framing framing;
    int64_t content_length;
    bool keep_alive;
} requests[] = {
    /* The four forms of a target. */
    {TEXT("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n"), "GET", "http", "a.example",
     "/", H1_NO_BODY, -1, true},
    {TEXT("GET HTTP://A.example:81/x?y=http://z HTTP/1.1\r\nHost: b\r\n\r\n"), "GET", "http",
     "A.example:81", "/x?y=http://z", H1_NO_BODY, -1, true},
    {TEXT("GET httpS://[::1]:443/x HTTP/1.1\r\nHost: b\r\n\r\n"), "GET", "https", "[::1]:443", "/x",
     H1_NO_BODY, -1, true},
    {TEXT("GET ftp://a/x HTTP/1.1\r\nHost: b\r\n\r\n"), "GET", "ftp", "a", "/x", H1_NO_BODY, -1,
     true},
    {TEXT("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n"), "GET", "http", "a", "/", H1_NO_BODY, -1,
     true},
    {TEXT("GET http://a:80?q HTTP/1.1\r\nHost: a\r\n\r\n"), "GET", "http", "a:80", "/?q",
     H1_NO_BODY, -1, true},
    {TEXT("GET / HTTP/1.1\r\nHost: a:8080\r\n\r\n"), "GET", "", "a:8080", "/", H1_NO_BODY, -1,
     true},
    {TEXT("GET //a/%41/./../b?c=d&e%00 HTTP/1.1\r\nhost:a\r\n\r\n"), "GET", "", "a",
     "//a/%41/./../b?c=d&e%00", H1_NO_BODY, -1, true},
    {TEXT("GET /\"<>\\^`{|} HTTP/1.1\r\nHost: a\r\n\r\n"), "GET", "", "a", "/\"<>\\^`{|}",
     H1_NO_BODY, -1, true},
    {TEXT("GET / HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\n\r\n"), "GET", "", "[2001:db8::1]:8080",
     "/", H1_NO_BODY, -1, true},
    {TEXT("GET / HTTP/1.1\r\nHost: a_b.Example:\r\n\r\n"), "GET", "", "a_b.Example:", "/",
     H1_NO_BODY, -1, true},
    {TEXT("GET / HTTP/1.1\r\nHost:\r\n\r\n"), "GET", "", "", "/", H1_NO_BODY, -1, true},
    {TEXT("CONNECT a.example:443 HTTP/1.1\r\nHost: b\r\n\r\n"), "CONNECT", "", "a.example:443", "",
     H1_TUNNEL, -1, true},
    {TEXT("CONNECT [::1]:443 HTTP/1.1\r\nHost: b\r\n\r\n"), "CONNECT", "", "[::1]:443", "",
     H1_TUNNEL, -1, true},
    {TEXT("CONNECT a:443 HTTP/1.1\r\nHost: b\r\nContent-Length: 0\r\n\r\n"), "CONNECT", "", "a:443",
     "", H1_TUNNEL, -1, true},
    {TEXT("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), "OPTIONS", "", "a", "*", H1_NO_BODY, -1, true},
    {TEXT("OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n"), "OPTIONS", "http", "a", "*", H1_NO_BODY,
     -1, true},
    {TEXT("OPTIONS http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), "OPTIONS", "http", "a", "/", H1_NO_BODY,
     -1, true},
    {TEXT("OPTIONS http://a?q HTTP/1.1\r\nHost: a\r\n\r\n"), "OPTIONS", "http", "a", "/?q",
     H1_NO_BODY, -1, true},
    /* Methods nobody has heard of, and those that the library knows of other protocols. */
    {TEXT("get / HTTP/1.1\r\nHost: a\r\n\r\n"), "get", "", "a", "/", H1_NO_BODY, -1, true},
    {TEXT("X / HTTP/1.1\r\nHost: a\r\n\r\n"), "X", "", "a", "/", H1_NO_BODY, -1, true},
    {TEXT("PO / HTTP/1.1\r\nHost: a\r\n\r\n"), "PO", "", "a", "/", H1_NO_BODY, -1, true},
    {TEXT("POSTPOST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"), "POSTPOST",
     "http", "a", "/", H1_LENGTH, 5, true},
    {TEXT("A!#$%&'*+-.^_`|~9 / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"),
     "A!#$%&'*+-.^_`|~9", "", "a", "/", H1_CHUNKED, -1, true},
    {TEXT("fuzz / HTTP/1.1\r\nHost: z\r\n\r\n"), "fuzz", "", "z", "/", H1_NO_BODY, -1, true},
    {TEXT("PRI / HTTP/1.1\r\nHost: a\r\n\r\n"), "PRI", "", "a", "/", H1_NO_BODY, -1, true},
    {TEXT("QUERY / HTTP/1.1\r\nHost: a\r\n\r\n"), "QUERY", "", "a", "/", H1_NO_BODY, -1, true},
    {TEXT("SETUP / HTTP/1.1\r\nHost: a\r\n\r\n"), "SETUP", "", "a", "/", H1_NO_BODY, -1, true},
    {TEXT("FLUSH http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n"), "FLUSH", "http", "a",
     "/", H1_LENGTH, 1, true},
    {TEXT("SOURCE / HTTP/1.1\r\nHost: a\r\n\r\n"), "SOURCE", "", "a", "/", H1_NO_BODY, -1, true},
    /* How long the body is. */
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET"), "POST", "", "a", "/",
     H1_LENGTH, 5, true},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\ncontent-LENGTH:0005  \r\n\r\n"), "GET", "", "a", "/",
     H1_LENGTH, 5, true},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"), "POST", "", "a", "/",
     H1_NO_BODY, 0, true},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n"), "POST", "",
     "a", "/", H1_LENGTH, INT64_MAX, true},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "POST", "",
     "a", "/", H1_CHUNKED, -1, true},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\t ChunkED \t\r\n\r\n"), "POST", "", "a",
     "/", H1_CHUNKED, -1, true},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nX-Transfer-Encoding: a\r\nContent-Lengths: 5\r\n\r\n"),
     "POST", "", "a", "/", H1_NO_BODY, -1, true},
    /* Whether another request may follow. */
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), "GET", "", "a", "/",
     H1_NO_BODY, -1, false},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nConnection: x,CLOSE, y\r\n\r\n"), "GET", "", "a", "/",
     H1_NO_BODY, -1, false},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nConnection: x\r\nconnection: close\r\n\r\n"), "GET", "",
     "a", "/", H1_NO_BODY, -1, false},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nConnection: closer, xclose\r\n\r\n"), "GET", "", "a", "/",
     H1_NO_BODY, -1, true},
    {TEXT("GET / HTTP/1.0\r\n\r\n"), "GET", "", "", "/", H1_NO_BODY, -1, false},
    {TEXT("GET http://a/ HTTP/1.0\r\n\r\n"), "GET", "http", "a", "/", H1_NO_BODY, -1, false},
    {TEXT("GET / HTTP/1.0\r\nHost: a\r\nConnection: Keep-Alive\r\n\r\n"), "GET", "", "a", "/",
     H1_NO_BODY, -1, true},
    {TEXT("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n"), "GET", "", "", "/",
     H1_NO_BODY, -1, false},
    {TEXT("POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc"), "POST", "", "", "/", H1_LENGTH, 3,
     false},
    {TEXT("CONNECT a:1 HTTP/1.0\r\n\r\nabc"), "CONNECT", "", "a:1", "", H1_TUNNEL, -1, false},
    /* Fields as they are. */
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX:\r\nY: \t a b\t \r\nX: \x80\xff\r\n!: ;\r\n\r\n"), "GET",
     "", "a", "/", H1_NO_BODY, -1, true},
    {TEXT("GET / HTTP/1.1\r\nHost:\r\n\r\n"), "GET", "", "", "/", H1_NO_BODY, -1, true},
    /* Another behind it. */
    {TEXT("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: b\r\n\r\n"), "GET", "", "a",
     "/1", H1_NO_BODY, -1, true},
    {TEXT("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n\0\xff\r\n"), "GET", "", "a", "/1", H1_NO_BODY, -1,
     true},
};

static bool is(weir_string string, const char *text)
{
    return string.length == strlen(text) &&
           (!string.length || !memcmp(string.bytes, text, string.length));
}

/* A head that says it lies in one run of bytes does, but for what is static. */
static void lies_in_its_block(const weir_head *head, const uint8_t *bytes, bool made)
{
    const char *start = head->block.bytes, *end = start + head->block.length;
    assert_int_equal(head->block.length == 0, made);
    if (made)
        return;
    assert_ptr_equal(start, bytes);
    const weir_string parts[] = {head->method, head->authority, head->path};
    for (size_t i = 0; i < 3; i++)
        assert_true(parts[i].length <= 1 || (parts[i].bytes >= start && parts[i].bytes < end));
    for (uint32_t i = 0; i < head->count; i++) {
        assert_true(head->fields[i].name.bytes >= start && head->fields[i].name.bytes < end);
        assert_true(head->fields[i].value.bytes >= start && head->fields[i].value.bytes < end);
    }
}

static void requests_understood(void **state)
{
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        char description[4096];
        const struct h1_head *head;
        struct text text = requests[i].text;
        understood(REQUEST, text, description, sizeof description);
        uint8_t *bytes = copy_of(text.bytes, text.length);
        assert_int_equal(parse(REQUEST, bytes, text.length, &head), H1_DONE);
        const char *end = strstr(text.bytes, "\r\n\r\n") + 4;
        bool ends = requests[i].framing == H1_NO_BODY, tunnel = requests[i].framing == H1_TUNNEL;
        if (!is(head->head.method, requests[i].method) ||
            !is(head->head.scheme, requests[i].scheme) ||
            !is(head->head.authority, requests[i].authority) ||
            !is(head->head.path, requests[i].path) || head->framing != requests[i].framing ||
            head->head.content_length != requests[i].content_length ||
            head->keep_alive != requests[i].keep_alive ||
            head->head.kind != (tunnel ? WEIR_TUNNEL : WEIR_REQUEST) ||
            head->head.flags != (ends ? WEIR_END : 0) || head->head.status != 0 ||
            !is(head->head.version, head->http_10 ? "1.0" : "1.1") ||
            head->http_10 != (strstr(text.bytes, " HTTP/1.0\r\n") != NULL) ||
            head->consumed != (size_t)(end - text.bytes))
            fail_msg("%s: understood as\n%s", text.bytes, description);
        lies_in_its_block(&head->head, bytes, !strncmp(requests[i].path, "/?q", 3));
        free(bytes);
    }
}

static const struct {
    struct text text;
    weir_result error;
} bad_requests[] = {
    /* Versions. */
    {TEXT("GET / HTTP/0.9\r\nHost: a\r\n\r\n"), WEIR_VERSION_UNSUPPORTED},
    {TEXT("GET / HTTP/1.2\r\nHost: a\r\n\r\n"), WEIR_VERSION_UNSUPPORTED},
    {TEXT("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), WEIR_VERSION_UNSUPPORTED},
    {TEXT("GET / HTTP/3.0\r\nHost: a\r\n\r\n"), WEIR_VERSION_UNSUPPORTED},
    {TEXT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), WEIR_VERSION_UNSUPPORTED},
    {TEXT("GET /\r\n\r\n"), WEIR_VERSION_UNSUPPORTED},
    {TEXT("GET / HTTP/1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.10\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/01.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1a\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / http/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTPS/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / XHTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("SOURCE / ICE/1.0\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("OPTIONS * RTSP/1.0\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("DESCRIBE / RTSP/1.0\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    /* The first line. */
    {TEXT(" GET / HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("X  / HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET /  HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1 \r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET /\tHTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / \r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("/ HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("G(T / HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("G\0T / HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("G\xc3T / HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), WEIR_MALFORMED},
    /* Targets. */
    {TEXT("GET * HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("OPTIONS *a HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("options * HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET a:443 HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("connect a:443 HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET x HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET ?x HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET http:a HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET http:/a HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET ://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET http:// HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET http://?x HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET http://u:p@a/ HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET http://a\\b/ HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET http://a b/ HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET http://a#b HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET http://a/?b#c HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET http://a?b#c HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET /a\x80 HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET /a\x7f HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET /a\x01 HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET /a\0 HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("CONNECT a:443 HTTP/1.1\r\nHost: b\r\nContent-Length: 5\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("CONNECT a:443 HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n"),
     WEIR_MALFORMED},
    /* Host. */
    {TEXT("GET / HTTP/1.1\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET http://a/ HTTP/1.1\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("CONNECT a:1 HTTP/1.1\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nHOST: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\x80\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET http://a\x7f/ HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET http://a/ HTTP/1.1\r\nHost: a b\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a:80:90\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET http://a:80:90/ HTTP/1.1\r\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a:b\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a:8x\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: ::1\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: [::1]80\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: [::1]:80:90\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: [::1 ]:80\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a[::1]\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a]\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: [::1]a:80\r\n\r\n"), WEIR_MALFORMED},
    /* Ends of lines. */
    {TEXT("GET / HTTP/1.1\nHost: a\n\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\nHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\n\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\rHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\rHost: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\n\rX\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX:\rTransfer-Encoding: chunked\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX:\nTransfer-Encoding: chunked\r\n\r\n"), WEIR_MALFORMED},
    /* Lines that go on. */
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\tb\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX:\r\n b\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n \r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX:\r\n \r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n 5\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n"), WEIR_MALFORMED},
    /* Names and values. */
    {TEXT("GET / HTTP/1.1\r\nHost : a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost\t: a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX(y): b\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX\xc3: b\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX\0: b\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n"), WEIR_MALFORMED},
    /* Content-Length. */
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5 5\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5,6\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5a\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5.0\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"),
     WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\ncontent-length: 6\r\n\r\n"),
     WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\n"),
     WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551621\r\n\r\n"),
     WEIR_MALFORMED},
    /* Transfer-Encoding. */
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
     WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"),
     WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding:\r\n\r\n"),
     WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \t \r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
     WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n"),
     WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n"),
     WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
          "Transfer-Encoding: chunked\r\n\r\n"),
     WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n"
          "Transfer-Encoding: chunked\r\n\r\n"),
     WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
          "Transfer-Encoding:\r\n\r\n"),
     WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;q=1\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ,chunked\r\n\r\n"), WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0b"
          "chunked\r\n\r\n"),
     WEIR_MALFORMED},
    {TEXT("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"), WEIR_MALFORMED},
};

static void requests_refused(void **state)
{
    for (size_t i = 0; i < sizeof bad_requests / sizeof *bad_requests; i++)
        refused(REQUEST, bad_requests[i].text, bad_requests[i].error);
}

static void other_protocols_asked_for(void **state)
{
    static const struct {
        struct text text;
        const char *protocol; /* NULL: it is a request like any other */
    } cases[] = {
        {TEXT("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
         "websocket"},
        {TEXT("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, UPGRADE\r\nupgrade: a/1, b\r\n\r\n"),
         "a/1, b"},
        {TEXT("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n"), NULL},
        {TEXT("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n\r\n"), NULL},
        {TEXT("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade:\r\n\r\n"), NULL},
        {TEXT("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"), NULL},
        {TEXT("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: a, H2c\r\n\r\n"), NULL},
        {TEXT("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: a\r\nUpgrade: b\r\n"
              "\r\n"),
         NULL},
        {TEXT("POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: a\r\n"
              "Content-Length: 5\r\n\r\nhello"),
         NULL},
        {TEXT("POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: a\r\n"
              "Transfer-Encoding: chunked\r\n\r\n"),
         NULL},
        {TEXT("GET / HTTP/1.0\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: a\r\n\r\n"), NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char description[4096];
        const struct h1_head *head;
        understood(REQUEST, cases[i].text, description, sizeof description);
        uint8_t *bytes = copy_of(cases[i].text.bytes, cases[i].text.length);
        parse(REQUEST, bytes, cases[i].text.length, &head);
        bool asks = cases[i].protocol != NULL;
        if (!is(head->head.protocol, asks ? cases[i].protocol : "") ||
            (head->framing == H1_TUNNEL) != asks || (asks && head->head.flags & WEIR_END) ||
            head->head.kind != WEIR_REQUEST)
            fail_msg("%s: understood as\n%s", cases[i].text.bytes, description);
        free(bytes);
    }
}

/* --- responses */

static const struct {
    struct text text;
    uint32_t status;
    const char *reason;
    enum h1_framing framing;
    int64_t content_length;
    bool keep_alive;
} responses[] = {
    {TEXT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 200, "OK", H1_LENGTH, 5, true},
    {TEXT("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), 200, "OK", H1_NO_BODY, 0, true},
    {TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), 200, "OK", H1_CHUNKED, -1,
     true},
    {TEXT("HTTP/1.1 200 OK\r\n\r\nhello"), 200, "OK", H1_UNTIL_END, -1, false},
    {TEXT("HTTP/1.1 200\r\n\r\n"), 200, "", H1_UNTIL_END, -1, false},
    {TEXT("HTTP/1.1 200 \r\n\r\n"), 200, "", H1_UNTIL_END, -1, false},
    {TEXT("HTTP/1.1 599 Caf\xc3\xa9 (50%)\t!\r\n\r\n"), 599, "Caf\xc3\xa9 (50%)\t!", H1_UNTIL_END,
     -1, false},
    {TEXT("HTTP/1.1 204 No Content\r\n\r\n"), 204, "No Content", H1_NO_BODY, -1, true},
    {TEXT("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"), 204, "No Content", H1_NO_BODY, 5,
     true},
    {TEXT("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"), 304, "Not Modified",
     H1_NO_BODY, 5, true},
    {TEXT("HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n"), 304, "Not Modified",
     H1_NO_BODY, -1, true},
    {TEXT("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), 100, "Continue", H1_NO_BODY, -1,
     true},
    {TEXT("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), 103, "Early Hints", H1_NO_BODY, -1,
     true},
    {TEXT("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n"), 200, "OK",
     H1_LENGTH, 1, false},
    {TEXT("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n"), 200, "OK", H1_LENGTH, 1, false},
    {TEXT("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n"), 200, "OK",
     H1_LENGTH, 1, true},
    {TEXT("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n"), 200, "OK", H1_UNTIL_END, -1, false},
    {TEXT("HTTP/1.1 426 Upgrade\r\nUpgrade: a\r\nConnection: Upgrade\r\nContent-Length: 3\r\n\r\n"),
     426, "Upgrade", H1_LENGTH, 3, true},
};

static void responses_understood(void **state)
{
    for (size_t i = 0; i < sizeof responses / sizeof *responses; i++) {
        char description[4096];
        const struct h1_head *head;
        struct text text = responses[i].text;
        understood(RESPONSE, text, description, sizeof description);
        uint8_t *bytes = copy_of(text.bytes, text.length);
        assert_int_equal(parse(RESPONSE, bytes, text.length, &head), H1_DONE);
        bool ends = responses[i].framing == H1_NO_BODY;
        if (head->head.status != responses[i].status ||
            !is(head->head.reason, responses[i].reason) || head->framing != responses[i].framing ||
            head->head.content_length != responses[i].content_length ||
            head->keep_alive != responses[i].keep_alive || head->head.kind != WEIR_REQUEST ||
            head->head.flags != (ends ? WEIR_END : 0) || head->head.method.length ||
            head->head.protocol.length ||
            head->http_10 != (strncmp(text.bytes, "HTTP/1.0 ", 9) == 0) ||
            head->consumed != (size_t)(strstr(text.bytes, "\r\n\r\n") + 4 - text.bytes))
            fail_msg("%s: understood as\n%s", text.bytes, description);
        /* To HEAD there is no body whatever it says. */
        assert_int_equal(parse(RESPONSE_TO_HEAD, bytes, text.length, &head), H1_DONE);
        assert_int_equal(head->framing, H1_NO_BODY);
        assert_int_equal(head->head.flags, WEIR_END);
        assert_int_equal(head->head.content_length, responses[i].content_length);
        if (responses[i].framing == H1_UNTIL_END) /* its end is known all the same */
            assert_int_equal(head->keep_alive,
                             !head->http_10 || strstr(text.bytes, "keep-alive") != NULL);
        free(bytes);
    }
}

static void responses_refused(void **state)
{
    static const struct text bad[] = {
        TEXT("HTTP/1.1 20 OK\r\n\r\n"),
        TEXT("HTTP/1.1 2000 OK\r\n\r\n"),
        TEXT("HTTP/1.1 099 OK\r\n\r\n"),
        TEXT("HTTP/1.1 600 OK\r\n\r\n"),
        TEXT("HTTP/1.1 2x0 OK\r\n\r\n"),
        TEXT("HTTP/1.1 200OK\r\n\r\n"),
        TEXT("HTTP/1.1  200 OK\r\n\r\n"),
        TEXT("HTTP/1.1\t200 OK\r\n\r\n"),
        TEXT("HTTP/1.1\r\n\r\n"),
        TEXT(" HTTP/1.1 200 OK\r\n\r\n"),
        TEXT("HTTP/1.2 200 OK\r\n\r\n"),
        TEXT("HTTP/0.9 200 OK\r\n\r\n"),
        TEXT("HTTP/2.0 200 OK\r\n\r\n"),
        TEXT("HTTP/2 200 OK\r\n\r\n"),
        TEXT("http/1.1 200 OK\r\n\r\n"),
        TEXT("ICY 200 OK\r\n\r\n"),
        TEXT("RTSP/1.0 200 OK\r\n\r\n"),
        TEXT("SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        TEXT("HTTP/1.1 200 a\0b\r\n\r\n"),
        TEXT("HTTP/1.1 200 a\x01"
             "b\r\n\r\n"),
        TEXT("HTTP/1.1 200 a\x1b[1mb\r\n\r\n"),
        TEXT("HTTP/1.1 200 a\x7f\r\n\r\n"),
        TEXT("HTTP/1.1 200 a\rb\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\r\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\rA: b\r\n\r\n"),
        TEXT("HTTP/1.1 200\r\rA: b\r\n\r\n"),
        TEXT("HTTP/1.1 200 \r\rA: b\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\n\n"),
        TEXT("HTTP/1.1 200 OK\nX: a\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\nX: a\nY: b\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\nX:\r\n b\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\n X: a\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\nX : a\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\nX\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"),
        TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
        TEXT("HTTP/1.1 204 OK\r\nTransfer-Encoding: gzip\r\n\r\n"),
        TEXT("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(RESPONSE, bad[i], WEIR_MALFORMED);
}

static void protocols_switched_to(void **state)
{
    static const struct text text =
        TEXT("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
             "Connection: Upgrade\r\n\r\n\x81\x05hello");
    char description[4096];
    const struct h1_head *head;
    understood(RESPONSE, text, description, sizeof description);
    uint8_t *bytes = copy_of(text.bytes, text.length);
    parse(RESPONSE, bytes, text.length, &head);
    assert_int_equal(head->head.status, 101);
    assert_true(is(head->head.protocol, "websocket"));
    assert_int_equal(head->consumed, text.length - 7);
    free(bytes);
}

/* --- limits */

static char *padded(const char *before, size_t count, const char *after, size_t *length)
{
    size_t head = strlen(before), tail = strlen(after);
    char *text = malloc(head + count + tail);
    assert_non_null(text);
    memcpy(text, before, head);
    memset(text + head, 'x', count);
    memcpy(text + head + count, after, tail);
    *length = head + count + tail;
    return text;
}

static void padded_is(const char *before, size_t count, const char *after, enum h1_parsed expected,
                      weir_result error)
{
    size_t length;
    const struct h1_head *head;
    char *text = padded(before, count, after, &length);
    assert_int_equal(parse(REQUEST, (uint8_t *)text, length, &head), expected);
    if (expected == H1_BROKEN)
        assert_int_equal(head->error, error);
    free(text);
}

#define END_OF_LINE " HTTP/1.1\r\nHost: a\r\n\r\n"

static void first_lines_have_a_limit(void **state)
{
    static const weir_limits small = {
        .size = sizeof small, .request_line_bytes = 100, .header_bytes = 200, .header_fields = 3};
    limits = &small;
    /* "GET /" and " HTTP/1.1" and CR LF are 16 bytes of the line. */
    padded_is("GET /", 84, END_OF_LINE, H1_DONE, 0);
    padded_is("GET /", 85, END_OF_LINE, H1_BROKEN, WEIR_TARGET_TOO_LONG);
    padded_is("GET /", 95, "", H1_MORE, 0);
    padded_is("GET /", 96, "", H1_BROKEN, WEIR_TARGET_TOO_LONG);
    padded_is("", 101, "", H1_BROKEN, WEIR_TARGET_TOO_LONG); /* a method without end */
    padded_is("GET /", 100000, "", H1_BROKEN, WEIR_TARGET_TOO_LONG);
}

static void header_sections_have_a_limit(void **state)
{
    static const weir_limits small = {
        .size = sizeof small, .request_line_bytes = 100, .header_bytes = 200, .header_fields = 3};
    limits = &small;
    /* "Host: a", CR LF, "X: ", CR LF CR LF: 16 bytes. */
    padded_is("GET / HTTP/1.1\r\nHost: a\r\nX: ", 184, "\r\n\r\n", H1_DONE, 0);
    padded_is("GET / HTTP/1.1\r\nHost: a\r\nX: ", 185, "\r\n\r\n", H1_BROKEN, WEIR_HEAD_TOO_LARGE);
    padded_is("GET / HTTP/1.1\r\nHost: a\r\nX: ", 188, "", H1_MORE, 0);
    padded_is("GET / HTTP/1.1\r\nHost: a\r\nX: ", 189, "", H1_BROKEN, WEIR_HEAD_TOO_LARGE);
    /* What comes behind the head does not count. */
    padded_is("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 1000, "", H1_DONE, 0);
    padded_is("GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nB: 2\r\n\r\n", 0, "", H1_DONE, 0);
    padded_is("GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", 0, "", H1_BROKEN,
              WEIR_HEAD_TOO_LARGE);
    padded_is("X / HTTP/1.1\r\nHost: a\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", 0, "", H1_BROKEN,
              WEIR_HEAD_TOO_LARGE);
}

static void many_fields(void **state)
{
    static const weir_limits most = {.size = sizeof most,
                                     .request_line_bytes = 8192,
                                     .header_bytes = 65536,
                                     .header_fields = 100000};
    static char text[8192];
    const struct h1_head *head;
    limits = &most; /* there is no room for more than 256 whatever the limit says */
    for (int count = 255; count <= 257; count++) {
        int at = snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\n");
        for (int i = 1; i < count; i++)
            at += snprintf(text + at, sizeof text - (size_t)at, "X-%d: %d\r\n", i, i * 7);
        at += snprintf(text + at, sizeof text - (size_t)at, "\r\n");
        enum h1_parsed parsed = parse(REQUEST, (uint8_t *)text, (size_t)at, &head);
        if (count > H1_FIELDS_MOST) {
            assert_int_equal(parsed, H1_BROKEN);
            assert_int_equal(head->error, WEIR_HEAD_TOO_LARGE);
            continue;
        }
        assert_int_equal(parsed, H1_DONE);
        assert_int_equal(head->head.count, count);
        assert_true(is(head->head.fields[254].name, "X-254"));
        assert_true(is(head->head.fields[254].value, "1778"));
    }
}

/* A target of 64 KiB in front of a query: its copy has room, or it is refused. */
static void long_queries_without_a_path(void **state)
{
    static const weir_limits large = {.size = sizeof large,
                                      .request_line_bytes = 200000,
                                      .header_bytes = 65536,
                                      .header_fields = 128};
    limits = &large;
    padded_is("GET http://a?", H1_TARGET_BYTES - 2, END_OF_LINE, H1_DONE, 0);
    padded_is("GET http://a?", H1_TARGET_BYTES - 1, END_OF_LINE, H1_BROKEN, WEIR_MALFORMED);
}

/* --- where a head ends */

static void whole_heads_are_noticed(void **state)
{
    static const char head[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\nx";
    size_t whole = sizeof head - 2;
    for (size_t first = 0; first < whole; first++)
        for (size_t second = first; second < whole; second++) {
            size_t scanned = 0;
            assert_false(h1_head_is_whole((const uint8_t *)head, first, &scanned));
            assert_true(scanned <= first);
            assert_false(h1_head_is_whole((const uint8_t *)head, second, &scanned));
            assert_true(scanned <= second);
            assert_true(h1_head_is_whole((const uint8_t *)head, whole, &scanned));
            assert_true(h1_head_is_whole((const uint8_t *)head, whole + 1, &scanned));
        }
}

/* What was looked at once is not looked at again, or only the end of it. */
static void scanning_goes_on_where_it_was(void **state)
{
    enum { LENGTH = 100000 };
    char *text = malloc(LENGTH);
    size_t scanned = 0;
    assert_non_null(text);
    for (size_t i = 0; i < LENGTH; i++) {
        text[i] = i % 10 == 8 ? '\r' : i % 10 == 9 ? '\n' : 'x';
        assert_false(h1_head_is_whole((uint8_t *)text, i + 1, &scanned));
        assert_true(scanned + 3 > i);
    }
    free(text);
}

/* --- chunked bodies */

static struct {
    char bytes[4096];
    size_t length;
} body;

static void store(void *user, const uint8_t *bytes, size_t count)
{
    assert_ptr_equal(user, &body);
    assert_true(count > 0 && body.length + count <= sizeof body.bytes);
    memcpy(body.bytes + body.length, bytes, count);
    body.length += count;
}

static void begin_chunks(struct h1_chunks *chunks)
{
    static const char head[] = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    const struct h1_head *result;
    memset(chunks, 0, sizeof *chunks);
    body.length = 0;
    assert_int_equal(
        h1_parse_request(&chunks->parser, limits, (const uint8_t *)head, sizeof head - 1, &result),
        H1_DONE);
    assert_int_equal(result->framing, H1_CHUNKED);
}

/* The whole body in pieces that end at these places; how it ended, and where behind the trailers.
 */
static enum h1_parsed parse_chunks(struct text text, size_t first, size_t second, size_t *consumed,
                                   const struct h1_head **trailers)
{
    struct h1_chunks chunks;
    size_t ends[] = {first, second, text.length}, at = 0, scanned = 0;
    bool in_trailers = false;
    begin_chunks(&chunks);
    for (int i = 0; i < 3; i++) {
        enum h1_parsed parsed = H1_MORE;
        uint8_t *bytes = copy_of(text.bytes, ends[i]);
        size_t taken = 0;
        if (!in_trailers && at < ends[i]) {
            parsed = h1_parse_chunks(&chunks, bytes + at, ends[i] - at, store, &body, &taken);
            at += taken;
            in_trailers = parsed == H1_DONE;
        }
        if (in_trailers && at < ends[i])
            parsed = h1_parse_trailers(&chunks.parser, limits, bytes + at, ends[i] - at, &scanned,
                                       trailers);
        else if (in_trailers)
            parsed = H1_MORE;
        *consumed = at + (parsed == H1_DONE ? (*trailers)->consumed : 0);
        if (parsed != H1_MORE || i == 2) {
            free(bytes);
            return parsed;
        }
        free(bytes);
    }
    return H1_MORE;
}

static void chunks_are(struct text text, const char *expected, uint32_t fields)
{
    size_t whole, consumed;
    const struct h1_head *trailers;
    if (parse_chunks(text, text.length, text.length, &whole, &trailers) != H1_DONE)
        fail_msg("%s: not a whole body", text.bytes);
    assert_int_equal(trailers->head.count, fields);
    for (size_t first = 0; first <= text.length; first++)
        for (size_t second = first; second <= text.length; second++) {
            assert_int_equal(parse_chunks(text, first, second, &consumed, &trailers), H1_DONE);
            assert_int_equal(consumed, whole);
            assert_int_equal(trailers->head.count, fields);
            assert_int_equal(body.length, strlen(expected));
            assert_memory_equal(body.bytes, expected, body.length);
        }
}

static void chunks_understood(void **state)
{
    chunks_are((struct text)TEXT("0\r\n\r\n"), "", 0);
    chunks_are((struct text)TEXT("5\r\nhello\r\n0\r\n\r\n"), "hello", 0);
    chunks_are((struct text)TEXT("1\r\na\r\n2\r\nbc\r\n00\r\n\r\nGET / HTTP/1.1\r\n"), "abc", 0);
    chunks_are((struct text)TEXT("0000000000000000000000009\r\n\r\n0\r\n\r\n\r\n\r\n0\r\n\r\n"),
               "\r\n0\r\n\r\n\r\n", 0);
    chunks_are((struct text)TEXT("A\r\n0123456789\r\nb\r\n01234567890\r\n0\r\n\r\n"),
               "012345678901234567890", 0);
    chunks_are((struct text)TEXT("3;a=b;c=\"d e\";f\r\nabc\r\n0;last\r\n\r\n"), "abc", 0);
    chunks_are((struct text)TEXT("3\r\nabc\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\nnext"), "abc", 2);
    chunks_are((struct text)TEXT("0\r\nVia: 1.1 a\r\n\r\n"), "", 1);
}

static void chunks_refused(void **state)
{
    static const struct text bad[] = {
        TEXT("\r\n5\r\nhello\r\n0\r\n\r\n"),
        TEXT(" 5\r\nhello\r\n0\r\n\r\n"),
        TEXT("+5\r\nhello\r\n0\r\n\r\n"),
        TEXT("-5\r\nhello\r\n0\r\n\r\n"),
        TEXT("0x5\r\nhello\r\n0\r\n\r\n"),
        TEXT("g\r\nhello\r\n0\r\n\r\n"),
        TEXT(";a\r\nhello\r\n0\r\n\r\n"),
        TEXT("5 \r\nhello\r\n0\r\n\r\n"),
        TEXT("5\nhello\r\n0\r\n\r\n"),
        TEXT("5\rhello\r\n0\r\n\r\n"),
        TEXT("5\r\nhello\n0\r\n\r\n"),
        TEXT("5\r\nhello\r0\r\n\r\n"),
        TEXT("5\r\nhello0\r\n\r\n"),
        TEXT("5\r\nhelloo\r\n0\r\n\r\n"),
        TEXT("5\r\nhell\r\n0\r\n\r\nxx"),
        TEXT("5;a\nhello\r\n0\r\n\r\n"),
        TEXT("5;a\rb\r\nhello\r\n0\r\n\r\n"),
        TEXT("5;a=\"\r\nhello\r\n0\r\n\r\n"),
        TEXT("5;a\0\r\nhello\r\n0\r\n\r\n"),
        TEXT("8000000000000000\r\nhello"),
        TEXT("ffffffffffffffff\r\nhello"),
        TEXT("10000000000000000\r\nhello"),
        TEXT("100000000000000005\r\nhello\r\n0\r\n\r\n"),
        TEXT("0\n\n"),
        TEXT("0\r\n\n"),
        TEXT("0\r\nX: 1\n\r\n"),
        TEXT("0\r\nX: 1\r\n\n"),
        TEXT("0\r\n X: 1\r\n\r\n"),
        TEXT("0\r\nX: 1\r\n y\r\n\r\n"),
        TEXT("0\r\nX:\r\n y\r\n\r\n"),
        TEXT("0\r\nX : 1\r\n\r\n"),
        TEXT("0\r\nX\r\n\r\n"),
        TEXT("0\r\nX: a\0\r\n\r\n"),
        TEXT("0\r\nContent-Length: 5\r\n\r\n"),
        TEXT("0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t first = 0; first <= bad[i].length; first++) {
            size_t consumed;
            const struct h1_head *trailers;
            enum h1_parsed parsed =
                parse_chunks(bad[i], first, bad[i].length, &consumed, &trailers);
            if (parsed != H1_BROKEN)
                fail_msg("%s: in two at %zu: %d", bad[i].bytes, first, parsed);
        }
}

/* The largest chunk there may be: 2^63 - 1 bytes. */
static void the_largest_chunk(void **state)
{
    struct h1_chunks chunks;
    size_t consumed;
    begin_chunks(&chunks);
    assert_int_equal(h1_parse_chunks(&chunks, (const uint8_t *)"7fffffffffffffff\r\nhello", 23,
                                     store, &body, &consumed),
                     H1_MORE);
    assert_int_equal(body.length, 5);
}

/* RFC 9112 7.1.1: extensions are nobody's, but read for ever they are not. */
static void extensions_have_a_limit(void **state)
{
    for (int over = 0; over < 2; over++) {
        struct h1_chunks chunks;
        size_t consumed;
        enum h1_parsed parsed = H1_MORE;
        begin_chunks(&chunks);
        for (int i = 0; i < H1_EXTENSION_BYTES / 8 + over && parsed == H1_MORE; i++)
            parsed = h1_parse_chunks(&chunks, (const uint8_t *)"1;abcdefgh\r\nx\r\n", 15, store,
                                     &body, &consumed);
        assert_int_equal(parsed, over ? H1_BROKEN : H1_MORE);
        body.length = 0;
    }
}

static void trailers_have_limits(void **state)
{
    static const weir_limits small = {
        .size = sizeof small, .request_line_bytes = 100, .header_bytes = 60, .header_fields = 2};
    const struct h1_head *trailers;
    size_t consumed;
    limits = &small;
    const struct text good = TEXT("0\r\nX: 01234567890123456789012345678901234567890123456789\r\n"
                                  "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const struct text long_one =
        TEXT("0\r\nX: 0123456789012345678901234567890123456789012345678901234\r\n\r\n");
    const struct text three = TEXT("0\r\nX: 1\r\nY: 2\r\nZ: 3\r\n\r\n");
    for (size_t first = 0; first <= good.length; first++)
        assert_int_equal(parse_chunks(good, first, good.length, &consumed, &trailers), H1_DONE);
    for (size_t first = 0; first <= long_one.length; first++)
        assert_int_equal(parse_chunks(long_one, first, long_one.length, &consumed, &trailers),
                         H1_BROKEN);
    for (size_t first = 0; first <= three.length; first++)
        assert_int_equal(parse_chunks(three, first, three.length, &consumed, &trailers), H1_BROKEN);
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_understood),
        TEST(requests_refused),
        TEST(other_protocols_asked_for),
        TEST(responses_understood),
        TEST(responses_refused),
        TEST(protocols_switched_to),
        TEST(first_lines_have_a_limit),
        TEST(header_sections_have_a_limit),
        TEST(many_fields),
        TEST(long_queries_without_a_path),
        TEST(whole_heads_are_noticed),
        TEST(scanning_goes_on_where_it_was),
        TEST(chunks_understood),
        TEST(chunks_refused),
        TEST(the_largest_chunk),
        TEST(extensions_have_a_limit),
        TEST(trailers_have_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
