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
        "listen:\n  - address: 127.0.0.1:1\n  - { address: \"[::]:2\", open: true }\n"
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
