/* tests/unit/core/process/config_sources_test.c - values from elsewhere, and files that are
 * included
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "core/process/config.h"
#include "core/process/config_sources.h"
#include "tests/unit/core/process/scratch.h"

static struct options options;
static struct config_errors errors;
static struct snapshot *snapshot;

static int set_up(void **state)
{
    scratch_make();
    return 0;
}

static int tear_down(void **state)
{
    snapshot_free(snapshot);
    snapshot = NULL;
    config_errors_deinit(&errors);
    scratch_remove();
    return 0;
}

static char *print_errors(void)
{
    static char text[8192];
    FILE *stream = fmemopen(text, sizeof text, "w");
    config_errors_print(&errors, stream);
    fclose(stream);
    return text;
}

/* The snapshot of main.yaml with that text. */
static const struct snapshot *load(const char *text)
{
    const char *path = scratch_write("main.yaml", text);
    snapshot = config_load(path, &options, &errors);
    if (!snapshot || errors.count)
        fail_msg("%s", print_errors());
    return snapshot;
}

/* It is refused with these lines, in which @ is the directory. */
static void check_refused(const char *text, const char *lines)
{
    char expected[4096], *at = expected;
    const char *path = scratch_write("main.yaml", text);
    for (; *lines; lines++)
        at = *lines == '@' ? stpcpy(at, scratch) : (*at = *lines, at + 1);
    *at = 0;
    snapshot = config_load(path, &options, &errors);
    assert_null(snapshot);
    assert_string_equal(print_errors(), expected);
    config_errors_deinit(&errors);
}

/* --- values from elsewhere */

static void test_values_of_the_environment(void **state)
{
    setenv("WEIR_TEST_WORKERS", "7", 1);
    setenv("WEIR_TEST_ADDRESS", "127.0.0.1:4711", 1);
    setenv("WEIR_TEST_OPEN", "true", 1);
    setenv("WEIR_TEST_TEXT", "# {status}: *x", 1);
    const struct snapshot *made =
        load("workers: !env WEIR_TEST_WORKERS\n"
             "listen:\n  - { address: !env WEIR_TEST_ADDRESS, open: !env 'WEIR_TEST_OPEN' }\n"
             "error_bodies: !env \"WEIR_TEST_TEXT\"\n");
    assert_int_equal(made->workers, 7);
    assert_string_equal(made->listeners[0].address, "127.0.0.1:4711");
    assert_true(made->listeners[0].open);
    assert_string_equal(made->error_template, "# {status}: *x");
}

static void test_values_of_files(void **state)
{
    static const struct {
        const char *content, *value;
    } cases[] = {
        {"{text}", "{text}"},
        {"{text}\n", "{text}"},
        {"{text}\r\n", "{text}"},
        {"{text}\n\n", "{text}\n"},
        {"\n{text}", "\n{text}"},
        {"a: [ *b\n{text}", "a: [ *b\n{text}"},
        {"{text}\xff\t\x01\n", "{text}\xff\t\x01"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch_write("body", cases[i].content);
        assert_string_equal(load("error_bodies: !file body\n")->error_template, cases[i].value);
        snapshot_free(snapshot);
        snapshot = NULL;
    }
}

static void test_paths_are_relative_to_the_file_they_are_in(void **state)
{
    char text[256], path[128];
    scratch_directory("d");
    scratch_write("d/body", "{text}");
    scratch_write("d/more.yaml", "error_bodies: !file body\npid_file: weir.pid\n");
    snprintf(text, sizeof text,
             "include: d/more.yaml\nlog: { access: { file: access.log } }\nuser: !file %s/d/body\n",
             scratch);
    scratch_write("d/body", "{text}");
    const struct snapshot *made = load(text);
    assert_string_equal(made->error_template, "{text}");
    snprintf(path, sizeof path, "%s/d/weir.pid", scratch);
    assert_string_equal(made->pid_file, path);
    snprintf(path, sizeof path, "%s/access.log", scratch);
    assert_string_equal(made->access_log.file, path);
    assert_string_equal(made->user, "{text}");
}

static void test_what_tags_cannot_name(void **state)
{
    static char large[64 * 1024 + 1];
    unsetenv("WEIR_TEST_UNSET");
    memset(large, 'x', sizeof large);
    scratch_write_bytes("large", large, sizeof large);
    scratch_write_bytes("nul", "a\0b", 3);
    check_refused("user: !env WEIR_TEST_UNSET\ngroup: !file missing\npid_file: !file large\n"
                  "admin: !file nul\nerror_bodies: !file\n",
                  "@/main.yaml:1:7: user: the environment has no variable \"WEIR_TEST_UNSET\"\n"
                  "@/main.yaml:2:8: group: file \"missing\" cannot be read: No such file or "
                  "directory\n"
                  "@/main.yaml:3:11: pid_file: file \"large\" is larger than 64KiB\n"
                  "@/main.yaml:4:8: admin: file \"nul\" has a NUL character in it\n"
                  "@/main.yaml:5:15: error_bodies: file \"\" cannot be read: Is a directory\n");
    scratch_write_bytes("large", large, sizeof large - 1);
    assert_int_equal(strlen(load("pid_file: !file large\n")->pid_file),
                     sizeof large - 1 + strlen(scratch) + 1);
}

static void test_values_from_elsewhere_are_bounded_together(void **state)
{
    static char large[64 * 1024];
    static char text[65 * 24 + 64];
    memset(large, 'x', sizeof large);
    scratch_write_bytes("large", large, sizeof large);
    char *at = stpcpy(text, "deny_addresses:\n");
    for (int i = 0; i < 65; i++)
        at = stpcpy(at, " - !file large\n");
    snapshot = config_load(scratch_write("main.yaml", text), &options, &errors);
    assert_null(snapshot);
    assert_int_equal(errors.count, 2); /* the file itself has some bytes too */
    assert_string_equal(errors.list[0].text, "deny_addresses[63]: more than 4 MiB in all files");
}

/* Every kind of message that shows a value, with one that came from elsewhere. */
static void test_secrets_are_never_shown(void **state)
{
    static const char *const lines[] = {
        "workers: @",
        "limits: { fields: @ }",
        "limits: { header: @ }",
        "timeouts: { idle: @ }",
        "log: { level: @ }",
        "log: { access: { format: @ } }",
        "log: { access: { sample: @ } }",
        "error_bodies: @",
        "listen: [ { address: @ } ]",
        "listen: [ { address: 127.0.0.1:1, open: @ } ]",
        "listen: [ { address: unix:/a, mode: @ } ]",
        "listen: [ { address: 127.0.0.1:1, allow_clients: [ @ ] } ]",
        "upstream: { a: { servers: [ @ ] } }\nfixed_upstream: a",
        "upstream: { a: { servers: [ a:1 ], protocol: @ } }\nfixed_upstream: a",
        "upstream: { hunter2: { servers: [ a:1 ] } }\nfixed_upstream: @",
        "connect_ports: [ @ ]",
        "deny_addresses: [ @ ]",
        "admin: @",
        "user: @",
        "drain_timeout: @",
        "include: @",
    };
    static const char *const secrets[] = {
        "hunter7{hunter7} :", "hunter7:1:",     "4294967296", "debgu",
        "hunter7:99999999",   "privatf/hunter7"};
    uint32_t refused = 0;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (size_t j = 0; j < sizeof secrets / sizeof *secrets; j++) {
            char text[256], *at = text;
            setenv("WEIR_TEST_SECRET", secrets[j], 1);
            for (const char *from = lines[i]; *from; from++)
                at = *from == '@' ? stpcpy(at, "!env WEIR_TEST_SECRET") : (*at = *from, at + 1);
            strcpy(at, "\n");
            snapshot = config_load(scratch_write("main.yaml", text), &options, &errors);
            const char *printed = print_errors();
            if (strstr(printed, "hunter7") || strstr(printed, "4294967296") ||
                strstr(printed, "debgu") || strstr(printed, "privatf") ||
                strstr(printed, "did you mean"))
                fail_msg("%s tells: %s", text, printed);
            refused += !snapshot;
            snapshot_free(snapshot);
            snapshot = NULL;
            config_errors_deinit(&errors);
        }
    assert_in_range(refused, 110, sizeof lines / sizeof *lines * sizeof secrets / sizeof *secrets);
}

static void test_a_secret_is_stars(void **state)
{
    setenv("WEIR_TEST_SECRET", "hunter7", 1);
    check_refused(
        "workers: !env WEIR_TEST_SECRET\nuser: !env WEIR_TEST_SECRET\n"
        "admin: !env WEIR_TEST_SECRET\n",
        "@/main.yaml:1:10: workers: \"***\" is not a whole number, or auto\n"
        "@/main.yaml:3:8: admin: *** is wrong; it must be unix:PATH, or 127.0.0.1:PORT\n");
}

/* --- files that are included */

static void test_lists_and_sections_are_joined(void **state)
{
    scratch_directory("d");
    scratch_write("d/b.yaml", "listen: [ { address: 127.0.0.1:3 } ]\n"
                              "upstream: { app: { servers: [ c:1 ] } }\n"
                              "log: { access: { sample: 5 } }\n");
    scratch_write("d/a.yaml", "listen: [ { address: 127.0.0.1:2 } ]\n"
                              "timeouts: { idle: 5s }\nlimits: {}\n");
    scratch_write("d/c.yml", "workers: 99\n");
    const struct snapshot *made = load("include: d/*.yaml\n"
                                       "listen: [ { address: 127.0.0.1:1 } ]\n"
                                       "timeouts: { head: 3s }\nlog: { access: { format: json } }\n"
                                       "upstream: { app: { servers: [ a:1, b:1 ] } }\n"
                                       "fixed_upstream: app\nworkers: 3\n");
    assert_int_equal(made->listener_count, 3);
    assert_string_equal(made->listeners[0].address, "127.0.0.1:1");
    assert_string_equal(made->listeners[1].address, "127.0.0.1:2");
    assert_string_equal(made->listeners[2].address, "127.0.0.1:3");
    assert_int_equal(made->limits.head_ms, 3000);
    assert_int_equal(made->limits.idle_ms, 5000);
    assert_int_equal(made->upstream_count, 1);
    assert_int_equal(made->fixed_upstream->count, 3);
    assert_string_equal(made->fixed_upstream->servers[2], "c:1");
    assert_string_equal(made->access_log.format, "json");
    assert_int_equal(made->access_log.sample, 5);
    assert_int_equal(made->workers, 3);
}

static void test_files_that_add_nothing(void **state)
{
    scratch_directory("d");
    assert_int_equal(load("include: d/*.yaml\nworkers: 2\n")->workers, 2);
    snapshot_free(snapshot);
    scratch_write("d/a.yaml", "# nothing\n");
    scratch_write("d/b.yaml", "");
    scratch_write("d/c.yaml", "{}\n");
    scratch_write("d/d.yaml", "---\n...\n");
    assert_int_equal(load("include: d/*.yaml\nworkers: 2\n")->workers, 2);
}

static void test_included_files_include_others(void **state)
{
    scratch_directory("d");
    scratch_directory("d/e");
    scratch_write("d/a.yaml", "include: e/b.yaml\nlisten: [ { address: 127.0.0.1:1 } ]\n");
    scratch_write("d/e/b.yaml", "include: ../c.yaml\nlisten: [ { address: 127.0.0.1:2 } ]\n");
    scratch_write("d/c.yaml", "listen: [ { address: 127.0.0.1:3 } ]\n");
    const struct snapshot *made = load("include: d/a.yaml\n");
    assert_int_equal(made->listener_count, 3);
    assert_string_equal(made->listeners[0].address, "127.0.0.1:1");
    assert_string_equal(made->listeners[2].address, "127.0.0.1:3");
}

static void test_mistakes_name_their_file(void **state)
{
    scratch_directory("d");
    scratch_write("d/a.yaml", "wrokers: 1\nlisten:\n  - address: 127.0.0.1\nworkers: 0\n");
    scratch_write("d/b.yaml", "listen:\n  - address: 127.0.0.1:1\n");
    check_refused(
        "include: d/*.yaml\nlog: { level: loud }\n"
        "listen: [ { address: 127.0.0.1:1 } ]\nlimits: { fields: 0 }\n",
        "@/main.yaml:2:15: log.level: \"loud\" is not one of: debug, info, warning, error\n"
        "@/main.yaml:4:19: limits.fields: 0 is out of range; write 8 to 256\n"
        "@/d/a.yaml:1:1: wrokers: unknown key; did you mean \"workers\"?\n"
        "@/d/a.yaml:3:14: listen[1].address: \"127.0.0.1\" has no port; write for example "
        "127.0.0.1:3128\n"
        "@/d/a.yaml:4:10: workers: 0 is out of range; write 1 to 256, or auto\n"
        "@/d/b.yaml:2:14: listen[2].address: is the same as that of listen[0]; remove "
        "one\n");
}

static void test_only_lists_and_sections_can_be_in_two_files(void **state)
{
    scratch_write("a.yaml", "workers: 2\nlog: { level: info }\nlisten: { address: 127.0.0.1:1 }\n");
    check_refused("include: a.yaml\nworkers: 2\nlog: { level: info }\n"
                  "listen: [ { address: 127.0.0.1:1 } ]\n",
                  "@/a.yaml:1:1: workers: is given twice, first at @/main.yaml:2:1\n"
                  "@/a.yaml:2:8: log.level: is given twice, first at @/main.yaml:3:8\n"
                  "@/a.yaml:3:1: listen: is given twice, first at @/main.yaml:4:1\n");
    scratch_write("a.yaml", "log:\n");
    check_refused("include: a.yaml\nlog: { level: info }\n",
                  "@/a.yaml:1:1: log: is given twice, first at @/main.yaml:2:1\n");
}

static void test_a_key_twice_in_one_file_and_once_in_another(void **state)
{
    scratch_write("a.yaml", "timeouts: { idle: 1s }\ntimeouts: { head: 1s }\n");
    check_refused("include: a.yaml\ntimeouts: { body: 1s }\n",
                  "@/a.yaml:2:1: timeouts: is given twice, first on line 1\n");
}

static void test_files_that_cannot_be_included(void **state)
{
    scratch_directory("d");
    scratch_write("list.yaml", "- a\n");
    scratch_write("broken.yaml", "a: [ b\n");
    scratch_write("deep.yaml", "listen:\n  - include: a.yaml\n");
    check_refused("include: missing.yaml\n",
                  "@/main.yaml:1:10: include: \"@/missing.yaml\" cannot be read: No such file or "
                  "directory\n");
    check_refused("include: d\n",
                  "@/main.yaml:1:10: include: \"@/d\" cannot be read: Is a directory\n");
    check_refused("include: list.yaml\n",
                  "@/list.yaml:1:1: a file that is included must have keys and values\n");
    check_refused("include: deep.yaml\n",
                  "@/deep.yaml:2:5: listen[0].include: unknown key; known here: address, "
                  "allow_clients, open, v6only, mode, tls, protocols, filters\n"
                  "@/deep.yaml:2:5: listen[0]: \"address\" is missing\n");
    snapshot = config_load(scratch_write("main.yaml", "include: broken.yaml\nworkers: 0\n"),
                           &options, &errors);
    assert_null(snapshot);
    assert_int_equal(errors.count, 1);
    assert_string_equal(errors.list[0].file, scratch_path("broken.yaml"));
    assert_int_equal(errors.list[0].line, 2);
}

static void test_files_in_a_circle(void **state)
{
    scratch_write("a.yaml", "workers: 1\ninclude: b.yaml\n");
    scratch_write("b.yaml", "include: a.yaml\n");
    check_refused("include: main.yaml\n", "@/main.yaml:1:10: include: \"@/main.yaml\" is read "
                                          "already; include each file once\n");
    check_refused("include: '*.yaml'\n",
                  "@/b.yaml:1:10: include: \"@/a.yaml\" is read already; include each file once\n");
    check_refused("include: a.yaml\n",
                  "@/b.yaml:1:10: include: \"@/a.yaml\" is read already; include each file once\n");
}

static void test_how_deep_files_may_be(void **state)
{
    for (int i = 1; i <= 9; i++) {
        char name[32], text[64];
        snprintf(name, sizeof name, "%d.yaml", i);
        snprintf(text, sizeof text, "include: %d.yaml\n", i + 1);
        scratch_write(name, text);
    }
    scratch_write("8.yaml", "workers: 5\n");
    assert_int_equal(load("include: 1.yaml\n")->workers, 5);
    snapshot_free(snapshot);
    scratch_write("8.yaml", "include: 9.yaml\n");
    check_refused("include: 1.yaml\n",
                  "@/8.yaml:1:10: include: includes files more than 8 levels deep\n");
}

static void test_how_many_files_may_be(void **state)
{
    scratch_directory("a");
    scratch_directory("b");
    for (int i = 0; i < 256; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s/%03d.yaml", i < 128 ? "a" : "b", i);
        scratch_write(name, i == 127 ? "include: ../b/*.yaml\n" : "");
    }
    check_refused("include: a/*.yaml\n",
                  "@/a/127.yaml:1:10: include: more than 256 files are read\n");
    unlink(scratch_path("b/200.yaml"));
    load("include: a/*.yaml\n");
}

static void test_how_large_files_may_be_together(void **state)
{
    static char large[2 << 20];
    memset(large, '#', sizeof large);
    scratch_write_bytes("a.yaml", large, sizeof large);
    scratch_write_bytes("b.yaml", large, sizeof large);
    snapshot = config_load(scratch_write("main.yaml", "include: '[ab].yaml'\n"), &options, &errors);
    assert_null(snapshot);
    assert_int_equal(errors.count, 1);
    assert_non_null(strstr(errors.list[0].text, "/b.yaml\" is larger than 2097131B"));
}

/* Comparing each key with each would take minutes. */
static void test_many_keys_are_merged_quickly(void **state)
{
    static char text[40000 * 40];
    for (int file = 0; file < 2; file++) {
        char *at = stpcpy(text, file ? "upstream:\n" : "fixed_upstream: x\nupstream:\n");
        for (int i = 0; i < 20000; i++)
            at += sprintf(at, " g%06d: { servers: [ a:1 ] }\n", i);
        scratch_write(file ? "b.yaml" : "a.yaml", text);
    }
    snapshot = config_load(scratch_write("main.yaml", "include: '[ab].yaml'\n"), &options, &errors);
    assert_null(snapshot);
    assert_int_equal(errors.count, 2);
    assert_string_equal(errors.list[1].text, "upstream: has 20000 entries; it must have 0 to 1024");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_values_of_the_environment),
        TEST(test_values_of_files),
        TEST(test_paths_are_relative_to_the_file_they_are_in),
        TEST(test_what_tags_cannot_name),
        TEST(test_values_from_elsewhere_are_bounded_together),
        TEST(test_secrets_are_never_shown),
        TEST(test_a_secret_is_stars),
        TEST(test_lists_and_sections_are_joined),
        TEST(test_files_that_add_nothing),
        TEST(test_included_files_include_others),
        TEST(test_mistakes_name_their_file),
        TEST(test_only_lists_and_sections_can_be_in_two_files),
        TEST(test_a_key_twice_in_one_file_and_once_in_another),
        TEST(test_files_that_cannot_be_included),
        TEST(test_files_in_a_circle),
        TEST(test_how_deep_files_may_be),
        TEST(test_how_many_files_may_be),
        TEST(test_how_large_files_may_be_together),
        TEST(test_many_keys_are_merged_quickly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
