/* tests/unit/core/process/config_mistakes_test.c - every mistake, with its place and what to do */
#include "core/process/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"

static struct options options;
static struct config_errors errors;
static struct snapshot *snapshot;

static int clean(void **state)
{
    snapshot_free(snapshot);
    snapshot = NULL;
    config_errors_deinit(&errors);
    memset(&options, 0, sizeof options);
    return 0;
}

struct wrong {
    const char *text;
    uint32_t line, column;
    const char *says;
};

#define ROOT_KEYS                                                                                  \
    "workers, listen, upstream, fixed_upstream, connect_ports, deny_addresses, limits, timeouts, " \
    "drain_timeout, log, error_bodies, admin, user, group, pid_file, include"

/* Files with exactly one mistake. */
static const struct wrong wrong_files[] = {
    /* keys */
    {"wrokers: 2\n", 1, 1, "wrokers: unknown key; did you mean \"workers\"?"},
    {"worker: 2\n", 1, 1, "worker: unknown key; did you mean \"workers\"?"},
    {"Listen: []\n", 1, 1, "Listen: unknown key; did you mean \"listen\"?"},
    {"workers: 2\nlog:\n  levle: info\n", 3, 3, "log.levle: unknown key; did you mean \"level\"?"},
    {"listen:\n  - adress: 127.0.0.1:1\n", 2, 5,
     "listen[0].adress: unknown key; did you mean \"address\"?"},
    {"timeouts: { exchange-idle: 1s }\n", 1, 13,
     "timeouts.exchange-idle: unknown key; did you mean \"exchange_idle\"?"},
    {"limits: { headers: 1KiB }\n", 1, 11, "limits.headers: unknown key; did you mean \"header\"?"},
    {"upstream: { a: { server: [ a:1 ] } }\n", 1, 18,
     "upstream.a.server: unknown key; did you mean \"servers\"?"},
    {"certificate: a.pem\n", 1, 1, "certificate: unknown key; known here: " ROOT_KEYS},
    {"log: { colour: x }\n", 1, 8, "log.colour: unknown key; known here: level, access"},
    {"log: { file: x }\n", 1, 8, "log.file: unknown key here; it belongs to \"access\""},
    {"tunnel_idle: 1h\n", 1, 1, "tunnel_idle: unknown key here; it belongs to \"timeouts\""},
    {"\"a\\e[1m\": 1\n", 1, 1, "a?[1m: unknown key; known here: " ROOT_KEYS},
    {"workers: 1\nworkers: 2\n", 2, 1, "workers: is given twice, first on line 1"},
    {"log: { level: info, level: info }\n", 1, 21, "log.level: is given twice, first on line 1"},
    {"listen:\n  - {}\n", 2, 5, "listen[0]: \"address\" is missing"},
    {"listen:\n  - address: 127.0.0.1:1\n  - { }\n", 3, 5, "listen[1]: \"address\" is missing"},
    {"upstream:\n  a: { protocol: h1 }\n", 2, 6, "upstream.a: \"servers\" is missing"},
    /* kinds */
    {"- workers: 1\n", 1, 1, "must be keys and values (" ROOT_KEYS "), not a list"},
    {"workers:2\n", 1, 1,
     "must be keys and values (" ROOT_KEYS "), not a single value; put a space after the colon"},
    {"workers:\n", 1, 1, "workers: has no value; give it one or leave it out"},
    {"log:\n  level:\n", 2, 3, "log.level: has no value; give it one or leave it out"},
    {"timeouts:\n", 1, 1, "timeouts: has no value; give it one or leave it out"},
    {"workers: [ 1 ]\n", 1, 10, "workers: must be a single value, not a list"},
    {"workers: { a: 1 }\n", 1, 10, "workers: must be a single value, not keys and values"},
    {"log: info\n", 1, 6, "log: must be keys and values (level, access), not a single value"},
    {"log: level:info\n", 1, 6,
     "log: must be keys and values (level, access), not a single value; put a space after the "
     "colon"},
    {"log: [ info ]\n", 1, 6, "log: must be keys and values (level, access), not a list"},
    {"listen: 127.0.0.1:1\n", 1, 9,
     "listen: must be a list, not a single value; begin each entry with \"- \""},
    {"listen:\n  address: 127.0.0.1:1\n", 2, 3,
     "listen: must be a list, not keys and values; begin each entry with \"- \""},
    {"listen:\n  - 127.0.0.1:1\n", 2, 5,
     "listen[0]: must be keys and values (address, allow_clients, open, v6only, mode), not a "
     "single "
     "value"},
    {"listen: [ { address: [ 127.0.0.1:1 ] } ]\n", 1, 22,
     "listen[0].address: must be a single value, not a list"},
    {"upstream: app\n", 1, 11, "upstream: must be keys and values, not a single value"},
    {"upstream: { a: { servers: a:1 } }\n", 1, 27,
     "upstream.a.servers: must be a list, not a single value; begin each entry with \"- \""},
    /* numbers */
    {"workers: many\n", 1, 10, "workers: \"many\" is not a whole number, or auto"},
    {"workers: -1\n", 1, 10, "workers: \"-1\" is not a whole number, or auto"},
    {"workers: 1.5\n", 1, 10, "workers: \"1.5\" is not a whole number, or auto"},
    {"workers: 0\n", 1, 10, "workers: 0 is out of range; write 1 to 256, or auto"},
    {"workers: 257\n", 1, 10, "workers: 257 is out of range; write 1 to 256, or auto"},
    {"workers: 99999999999999999999\n", 1, 10,
     "workers: 99999999999999999999 is out of range; write 1 to 256, or auto"},
    {"workers: 4294967297\n", 1, 10,
     "workers: 4294967297 is out of range; write 1 to 256, or auto"},
    {"workers: '2'\n", 1, 10, "workers: a number in quotes is text; leave out the quotes"},
    {"limits: { fields: 0 }\n", 1, 19, "limits.fields: 0 is out of range; write 8 to 256"},
    {"limits: { fields: 257 }\n", 1, 19, "limits.fields: 257 is out of range; write 8 to 256"},
    {"limits: { fields: none }\n", 1, 19, "limits.fields: \"none\" is not a whole number"},
    {"timeouts: { head: 10 }\n", 1, 19,
     "timeouts.head: \"10\" is not a duration such as 500ms, 10s, 5m or 1h, or none"},
    {"timeouts:\n  idle: 70 s\n", 2, 9,
     "timeouts.idle: \"70 s\" is not a duration such as 500ms, 10s, 5m or 1h, or none"},
    {"timeouts: { connect: 0s }\n", 1, 22,
     "timeouts.connect: 0s is out of range; write 1ms to 7d, or none"},
    {"timeouts: { tunnel_idle: 8d }\n", 1, 26,
     "timeouts.tunnel_idle: 8d is out of range; write 1ms to 7d, or none"},
    {"timeouts: { response: 99999999999999999h }\n", 1, 23,
     "timeouts.response: 99999999999999999h is out of range; write 1ms to 7d, or none"},
    {"limits: { request_line: 8KB }\n", 1, 25,
     "limits.request_line: \"8KB\" is not a size such as 512B or 8KiB"},
    {"limits: { request_line: 65KiB }\n", 1, 25,
     "limits.request_line: 65KiB is out of range; write 256B to 64KiB"},
    {"limits: { header: 65536 }\n", 1, 19,
     "limits.header: \"65536\" is not a size such as 64KiB or 1MiB"},
    {"limits: { header: 4GiB }\n", 1, 19,
     "limits.header: 4GiB is out of range; write 1KiB to 1MiB"},
    /* words */
    {"log: { level: warn }\n", 1, 15,
     "log.level: \"warn\" is not one of: debug, info, warning, error; did you mean \"warning\"?"},
    {"log: { level: loud }\n", 1, 15,
     "log.level: \"loud\" is not one of: debug, info, warning, error"},
    {"log: { level: INFO }\n", 1, 15,
     "log.level: \"INFO\" is not one of: debug, info, warning, error; did you mean \"info\"?"},
    {"upstream: { a: { servers: [ a:1 ], protocol: http } }\n", 1, 46,
     "upstream.a.protocol: \"http\" is not one of: h1"},
    /* addresses and names */
    {"listen:\n  - address: 127.0.0.1\n", 2, 14,
     "listen[0].address: \"127.0.0.1\" has no port; write for example 127.0.0.1:3128"},
    {"listen:\n  - address: 127.0.0.1:65536\n", 2, 14,
     "listen[0].address: \"127.0.0.1:65536\" is not an address with its port, such as "
     "127.0.0.1:3128 or \"[::1]:3128\""},
    {"listen:\n  - address: ::1:3128\n", 2, 14,
     "listen[0].address: \"::1:3128\" is not an address with its port, such as 127.0.0.1:3128 or "
     "\"[::1]:3128\""},
    {"listen:\n  - address: '::1:3128'\n", 2, 14,
     "listen[0].address: \"::1:3128\" is not an address with its port, such as 127.0.0.1:3128 or "
     "\"[::1]:3128\""},
    {"listen: [ { address: localhost:3128 } ]\n", 1, 22,
     "listen[0].address: \"localhost:3128\" is a name, not an IP address; write for example "
     "127.0.0.1:3128"},
    {"listen: [ { address: \"http://127.0.0.1:3128\" } ]\n", 1, 22,
     "listen[0].address: \"http://127.0.0.1:3128\" is a URL; write only the address and the port, "
     "such as 127.0.0.1:3128"},
    {"listen: [ { address: \"\" } ]\n", 1, 22,
     "listen[0].address: \"\" is not an address with its port, such as 127.0.0.1:3128 or "
     "\"[::1]:3128\""},
    {"listen:\n  - address: 127.0.0.1:1\n  - address: 127.0.0.1:2\n  - address: 127.0.0.1:1\n", 4,
     14, "listen[2].address: is the same as that of listen[0]; remove one"},
    {"listen: [ { address: \"[::1]:1\" }, { address: \"[0::1]:1\" } ]\n", 1, 46,
     "listen[1].address: is the same as that of listen[0]; remove one"},
    {"listen: []\n", 1, 9, "listen: has 0 entries; it must have 1 to 64"},
    {"upstream: { a: { servers: [] } }\n", 1, 27,
     "upstream.a.servers: has 0 entries; it must have 1 to 1024"},
    {"upstream:\n  a: { servers: [ a:1, b ] }\n", 2, 24,
     "upstream.a.servers[1]: \"b\" has no port; write for example 127.0.0.1:9000"},
    {"upstream:\n  a:\n    servers:\n      - http://a:1\n", 4, 9,
     "upstream.a.servers[0]: \"http://a:1\" is a URL; write only the host and the port, such as "
     "127.0.0.1:9000"},
    {"upstream:\n  \"a b\": { servers: [ a:1 ] }\n", 2, 3,
     "upstream.a b: is not a name of 1 to 64 letters, digits, - and _"},
    {"fixed_upstream: \"\"\n", 1, 17,
     "fixed_upstream: \"\" is not a name of 1 to 64 letters, digits, - and _"},
    /* what does not go together */
    {"fixed_upstream: app\n", 1, 17, "fixed_upstream: there is no upstream \"app\""},
    {"fixed_upstream: apq\nupstream: { app: { servers: [ a:1 ] } }\n", 1, 17,
     "fixed_upstream: there is no upstream \"apq\"; did you mean \"app\"?"},
    {"upstream:\n  app: { servers: [ a:1 ] }\n", 2, 3,
     "upstream.app: no request goes there; add \"fixed_upstream: app\""},
    {"upstream:\n  a: { servers: [ a:1 ] }\n  b: { servers: [ b:1 ] }\nfixed_upstream: a\n", 3, 3,
     "upstream.b: no request goes there; fixed_upstream is \"a\""},
};

static void test_one_mistake(void **state)
{
    for (size_t i = 0; i < sizeof wrong_files / sizeof *wrong_files; i++) {
        const struct wrong *wrong = &wrong_files[i];
        snapshot = config_read(string_of(wrong->text), &options, &errors);
        if (snapshot || !errors.count)
            fail_msg("\"%s\" is taken for right", wrong->text);
        const struct config_error *error = &errors.list[0];
        if (errors.count != 1 || error->line != wrong->line || error->column != wrong->column ||
            strcmp(error->text, wrong->says) != 0)
            fail_msg("\"%s\": %u mistakes, the first %u:%u: %s", wrong->text, errors.count,
                     error->line, error->column, error->text);
        clean(state);
    }
}

static char *print_errors(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    config_errors_print(&errors, stream);
    fclose(stream);
    return text;
}

static void test_all_mistakes_in_the_order_of_their_lines(void **state)
{
    errors.file = "etc/weir.yaml";
    assert_null(
        config_read(string_of("fixed_upstream: x\n"
                              "log: { level: loud, levle: info }\n"
                              "listen:\n  - address: 127.0.0.1:1\n  - address: 127.0.0.1:1\n"
                              "workers: 0\n"
                              "workers: 1\n"
                              "upstream: { a: { servers: [ b ] } }\n"),
                    &options, &errors));
    char *printed = print_errors();
    assert_string_equal(
        printed,
        "etc/weir.yaml:1:17: fixed_upstream: there is no upstream \"x\"\n"
        "etc/weir.yaml:2:15: log.level: \"loud\" is not one of: debug, info, warning, error\n"
        "etc/weir.yaml:2:21: log.levle: unknown key; did you mean \"level\"?\n"
        "etc/weir.yaml:5:14: listen[1].address: is the same as that of listen[0]; remove one\n"
        "etc/weir.yaml:6:10: workers: 0 is out of range; write 1 to 256, or auto\n"
        "etc/weir.yaml:7:1: workers: is given twice, first on line 6\n"
        "etc/weir.yaml:8:29: upstream.a.servers[0]: \"b\" has no port; write for example "
        "127.0.0.1:9000\n");
    free(printed);
}

static void test_no_more_than_twenty_are_told(void **state)
{
    char text[1000] = "", *at = text;
    for (int i = 0; i < 25; i++)
        at += sprintf(at, "unknown%02d: 1\n", i);
    errors.file = "a.yaml";
    assert_null(config_read(string_of(text), &options, &errors));
    assert_int_equal(errors.count, 25);
    assert_int_equal(errors.kept, 20);
    char *printed = print_errors();
    assert_non_null(strstr(printed, "a.yaml:20:1: unknown19: "));
    assert_null(strstr(printed, "unknown20"));
    const char *last = "\na.yaml: and 5 more\n";
    assert_string_equal(printed + strlen(printed) - strlen(last), last);
    free(printed);
}

static void test_a_file_that_is_not_there(void **state)
{
    assert_null(config_load("/nonexistent/weir.yaml", &options, &errors));
    char *printed = print_errors();
    assert_string_equal(printed,
                        "/nonexistent/weir.yaml: cannot be read: No such file or directory\n");
    free(printed);
}

static void test_hostile_texts_in_messages_are_cut(void **state)
{
    char text[20000], *at = stpcpy(text, "workers: ");
    memset(at, 'x', 9000);
    at = stpcpy(at + 9000, "\n? ");
    memset(at, 'y', 9000);
    strcpy(at + 9000, "\n: 1\n");
    assert_null(config_read(string_of(text), &options, &errors));
    assert_int_equal(errors.count, 2);
    for (int i = 0; i < 2; i++)
        assert_in_range(strlen(errors.list[i].text), 50, 400);
    assert_non_null(strstr(errors.list[0].text, "is not a whole number"));
    assert_non_null(strstr(errors.list[1].text, "unknown key"));
}

#define TEST(name) cmocka_unit_test_teardown(name, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_one_mistake),
        TEST(test_all_mistakes_in_the_order_of_their_lines),
        TEST(test_no_more_than_twenty_are_told),
        TEST(test_a_file_that_is_not_there),
        TEST(test_hostile_texts_in_messages_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
