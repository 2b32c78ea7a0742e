/* tests/unit/core/exchange/filter_heads_test.c - what filters may change of heads, and what not */
#include "core/exchange/filter_heads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "core/exchange/exchange.h"
#include "core/exchange/filter_host.h"

static _Alignas(8) uint8_t first_block[1024];
static struct exchange exchange;
static struct filter_record record_of_filters;
static struct filter_state filter;
static weir_exchange *const public = &filter.public;

static const weir_filter_host *const host = &exchange_filter_host;

/* Fields of "name: value|name: value|". */
static void add_fields(struct head *head, const char *fields)
{
    while (*fields) {
        const char *colon = strstr(fields, ": "), *bar = strchr(fields, '|');
        head_append(head, (weir_string){fields, (size_t)(colon - fields)},
                    (weir_string){colon + 2, (size_t)(bar - colon) - 2});
        fields = bar + 1;
    }
}

static struct head *request_of(const char *fields)
{
    struct head *head = head_new(&exchange.arena);
    head->view.kind = WEIR_REQUEST;
    head->view.method = WEIR_STRING("GET");
    head->view.scheme = WEIR_STRING("http");
    head->view.authority = WEIR_STRING("a.example");
    head->view.path = WEIR_STRING("/");
    add_fields(head, fields);
    return exchange.request = head;
}

static struct head *response_of(const char *fields)
{
    struct head *head = head_new(&exchange.arena);
    head->view.kind = WEIR_REQUEST;
    head->view.status = 200;
    head->view.reason = WEIR_STRING("OK");
    add_fields(head, fields);
    return exchange.response = head;
}

static int set_up(void **state)
{
    memset(&exchange, 0, sizeof exchange);
    memset(&record_of_filters, 0, sizeof record_of_filters);
    exchange.filters.record = &record_of_filters;
    arena_init(&exchange.arena, first_block, sizeof first_block);
    channel_init(&exchange.client, NULL, &exchange.mark, &exchange.arena);
    channel_init(&exchange.server, NULL, &exchange.mark, &exchange.arena);
    filter = (struct filter_state){.exchange = &exchange};
    request_of("");
    return 0;
}

static int tear_down(void **state)
{
    arena_deinit(&exchange.arena);
    arena_pool_deinit();
    return 0;
}

/* The fields, and that what is derived from them is in step. */
static void fields_are(const struct head *head, const char *expected)
{
    char joined[4096] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < head->count; i++) {
        const weir_field *field = &head->fields[i];
        length += (size_t)snprintf(joined + length, sizeof joined - length, "%.*s: %.*s|",
                                   (int)field->name.length, field->name.bytes,
                                   (int)field->value.length, field->value.bytes);
        assert_int_equal(head->ids[i], field_intern(field->name));
    }
    assert_string_equal(joined, expected);
    assert_ptr_equal(head->view.fields, head->fields);
    assert_int_equal(head->view.count, head->count);
}

static weir_result set(uint32_t which, const char *name, const char *value)
{
    return host->set_field(public, which, string_of(name), string_of(value));
}

static weir_result add(uint32_t which, const char *name, const char *value)
{
    return host->add_field(public, which, string_of(name), string_of(value));
}

static weir_result remove_field(uint32_t which, const char *name)
{
    return host->remove_field(public, which, string_of(name));
}

static void field_is(uint32_t which, const char *name, uint32_t nth, const char *expected)
{
    weir_string value;
    weir_result rc = host->field(public, which, string_of(name), nth, &value);
    assert_int_equal(rc, expected ? WEIR_OK : WEIR_NOT_FOUND);
    if (expected)
        assert_true(string_equal(value, string_of(expected)));
}

/* --- reading */

static void repeated_fields_stay_apart(void **state)
{
    response_of("Set-Cookie: a|X: 1|set-cookie: b|Content-Type: t|SET-COOKIE: c|");
    field_is(WEIR_RESPONSE_HEAD, "Set-Cookie", 0, "a");
    field_is(WEIR_RESPONSE_HEAD, "Set-Cookie", 1, "b");
    field_is(WEIR_RESPONSE_HEAD, "set-cookie", 2, "c");
    field_is(WEIR_RESPONSE_HEAD, "Set-Cookie", 3, NULL);
    field_is(WEIR_RESPONSE_HEAD, "Set-Cookie", UINT32_MAX, NULL);
    field_is(WEIR_RESPONSE_HEAD, "content-type", 0, "t");
    field_is(WEIR_RESPONSE_HEAD, "content-typo", 0, NULL);
}

static void fields_by_index(void **state)
{
    weir_field field;
    request_of("A: 1|B: 2|");
    assert_int_equal(host->field_at(public, WEIR_REQUEST_HEAD, 1, &field), WEIR_OK);
    assert_true(string_equal(field.name, WEIR_STRING("B")));
    assert_true(string_equal(field.value, WEIR_STRING("2")));
    assert_int_equal(host->field_at(public, WEIR_REQUEST_HEAD, 2, &field), WEIR_NOT_FOUND);
}

static void what_is_not_there_has_no_fields(void **state)
{
    weir_field field;
    for (uint32_t which = WEIR_RESPONSE_HEAD; which < 9; which++) {
        field_is(which, "A", 0, NULL);
        assert_int_equal(host->field_at(public, which, 0, &field), WEIR_NOT_FOUND);
    }
    field_is(WEIR_REQUEST_HEAD, "", 0, NULL);
    field_is(WEIR_REQUEST_HEAD, ":path", 0, NULL);
}

/* --- changing */

static void set_replaces_the_first_in_its_place(void **state)
{
    struct head *head = request_of("A: 1|b: 2|C: 3|B: 4|D: 5|b: 6|");
    assert_int_equal(set(WEIR_REQUEST_HEAD, "B", "new"), WEIR_OK);
    fields_are(head, "A: 1|B: new|C: 3|D: 5|");
    assert_int_equal(set(WEIR_REQUEST_HEAD, "E", "last"), WEIR_OK);
    fields_are(head, "A: 1|B: new|C: 3|D: 5|E: last|");
}

static void add_goes_to_the_end(void **state)
{
    struct head *head = response_of("Set-Cookie: a|X: 1|");
    assert_int_equal(add(WEIR_RESPONSE_HEAD, "Set-Cookie", "b"), WEIR_OK);
    assert_int_equal(add(WEIR_RESPONSE_HEAD, "Content-Type", "\t text/html  "), WEIR_OK);
    fields_are(head, "Set-Cookie: a|X: 1|Set-Cookie: b|Content-Type: text/html|");
}

static void remove_takes_all_of_them(void **state)
{
    struct head *head = request_of("a: 1|B: 2|A: 3|Via: v|A: 4|");
    assert_int_equal(remove_field(WEIR_REQUEST_HEAD, "A"), WEIR_OK);
    fields_are(head, "B: 2|Via: v|");
    assert_int_equal(remove_field(WEIR_REQUEST_HEAD, "A"), WEIR_OK);
    assert_int_equal(remove_field(WEIR_REQUEST_HEAD, "via"), WEIR_OK);
    fields_are(head, "B: 2|");
}

static void names_and_values_are_copied(void **state)
{
    char name[] = "X-Name", value[] = "value";
    struct head *head = request_of("A: 1|");
    assert_int_equal(set(WEIR_REQUEST_HEAD, name, value), WEIR_OK);
    memset(name, 'z', 6);
    memset(value, 'z', 5);
    fields_are(head, "A: 1|X-Name: value|");
}

/* A value may be one that was read from the same head. */
static void values_of_the_head_itself(void **state)
{
    weir_field field;
    struct head *head = request_of("A: 1|B: 2|A: 3|");
    host->field_at(public, WEIR_REQUEST_HEAD, 2, &field);
    assert_int_equal(host->set_field(public, WEIR_REQUEST_HEAD, field.name, field.value), WEIR_OK);
    fields_are(head, "A: 3|B: 2|");
}

/* Whoever copies the head must not do so as one run of bytes any more. */
static void the_block_does_not_hold_any_more(void **state)
{
    static const char bytes[] = "GET / HTTP/1.1\r\nA: 1\r\n\r\n";
    weir_field field = {{bytes + 16, 1}, {bytes + 19, 1}};
    weir_head received = {.size = sizeof received,
                          .kind = WEIR_REQUEST,
                          .method = {bytes, 3},
                          .authority = WEIR_STRING("a"),
                          .path = {bytes + 4, 1},
                          .fields = &field,
                          .count = 1,
                          .block = {bytes, sizeof bytes - 1}};
    for (int i = 0; i < 4; i++) {
        struct head *head = exchange.request = head_copy(&exchange.arena, &received);
        assert_true(head->view.block.length > 0);
        if (i == 0)
            assert_int_equal(set(WEIR_REQUEST_HEAD, "A", "2"), WEIR_OK);
        if (i == 1)
            assert_int_equal(add(WEIR_REQUEST_HEAD, "A", "2"), WEIR_OK);
        if (i == 2)
            assert_int_equal(host->set_part(public, WEIR_PATH, WEIR_STRING("/x")), WEIR_OK);
        if (i == 3)
            assert_int_equal(host->set_part(public, WEIR_METHOD, WEIR_STRING("PUT")), WEIR_OK);
        assert_int_equal(head->view.block.length, 0);
        struct head *copy = head_copy(&exchange.arena, &head->view);
        assert_true(string_equal(copy->view.path, head->view.path));
        assert_true(string_equal(copy->fields[0].value, head->fields[0].value));
    }
}

/* --- what is refused: nothing of it gets on the wire */

static void wrong(uint32_t which, weir_string name, weir_string value)
{
    assert_int_equal(host->set_field(public, which, name, value), WEIR_INVALID);
    assert_int_equal(host->add_field(public, which, name, value), WEIR_INVALID);
}

static void names_that_are_none(void **state)
{
    static const weir_string names[] = {{"", 0},
                                        WEIR_STRING(":path"),
                                        WEIR_STRING("A B"),
                                        WEIR_STRING("A:"),
                                        WEIR_STRING("A\r"),
                                        WEIR_STRING("A\nB"),
                                        WEIR_STRING("A\0B"),
                                        WEIR_STRING(" A"),
                                        WEIR_STRING("A\t"),
                                        WEIR_STRING("\xc3"),
                                        WEIR_STRING("A(b)"),
                                        WEIR_STRING("\"a\""),
                                        WEIR_STRING("A,B")};
    struct head *head = request_of("A: 1|");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        wrong(WEIR_REQUEST_HEAD, names[i], WEIR_STRING("1"));
        assert_int_equal(host->remove_field(public, WEIR_REQUEST_HEAD, names[i]), WEIR_INVALID);
    }
    fields_are(head, "A: 1|");
}

static void values_that_break_lines(void **state)
{
    static const weir_string values[] = {
        WEIR_STRING("a\r\nB: c"), WEIR_STRING("a\nb"), WEIR_STRING("a\rb"), WEIR_STRING("a\0b"),
        WEIR_STRING("\n"),        WEIR_STRING("\x01"), WEIR_STRING("\x7f")};
    struct head *head = request_of("A: 1|");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        wrong(WEIR_REQUEST_HEAD, WEIR_STRING("A"), values[i]);
    fields_are(head, "A: 1|");
    assert_int_equal(set(WEIR_REQUEST_HEAD, "A", "\xe2\x82\xac\tb"), WEIR_OK);
    assert_int_equal(set(WEIR_REQUEST_HEAD, "B", ""), WEIR_OK);
    fields_are(head, "A: \xe2\x82\xac\tb|B: |");
}

static void framing_is_the_hosts(void **state)
{
    static const char *const names[] = {"Content-Length",
                                        "transfer-encoding",
                                        "CONNECTION",
                                        "Keep-Alive",
                                        "Proxy-Connection",
                                        "Upgrade",
                                        "TE",
                                        "Trailer",
                                        "Host",
                                        "Expect",
                                        "HTTP2-Settings"};
    struct head *request = request_of("Host: a|Content-Length: 5|");
    struct head *response = response_of("Content-Length: 5|");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (uint32_t which = WEIR_REQUEST_HEAD; which <= WEIR_RESPONSE_TRAILERS; which++) {
            wrong(which, string_of(names[i]), WEIR_STRING("1"));
            assert_int_equal(remove_field(which, names[i]), WEIR_INVALID);
        }
    fields_are(request, "Host: a|Content-Length: 5|");
    fields_are(response, "Content-Length: 5|");
    field_is(WEIR_RESPONSE_HEAD, "Content-Length", 0, "5");
    wrong(9, WEIR_STRING("A"), WEIR_STRING("1"));
}

static void what_describes_the_body_may_change(void **state)
{
    struct head *head = response_of("Content-Type: a|Content-Encoding: gzip|");
    assert_int_equal(set(WEIR_RESPONSE_HEAD, "Content-Type", "b"), WEIR_OK);
    assert_int_equal(remove_field(WEIR_RESPONSE_HEAD, "Content-Encoding"), WEIR_OK);
    assert_int_equal(set(WEIR_RESPONSE_HEAD, "Proxy-Authenticate", "Basic"), WEIR_OK);
    fields_are(head, "Content-Type: b|Proxy-Authenticate: Basic|");
}

/* --- bounds */

static void fields_are_bounded(void **state)
{
    struct head *head = request_of("A: 1|B: 2|");
    for (int i = 2; i < 256; i++)
        assert_int_equal(add(WEIR_REQUEST_HEAD, "A", ""), WEIR_OK);
    assert_int_equal(add(WEIR_REQUEST_HEAD, "A", ""), WEIR_TOO_MUCH);
    assert_int_equal(set(WEIR_REQUEST_HEAD, "C", ""), WEIR_TOO_MUCH);
    assert_int_equal(head->count, 256);
    assert_int_equal(set(WEIR_REQUEST_HEAD, "B", "3"), WEIR_OK);
    assert_int_equal(set(WEIR_REQUEST_HEAD, "A", "4"), WEIR_OK);
    fields_are(head, "A: 4|B: 3|");
}

static void bytes_are_bounded(void **state)
{
    static char many[1 << 20];
    memset(many, 'x', sizeof many);
    struct head *head = request_of("A: 1|");
    weir_string a = WEIR_STRING("A");
    assert_int_equal(host->set_field(public, 0, a, (weir_string){many, sizeof many}),
                     WEIR_TOO_MUCH);
    assert_int_equal(host->set_field(public, 0, a, (weir_string){many, 65536}), WEIR_TOO_MUCH);
    fields_are(head, "A: 1|");
    assert_int_equal(host->set_field(public, 0, a, (weir_string){many, 65533}), WEIR_OK);
    assert_int_equal(add(0, "B", "123"), WEIR_TOO_MUCH);
    assert_int_equal(host->set_part(public, WEIR_PATH, WEIR_STRING("/123")), WEIR_TOO_MUCH);
    assert_int_equal(add(0, "B", "1"), WEIR_OK);
    assert_int_equal(add(0, "B", ""), WEIR_TOO_MUCH);
    assert_int_equal(remove_field(0, "A"), WEIR_OK);
    assert_int_equal(set(0, "B", "2"), WEIR_TOO_MUCH); /* the memory is used, not free again */
    fields_are(head, "B: 1|");
}

/* --- phases */

static void a_head_that_has_left_stays(void **state)
{
    struct head *request = request_of("A: 1|"), *response = response_of("A: 1|");
    exchange.progress = PROGRESS_ACQUIRING;
    assert_int_equal(add(WEIR_REQUEST_HEAD, "B", "2"), WEIR_OK);
    exchange.progress = PROGRESS_SENT;
    assert_int_equal(add(WEIR_REQUEST_HEAD, "C", "3"), WEIR_WRONG_PHASE);
    assert_int_equal(set(WEIR_REQUEST_HEAD, "A", "3"), WEIR_WRONG_PHASE);
    assert_int_equal(remove_field(WEIR_REQUEST_HEAD, "A"), WEIR_WRONG_PHASE);
    assert_int_equal(host->set_part(public, WEIR_PATH, WEIR_STRING("/")), WEIR_WRONG_PHASE);
    assert_int_equal(host->set_status(public, 201), WEIR_OK);
    exchange.response_sent = true;
    assert_int_equal(add(WEIR_RESPONSE_HEAD, "C", "3"), WEIR_WRONG_PHASE);
    assert_int_equal(remove_field(WEIR_RESPONSE_HEAD, "A"), WEIR_WRONG_PHASE);
    assert_int_equal(host->set_status(public, 200), WEIR_WRONG_PHASE);
    fields_are(request, "A: 1|B: 2|");
    fields_are(response, "A: 1|");
    field_is(WEIR_REQUEST_HEAD, "B", 0, "2");
}

static void a_head_that_is_not_there_yet(void **state)
{
    assert_int_equal(add(WEIR_RESPONSE_HEAD, "A", "1"), WEIR_WRONG_PHASE);
    assert_int_equal(remove_field(WEIR_RESPONSE_HEAD, "A"), WEIR_WRONG_PHASE);
    assert_int_equal(host->set_status(public, 200), WEIR_WRONG_PHASE);
    assert_int_equal(add(WEIR_RESPONSE_TRAILERS, "A", "1"), WEIR_WRONG_PHASE);
    assert_int_equal(add(WEIR_INTERIM_HEAD, "A", "1"), WEIR_WRONG_PHASE);
    exchange.request = NULL;
    assert_int_equal(add(WEIR_REQUEST_HEAD, "A", "1"), WEIR_WRONG_PHASE);
    assert_int_equal(host->set_part(public, WEIR_PATH, WEIR_STRING("/")), WEIR_WRONG_PHASE);
}

static void interim_heads_while_they_are_shown(void **state)
{
    struct head *head = exchange.filters.record->interim = head_new(&exchange.arena);
    assert_int_equal(add(WEIR_INTERIM_HEAD, "Link", "</a>"), WEIR_OK);
    assert_int_equal(set(WEIR_INTERIM_HEAD, "Link", "</b>"), WEIR_OK);
    field_is(WEIR_INTERIM_HEAD, "link", 0, "</b>");
    fields_are(head, "Link: </b>|");
}

/* --- trailers */

static void trailers_are_read_and_changed(void **state)
{
    struct head *head = exchange.client.trailers = head_new(&exchange.arena);
    add_fields(head, "Checksum: 1|X: 2|");
    field_is(WEIR_REQUEST_TRAILERS, "checksum", 0, "1");
    assert_int_equal(set(WEIR_REQUEST_TRAILERS, "X", "3"), WEIR_OK);
    assert_int_equal(remove_field(WEIR_REQUEST_TRAILERS, "Checksum"), WEIR_OK);
    assert_int_equal(add(WEIR_REQUEST_TRAILERS, "ETag", "4"), WEIR_OK);
    fields_are(head, "X: 3|ETag: 4|");
    exchange.request_flow.ended = true;
    assert_int_equal(set(WEIR_REQUEST_TRAILERS, "X", "4"), WEIR_WRONG_PHASE);
    fields_are(head, "X: 3|ETag: 4|");
}

static void trailers_are_made(void **state)
{
    assert_int_equal(remove_field(WEIR_REQUEST_TRAILERS, "X"), WEIR_OK);
    assert_null(exchange.client.trailers);
    assert_int_equal(add(WEIR_REQUEST_TRAILERS, "X", "1"), WEIR_OK);
    fields_are(exchange.client.trailers, "X: 1|");
    response_of("");
    assert_int_equal(set(WEIR_RESPONSE_TRAILERS, "Y", "2"), WEIR_OK);
    fields_are(exchange.server.trailers, "Y: 2|");
}

/* A filter made some before the peer's had come. */
static void made_trailers_stay_behind_those_that_come(void **state)
{
    struct turn turn;
    turn_init(&turn);
    weir_field came = {WEIR_STRING("Came"), WEIR_STRING("2")};
    exchange.client.turn = &turn;
    mark_init(&exchange.mark, NULL);
    assert_int_equal(add(WEIR_REQUEST_TRAILERS, "Made", "1"), WEIR_OK);
    channel_deliver_trailers(&exchange.client, &came, 1);
    fields_are(exchange.client.trailers, "Came: 2|Made: 1|");
    assert_int_equal(exchange.client.trailers->added, 5);
}

static void what_has_no_place_in_trailers(void **state)
{
    wrong(WEIR_REQUEST_TRAILERS, WEIR_STRING("Authorization"), WEIR_STRING("1"));
    wrong(WEIR_REQUEST_TRAILERS, WEIR_STRING("Content-Type"), WEIR_STRING("1"));
    response_of("");
    wrong(WEIR_RESPONSE_TRAILERS, WEIR_STRING("set-cookie"), WEIR_STRING("1"));
    assert_null(exchange.server.trailers);
    assert_int_equal(remove_field(WEIR_RESPONSE_TRAILERS, "set-cookie"), WEIR_OK);
}

static void tunnels_have_no_trailers(void **state)
{
    exchange.request->view.kind = WEIR_TUNNEL;
    assert_int_equal(add(WEIR_REQUEST_TRAILERS, "A", "1"), WEIR_WRONG_PHASE);
    exchange.request->view.kind = WEIR_REQUEST;
    exchange.request->view.protocol = WEIR_STRING("websocket");
    assert_int_equal(add(WEIR_REQUEST_TRAILERS, "A", "1"), WEIR_WRONG_PHASE);
    response_of("")->view.kind = WEIR_TUNNEL;
    assert_int_equal(add(WEIR_RESPONSE_TRAILERS, "A", "1"), WEIR_WRONG_PHASE);
}

/* --- parts */

static void parts_become(uint32_t part, const char *const *values, weir_result expected)
{
    for (; *values; values++) {
        weir_result rc = host->set_part(public, part, string_of(*values));
        if (rc != expected)
            fail_msg("part %u, %s: %d", part, *values, rc);
    }
}

#define VALUES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void methods(void **state)
{
    struct head *head = request_of("");
    parts_become(WEIR_METHOD, VALUES("", "G T", "GET\r\n", "HEAD", "CONNECT", "G(T", "\xc3"),
                 WEIR_INVALID);
    assert_true(string_equal(head->view.method, WEIR_STRING("GET")));
    parts_become(WEIR_METHOD, VALUES("POST", "PURGE", "get", "head"), WEIR_OK);
    assert_true(string_equal(head->view.method, WEIR_STRING("head")));
    head->view.method = WEIR_STRING("HEAD");
    parts_become(WEIR_METHOD, VALUES("GET"), WEIR_INVALID);
    parts_become(WEIR_METHOD, VALUES("HEAD"), WEIR_OK);
    head->view.method = WEIR_STRING("OPTIONS");
    head->view.path = WEIR_STRING("*");
    parts_become(WEIR_METHOD, VALUES("GET"), WEIR_INVALID);
    assert_int_equal(head->view.kind, WEIR_REQUEST);
}

static void schemes(void **state)
{
    parts_become(WEIR_SCHEME, VALUES("https", "http", "x+y-1.z"), WEIR_OK);
    parts_become(WEIR_SCHEME, VALUES("", "HTTP", "1a", "ht tp", "http:", "h\n"), WEIR_INVALID);
    assert_true(string_equal(exchange.request->view.scheme, WEIR_STRING("x+y-1.z")));
}

static void authorities(void **state)
{
    struct head *head = request_of("A: 1|Host: a.example|");
    parts_become(WEIR_AUTHORITY,
                 VALUES("", "a b", "u@b", "a:80:90", "::1", "a:0", "a/b", "a\r\nX: y", "[::1"),
                 WEIR_INVALID);
    fields_are(head, "A: 1|Host: a.example|");
    parts_become(WEIR_AUTHORITY, VALUES("[::1]:80", "b.example:81"), WEIR_OK);
    fields_are(head, "A: 1|Host: b.example:81|");
    assert_true(string_equal(head->view.authority, WEIR_STRING("b.example:81")));
}

static void paths(void **state)
{
    struct head *head = request_of("");
    parts_become(
        WEIR_PATH,
        VALUES("", "a", "*", "?a", "http://a/", "/a b", "/a\r\n", "/\t", "/\x7f", "/#a", "/\x80"),
        WEIR_INVALID);
    assert_true(string_equal(head->view.path, WEIR_STRING("/")));
    parts_become(WEIR_PATH, VALUES("/", "/a?b=c", "//", "/%20\"{}"), WEIR_OK);
    head->view.method = WEIR_STRING("OPTIONS");
    parts_become(WEIR_PATH, VALUES("/x", "*"), WEIR_OK);
    assert_int_equal(host->set_part(public, WEIR_PATH, (weir_string){"/\0", 2}), WEIR_INVALID);
    assert_int_equal(host->set_part(public, 0, WEIR_STRING("/")), WEIR_INVALID);
    assert_int_equal(host->set_part(public, 5, WEIR_STRING("/")), WEIR_INVALID);
}

static void of_a_tunnel_only_where_it_leads(void **state)
{
    exchange.request->view.kind = WEIR_TUNNEL;
    exchange.request->view.method = WEIR_STRING("CONNECT");
    parts_become(WEIR_METHOD, VALUES("GET", "CONNECT"), WEIR_INVALID);
    parts_become(WEIR_SCHEME, VALUES("http"), WEIR_INVALID);
    parts_become(WEIR_PATH, VALUES("/"), WEIR_INVALID);
    parts_become(WEIR_AUTHORITY, VALUES("b.example", "b.example:"), WEIR_INVALID);
    parts_become(WEIR_AUTHORITY, VALUES("b.example:443"), WEIR_OK);
}

/* --- status */

static void status_becomes(uint32_t status, weir_result expected)
{
    assert_int_equal(host->set_status(public, status), expected);
}

static void statuses(void **state)
{
    struct head *head = response_of("");
    status_becomes(404, WEIR_OK);
    assert_int_equal(head->view.status, 404);
    assert_true(string_equal(head->view.reason, WEIR_STRING("Not Found")));
    status_becomes(599, WEIR_OK);
    assert_int_equal(head->view.reason.length, 0);
    static const uint32_t others[] = {0, 100, 101, 103, 199, 204, 304, 600, 1200};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        status_becomes(others[i], WEIR_INVALID);
    assert_int_equal(head->view.status, 599);
    head->view.status = 304;
    status_becomes(200, WEIR_INVALID);
    status_becomes(204, WEIR_OK);
}

/* Else a client would take for a tunnel what is none, or the other way round. */
static void tunnels_stay_and_none_begins(void **state)
{
    response_of("")->view.status = 407;
    exchange.request->view.kind = WEIR_TUNNEL;
    status_becomes(200, WEIR_INVALID);
    status_becomes(403, WEIR_OK);
    exchange.response->view.kind = WEIR_TUNNEL;
    status_becomes(403, WEIR_INVALID);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(repeated_fields_stay_apart),
        TEST(fields_by_index),
        TEST(what_is_not_there_has_no_fields),
        TEST(set_replaces_the_first_in_its_place),
        TEST(add_goes_to_the_end),
        TEST(remove_takes_all_of_them),
        TEST(names_and_values_are_copied),
        TEST(values_of_the_head_itself),
        TEST(the_block_does_not_hold_any_more),
        TEST(names_that_are_none),
        TEST(values_that_break_lines),
        TEST(framing_is_the_hosts),
        TEST(what_describes_the_body_may_change),
        TEST(fields_are_bounded),
        TEST(bytes_are_bounded),
        TEST(a_head_that_has_left_stays),
        TEST(a_head_that_is_not_there_yet),
        TEST(interim_heads_while_they_are_shown),
        TEST(trailers_are_read_and_changed),
        TEST(trailers_are_made),
        TEST(made_trailers_stay_behind_those_that_come),
        TEST(what_has_no_place_in_trailers),
        TEST(tunnels_have_no_trailers),
        TEST(methods),
        TEST(schemes),
        TEST(authorities),
        TEST(paths),
        TEST(of_a_tunnel_only_where_it_leads),
        TEST(statuses),
        TEST(tunnels_stay_and_none_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
