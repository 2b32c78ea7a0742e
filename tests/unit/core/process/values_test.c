/* tests/unit/core/process/values_test.c - durations, sizes, addresses and names as written */
#include "core/process/values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"

static void check_value(const struct value_unit *units, const char *text, uint64_t expected)
{
    uint64_t value = 4711;
    char written[VALUE_TEXT_BYTES];
    assert_true(value_parse(string_of(text), units, &value));
    assert_int_equal(value, expected);
    if (expected != UINT64_MAX) { /* what is written back is the same, perhaps in another unit */
        assert_true(value_parse(string_of(value_format(value, units, written)), units, &value));
        assert_int_equal(value, expected);
    }
}

static void check_nonsense(const struct value_unit *units, const char *text)
{
    uint64_t value;
    if (value_parse(string_of(text), units, &value))
        fail_msg("\"%s\" was taken for a value", text);
}

static void test_durations(void **state)
{
    check_value(value_durations, "0ms", 0);
    check_value(value_durations, "500ms", 500);
    check_value(value_durations, "10s", 10000);
    check_value(value_durations, "007s", 7000);
    check_value(value_durations, "5m", 300000);
    check_value(value_durations, "1h", 3600000);
    check_value(value_durations, "7d", 604800000);
    const char *const nonsense[] = {"",    "s",    "10",  "10 s",  " 10s", "10s ",  "-1s",
                                    "+1s", "1.5s", "10S", "1h30m", "0x1s", "10sec", "1e3s"};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        check_nonsense(value_durations, nonsense[i]);
}

static void test_sizes(void **state)
{
    check_value(value_sizes, "512B", 512);
    check_value(value_sizes, "8KiB", 8192);
    check_value(value_sizes, "1MiB", 1048576);
    check_value(value_sizes, "3GiB", 3221225472);
    check_value(value_sizes, "1024TiB", 1125899906842624);
    check_value(value_rates, "100B/s", 100);
    check_value(value_rates, "1KiB/s", 1024);
    check_nonsense(value_rates, "100B");
    check_nonsense(value_rates, "100/s");
    const char *const nonsense[] = {"8", "8K", "8KB", "8kib", "8kB", "KiB", "8 KiB"};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        check_nonsense(value_sizes, nonsense[i]);
}

static void test_too_large_is_not_small(void **state)
{
    check_value(value_plain, "18446744073709551615", UINT64_MAX);
    check_value(value_plain, "18446744073709551616", UINT64_MAX);
    check_value(value_durations, "18446744073709551615d", UINT64_MAX);
    check_value(value_sizes, "17179869184GiB", UINT64_MAX);
    check_value(value_sizes, "99999999999999999999999999999999B", UINT64_MAX);
}

static void test_format_takes_the_largest_whole_unit(void **state)
{
    char text[VALUE_TEXT_BYTES];
    assert_string_equal(value_format(0, value_durations, text), "0ms");
    assert_string_equal(value_format(1500, value_durations, text), "1500ms");
    assert_string_equal(value_format(70000, value_durations, text), "70s");
    assert_string_equal(value_format(3600000, value_durations, text), "1h");
    assert_string_equal(value_format(65536, value_sizes, text), "64KiB");
    assert_string_equal(value_format(65537, value_sizes, text), "65537B");
    assert_string_equal(value_format(256, value_plain, text), "256");
}

static void check_mistake(const char *(*mistake)(weir_string), const char *text, const char *part)
{
    const char *found = mistake(string_of(text));
    if (!part != !found || (part && !strstr(found, part)))
        fail_msg("\"%s\": %s", text, found ? found : "is taken for right");
}

static void test_where_to_listen(void **state)
{
    check_mistake(value_listen_mistake, "127.0.0.1:3128", NULL);
    check_mistake(value_listen_mistake, "0.0.0.0:0", NULL);
    check_mistake(value_listen_mistake, "[::]:65535", NULL);
    check_mistake(value_listen_mistake, "127.0.0.1", "has no port");
    check_mistake(value_listen_mistake, "127.0.0.1:", "has no port");
    check_mistake(value_listen_mistake, "[::1]", "has no port");
    check_mistake(value_listen_mistake, "localhost:3128", "is a name");
    check_mistake(value_listen_mistake, "3128", "is a name");
    check_mistake(value_listen_mistake, "http://127.0.0.1:3128", "is a URL");
    check_mistake(value_listen_mistake, "", "is not an address");
    check_mistake(value_listen_mistake, ":3128", "is not an address");
    check_mistake(value_listen_mistake, "::1:3128", "is not an address");
    check_mistake(value_listen_mistake, "127.0.0.1:65536", "is not an address");
    check_mistake(value_listen_mistake, "127.0.0.1:-1", "is not an address");
    check_mistake(value_listen_mistake, "127.0.0.1:80 ", "is not an address");
    check_mistake(value_listen_mistake, "[127.0.0.1]:80", "is not an address");
}

static void test_where_to_listen_without_a_port(void **state)
{
    char longest[8 + UNIX_PATH_MOST + 1] = "unix:/";
    memset(longest + 6, 'x', sizeof longest - 7);
    longest[5 + UNIX_PATH_MOST] = 0;
    check_mistake(value_listen_mistake, "unix:/run/weir.sock", NULL);
    check_mistake(value_listen_mistake, longest, NULL);
    longest[5 + UNIX_PATH_MOST] = 'x';
    longest[6 + UNIX_PATH_MOST] = 0;
    check_mistake(value_listen_mistake, longest, "too long");
    check_mistake(value_listen_mistake, "unix:", "no absolute path");
    check_mistake(value_listen_mistake, "unix:weir.sock", "no absolute path");
    check_mistake(value_listen_mistake, "unix:@weir", "no absolute path");
    check_mistake(value_listen_mistake, "UNIX:/weir", "is not an address");
}

static void test_what_only_this_machine_reaches(void **state)
{
    static const char *const local[] = {"127.0.0.1:1",    "127.255.255.255:1",    "[::1]:1",
                                        "unix:/run/weir", "[::ffff:127.0.0.1]:1", "127.0.0.1:0"};
    static const char *const others[] = {"0.0.0.0:1",           "[::]:1",      "126.0.0.1:1",
                                         "128.0.0.1:1",         "[::2]:1",     "10.0.0.1:1",
                                         "[::ffff:10.0.0.1]:1", "localhost:1", ""};
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        assert_true(value_is_local(string_of(local[i])));
        check_mistake(value_admin_mistake, local[i], NULL);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(value_is_local(string_of(others[i])));
    check_mistake(value_admin_mistake, "0.0.0.0:1", "could be reached from elsewhere");
    check_mistake(value_admin_mistake, "[::]:1", "could be reached from elsewhere");
    check_mistake(value_admin_mistake, "localhost:1", "is a name");
    check_mistake(value_admin_mistake, "unix:admin", "no absolute path");
}

static void test_paths_and_accounts(void **state)
{
    check_mistake(value_path_mistake, "a", NULL);
    check_mistake(value_path_mistake, "", "is empty");
    check_mistake(value_account_mistake, "www-data", NULL);
    check_mistake(value_account_mistake, "65534", NULL);
    check_mistake(value_account_mistake, "", "is not the name");
    check_mistake(value_account_mistake, "a b", "is not the name");
    check_mistake(value_account_mistake, "a:b", "is not the name");
    check_mistake(value_account_mistake, "../a", "is not the name");
    check_mistake(value_account_mistake, "-a", "is not the name");
}

static void test_beside(void **state)
{
    static const struct {
        const char *file, *path, *joined;
    } cases[] = {
        {NULL, "a", "a"},
        {"weir.yaml", "a", "a"},
        {"/etc/weir/weir.yaml", "a", "/etc/weir/a"},
        {"/etc/weir/weir.yaml", "d/a", "/etc/weir/d/a"},
        {"/etc/weir/weir.yaml", "../a", "/etc/weir/../a"},
        {"/etc/weir/weir.yaml", "/a", "/a"},
        {"/weir.yaml", "a", "/a"},
        {"d/weir.yaml", "", "d/"},
    };
    uint64_t block[64];
    struct arena arena;
    arena_init(&arena, block, sizeof block);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(value_beside(&arena, cases[i].file, string_of(cases[i].path)),
                            cases[i].joined);
    arena_deinit(&arena);
}

static void test_where_to_connect(void **state)
{
    check_mistake(value_server_mistake, "127.0.0.1:9000", NULL);
    check_mistake(value_server_mistake, "app.example:1", NULL);
    check_mistake(value_server_mistake, "[2001:db8::1]:443", NULL);
    check_mistake(value_server_mistake, "app.example", "has no port");
    check_mistake(value_server_mistake, "http://app.example:80", "is a URL");
    check_mistake(value_server_mistake, "app.example:0", "is not a host");
    check_mistake(value_server_mistake, "app.example:65536", "is not a host");
    check_mistake(value_server_mistake, "user@app.example:80", "is not a host");
    check_mistake(value_server_mistake, "app.example:80/path", "is not a host");
    check_mistake(value_server_mistake, "[::1:80", "is not a host");
    check_mistake(value_server_mistake, "[:::1]:80", "is not a host");
    check_mistake(value_server_mistake, "[127.0.0.1]:80", "is not a host");
    check_mistake(value_server_mistake, "::1:80", "is not a host");
    check_mistake(value_server_mistake, "", "is not a host");
}

static void test_names(void **state)
{
    char longest[66];
    memset(longest, 'x', sizeof longest);
    longest[64] = 0;
    check_mistake(value_name_mistake, "app", NULL);
    check_mistake(value_name_mistake, "App-2_b", NULL);
    check_mistake(value_name_mistake, longest, NULL);
    longest[64] = 'x';
    longest[65] = 0;
    check_mistake(value_name_mistake, longest, "is not a name");
    check_mistake(value_name_mistake, "", "is not a name");
    check_mistake(value_name_mistake, "a b", "is not a name");
    check_mistake(value_name_mistake, "a.b", "is not a name");
    check_mistake(value_name_mistake, "\xc3\xa9", "is not a name");
}

static void test_same_listener(void **state)
{
    assert_true(value_same_listener("127.0.0.1:80", "127.0.0.1:80"));
    assert_true(value_same_listener("127.0.0.1:80", "127.0.0.1:080"));
    assert_true(value_same_listener("[::1]:80", "[0:0::1]:80"));
    assert_false(value_same_listener("127.0.0.1:80", "127.0.0.1:81"));
    assert_false(value_same_listener("127.0.0.1:80", "127.0.0.2:80"));
    assert_false(value_same_listener("0.0.0.0:80", "[::]:80"));
    assert_false(value_same_listener("127.0.0.1:0", "127.0.0.1:0"));
    assert_false(value_same_listener("127.0.0.1:80", NULL));
    assert_false(value_same_listener("nonsense", "nonsense"));
    assert_true(value_same_listener("unix:/a", "unix:/a"));
    assert_false(value_same_listener("unix:/a", "unix:/b"));
    assert_false(value_same_listener("unix:/a", "127.0.0.1:80"));
    assert_false(value_same_listener("127.0.0.1:80", "unix:/a"));
}

static void test_show_is_harmless(void **state)
{
    char text[VALUE_TEXT_BYTES], many[300];
    assert_string_equal(value_show(string_of(""), text), "");
    assert_string_equal(value_show(string_of("caf\xc3\xa9"), text), "caf\xc3\xa9");
    assert_string_equal(value_show(string_of("a\033[31m\r\n\t\x7f"), text), "a?[31m????");
    /* CSI as one character of UTF-8 is two bytes */
    assert_null(strchr(value_show(string_of("a\xc2\x9b"
                                            "31m"),
                                  text),
                       '\xc2'));
    assert_string_equal(value_show((weir_string){"a\0b", 3}, text), "a?b");
    memset(many, 'x', sizeof many);
    value_show((weir_string){many, sizeof many}, text);
    assert_int_equal(strlen(text), VALUE_TEXT_BYTES - 1);
    assert_string_equal(text + VALUE_TEXT_BYTES - 5, "x...");
}

static void test_show_cuts_between_characters(void **state)
{
    for (size_t before = 0; before < 4; before++) {
        char many[300], text[VALUE_TEXT_BYTES];
        memset(many, 'x', before);
        for (size_t i = before; i + 1 < sizeof many; i += 2)
            memcpy(many + i, "\xc3\xa9", 2);
        value_show((weir_string){many, sizeof many - before % 2}, text);
        size_t length = strlen(text);
        assert_string_equal(text + length - 5, "\xc3\xa9...");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_too_large_is_not_small),
        cmocka_unit_test(test_format_takes_the_largest_whole_unit),
        cmocka_unit_test(test_where_to_listen),
        cmocka_unit_test(test_where_to_listen_without_a_port),
        cmocka_unit_test(test_what_only_this_machine_reaches),
        cmocka_unit_test(test_paths_and_accounts),
        cmocka_unit_test(test_beside),
        cmocka_unit_test(test_where_to_connect),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_same_listener),
        cmocka_unit_test(test_show_is_harmless),
        cmocka_unit_test(test_show_cuts_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
