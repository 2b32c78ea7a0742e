/* tests/unit/codecs/h1/write_test.c - heads byte by byte, whether their fields are copied in runs
 * or not */
#include "codecs/h1/write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codecs/h1/parse.h"
#define CHECK(condition) assert_true(condition)
#include "tests/unit/codecs/h1/fake_host.h"

static struct output output;
static const struct h1_framing_lines no_lines;

static int set_up(void **state)
{
    memset(&output, 0, sizeof output);
    return 0;
}

static int tear_down(void **state)
{
    output_clear(fake_host(), &output);
    buffer_pool_deinit();
    return 0;
}

/* What was written, in one slice as small messages leave. */
static void written_is(const char *expected)
{
    const weir_slice *slices = output_slices(&output);
    assert_int_equal(output.count, 1);
    assert_int_equal(slices[0].length, strlen(expected));
    assert_memory_equal(slices[0].bytes, expected, slices[0].length);
    output_clear(fake_host(), &output);
}

static weir_string string(const char *text)
{
    return (weir_string){text, strlen(text)};
}

static weir_head request(const weir_field *fields, uint32_t count)
{
    return (weir_head){.size = sizeof(weir_head),
                       .method = WEIR_STRING("GET"),
                       .scheme = WEIR_STRING("http"),
                       .authority = WEIR_STRING("a.example"),
                       .path = WEIR_STRING("/x?y"),
                       .version = WEIR_STRING("1.0"), /* how it came, not how it goes */
                       .fields = fields,
                       .count = count};
}

static void first_lines(void **state)
{
    weir_head head = request(NULL, 0);
    h1_write_request(fake_host(), &output, &head, &no_lines);
    written_is("GET /x?y HTTP/1.1\r\n\r\n");
    static const struct {
        uint32_t status;
        const char *reason, *line;
    } responses[] = {
        {200, "OK", "HTTP/1.1 200 OK\r\n\r\n"},
        {100, "", "HTTP/1.1 100 \r\n\r\n"},
        {507, "In  two words", "HTTP/1.1 507 In  two words\r\n\r\n"},
        {599, "\xc3\xa9\t", "HTTP/1.1 599 \xc3\xa9\t\r\n\r\n"},
    };
    for (size_t i = 0; i < sizeof responses / sizeof *responses; i++) {
        weir_head response = {.size = sizeof response,
                              .status = responses[i].status,
                              .version = WEIR_STRING("1.0"),
                              .reason = string(responses[i].reason)};
        h1_write_response(fake_host(), &output, &response, &no_lines);
        written_is(responses[i].line);
    }
}

static void framing_lines_come_behind_the_fields(void **state)
{
    const weir_field fields[] = {{WEIR_STRING("A"), WEIR_STRING("b")}};
    weir_head head = request(fields, 1);
    h1_write_request(fake_host(), &output, &head,
                     &(struct h1_framing_lines){.length = "Content-Length: 0\r\n",
                                                .connection = "C: close\r\n"});
    written_is("GET /x?y HTTP/1.1\r\nA: b\r\nContent-Length: 0\r\nC: close\r\n\r\n");
    h1_write_request(fake_host(), &output, &head,
                     &(struct h1_framing_lines){.upgrade = WEIR_STRING("websocket")});
    written_is("GET /x?y HTTP/1.1\r\nA: b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    head.status = 200;
    head.reason = WEIR_STRING("OK");
    h1_write_response(fake_host(), &output, &head,
                      &(struct h1_framing_lines){.length = "Transfer-Encoding: chunked\r\n"});
    written_is("HTTP/1.1 200 OK\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n");
}

/* --- runs of fields */

static const char received[] = "GET / HTTP/1.1\r\n"
                               "Host: a.example\r\n"
                               "A: 1\r\n"
                               "B:2\r\n"
                               "C:  3\r\n"
                               "D: 4 \r\n"
                               "E: \r\n"
                               "F:\r\n"
                               "G: 5\r\n"
                               "H: 6\r\n"
                               "\r\n";

/* The parsed fields, of bytes that end where the head does. */
static const weir_field *parsed(char **bytes, uint32_t *count)
{
    static const weir_limits limits = {.size = sizeof limits,
                                       .request_line_bytes = 8192,
                                       .header_bytes = 65536,
                                       .header_fields = 128};
    static llhttp_t parser;
    const struct h1_head *head;
    *bytes = malloc(sizeof received - 1);
    assert_non_null(*bytes);
    memcpy(*bytes, received, sizeof received - 1);
    assert_int_equal(
        h1_parse_request(&parser, &limits, (const uint8_t *)*bytes, sizeof received - 1, &head),
        H1_DONE);
    *count = head->head.count;
    return head->head.fields;
}

static void fields_are_written_as_they_came(void **state)
{
    char *bytes;
    uint32_t count;
    const weir_field *fields = parsed(&bytes, &count);
    assert_int_equal(count, 9);
    weir_head head = request(fields, count);
    h1_write_request(fake_host(), &output, &head, &no_lines);
    written_is("GET /x?y HTTP/1.1\r\nHost: a.example\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: \r\n"
               "F: \r\nG: 5\r\nH: 6\r\n\r\n");
    free(bytes);
}

/* Any of them left out, doubled or replaced, one by one and in pairs: the others stay. */
static void changed_fields_break_runs(void **state)
{
    char *bytes;
    uint32_t count;
    const weir_field *fields = parsed(&bytes, &count);
    for (uint32_t one = 0; one < 9; one++)
        for (uint32_t two = 0; two < 9; two++)
            for (int change = 0; change < 4; change++) {
                weir_field changed[18];
                char expected[512] = "GET /x?y HTTP/1.1\r\n";
                uint32_t n = 0;
                for (uint32_t i = 0; i < 9; i++) {
                    bool touched = i == one || i == two;
                    if (touched && change == 0)
                        continue; /* left out */
                    changed[n++] = fields[i];
                    if (touched && change == 1)
                        changed[n++] = fields[i];
                    if (touched && change == 2)
                        changed[n - 1].value = WEIR_STRING("new");
                    if (touched && change == 3)
                        changed[n - 1].name = WEIR_STRING("New");
                }
                for (uint32_t i = 0; i < n; i++) {
                    strncat(expected, changed[i].name.bytes, changed[i].name.length);
                    strcat(expected, ": ");
                    if (changed[i].value.length)
                        strncat(expected, changed[i].value.bytes, changed[i].value.length);
                    strcat(expected, "\r\n");
                }
                strcat(expected, "\r\n");
                weir_head head = request(changed, n);
                h1_write_request(fake_host(), &output, &head, &no_lines);
                written_is(expected);
            }
    free(bytes);
}

static void changed_order_breaks_runs(void **state)
{
    char *bytes;
    uint32_t count;
    const weir_field *fields = parsed(&bytes, &count);
    const weir_field backwards[] = {fields[8], fields[7], fields[1], fields[0]};
    weir_head head = request(backwards, 4);
    h1_write_request(fake_host(), &output, &head, &no_lines);
    written_is("GET /x?y HTTP/1.1\r\nH: 6\r\nG: 5\r\nA: 1\r\nHost: a.example\r\n\r\n");
    free(bytes);
}

/* --- bodies */

static void chunk_sizes(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *line;
    } sizes[] = {{1, "1\r\n"},
                 {10, "a\r\n"},
                 {255, "ff\r\n"},
                 {65536, "10000\r\n"},
                 {UINT64_MAX, "ffffffffffffffff\r\n"}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        h1_write_chunk_size(fake_host(), &output, sizes[i].bytes);
        written_is(sizes[i].line);
    }
}

static void trailer_sections(void **state)
{
    const weir_field fields[] = {{WEIR_STRING("X-Sum"), WEIR_STRING("1")},
                                 {WEIR_STRING("Y"), WEIR_STRING("")}};
    h1_write_trailers(fake_host(), &output, fields, 2);
    written_is("X-Sum: 1\r\nY: \r\n\r\n");
    h1_write_trailers(fake_host(), &output, NULL, 0);
    written_is("\r\n");
}

/* Large heads have a buffer of their own; the room that is reserved is enough. */
static void large_heads(void **state)
{
    static char value[3001], expected[50000];
    weir_field fields[12];
    memset(value, 'v', sizeof value - 1);
    strcpy(expected, "GET /x?y HTTP/1.1\r\n");
    for (int i = 0; i < 12; i++) {
        fields[i] = (weir_field){WEIR_STRING("Name"), string(value)};
        strcat(expected, "Name: ");
        strcat(expected, value);
        strcat(expected, "\r\n");
    }
    strcat(expected, "\r\n");
    weir_head head = request(fields, 12);
    h1_write_request(fake_host(), &output, &head, &no_lines);
    written_is(expected);
}

/* Whichever part is long: what is reserved is enough for all of it. */
static void long_parts(void **state)
{
    static char text[3001], line[3001];
    memset(text, 't', sizeof text - 1);
    memset(line, 'l', sizeof line - 1);
    for (int part = 0; part < 7; part++) {
        weir_head head = request(NULL, 0);
        struct h1_framing_lines lines = {0};
        if (part == 0)
            head.method = string(text);
        if (part == 1)
            head.path = string(text);
        if (part == 2)
            head.reason = string(text);
        if (part == 3)
            lines.connection = line;
        if (part == 4)
            lines.length = line;
        if (part == 5)
            lines.upgrade = string(text);
        head.status = 200;
        size_t more = part == 5 ? sizeof "Connection: Upgrade\r\nUpgrade: \r\n" - 1 : 0;
        if (part == 2)
            h1_write_response(fake_host(), &output, &head, &lines);
        else
            h1_write_request(fake_host(), &output, &head, &lines);
        size_t usual =
            part == 2 ? sizeof "HTTP/1.1 200 \r\n\r\n" - 1 : sizeof "GET /x?y HTTP/1.1\r\n\r\n" - 1;
        usual -= part == 0 ? 3 : part == 1 ? 4 : 0;
        assert_int_equal(output.count, 1);
        assert_int_equal(output_slices(&output)[0].length,
                         usual + more + (part == 6 ? 0 : sizeof text - 1));
        output_clear(fake_host(), &output);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(first_lines),
        TEST(framing_lines_come_behind_the_fields),
        TEST(fields_are_written_as_they_came),
        TEST(changed_fields_break_runs),
        TEST(changed_order_breaks_runs),
        TEST(chunk_sizes),
        TEST(trailer_sections),
        TEST(large_heads),
        TEST(long_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
