/* tests/unit/core/base/log_test.c - one line, one write, and nothing in it that could forge another
 *
 * Standard error is one end of a pair of datagram sockets: each write is a message of its own. */
#include "core/base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

static int standard_error, listening;

/* The next write, or "" when there is none. */
static const char *written(void)
{
    static char line[8192];
    ssize_t length = recv(listening, line, sizeof line - 1, MSG_DONTWAIT);
    line[length > 0 ? length : 0] = 0;
    return line;
}

static void nothing_written(void)
{
    assert_string_equal(written(), "");
}

static int set_up(void **state)
{
    int ends[2];
    standard_error = dup(STDERR_FILENO);
    if (standard_error < 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) ||
        dup2(ends[0], STDERR_FILENO) < 0)
        return -1;
    close(ends[0]);
    listening = ends[1];
    log_set_level(LOG_INFO);
    return 0;
}

static int tear_down(void **state)
{
    dup2(standard_error, STDERR_FILENO);
    close(standard_error);
    close(listening);
    return 0;
}

static void a_line_is_one_write(void **state)
{
    log_write(LOG_WARNING, "%s %d", "number", 5);
    assert_string_equal(written(), "weir: warning: number 5\n");
    log_write(LOG_ERROR, "%s", "");
    assert_string_equal(written(), "weir: error: \n");
    nothing_written();
}

static void levels(void **state)
{
    static const enum log_level order[] = {LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR};
    static const char *const lines[] = {"weir: debug: x\n", "weir: info: x\n", "weir: warning: x\n",
                                        "weir: error: x\n"};
    for (int least = 0; least < 4; least++) {
        log_set_level(order[least]);
        for (int level = 0; level < 4; level++) {
            assert_int_equal(log_wanted(order[level]), level >= least);
            log_write(order[level], "x");
            assert_string_equal(written(), level >= least ? lines[level] : "");
        }
        log_write(LOG_ALWAYS, "x");
        assert_string_equal(written(), "weir: info: x\n");
    }
}

static void control_characters_become_harmless(void **state)
{
    char text[256], expected[256 + 32] = "weir: info: ";
    size_t length = strlen(expected);
    for (int c = 1; c < 256; c++) {
        text[c - 1] = (char)c;
        expected[length++] = c < 32 || c == 127 ? '?' : (char)c;
    }
    text[255] = 0;
    strcpy(expected + length, "\n");
    log_write(LOG_INFO, "%s", text);
    assert_string_equal(written(), expected);
    log_write(LOG_INFO, "a\nweir: error: forged\r\n");
    assert_string_equal(written(), "weir: info: a?weir: error: forged??\n");
    log_write(LOG_INFO, "a%cb", 0); /* a NUL, too */
    assert_string_equal(written(), "weir: info: a?b\n");
    nothing_written();
}

/* A line has room for 2047 bytes; what is too long is cut and still ends. */
static void long_lines_are_cut(void **state)
{
    static char text[5000], expected[2100];
    static const size_t lengths[] = {2034, 2035, 2036, 4999};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t kept = lengths[i] < 2035 ? lengths[i] : 2035;
        memset(text, 'x', lengths[i]);
        text[lengths[i]] = 0;
        strcpy(expected, "weir: info: ");
        memset(expected + 12, 'x', kept);
        strcpy(expected + 12 + kept, "\n");
        log_write(LOG_INFO, "%s", text);
        assert_string_equal(written(), expected);
        nothing_written();
    }
}

static void trace_names_the_place(void **state)
{
    log_set_level(LOG_ERROR);
    TRACE();
    nothing_written();
    trace_on = 1;
    TRACE();
    trace_on = 0;
    assert_string_equal(written(), "trace tests/unit/core/base/log_test.c:trace_names_the_place\n");
    nothing_written();
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_line_is_one_write),
        TEST(levels),
        TEST(control_characters_become_harmless),
        TEST(long_lines_are_cut),
        TEST(trace_names_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
