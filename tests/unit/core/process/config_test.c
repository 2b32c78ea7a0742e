/* tests/unit/core/process/config_test.c - snapshots from files and options, and every mistake */
#include "core/process/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sched.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/string.h"
#include "core/process/config_keys.h"
#include "core/process/yaml.h"

static struct options options;
static struct config_errors errors;
static struct snapshot *snapshot;

static const struct snapshot *read_right(const char *text)
{
    snapshot = config_read(string_of(text), &options, &errors);
    if (!snapshot || errors.count)
        fail_msg("\"%s\": %s", text, errors.kept ? errors.list[0].text : "no snapshot");
    return snapshot;
}

static int clean(void **state)
{
    snapshot_free(snapshot);
    snapshot = NULL;
    config_errors_deinit(&errors);
    memset(&options, 0, sizeof options);
    return 0;
}

/* --- right ones */

static void check_standards(const struct snapshot *made)
{
    assert_int_equal(made->log_level, LOG_INFO);
    assert_int_equal(made->listener_count, 1);
    assert_string_equal(made->listeners[0].address, "127.0.0.1:3128");
    assert_int_equal(made->upstream_count, 0);
    assert_null(made->fixed_upstream);
    assert_int_equal(made->limits.size, sizeof(weir_limits));
    assert_int_equal(made->limits.request_line_bytes, 8192);
    assert_int_equal(made->limits.header_bytes, 65536);
    assert_int_equal(made->limits.header_fields, 128);
    assert_int_equal(made->limits.head_ms, 10000);
    assert_int_equal(made->limits.idle_ms, 70000);
    assert_int_equal(made->timeouts.connect, 40000);
    assert_int_equal(made->timeouts.response_head, 300000);
    assert_int_equal(made->timeouts.exchange_idle, 300000);
    assert_int_equal(made->timeouts.tunnel_idle, 3600000);
}

static void test_no_file(void **state)
{
    snapshot = config_load(NULL, &options, &errors);
    assert_non_null(snapshot);
    check_standards(snapshot);
}

static void test_a_file_that_says_nothing(void **state)
{
    check_standards(read_right(""));
    clean(state);
    check_standards(read_right("# workers: 2\n"));
    clean(state);
    check_standards(read_right("{}\n"));
    clean(state);
    check_standards(read_right("upstream: {}\nlog: {}\n"));
}

static void test_every_key(void **state)
{
    const struct snapshot *made = read_right(
        "workers: 7\n"
        "log: { level: error }\n"
        "listen:\n  - address: 127.0.0.1:1\n  - address: \"[::]:2\"\n"
        "upstream:\n  app: { servers: [ 127.0.0.1:9000, \"[::1]:9001\", a.example:9002 ],"
        " protocol: h1 }\n"
        "fixed_upstream: app\n"
        "timeouts: { head: 1s, idle: 2s, connect: 3s, response: 4m, exchange_idle: 5h,"
        " tunnel_idle: 6d }\n"
        "limits: { request_line: 1KiB, header: 2KiB, fields: 16 }\n");
    assert_int_equal(made->workers, 7);
    assert_int_equal(made->log_level, LOG_ERROR);
    assert_int_equal(made->listener_count, 2);
    assert_string_equal(made->listeners[0].address, "127.0.0.1:1");
    assert_string_equal(made->listeners[1].address, "[::]:2");
    assert_int_equal(made->upstream_count, 1);
    assert_ptr_equal(made->fixed_upstream, &made->upstreams[0]);
    assert_string_equal(made->fixed_upstream->name, "app");
    assert_string_equal(made->fixed_upstream->protocol, "h1");
    assert_int_equal(made->fixed_upstream->count, 3);
    assert_string_equal(made->fixed_upstream->servers[0], "127.0.0.1:9000");
    assert_string_equal(made->fixed_upstream->servers[1], "[::1]:9001");
    assert_string_equal(made->fixed_upstream->servers[2], "a.example:9002");
    assert_int_equal(made->limits.head_ms, 1000);
    assert_int_equal(made->limits.idle_ms, 2000);
    assert_int_equal(made->timeouts.connect, 3000);
    assert_int_equal(made->timeouts.response_head, 240000);
    assert_int_equal(made->timeouts.exchange_idle, 18000000);
    assert_int_equal(made->timeouts.tunnel_idle, 518400000);
    assert_int_equal(made->limits.request_line_bytes, 1024);
    assert_int_equal(made->limits.header_bytes, 2048);
    assert_int_equal(made->limits.header_fields, 16);
}

static void test_one_key_changes_only_itself(void **state)
{
    const struct snapshot *made = read_right("timeouts: { connect: none }\n");
    assert_int_equal(made->timeouts.connect, 0);
    snapshot->timeouts.connect = 40000;
    check_standards(made);
}

static void test_edges_of_ranges(void **state)
{
    const struct snapshot *made = read_right("workers: 1\ntimeouts: { head: 1ms, idle: 7d }\n"
                                             "limits: { request_line: 256B, fields: 8 }\n");
    assert_int_equal(made->workers, 1);
    assert_int_equal(made->limits.head_ms, 1);
    assert_int_equal(made->limits.idle_ms, 604800000);
    assert_int_equal(made->limits.request_line_bytes, 256);
    clean(state);
    made = read_right("workers: 256\nlimits: { request_line: 64KiB, header: 1MiB, fields: 256 }\n");
    assert_int_equal(made->workers, 256);
    assert_int_equal(made->limits.header_bytes, 1048576);
}

static void test_each_log_level(void **state)
{
    for (int level = 0; level < LOG_LEVELS; level++) {
        char text[64];
        snprintf(text, sizeof text, "log: { level: %s }\n", log_level_names[level]);
        assert_int_equal(read_right(text)->log_level, level);
        clean(state);
    }
}

static void test_several_servers_without_a_protocol(void **state)
{
    const struct snapshot *made =
        read_right("fixed_upstream: b\nupstream:\n  b:\n    servers:\n    - x:1\n    - x:1\n");
    assert_int_equal(made->fixed_upstream->count, 2);
    assert_string_equal(made->fixed_upstream->protocol, "h1");
}

static void test_ports_the_system_picks_are_not_the_same(void **state)
{
    assert_int_equal(read_right("listen: [ { address: 127.0.0.1:0 }, { address: 127.0.0.1:0 } ]\n")
                         ->listener_count,
                     2);
}

/* As many as CPUs, within what is allowed. */
static uint32_t workers_of_auto(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set) < WORKERS_MOST ? (uint32_t)CPU_COUNT(&set) : WORKERS_MOST;
}

/* --- options */

static void test_options_without_a_file(void **state)
{
    options = (struct options){.listeners = {"127.0.0.1:1", "[::1]:2"},
                               .listener_count = 2,
                               .has_workers = true,
                               .workers = 3,
                               .upstream = "app:80"};
    snapshot = config_load(NULL, &options, &errors);
    assert_non_null(snapshot);
    assert_int_equal(snapshot->workers, 3);
    assert_int_equal(snapshot->listener_count, 2);
    assert_string_equal(snapshot->listeners[1].address, "[::1]:2");
    assert_int_equal(snapshot->upstream_count, 1);
    assert_ptr_equal(snapshot->fixed_upstream, snapshot->upstreams);
    assert_int_equal(snapshot->fixed_upstream->count, 1);
    assert_string_equal(snapshot->fixed_upstream->servers[0], "app:80");
    assert_string_equal(snapshot->fixed_upstream->protocol, "h1");
}

static void test_options_win_over_the_file(void **state)
{
    options = (struct options){.listeners = {"127.0.0.1:1"},
                               .listener_count = 1,
                               .has_workers = true,
                               .workers = 3,
                               .upstream = "app:80"};
    const struct snapshot *made = read_right(
        "workers: 9\nlisten: [ { address: 127.0.0.1:2 }, { address: 127.0.0.1:3 } ]\n"
        "upstream: { a: { servers: [ a:1 ] }, b: { servers: [ b:1, b:2 ] } }\nfixed_upstream: a\n"
        "log: { level: debug }\n");
    assert_int_equal(made->workers, 3);
    assert_int_equal(made->listener_count, 1);
    assert_string_equal(made->listeners[0].address, "127.0.0.1:1");
    assert_int_equal(made->upstream_count, 3);
    assert_string_equal(made->upstreams[1].servers[1], "b:2");
    assert_string_equal(made->fixed_upstream->servers[0], "app:80");
    assert_int_equal(made->log_level, LOG_DEBUG);
}

static void test_what_options_do_not_say_is_the_files(void **state)
{
    options = (struct options){.has_workers = true};
    const struct snapshot *made = read_right("workers: 3\nlisten: [ { address: 127.0.0.1:2 } ]\n"
                                             "upstream: { a: { servers: [ a:1 ] } }\n"
                                             "fixed_upstream: a\n");
    assert_int_equal(made->workers, workers_of_auto()); /* -w auto */
    assert_string_equal(made->listeners[0].address, "127.0.0.1:2");
    assert_string_equal(made->fixed_upstream->servers[0], "a:1");
}

static void test_a_wrong_file_is_wrong_whatever_the_options_say(void **state)
{
    options = (struct options){.listeners = {"127.0.0.1:1"},
                               .listener_count = 1,
                               .has_workers = true,
                               .workers = 3,
                               .upstream = "app:80"};
    assert_null(
        config_read(string_of("workers: x\nlisten: []\nfixed_upstream: y\n"), &options, &errors));
    assert_int_equal(errors.count, 3);
}

/* --- this machine and process */

static void test_auto_is_the_cpus_this_process_may_use(void **state)
{
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(read_right("workers: auto\n")->workers, workers_of_auto());
    clean(state);
    CPU_ZERO(&one);
    for (int cpu = 0; !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    uint32_t workers = read_right("")->workers;
    sched_setaffinity(0, sizeof before, &before);
    assert_int_equal(workers, 1);
}

static void test_via_name_is_one_token_and_stays(void **state)
{
    char first[64];
    snprintf(first, sizeof first, "%s", read_right("")->via_name);
    assert_int_equal(strlen(first), strlen("weir-01234567"));
    assert_int_equal(strncmp(first, "weir-", 5), 0);
    assert_int_equal(strspn(first + 5, "0123456789abcdef"), 8);
    clean(state);
    assert_string_equal(read_right("workers: 1\n")->via_name, first);
}

/* --- wrong ones */

struct wrong {
    const char *text;
    uint32_t line, column;
    const char *says;
};

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
    {"certificate: a.pem\n", 1, 1,
     "certificate: unknown key; known here: workers, listen, upstream, fixed_upstream, log, "
     "timeouts, limits"},
    {"log: { file: x }\n", 1, 8, "log.file: unknown key; known here: level"},
    {"\"a\\e[1m\": 1\n", 1, 1,
     "a?[1m: unknown key; known here: workers, listen, upstream, fixed_upstream, log, timeouts, "
     "limits"},
    {"workers: 1\nworkers: 2\n", 2, 1, "workers: is given twice, first on line 1"},
    {"log: { level: info, level: info }\n", 1, 21, "log.level: is given twice, first on line 1"},
    {"listen:\n  - {}\n", 2, 5, "listen[0]: \"address\" is missing"},
    {"listen:\n  - address: 127.0.0.1:1\n  - { }\n", 3, 5, "listen[1]: \"address\" is missing"},
    {"upstream:\n  a: { protocol: h1 }\n", 2, 6, "upstream.a: \"servers\" is missing"},
    /* kinds */
    {"- workers: 1\n", 1, 1,
     "must be keys and values (workers, listen, upstream, fixed_upstream, log, timeouts, limits), "
     "not a list"},
    {"workers:2\n", 1, 1,
     "must be keys and values (workers, listen, upstream, fixed_upstream, log, timeouts, limits), "
     "not a single value; put a space after the colon"},
    {"workers:\n", 1, 1, "workers: has no value; give it one or leave it out"},
    {"log:\n  level:\n", 2, 3, "log.level: has no value; give it one or leave it out"},
    {"timeouts:\n", 1, 1, "timeouts: has no value; give it one or leave it out"},
    {"workers: [ 1 ]\n", 1, 10, "workers: must be a single value, not a list"},
    {"workers: { a: 1 }\n", 1, 10, "workers: must be a single value, not keys and values"},
    {"log: info\n", 1, 6, "log: must be keys and values (level), not a single value"},
    {"log: level:info\n", 1, 6,
     "log: must be keys and values (level), not a single value; put a space after the colon"},
    {"log: [ info ]\n", 1, 6, "log: must be keys and values (level), not a list"},
    {"listen: 127.0.0.1:1\n", 1, 9,
     "listen: must be a list, not a single value; begin each entry with \"- \""},
    {"listen:\n  address: 127.0.0.1:1\n", 2, 3,
     "listen: must be a list, not keys and values; begin each entry with \"- \""},
    {"listen:\n  - 127.0.0.1:1\n", 2, 5,
     "listen[0]: must be keys and values (address), not a single value"},
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

/* --- the description itself */

static void for_each_key(const struct schema_type *type, const char *prefix,
                         void (*visit)(const struct schema_key *key, const char *path))
{
    const struct schema_key *key = type->keys;
    if (type->item)
        for_each_key(type->item, prefix, visit);
    for (; key && key->name; key++) {
        char path[128], next[160];
        snprintf(path, sizeof path, "%s%s", prefix, key->name);
        visit(key, path);
        snprintf(next, sizeof next, "%s%s.", path,
                 key->type->kind == SCHEMA_LIST && key->type->item->keys ? "[]"
                 : key->type->kind == SCHEMA_MAP                         ? ".NAME"
                                                                         : "");
        for_each_key(key->type, next, visit);
    }
}

/* What holds when a key is absent must be right when it is written out. */
static void check_standard(const struct schema_key *key, const char *path)
{
    uint64_t memory[64] = {0}, room[64];
    struct arena arena;
    assert_true(key->help && key->help[strlen(key->help) - 1] == '.');
    if (!key->standard)
        return;
    struct yaml_document *document = yaml_parse(string_of(key->standard), &errors);
    assert_non_null(document);
    arena_init(&arena, room, sizeof room);
    schema_read(key->type, yaml_root(document), memory, &arena, &errors);
    if (errors.count)
        fail_msg("%s: %s", path, errors.list[0].text);
    arena_deinit(&arena);
    yaml_free(document);
}

static void test_standards_are_right(void **state)
{
    for_each_key(&config_schema, "", check_standard);
}

static void test_the_standard_listener_is_the_one_described(void **state)
{
    const struct schema_key *key = config_schema.keys;
    while (strcmp(key->name, "listen") != 0)
        key++;
    char text[200];
    snprintf(text, sizeof text, "listen: %s\n", key->standard);
    check_standards(read_right(text));
}

/* --- docs/configuration.md */

static char *reference;

static const char *describe(const struct schema_type *type, char text[256])
{
    char least[VALUE_TEXT_BYTES], most[VALUE_TEXT_BYTES];
    text[0] = 0;
    switch (type->kind) {
    case SCHEMA_NUMBER:
        snprintf(text, 256, "%s to %s%s%s", value_format(type->least, type->units, least),
                 value_format(type->most, type->units, most), type->word ? ", or " : "",
                 type->word ? type->word : "");
        break;
    case SCHEMA_CHOICE:
    case SCHEMA_TEXT:
        for (size_t i = 0; type->words && type->words[i]; i++)
            sprintf(text + strlen(text), "%s%s", i ? ", " : "", type->words[i]);
        if (!type->words)
            strcpy(text, type->what);
        break;
    case SCHEMA_SECTION:
        break;
    case SCHEMA_LIST:
    case SCHEMA_MAP:
        sprintf(text, "%s%s%s, at most %u", type->kind == SCHEMA_LIST ? "list" : "NAME: group",
                type->item->what ? " of " : "", type->item->what ? type->item->what : "",
                (unsigned)type->most);
        break;
    }
    return text;
}

static void check_reference(const struct schema_key *key, const char *path)
{
    char row[600], value[256];
    if (key->type->kind == SCHEMA_SECTION)
        return; /* its keys have rows */
    snprintf(row, sizeof row, "| `%s` | %s | %s%s%s | %s |\n", path, describe(key->type, value),
             key->standard ? "`" : "",
             key->standard   ? key->standard
             : key->required ? "needed"
                             : "",
             key->standard ? "`" : "", key->help);
    if (!strstr(reference, row))
        fail_msg("docs/configuration.md lacks the row\n%s", row);
}

static int read_reference(void **state)
{
    FILE *file = fopen("docs/configuration.md", "r");
    if (!file)
        fail_msg("docs/configuration.md is not there: run from the root of the checkout");
    size_t size = 0;
    reference = NULL;
    assert_true(getdelim(&reference, &size, 0, file) > 0);
    fclose(file);
    return 0;
}

static int free_reference(void **state)
{
    free(reference);
    return clean(state);
}

static void test_reference_has_every_key(void **state)
{
    for_each_key(&config_schema, "", check_reference);
}

static void test_examples_of_the_reference_are_right(void **state)
{
    uint32_t examples = 0;
    char *start = reference, *end;
    while ((start = strstr(start, "```yaml\n"))) {
        start = strchr(start, '\n') + 1;
        end = strstr(start, "```");
        *end = 0;
        read_right(start);
        clean(state);
        start = end + 1;
        examples++;
    }
    assert_int_equal(examples, 2);
}

#define TEST(name) cmocka_unit_test_teardown(name, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_no_file),
        TEST(test_a_file_that_says_nothing),
        TEST(test_every_key),
        TEST(test_one_key_changes_only_itself),
        TEST(test_edges_of_ranges),
        TEST(test_each_log_level),
        TEST(test_several_servers_without_a_protocol),
        TEST(test_ports_the_system_picks_are_not_the_same),
        TEST(test_options_without_a_file),
        TEST(test_options_win_over_the_file),
        TEST(test_what_options_do_not_say_is_the_files),
        TEST(test_a_wrong_file_is_wrong_whatever_the_options_say),
        TEST(test_auto_is_the_cpus_this_process_may_use),
        TEST(test_via_name_is_one_token_and_stays),
        TEST(test_one_mistake),
        TEST(test_all_mistakes_in_the_order_of_their_lines),
        TEST(test_no_more_than_twenty_are_told),
        TEST(test_a_file_that_is_not_there),
        TEST(test_hostile_texts_in_messages_are_cut),
        TEST(test_standards_are_right),
        TEST(test_the_standard_listener_is_the_one_described),
        cmocka_unit_test_setup_teardown(test_reference_has_every_key, read_reference,
                                        free_reference),
        cmocka_unit_test_setup_teardown(test_examples_of_the_reference_are_right, read_reference,
                                        free_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
