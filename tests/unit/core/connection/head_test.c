/* tests/unit/core/connection/head_test.c - heads copied into an arena, known names, fields in order
 */
#include "core/connection/head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"

static _Alignas(8) uint8_t first_block[256];
static struct arena arena;

static int set_up(void **state)
{
    memset(first_block, 0xff, sizeof first_block);
    arena_init(&arena, first_block, sizeof first_block);
    return 0;
}

static int tear_down(void **state)
{
    arena_deinit(&arena);
    arena_pool_deinit();
    return 0;
}

/* The fields as "name:value|", and each id is the one of its name. */
static void fields_are(const struct head *head, const char *expected)
{
    char joined[4096] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < head->count; i++) {
        const weir_field *field = &head->fields[i];
        length += (size_t)snprintf(joined + length, sizeof joined - length, "%.*s:%.*s|",
                                   (int)field->name.length, field->name.bytes,
                                   (int)field->value.length, field->value.bytes);
        assert_int_equal(head->ids[i], field_intern(field->name));
    }
    assert_string_equal(joined, expected);
    assert_int_equal(head->view.count, head->count);
    assert_ptr_equal(head->view.fields, head->fields);
}

/* --- known names */

static const struct {
    const char *name;
    enum field_id id;
} names[] = {
    {"Connection", FIELD_CONNECTION},
    {"Content-Length", FIELD_CONTENT_LENGTH},
    {"Content-Type", FIELD_CONTENT_TYPE},
    {"Expect", FIELD_EXPECT},
    {"Host", FIELD_HOST},
    {"Keep-Alive", FIELD_KEEP_ALIVE},
    {"Max-Forwards", FIELD_MAX_FORWARDS},
    {"Proxy-Authenticate", FIELD_PROXY_AUTHENTICATE},
    {"Proxy-Authorization", FIELD_PROXY_AUTHORIZATION},
    {"Proxy-Connection", FIELD_PROXY_CONNECTION},
    {"TE", FIELD_TE},
    {"Trailer", FIELD_TRAILER},
    {"Transfer-Encoding", FIELD_TRANSFER_ENCODING},
    {"Upgrade", FIELD_UPGRADE},
    {"Via", FIELD_VIA},
};

static void every_known_name_in_any_case(void **state)
{
    assert_int_equal(sizeof names / sizeof *names, FIELD_REMOVED - FIELD_OTHER - 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[32];
        size_t length = strlen(names[i].name);
        assert_int_equal(field_intern(string_of(names[i].name)), names[i].id);
        for (size_t k = 0; k < length; k++)
            name[k] = character_lower(names[i].name[k]);
        assert_int_equal(field_intern((weir_string){name, length}), names[i].id);
        for (size_t k = 0; k < length; k++)
            name[k] = (char)(name[k] >= 'a' ? name[k] - 32 : name[k]);
        assert_int_equal(field_intern((weir_string){name, length}), names[i].id);
    }
}

static bool is_token(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* Each known name with any one character changed, one more or one less is unknown. */
static void near_misses_are_unknown(void **state)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[32];
        size_t length = strlen(names[i].name);
        for (size_t k = 0; k < length; k++)
            for (int c = 0; c < 256; c++) {
                memcpy(name, names[i].name, length);
                if (!is_token((unsigned char)c) ||
                    character_lower((char)c) == character_lower(name[k]))
                    continue;
                name[k] = (char)c;
                assert_int_equal(field_intern((weir_string){name, length}), FIELD_OTHER);
            }
        memcpy(name, names[i].name, length);
        name[length] = 's';
        assert_int_equal(field_intern((weir_string){name, length + 1}), FIELD_OTHER);
        assert_int_equal(field_intern((weir_string){name, length - 1}), FIELD_OTHER);
        assert_int_equal(field_intern((weir_string){name + 1, length - 1}), FIELD_OTHER);
    }
    assert_int_equal(field_intern(WEIR_STRING("")), FIELD_OTHER);
    assert_int_equal(field_intern((weir_string){NULL, 0}), FIELD_OTHER);
    assert_int_equal(field_intern(WEIR_STRING("Accept")), FIELD_OTHER); /* as long as Expect */
    assert_int_equal(field_intern(WEIR_STRING("Date")), FIELD_OTHER);
    assert_int_equal(field_intern(WEIR_STRING("a-name-that-is-longer-than-all")), FIELD_OTHER);
}

/* --- copies */

static const char text[] =
    "POST http://example.com/path?q HTTP/1.1\r\n"
    "Host: example.com\r\nX-Empty:\r\nVIA: 1.0 a\r\nUpgrade: websocket\r\n\r\n";

static weir_string part(const char *bytes, const char *what)
{
    const char *at = strstr(bytes, what);
    return (weir_string){at, strlen(what)};
}

static void example(const char *bytes, weir_head *head, weir_field fields[3])
{
    fields[0] = (weir_field){part(bytes, "Host"), part(strstr(bytes, "Host"), "example.com")};
    fields[1] = (weir_field){part(bytes, "X-Empty"), {strstr(bytes, "X-Empty:") + 8, 0}};
    fields[2] = (weir_field){part(bytes, "VIA"), part(bytes, "1.0 a")};
    *head = (weir_head){
        .size = sizeof *head,
        .kind = WEIR_REQUEST,
        .flags = 7,
        .version = WEIR_STRING("1.1"), /* static */
        .method = part(bytes, "POST"),
        .scheme = part(bytes, "http"),
        .authority = part(bytes, "example.com"),
        .path = part(bytes, "/path?q"),
        .reason = {NULL, 0},
        .protocol = part(bytes, "websocket"),
        .fields = fields,
        .count = 3,
        .error = WEIR_LOOP,
        .content_length = 123,
    };
}

static void lies_in_arena(weir_string string, const char *from, size_t length)
{
    assert_false(string.length && string.bytes >= from && string.bytes < from + length);
}

static void is_the_example(const struct head *head)
{
    const weir_head *view = &head->view;
    assert_null(head->next);
    assert_int_equal(view->kind, WEIR_REQUEST);
    assert_int_equal(view->flags, 7);
    assert_int_equal(view->error, WEIR_LOOP);
    assert_int_equal(view->content_length, 123);
    assert_true(string_equal(view->version, WEIR_STRING("1.1")));
    assert_true(string_equal(view->method, WEIR_STRING("POST")));
    assert_true(string_equal(view->scheme, WEIR_STRING("http")));
    assert_true(string_equal(view->authority, WEIR_STRING("example.com")));
    assert_true(string_equal(view->path, WEIR_STRING("/path?q")));
    assert_true(string_equal(view->protocol, WEIR_STRING("websocket")));
    assert_int_equal(view->reason.length, 0);
    fields_are(head, "Host:example.com|X-Empty:|VIA:1.0 a|");
}

/* The bytes it came from are gone when the copy is looked at. */
static void copy(bool with_block)
{
    char *bytes = malloc(sizeof text);
    weir_field *fields = malloc(3 * sizeof *fields);
    weir_head from;
    assert_true(bytes && fields);
    memcpy(bytes, text, sizeof text);
    example(bytes, &from, fields);
    if (with_block)
        from.block = (weir_string){bytes, sizeof text - 1};
    struct head *head = head_copy(&arena, &from);
    lies_in_arena(head->view.path, bytes, sizeof text);
    for (uint32_t i = 0; i < head->count; i++) {
        lies_in_arena(head->fields[i].name, bytes, sizeof text);
        lies_in_arena(head->fields[i].value, bytes, sizeof text);
    }
    memset(bytes, 'x', sizeof text);
    memset(fields, 0, 3 * sizeof *fields);
    free(bytes);
    free(fields);
    is_the_example(head);
}

static void copied_in_one_piece(void **state)
{
    copy(true);
}

static void copied_string_by_string(void **state)
{
    copy(false);
}

/* What stood side by side still does: it can be written in one run. */
static void a_block_keeps_its_layout(void **state)
{
    weir_field fields[3];
    weir_head from;
    example(text, &from, fields);
    from.block = (weir_string){text, sizeof text - 1};
    struct head *head = head_copy(&arena, &from);
    assert_int_equal(head->view.block.length, sizeof text - 1);
    assert_memory_equal(head->view.block.bytes, text, sizeof text - 1);
    assert_int_equal(head->fields[2].name.bytes - head->fields[0].name.bytes,
                     fields[2].name.bytes - fields[0].name.bytes);
    assert_int_equal(head->view.path.bytes - head->view.block.bytes, from.path.bytes - text);
    struct head *again = head_copy(&arena, &head->view); /* a copy of a copy */
    memset((char *)(uintptr_t)head->view.block.bytes, 'x', head->view.block.length);
    is_the_example(again);
}

static void empty_heads(void **state)
{
    weir_head nothing = {.size = sizeof nothing, .content_length = -1};
    struct head *head = head_copy(&arena, &nothing);
    fields_are(head, "");
    head_append(head, WEIR_STRING("a"), WEIR_STRING("1"));
    fields_are(head, "a:1|");
    head = head_new(&arena);
    assert_int_equal(head->view.content_length, -1);
    assert_int_equal(head->view.size, sizeof(weir_head));
    fields_are(head, "");
}

/* --- changes */

static struct head *head_of(const char *const pairs[][2], uint32_t count)
{
    struct head *head = head_new(&arena);
    for (uint32_t i = 0; i < count; i++)
        head_append(head, string_of(pairs[i][0]), string_of(pairs[i][1]));
    return head;
}

static const char *const pairs[][2] = {{"Via", "1"},  {"Host", "a"}, {"via", "2"},
                                       {"Host", "b"}, {"TE", "c"},   {"VIA", "3"}};

static void found_from_an_index_on(void **state)
{
    struct head *head = head_of(pairs, 6);
    assert_int_equal(head_find(head, FIELD_VIA, 0), 0);
    assert_int_equal(head_find(head, FIELD_VIA, 1), 2);
    assert_int_equal(head_find(head, FIELD_VIA, 3), 5);
    assert_int_equal(head_find(head, FIELD_VIA, 6), -1);
    assert_int_equal(head_find(head, FIELD_TE, 0), 4);
    assert_int_equal(head_find(head, FIELD_EXPECT, 0), -1);
}

static void event_streams(void **state)
{
    static const struct {
        const char *value;
        bool is;
    } cases[] = {{"text/event-stream", true},
                 {"TEXT/Event-Stream; charset=utf-8", true},
                 {"text/event-strea", false},
                 {"text/event_stream", false},
                 {"", false},
                 {" text/event-stream", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct head *head = head_new(&arena);
        head_append(head, WEIR_STRING("content-type"), string_of(cases[i].value));
        assert_int_equal(head_is_event_stream(head), cases[i].is);
    }
    struct head *head = head_of(pairs, 6);
    assert_false(head_is_event_stream(head));
    head_append(head, WEIR_STRING("Content-Type"), WEIR_STRING("text/event-stream"));
    assert_true(head_is_event_stream(head));
}

static void removed_and_closed_up(void **state)
{
    struct head *head = head_of(pairs, 6);
    head_remove(head, 0);
    head_remove(head, 3);
    head_remove(head, 5);
    assert_int_equal(head_find(head, FIELD_VIA, 0), 2); /* the others are where they were */
    assert_int_equal(head->count, 6);
    head_compact(head);
    fields_are(head, "Host:a|via:2|TE:c|");
    head_compact(head);
    fields_are(head, "Host:a|via:2|TE:c|");
    for (uint32_t i = 0; i < 3; i++)
        head_remove(head, i);
    head_compact(head);
    fields_are(head, "");
}

static void values_are_replaced(void **state)
{
    struct head *head = head_of(pairs, 3);
    head_set_value(head, 1, WEIR_STRING("other"));
    fields_are(head, "Via:1|Host:other|via:2|");
}

static void grows_at_both_ends(void **state)
{
    char names_text[40][16], expected[1024] = "";
    struct head *head = head_new(&arena);
    for (int i = 0; i < 40; i++) {
        snprintf(names_text[i], sizeof names_text[i], "n%d", i);
        if (i % 2)
            head_append(head, string_of(names_text[i]), WEIR_STRING("v"));
        else
            head_prepend(head, string_of(names_text[i]), WEIR_STRING("v"));
    }
    size_t length = 0;
    for (int i = 38; i >= 0; i -= 2)
        length += (size_t)snprintf(expected + length, sizeof expected - length, "n%d:v|", i);
    for (int i = 1; i < 40; i += 2)
        length += (size_t)snprintf(expected + length, sizeof expected - length, "n%d:v|", i);
    fields_are(head, expected);
    head_prepend(head, WEIR_STRING("Host"), WEIR_STRING("h"));
    assert_int_equal(head_find(head, FIELD_HOST, 0), 0);
}

/* A proxy adds a few fields: a copied head has room for them. */
static void copies_have_room(void **state)
{
    weir_field fields[3];
    weir_head from;
    example(text, &from, fields);
    struct head *head = head_copy(&arena, &from);
    const weir_field *place = head->fields;
    for (int i = 0; i < 4; i++)
        head_prepend(head, WEIR_STRING("a"), WEIR_STRING("b"));
    assert_ptr_equal(head->fields, place);
    head_append(head, WEIR_STRING("c"), WEIR_STRING("d"));
    assert_ptr_not_equal(head->fields, place);
    fields_are(head, "a:b|a:b|a:b|a:b|Host:example.com|X-Empty:|VIA:1.0 a|c:d|");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_known_name_in_any_case), TEST(near_misses_are_unknown),
        TEST(copied_in_one_piece),          TEST(copied_string_by_string),
        TEST(a_block_keeps_its_layout),     TEST(empty_heads),
        TEST(found_from_an_index_on),       TEST(event_streams),
        TEST(removed_and_closed_up),        TEST(values_are_replaced),
        TEST(grows_at_both_ends),           TEST(copies_have_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
