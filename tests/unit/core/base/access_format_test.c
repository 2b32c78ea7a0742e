/* tests/unit/core/base/access_format_test.c - each format, field and mistake; whatever peers send
 */
#include "core/base/access_format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <time.h>

#include "core/base/string.h"

static struct arena arena;
static struct access_clock watch;

static const weir_field request_fields[] = {
    {WEIR_STRING("Host"), WEIR_STRING("example.test")},
    {WEIR_STRING("User-Agent"), WEIR_STRING("curl/8.0 (\"quoted\")")},
    {WEIR_STRING("Referer"), WEIR_STRING("http://a.test/?q=\xe2\x82\xac")},
    {WEIR_STRING("X-List"), WEIR_STRING("one")},
    {WEIR_STRING("x-list"), WEIR_STRING("two")},
};
static const weir_field response_fields[] = {
    {WEIR_STRING("Content-Type"), WEIR_STRING("text/html")},
};
static const weir_head request = {
    .size = sizeof request,
    .kind = WEIR_REQUEST,
    .version = WEIR_STRING("1.1"),
    .method = WEIR_STRING("GET"),
    .scheme = WEIR_STRING("http"),
    .authority = WEIR_STRING("example.test:8080"),
    .path = WEIR_STRING("/a?b=c"),
    .fields = request_fields,
    .count = 5,
};
static const weir_head response = {
    .size = sizeof response,
    .kind = WEIR_REQUEST,
    .status = 200,
    .fields = response_fields,
    .count = 1,
};
static const weir_head nothing = {.size = sizeof nothing, .kind = WEIR_MALFORMED_REQUEST};

/* 2026-03-04T05:06:07.000089Z */
static const uint64_t TIME_US = 1772600767000089;

static struct access_record complete(void)
{
    return (struct access_record){
        .worker = 3,
        .number = 42,
        .time_us = TIME_US,
        .client = WEIR_STRING("192.0.2.1"),
        .server = WEIR_STRING("[2001:db8::1]:8080"),
        .user = WEIR_STRING("alice"),
        .client_leg = {WEIR_STRING("h2"), WEIR_STRING("TLSv1.3"), WEIR_STRING("AES"),
                       WEIR_STRING("a.example")},
        .server_leg = {WEIR_STRING("h1"), WEIR_STRING("TLSv1.2"), WEIR_STRING("CHACHA"),
                       WEIR_STRING("b.example")},
        .certificate = WEIR_STRING("CN=ann, O=\"x\""),
        .fingerprint = WEIR_STRING("c0ffee"),
        .request = &request,
        .response = &response,
        .request_bytes = 0,
        .response_bytes = 18446744073709551615u,
        .dns_us = 1,
        .connect_us = 1999,
        .first_byte_us = 20000,
        .total_us = 3600000001,
        .attempts = 2,
        .reused = true,
        .by = ACCESS_BY_SERVER,
        .why = WEIR_STRING("ok"),
    };
}

static struct access_record empty(void)
{
    return (struct access_record){.request = &nothing, .why = WEIR_STRING("malformed")};
}

static int set_up(void **state)
{
    static uint64_t first_block[64];
    arena_init(&arena, first_block, sizeof first_block);
    watch = (struct access_clock){0};
    setenv("TZ", "UTC", 1);
    tzset();
    return 0;
}

static int tear_down(void **state)
{
    arena_deinit(&arena);
    arena_pool_deinit();
    return 0;
}

/* In memory of exactly the size that is promised. The caller frees it. */
static char *render(const char *text, const struct access_record *record)
{
    struct access_mistake mistake = {0};
    const struct access_format *format = access_format_compile(string_of(text), &arena, &mistake);
    if (!format)
        fail_msg("%s: %s", text, mistake.what);
    char *line = malloc(ACCESS_LINE_BYTES);
    size_t length = access_format_render(format, record, &watch, line);
    assert_in_range(length, 1, ACCESS_LINE_BYTES);
    assert_int_equal(line[length - 1], '\n');
    line[length - 1] = 0;
    assert_int_equal(strlen(line), length - 1);
    assert_null(strchr(line, '\n'));
    return line;
}

static void renders(const char *text, const struct access_record *record, const char *expected)
{
    char *line = render(text, record);
    assert_string_equal(line, expected);
    free(line);
}

static void common_and_combined(void **state)
{
    struct access_record record = complete();
    renders("common", &record,
            "192.0.2.1 - alice [04/Mar/2026:05:06:07 +0000] "
            "\"GET http://example.test:8080/a?b=c HTTP/1.1\" 200 18446744073709551615");
    renders("combined", &record,
            "192.0.2.1 - alice [04/Mar/2026:05:06:07 +0000] "
            "\"GET http://example.test:8080/a?b=c HTTP/1.1\" 200 18446744073709551615 "
            "\"http://a.test/?q=\xe2\x82\xac\" \"curl/8.0 (\\x22quoted\\x22)\"");
    record = empty();
    renders("common", &record, "- - - [01/Jan/1970:00:00:00 +0000] \"-\" - 0");
    renders("combined", &record, "- - - [01/Jan/1970:00:00:00 +0000] \"-\" - 0 \"-\" \"-\"");
}

static void json(void **state)
{
    struct access_record record = complete();
    renders("json", &record,
            "{\"time\":\"2026-03-04T05:06:07.000089Z\",\"id\":\"3-42\","
            "\"client\":\"192.0.2.1\",\"user\":\"alice\",\"method\":\"GET\","
            "\"target\":\"http://example.test:8080/a?b=c\",\"authority\":\"example.test:8080\","
            "\"version\":\"1.1\",\"status\":200,\"request_bytes\":0,"
            "\"response_bytes\":18446744073709551615,\"dns_ms\":0.001,\"connect_ms\":1.999,"
            "\"first_byte_ms\":20.000,\"total_ms\":3600000.001,"
            "\"server\":\"[2001:db8::1]:8080\",\"by\":\"server\",\"why\":\"ok\",\"attempts\":2,"
            "\"reused\":true,\"referer\":\"http://a.test/?q=\xe2\x82\xac\","
            "\"user_agent\":\"curl/8.0 (\\\"quoted\\\")\"}");
    record = empty();
    renders("json", &record,
            "{\"time\":\"1970-01-01T00:00:00.000000Z\",\"id\":\"0-0\","
            "\"client\":null,\"user\":null,\"method\":null,\"target\":null,\"authority\":null,"
            "\"version\":null,\"status\":null,\"request_bytes\":0,\"response_bytes\":0,"
            "\"dns_ms\":null,\"connect_ms\":null,\"first_byte_ms\":null,\"total_ms\":null,"
            "\"server\":null,\"by\":null,\"why\":\"malformed\",\"attempts\":0,\"reused\":false,"
            "\"referer\":null,\"user_agent\":null}");
}

/* Every name is known to the compiler and to this test. */
static void fields_of_templates(void **state)
{
    static const struct {
        const char *name, *complete, *empty;
    } fields[] = {
        {"client", "192.0.2.1", "-"},
        {"user", "alice", "-"},
        {"time", "2026-03-04T05:06:07.000089Z", "1970-01-01T00:00:00.000000Z"},
        {"local_time", "04/Mar/2026:05:06:07 +0000", "01/Jan/1970:00:00:00 +0000"},
        {"id", "3-42", "0-0"},
        {"worker", "3", "0"},
        {"method", "GET", "-"},
        {"target", "http://example.test:8080/a?b=c", "-"},
        {"scheme", "http", "-"},
        {"authority", "example.test:8080", "-"},
        {"path", "/a?b=c", "-"},
        {"version", "1.1", "-"},
        {"request_line", "GET\\x20http://example.test:8080/a?b=c\\x20HTTP/1.1", "-"},
        {"status", "200", "-"},
        {"request_bytes", "0", "0"},
        {"response_bytes", "18446744073709551615", "0"},
        {"dns_ms", "0.001", "-"},
        {"connect_ms", "1.999", "-"},
        {"first_byte_ms", "20.000", "-"},
        {"total_ms", "3600000.001", "-"},
        {"server", "[2001:db8::1]:8080", "-"},
        {"by", "server", "-"},
        {"why", "ok", "malformed"},
        {"attempts", "2", "0"},
        {"reused", "true", "false"},
        {"client_protocol", "h2", "-"},
        {"client_tls", "TLSv1.3", "-"},
        {"client_cipher", "AES", "-"},
        {"client_tls_name", "a.example", "-"},
        {"client_certificate", "CN=ann,\\x20O=\\x22x\\x22", "-"},
        {"client_fingerprint", "c0ffee", "-"},
        {"server_protocol", "h1", "-"},
        {"server_tls", "TLSv1.2", "-"},
        {"server_cipher", "CHACHA", "-"},
        {"server_tls_name", "b.example", "-"},
        {"request:user-agent", "curl/8.0\\x20(\\x22quoted\\x22)", "-"},
        {"request:X-List", "one,\\x20two", "-"},
        {"request:No-Such", "-", "-"},
        {"response:content-type", "text/html", "-"},
        {"response:Host", "-", "-"},
        {"variable:rule", "7\\x20\\x22b\\x22", "-"},
        {"variable:Rule", "-", "-"},
    };
    struct access_record full = complete(), none = empty();
    struct variable rule = {.name = WEIR_STRING("rule"), .value = WEIR_STRING("7 \"b\"")};
    full.variables = &(struct variables){.first = &rule, .count = 1};
    uint32_t known = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char text[64];
        snprintf(text, sizeof text, "<{%s}>", fields[i].name);
        char expected[128];
        snprintf(expected, sizeof expected, "<%s>", fields[i].complete);
        renders(text, &full, expected);
        snprintf(expected, sizeof expected, "<%s>", fields[i].empty);
        renders(text, &none, expected);
        if (!strchr(fields[i].name, ':'))
            assert_string_equal(access_known_word(ACCESS_MEANT_FIELD, known++), fields[i].name);
    }
    assert_null(access_known_word(ACCESS_MEANT_FIELD, known));
    assert_string_equal(access_known_word(ACCESS_MEANT_FORMAT, 2), "json");
    assert_null(access_known_word(ACCESS_MEANT_FORMAT, 3));
    assert_null(access_known_word(ACCESS_MEANT_NOTHING, 0));
}

static void who_answered(void **state)
{
    struct access_record record = complete();
    record.by = ACCESS_BY_WEIR;
    renders("{by}", &record, "weir");
    record.by = ACCESS_BY_FILTER;
    record.filter = WEIR_STRING("auth basic");
    renders("{by}", &record, "filter:auth\\x20basic");
    renders("\"{by}\"", &record, "\"filter:auth basic\"");
}

static void targets(void **state)
{
    weir_head head = request;
    struct access_record record = complete();
    record.request = &head;
    head.scheme = (weir_string){"", 0};
    renders("{target}", &record, "/a?b=c");
    head.path = (weir_string){"", 0};
    head.method = WEIR_STRING("CONNECT");
    renders("\"{request_line}\"", &record, "\"CONNECT example.test:8080 HTTP/1.1\"");
    head.version = WEIR_STRING("SOCKS/5");
    renders("\"{request_line}\"", &record, "\"CONNECT example.test:8080 SOCKS/5\"");
}

static void text_of_templates(void **state)
{
    struct access_record record = complete();
    renders("{{{status}}}", &record, "{200}");
    renders("}}{status}{{", &record, "}200{");
    renders("\t\xe2\x82\xac \\ {status}", &record, "\t\xe2\x82\xac \\ 200");
}

/* Between quotes spaces stay, elsewhere they would make two values of one. */
static void spaces_only_within_quotes(void **state)
{
    static const weir_field fields[] = {{WEIR_STRING("A"), WEIR_STRING("b c")}};
    weir_head head = request;
    struct access_record record = complete();
    head.fields = fields;
    head.count = 1;
    record.request = &head;
    renders("{request:A} \"{request:A} {request:A}\" {request:A}", &record,
            "b\\x20c \"b c b c\" b\\x20c");
}

static void hostile_values(void **state)
{
    static const weir_string hostile =
        WEIR_STRING("\" 200 1\n\r\t\0\x7f\\ \xff\xc2\x9b\xe2\x80\xa8 127.0.0.1 - - [");
    weir_field fields[] = {{WEIR_STRING("User-Agent"), hostile}, {WEIR_STRING("Referer"), hostile}};
    weir_head head = request;
    struct access_record record = complete();
    head.fields = fields;
    head.count = 2;
    head.path = head.authority = head.method = hostile;
    record.request = &head;
    record.user = hostile;
    char *line = render("combined", &record);
    uint32_t quotes = 0;
    for (const char *at = line; *at; at++) {
        quotes += *at == '"';
        assert_true((unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7f);
    }
    assert_int_equal(quotes, 6);
    static const char begin[] =
        "192.0.2.1 - \\x22\\x20200\\x201\\x0a\\x0d\\x09\\x00\\x7f\\x5c\\x20";
    assert_memory_equal(line, begin, strlen(begin));
    free(line);
    record = complete();
    record.user = hostile;
    char *object = render("json", &record);
    assert_non_null(strstr(object, "\"user\":\"\\\" 200 1\\u000a\\u000d\\u0009\\u0000\\u007f\\\\ "
                                   "\\u00ff\\u009b\\u2028 127.0.0.1 - - [\",\"method\""));
    free(object);
}

/* The line keeps its shape, only what is too long is cut. */
static void long_values_are_cut(void **state)
{
    static char many[40000];
    weir_head head = request;
    struct access_record record = complete();
    record.request = &head;
    record.user = (weir_string){many, sizeof many};
    head.path = (weir_string){many, sizeof many};
    for (int byte = 'a'; byte <= 0xff; byte += 0xff - 'a') {
        memset(many, byte, sizeof many);
        char *line = render("json", &record);
        assert_in_range(strlen(line), ACCESS_LINE_BYTES - 1000, ACCESS_LINE_BYTES - 1);
        assert_non_null(strstr(line, "[cut]\",\"method\":\"GET\",\"target\":\""));
        assert_non_null(strstr(line, "[cut]\",\"authority\":\"example.test:8080\""));
        assert_non_null(strstr(line, "\"status\":200,"));
        assert_non_null(strstr(line, ",\"user_agent\":\"curl/8.0 (\\\"quoted\\\")\"}"));
        free(line);
        line = render("common", &record);
        assert_non_null(strstr(line, "[cut] [04/Mar/2026:05:06:07 +0000] \"GET http://"));
        assert_non_null(strstr(line, "[cut]\" 200 18446744073709551615"));
        free(line);
    }
}

/* A value that just fits is whole. */
static void the_longest_value(void **state)
{
    static char many[ACCESS_LINE_BYTES];
    struct access_record record = complete();
    memset(many, 'a', sizeof many);
    for (size_t length = ACCESS_LINE_BYTES - 24; length < ACCESS_LINE_BYTES; length++) {
        record.user = (weir_string){many, length};
        char *line = render("{user}", &record);
        if (length <= ACCESS_LINE_BYTES - 15)
            assert_int_equal(strlen(line), length);
        else
            assert_string_equal(line + strlen(line) - 6, "a[cut]");
        free(line);
    }
}

static void local_time_is(const char *zone, uint64_t second, const char *expected)
{
    struct access_record record = complete();
    setenv("TZ", zone, 1);
    tzset();
    record.time_us = second * 1000000 + 999999;
    renders("{local_time}", &record, expected);
}

static void local_times(void **state)
{
    struct access_clock fresh = {0};
    local_time_is("ABC-05:45", 1772600767, "04/Mar/2026:10:51:07 +0545");
    watch = fresh;
    local_time_is("ABC08", 1772600767, "03/Mar/2026:21:06:07 -0800");
    watch = fresh;
    local_time_is("ABC03", 100, "01/Jan/1970:00:00:00 -0300");
    watch = fresh; /* summer time begins at 01:00 UTC on 29 March 2026 */
    local_time_is("CET-1CEST,M3.5.0,M10.5.0/3", 1774745999, "29/Mar/2026:01:59:59 +0100");
    local_time_is("CET-1CEST,M3.5.0,M10.5.0/3", 1774746000, "29/Mar/2026:03:00:00 +0200");
    local_time_is("CET-1CEST,M3.5.0,M10.5.0/3", 1774745999, "29/Mar/2026:01:59:59 +0100");
}

/* Whatever was rendered before, a time reads the same. */
static void the_clock_remembers_nothing_wrong(void **state)
{
    struct access_record record = complete();
    uint64_t seed = 7;
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    for (int i = 0; i < 2000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t second = 1774700000 + (seed >> 33) % 200000;
        char expected[96], utc[40], local[40];
        time_t now = (time_t)second;
        struct tm tm;
        strftime(utc, sizeof utc, "%Y-%m-%dT%H:%M:%S.000000Z", gmtime_r(&now, &tm));
        strftime(local, sizeof local, "%d/%b/%Y:%H:%M:%S %z", localtime_r(&now, &tm));
        snprintf(expected, sizeof expected, "%s %s", utc, local);
        record.time_us = second * 1000000;
        renders("{time} {local_time}", &record, expected);
    }
}

static void mistake_is(const char *text, const char *part, const char *what,
                       enum access_meant meant)
{
    struct access_mistake mistake = {0};
    assert_null(access_format_compile(string_of(text), &arena, &mistake));
    assert_string_equal(mistake.what, what);
    assert_int_equal(mistake.part.length, strlen(part));
    assert_memory_equal(mistake.part.bytes, part, strlen(part));
    assert_int_equal(mistake.meant, meant);
}

static void mistakes(void **state)
{
    static const char no_field[] = "is not a field of the access log";
    static const char no_format[] = "is neither common, combined, json nor a text with {fields}";
    mistake_is("{stauts}", "stauts", no_field, ACCESS_MEANT_FIELD);
    mistake_is("{client} {Status}", "Status", no_field, ACCESS_MEANT_FIELD);
    mistake_is("{}", "", no_field, ACCESS_MEANT_FIELD);
    mistake_is("{ status }", " status ", no_field, ACCESS_MEANT_FIELD);
    mistake_is("{request}", "request", no_field, ACCESS_MEANT_FIELD);
    mistake_is("", "", no_format, ACCESS_MEANT_FORMAT);
    mistake_is("jsno", "jsno", no_format, ACCESS_MEANT_FORMAT);
    mistake_is("JSON", "JSON", no_format, ACCESS_MEANT_FORMAT);
    mistake_is("{{status}}", "{{status}}", no_format, ACCESS_MEANT_FORMAT);
    mistake_is("{status} {client", "{client", "begins with { that nothing closes; {{ is a brace",
               ACCESS_MEANT_NOTHING);
    mistake_is("{status} } x", "} x", "begins with } that closes nothing; }} is a brace",
               ACCESS_MEANT_NOTHING);
    mistake_is("a\nb {status}", "a\nb ", "has a control character, or is not UTF-8",
               ACCESS_MEANT_NOTHING);
    mistake_is("{status} \xff", " \xff", "has a control character, or is not UTF-8",
               ACCESS_MEANT_NOTHING);
    mistake_is("{request:}", "request:", "does not name a field that a head can have",
               ACCESS_MEANT_NOTHING);
    mistake_is("{response:A B}", "response:A B", "does not name a field that a head can have",
               ACCESS_MEANT_NOTHING);
    mistake_is("{variable:}", "variable:", "does not name a variable that an exchange can have",
               ACCESS_MEANT_NOTHING);
    mistake_is("{variable:a b}", "variable:a b",
               "does not name a variable that an exchange can have", ACCESS_MEANT_NOTHING);
    mistake_is("{request:proxy-authorization}", "request:proxy-authorization",
               "is a secret; {user} is who it belongs to", ACCESS_MEANT_NOTHING);
    mistake_is("{request:Authorization}", "request:Authorization",
               "is a secret; {user} is who it belongs to", ACCESS_MEANT_NOTHING);
}

static void formats_are_bounded(void **state)
{
    struct access_mistake mistake = {0};
    static char text[ACCESS_FORMAT_BYTES + 2];
    memset(text, 'x', ACCESS_FORMAT_BYTES + 1);
    memcpy(text, "{status}", 8);
    assert_null(access_format_compile(string_of(text), &arena, &mistake));
    assert_string_equal(mistake.what, "is longer than 4096 bytes");
    text[ACCESS_FORMAT_BYTES] = 0;
    assert_non_null(access_format_compile(string_of(text), &arena, &mistake));
    text[0] = 0;
    for (int i = 0; i < 128; i++)
        strcat(text, "{status}");
    assert_non_null(access_format_compile(string_of(text), &arena, &mistake));
    strcat(text, "{why}");
    assert_null(access_format_compile(string_of(text), &arena, &mistake));
    assert_string_equal(mistake.what, "is one field more than the 128 that fit");
}

/* The longest template with nothing but long values still is one whole line. */
static void the_fullest_line(void **state)
{
    static char text[ACCESS_FORMAT_BYTES + 1], many[40000];
    struct access_record record = complete();
    memset(many, '\n', sizeof many);
    record.user = (weir_string){many, sizeof many};
    record.number = record.worker = UINT64_MAX;
    text[0] = 0;
    for (int i = 0; i < 64; i++)
        strcat(text, i % 2 ? "{user}|" : "{id}|");
    memset(text + strlen(text), 'y', ACCESS_FORMAT_BYTES - strlen(text));
    char *line = render(text, &record);
    assert_int_equal(line[strlen(line) - 1], 'y');
    assert_non_null(strstr(line, "|18446744073709551615-18446744073709551615|\\x0a"));
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(common_and_combined, set_up, tear_down),
        cmocka_unit_test_setup_teardown(json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fields_of_templates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_answered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(targets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_of_templates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(spaces_only_within_quotes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_values_are_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_longest_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(local_times, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_clock_remembers_nothing_wrong, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mistakes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(formats_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_fullest_line, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
