/* tests/unit/core/process/config_access_log_test.c - on or off, and each mistake at its place */
#include "core/process/config_access_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "core/process/config.h"

static struct options options;
static struct config_errors errors;
static struct snapshot *snapshot;

static int clean(void **state)
{
    snapshot_free(snapshot);
    snapshot = NULL;
    config_errors_deinit(&errors);
    return 0;
}

static const struct access_log_config *read_right(const char *text)
{
    snapshot = config_read(string_of(text), &options, &errors);
    if (!snapshot)
        fail_msg("\"%s\": %s", text, errors.list[0].text);
    return &snapshot->access_log;
}

static void test_off(void **state)
{
    assert_false(read_right("")->on);
    clean(state);
    assert_false(read_right("log: { level: debug }\n")->on);
}

static void test_on(void **state)
{
    const struct access_log_config *log = read_right("log: { access: {} }\n");
    assert_true(log->on);
    assert_string_equal(log->format, "common");
    assert_non_null(log->compiled);
    assert_null(log->file);
    assert_int_equal(log->sample, 1);
    clean(state);
    log =
        read_right("log: { access: { format: \"{client} {status}\", file: /tmp/a, sample: 7 } }\n");
    assert_true(log->on);
    assert_non_null(log->compiled);
    assert_string_equal(log->file, "/tmp/a");
    assert_int_equal(log->sample, 7);
    clean(state);
    assert_null(read_right("log: { access: { file: \"-\" } }\n")->file); /* standard output */
}

static void is_wrong(const char *format, const char *message)
{
    char text[256];
    snprintf(text, sizeof text, "log:\n  access:\n    format: '%s'\n", format);
    assert_null(config_read(string_of(text), &options, &errors));
    assert_int_equal(errors.count, 1);
    assert_int_equal(errors.list[0].line, 3);
    assert_int_equal(errors.list[0].column, 13);
    assert_string_equal(errors.list[0].text, message);
    config_errors_deinit(&errors);
}

static void test_mistakes(void **state)
{
    is_wrong("{client} {stauts}",
             "log.access.format: \"stauts\" is not a field of the access log; did you mean "
             "\"status\"?");
    is_wrong("{nothing-like-it}",
             "log.access.format: \"nothing-like-it\" is not a field of the access log");
    is_wrong("jsno",
             "log.access.format: \"jsno\" is neither common, combined, json nor a text with "
             "{fields}; did you mean \"json\"?");
    is_wrong("{status} {client",
             "log.access.format: \"{client\" begins with { that nothing closes; {{ is a brace");
    is_wrong("{request:Proxy-Authorization}",
             "log.access.format: \"request:Proxy-Authorization\" is a secret; {user} is who it "
             "belongs to");
}

/* What !env brought is not shown. */
static void test_a_secret_format_is_not_told(void **state)
{
    static const char text[] = "log: { access: { format: !env FORMAT_OF_THIS_TEST } }\n";
    setenv("FORMAT_OF_THIS_TEST", "{hidden}", 1);
    assert_null(config_read(string_of(text), &options, &errors));
    assert_int_equal(errors.count, 1);
    assert_string_equal(errors.list[0].text, "log.access.format: is no format of the access log");
    config_errors_deinit(&errors);
}

#define TEST(name) cmocka_unit_test_teardown(name, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_off),
        TEST(test_on),
        TEST(test_mistakes),
        TEST(test_a_secret_format_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
