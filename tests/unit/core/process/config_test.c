/* tests/unit/core/process/config_test.c - snapshots from files and options */
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
#include "core/host/host.h"
#include "core/plugins/registry.h"
#include "core/io/network.h"

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

static void check_standard_access(const struct snapshot *made)
{
    for (uint32_t port = 0; port <= UINT16_MAX; port++)
        if (ports_contain(&made->connect_ports, (uint16_t)port) != (port && port != 25))
            fail_msg("port %u", port);
    assert_null(made->deny_addresses);
    for (uint32_t i = 0; i < made->listener_count; i++) {
        assert_null(made->listeners[i].allow_clients);
        assert_false(made->listeners[i].open);
        assert_false(made->listeners[i].v6only);
        assert_int_equal(made->listeners[i].mode, 0660);
    }
    assert_false(made->access_log.on);
    assert_null(made->access_log.file);
    assert_int_equal(made->access_log.sample, 1);
    assert_null(made->error_template);
    assert_null(made->admin);
    assert_null(made->user);
    assert_null(made->group);
    assert_null(made->pid_file);
}

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
    assert_int_equal(made->timeouts.body, 30000);
    assert_int_equal(made->timeouts.drain, 30000);
    assert_int_equal(made->connections_max, 0);
    assert_int_equal(made->connections_per_address, 0);
    assert_int_equal(made->requests_per_connection, 0);
    assert_int_equal(made->request_body_max, 0);
    assert_int_equal(made->body_rate_min, 0);
    check_standard_access(made);
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

static bool list_has(const struct network_list *list, const char *text)
{
    struct address address;
    assert_true(address_from_literal(string_of(text), 0, &address));
    return network_list_contains(list, &address);
}

static void test_who_may_use_a_listener(void **state)
{
    const struct snapshot *made = read_right(
        "listen:\n"
        "  - { address: 192.0.2.1:1, allow_clients: [ private, 198.51.100.7, 2001:db8::/32 ] }\n"
        "  - { address: \"[::]:2\", v6only: true, allow_clients: [ loopback ] }\n"
        "  - { address: 0.0.0.0:2, open: true }\n"
        "  - { address: unix:/run/weir.sock, mode: 0600 }\n"
        "  - { address: 127.9.9.9:3 }\n  - { address: \"[::1]:3\" }\n"
        "  - { address: \"[::ffff:127.0.0.1]:4\" }\n");
    const struct listener_config *listeners = made->listeners;
    assert_int_equal(made->listener_count, 7);
    assert_true(list_has(listeners[0].allow_clients, "10.1.2.3"));
    assert_true(list_has(listeners[0].allow_clients, "198.51.100.7"));
    assert_true(list_has(listeners[0].allow_clients, "2001:db8::1"));
    assert_false(list_has(listeners[0].allow_clients, "198.51.100.8"));
    assert_false(list_has(listeners[0].allow_clients, "2002:a01:203::1"));
    assert_false(listeners[0].open);
    assert_true(listeners[1].v6only);
    assert_true(list_has(listeners[1].allow_clients, "::1"));
    assert_true(listeners[2].open);
    assert_null(listeners[2].allow_clients);
    assert_string_equal(listeners[3].address, "unix:/run/weir.sock");
    assert_int_equal(listeners[3].mode, 0600);
}

static void test_what_clients_may_speak(void **state)
{
    const struct snapshot *made =
        read_right("listen:\n  - { address: 127.0.0.1:1, protocols: [ h1 ] }\n"
                   "  - { address: 127.0.0.1:2 }\n");
    const struct listener_config *listeners = made->listeners;
    assert_string_equal(listeners[0].protocols[0]->name, "h1");
    assert_null(listeners[0].protocols[1]);
    assert_null(listeners[1].protocols);
    const weir_protocol *const *standard = registry_standard_protocols(made->registry);
    assert_string_equal(standard[0]->name, "h1");
    assert_string_equal(standard[1]->name, "h2");
    assert_null(standard[2]); /* of what is built in, no client speaks more */
}

static void test_where_requests_may_go(void **state)
{
    const struct snapshot *made =
        read_right("connect_ports: [ 443, 8000-8999, 65535, '22' ]\n"
                   "deny_addresses: [ loopback, 192.0.2.0/24, \"2001:db8::1\" ]\n");
    static const uint16_t in[] = {22, 443, 8000, 8500, 8999, 65535};
    static const uint16_t out[] = {0, 21, 23, 442, 444, 7999, 9000, 65534};
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        assert_true(ports_contain(&made->connect_ports, in[i]));
    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        assert_false(ports_contain(&made->connect_ports, out[i]));
    assert_true(list_has(made->deny_addresses, "127.0.0.1"));
    assert_true(list_has(made->deny_addresses, "64:ff9b::7f00:1"));
    assert_true(list_has(made->deny_addresses, "192.0.2.255"));
    assert_true(list_has(made->deny_addresses, "2001:db8::1"));
    assert_false(list_has(made->deny_addresses, "192.0.3.0"));
    clean(state);
    made = read_right("connect_ports: []\ndeny_addresses: []\n");
    assert_int_equal(made->connect_ports.count, 0);
    assert_false(list_has(made->deny_addresses, "127.0.0.1"));
}

/* As many as a list may have, so that growing it is seen. */
static void test_long_lists(void **state)
{
    static char text[64 * 12 + 1024 * 20 + 64];
    char *at = stpcpy(text, "connect_ports: [ 1");
    for (int i = 1; i < 64; i++)
        at += sprintf(at, ", %d", 1 + i * 10);
    at = stpcpy(at, " ]\ndeny_addresses: [ 10.0.0.0");
    for (int i = 1; i < 1024; i++)
        at += sprintf(at, ", 10.%d.%d.1", i / 256, i % 256);
    strcpy(at, " ]\n");
    const struct snapshot *made = read_right(text);
    assert_int_equal(made->connect_ports.count, 64);
    assert_true(ports_contain(&made->connect_ports, 1));
    assert_true(ports_contain(&made->connect_ports, 321));
    assert_true(ports_contain(&made->connect_ports, 631));
    assert_false(ports_contain(&made->connect_ports, 632));
    assert_int_equal(made->deny_addresses->count, 1024);
    assert_true(list_has(made->deny_addresses, "10.0.0.0"));
    assert_true(list_has(made->deny_addresses, "10.3.255.1"));
    assert_false(list_has(made->deny_addresses, "10.4.0.1"));
}

static void test_limits_and_operation(void **state)
{
    const struct snapshot *made = read_right(
        "limits: { connections_max: 1000, connections_per_address: 20, requests_per_connection: "
        "1000000000, request_body_max: 5GiB, body_rate_min: 2KiB/s }\n"
        "timeouts: { body: 7s }\ndrain_timeout: 2m\n"
        "log: { access: { format: \"{client} {status}\", file: access.log, sample: 10 } }\n"
        "error_bodies: \"<b>{status}</b> {reason} {text} {} {COLOR} b{color:red}\"\n"
        "admin: unix:/run/admin.sock\nuser: nobody\ngroup: 65534\npid_file: /run/weir.pid\n");
    assert_int_equal(made->connections_max, 1000);
    assert_int_equal(made->connections_per_address, 20);
    assert_int_equal(made->requests_per_connection, 1000000000);
    assert_true(made->request_body_max == (uint64_t)5 << 30);
    assert_int_equal(made->body_rate_min, 2048);
    assert_int_equal(made->timeouts.body, 7000);
    assert_int_equal(made->timeouts.drain, 120000);
    assert_true(made->access_log.on);
    assert_non_null(made->access_log.compiled);
    assert_string_equal(made->access_log.format, "{client} {status}");
    assert_string_equal(made->access_log.file, "access.log");
    assert_int_equal(made->access_log.sample, 10);
    assert_string_equal(made->error_template,
                        "<b>{status}</b> {reason} {text} {} {COLOR} b{color:red}");
    assert_string_equal(made->admin, "unix:/run/admin.sock");
    assert_string_equal(made->user, "nobody");
    assert_string_equal(made->group, "65534");
    assert_string_equal(made->pid_file, "/run/weir.pid");
}

static void test_the_access_log_is_on_when_it_is_named(void **state)
{
    const struct snapshot *made = read_right("log: { access: {} }\n");
    assert_true(made->access_log.on);
    assert_string_equal(made->access_log.format, "common");
    clean(state);
    assert_false(read_right("log: { level: info }\n")->access_log.on);
}

static void test_how_long_an_answer_may_be(void **state)
{
    static char text[17000];
    char *at = stpcpy(text, "error_bodies: '");
    memset(at, ' ', 16384);
    strcpy(at + 16384, "'\n");
    assert_int_equal(strlen(read_right(text)->error_template), 16384);
    clean(state);
    strcpy(at + 16384, " '\n");
    assert_null(config_read(string_of(text), &options, &errors));
    assert_non_null(strstr(errors.list[0].text, "is longer than 16 KiB"));
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
    assert_null(made->fixed_upstream->protocol);
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
    assert_null(snapshot->fixed_upstream->protocol);
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

/* What is printed without a file, without its line end. */
static void check_refused(const char *says)
{
    assert_null(snapshot);
    assert_int_equal(errors.count, 1);
    assert_string_equal(errors.list[0].file, "weir");
    assert_string_equal(errors.list[0].text, says);
}

static void test_no_open_proxy_by_an_option(void **state)
{
    options = (struct options){.listeners = {"0.0.0.0:3128"}, .listener_count = 1};
    snapshot = config_load(NULL, &options, &errors);
    check_refused(
        "--listen 0.0.0.0:3128: anybody who can connect could use this proxy; add --open, "
        "or say allow_clients in a configuration file");
    config_errors_deinit(&errors);
    options.open = true;
    snapshot = config_load(NULL, &options, &errors);
    assert_non_null(snapshot);
    snapshot_free(snapshot);
    options =
        (struct options){.listeners = {"127.0.0.1:1", "[::1]:1", "unix:/a"}, .listener_count = 3};
    snapshot = config_load(NULL, &options, &errors);
    assert_non_null(snapshot);
}

static void test_options_of_the_same_port(void **state)
{
    options = (struct options){
        .listeners = {"[::]:80", "127.0.0.1:80"}, .listener_count = 2, .open = true};
    snapshot = config_load(NULL, &options, &errors);
    check_refused("--listen 127.0.0.1:80 overlaps with --listen [::]:80; remove one");
}

static void test_the_file_says_who_may_use_a_listener_of_the_options(void **state)
{
    options = (struct options){.listeners = {"0.0.0.0:1"}, .listener_count = 1};
    const struct snapshot *made =
        read_right("listen:\n  - address: 127.0.0.1:2\n"
                   "  - { address: 0.0.0.0:1, allow_clients: [ private ] }\n");
    assert_int_equal(made->listener_count, 1);
    assert_string_equal(made->listeners[0].address, "0.0.0.0:1");
    assert_true(list_has(made->listeners[0].allow_clients, "10.0.0.1"));
    clean(state);
    options = (struct options){.listeners = {"0.0.0.0:3"}, .listener_count = 1};
    snapshot = config_read(string_of("listen: [ { address: 0.0.0.0:1, open: true } ]\n"), &options,
                           &errors);
    check_refused(
        "--listen 0.0.0.0:3: anybody who can connect could use this proxy; add --open, or "
        "say allow_clients in a configuration file");
}

static void test_an_option_opens_the_files_listeners(void **state)
{
    options = (struct options){.open = true};
    const struct snapshot *made =
        read_right("listen:\n  - address: 0.0.0.0:1\n"
                   "  - { address: 0.0.0.0:2, allow_clients: [ private ] }\n");
    assert_null(made->listeners[0].allow_clients);
    assert_false(list_has(made->listeners[1].allow_clients, "192.0.2.1"));
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

static int start(void **state)
{
    registry_start(host_table("test"));
    return 0;
}

static int end(void **state)
{
    registry_end();
    return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_no_file),
        TEST(test_a_file_that_says_nothing),
        TEST(test_every_key),
        TEST(test_who_may_use_a_listener),
        TEST(test_what_clients_may_speak),
        TEST(test_where_requests_may_go),
        TEST(test_long_lists),
        TEST(test_limits_and_operation),
        TEST(test_the_access_log_is_on_when_it_is_named),
        TEST(test_how_long_an_answer_may_be),
        TEST(test_one_key_changes_only_itself),
        TEST(test_edges_of_ranges),
        TEST(test_each_log_level),
        TEST(test_several_servers_without_a_protocol),
        TEST(test_ports_the_system_picks_are_not_the_same),
        TEST(test_options_without_a_file),
        TEST(test_options_win_over_the_file),
        TEST(test_no_open_proxy_by_an_option),
        TEST(test_options_of_the_same_port),
        TEST(test_the_file_says_who_may_use_a_listener_of_the_options),
        TEST(test_an_option_opens_the_files_listeners),
        TEST(test_what_options_do_not_say_is_the_files),
        TEST(test_a_wrong_file_is_wrong_whatever_the_options_say),
        TEST(test_auto_is_the_cpus_this_process_may_use),
        TEST(test_via_name_is_one_token_and_stays),
    };
    return cmocka_run_group_tests(tests, start, end);
}
