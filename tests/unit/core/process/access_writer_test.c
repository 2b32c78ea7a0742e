/* tests/unit/core/process/access_writer_test.c - order, limits, full disks, files that move
 *
 * The loop is this file's own: what is posted waits until run(). Files are real. */
#include "core/process/access_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/string.h"

enum { POSTS_MOST = 8192 };

static uint64_t now_ms;
static struct wheel wheel;
static struct worker worker;
static struct access_writer *writer;
static char directory[64], path[96], moved[96], said[4096];
static int standard_error, heard;
static struct {
    void (*call)(void *user);
    void *user;
} posts[POSTS_MOST];
static int posted;

/* --- the loop */

uint64_t loop_now_ms(struct loop *loop)
{
    return now_ms;
}

uint64_t loop_now_us(struct loop *loop)
{
    now_ms += 100; /* the end waits, and looks every 50 ms */
    return now_ms * 1000;
}

struct wheel *loop_wheel(struct loop *loop)
{
    return &wheel;
}

void loop_post(struct loop *loop, void (*call)(void *user), void *user)
{
    assert_true(posted < POSTS_MOST);
    posts[posted].call = call;
    posts[posted++].user = user;
}

static void run(void)
{
    for (int i = 0; i < posted; i++)
        posts[i].call(posts[i].user);
    posted = 0;
}

static void pass(uint64_t ms)
{
    for (uint64_t until = now_ms + ms; now_ms < until;)
        wheel_advance(&wheel, ++now_ms);
}

/* --- what goes in and comes out */

static void take(const char *text)
{
    struct access_batch *batch = memory_allocate(sizeof *batch + strlen(text));
    *batch = (struct access_batch){.worker = &worker, .length = (uint32_t)strlen(text)};
    memcpy(batch->bytes, text, batch->length);
    for (const char *at = text; *at; at++)
        batch->lines += *at == '\n';
    access_writer_take(writer, batch);
}

static void give(const char *text)
{
    take(text);
    run();
}

static bool open_log(const char *file)
{
    struct access_log_config log = {.on = true, .file = (char *)file};
    return access_writer_open(writer, &log);
}

static char *read_file(const char *name)
{
    static char content[1 << 17];
    int file = open(name, O_RDONLY);
    ssize_t length = file < 0 ? 0 : read(file, content, sizeof content - 1);
    content[length > 0 ? length : 0] = 0;
    if (file >= 0)
        close(file);
    return content;
}

/* What was logged since the last time. */
static const char *warnings(void)
{
    ssize_t length = read(heard, said, sizeof said - 1);
    said[length > 0 ? length : 0] = 0;
    return said;
}

static uint64_t dropped(void)
{
    return metric_read(&worker.metrics, METRIC_ACCESS_LINES_DROPPED);
}

static int set_up(void **state)
{
    int ends[2];
    snprintf(directory, sizeof directory, "/tmp/access_writer_XXXXXX");
    if (!mkdtemp(directory) || pipe2(ends, O_NONBLOCK))
        return -1;
    standard_error = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    heard = ends[0];
    snprintf(path, sizeof path, "%s/access.log", directory);
    snprintf(moved, sizeof moved, "%s/moved.log", directory);
    log_set_level(LOG_WARNING);
    now_ms = 1000000;
    wheel_init(&wheel, now_ms);
    memset(&worker, 0, sizeof worker);
    posted = 0;
    writer = access_writer_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    access_writer_free(writer);
    dup2(standard_error, STDERR_FILENO);
    close(standard_error);
    close(heard);
    unlink(path);
    unlink(moved);
    return rmdir(directory);
}

static void end(void)
{
    access_writer_free(writer);
    writer = NULL;
}

/* --- tests */

static void in_order(void **state)
{
    assert_true(open_log(path));
    take("a\nb\n");
    take("c\n");
    assert_string_equal(read_file(path), ""); /* nothing is written by a worker */
    run();
    assert_string_equal(read_file(path), "a\nb\nc\n");
    give("d\n");
    assert_string_equal(read_file(path), "a\nb\nc\nd\n");
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777 & ~0640u, 0);
    assert_string_equal(warnings(), "");
}

static void reopened_by_name(void **state)
{
    assert_true(open_log(path));
    give("a\n");
    assert_int_equal(rename(path, moved), 0);
    give("b\n");
    take("c\n");
    access_writer_reopen(writer, 10);
    run();
    assert_string_equal(read_file(moved), "a\nb\n");
    assert_string_equal(read_file(path), "c\n");
}

static void reopening_fails(void **state)
{
    assert_true(open_log(path));
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    access_writer_reopen(writer, 10);
    assert_non_null(strstr(warnings(), "cannot open the access log"));
    give("a\n");
    assert_string_equal(read_file(moved), "a\n");
    assert_int_equal(rmdir(path), 0);
}

static void nothing_to_reopen(void **state)
{
    access_writer_reopen(writer, 10);
    struct access_log_config off = {.on = false, .file = path};
    assert_true(access_writer_open(writer, &off));
    assert_int_equal(access(path, F_OK), -1);
}

static void another_file(void **state)
{
    assert_true(open_log(path));
    take("a\n");
    assert_false(open_log("/nowhere/at/all"));
    run();
    assert_string_equal(read_file(path), "a\n");
    assert_true(open_log(moved));
    give("b\n");
    assert_string_equal(read_file(path), "a\n");
    assert_string_equal(read_file(moved), "b\n");
    struct access_log_config off = {.on = false};
    assert_true(access_writer_open(writer, &off));
    give("c\n"); /* a line that was on its way */
    assert_string_equal(read_file(moved), "b\nc\n");
}

static void full_disk(void **state)
{
    assert_true(open_log("/dev/full"));
    give("a\n");
    assert_string_equal(warnings(), "weir: warning: access log /dev/full: No space left on device, "
                                    "0 lines dropped\n");
    give("b\n");
    pass(59000); /* tried again every second, and not told again */
    assert_string_equal(warnings(), "");
    pass(3000);
    assert_non_null(strstr(warnings(), "No space left on device, 0 lines dropped"));
    assert_true(open_log(path)); /* there is room */
    give("c\n");
    assert_string_equal(read_file(path), "a\nb\nc\n");
    assert_int_equal(dropped(), 0);
    pass(100000);
    assert_string_equal(warnings(), "");
}

/* Without another line the next try comes by itself. */
static void tried_again(void **state)
{
    char link[96];
    snprintf(link, sizeof link, "%s/link", directory);
    int ends[2];
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    snprintf(link, sizeof link, "/proc/self/fd/%d", ends[1]);
    assert_true(open_log(link));
    static char large[70001];
    memset(large, 'x', 70000);
    large[69999] = '\n';
    give(large);
    give("last\n");
    static char got[80000];
    size_t length = 0;
    for (int i = 0; i < 4 && length < 70005; i++) {
        ssize_t more = read(ends[0], got + length, sizeof got - length);
        length += more > 0 ? (size_t)more : 0;
        pass(50 + WHEEL_TICK_MS);
    }
    assert_int_equal(length, 70005);
    assert_memory_equal(got, large, 70000);
    assert_memory_equal(got + 70000, "last\n", 5);
    assert_string_equal(warnings(), "");
    close(ends[0]);
    close(ends[1]);
}

/* What the new file gets begins with a whole line, unless it is the same file. */
static void opened_again_within_a_line(void **state)
{
    char name[64];
    int ends[2];
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[1]);
    static char large[80001], got[80001];
    memset(large, 'x', 80000);
    for (int i = 9999; i < 80000; i += 10000)
        large[i] = '\n';
    assert_true(open_log(name));
    give(large);
    assert_true(open_log(name));
    assert_true(open_log(path));
    ssize_t length = read(ends[0], got, sizeof got);
    assert_int_equal(length, 65536);
    assert_memory_equal(got, large, 65536);
    give("end\n");
    char *rest = read_file(path);
    assert_int_equal(strlen(rest), 20004);
    assert_memory_equal(rest, large + 60000, 20000);
    close(ends[0]);
    close(ends[1]);
}

/* A pipe that blocks, as standard output may be: only what fits is written. */
static void standard_output_that_nobody_reads(void **state)
{
    int ends[2], before = dup(STDOUT_FILENO);
    static char large[100001], got[100001];
    memset(large, 'x', 100000);
    large[99999] = '\n';
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    dup2(ends[1], STDOUT_FILENO);
    assert_true(open_log(NULL));
    dup2(before, STDOUT_FILENO);
    close(before);
    close(ends[1]);
    alarm(20);
    give(large);
    size_t length = (size_t)read(ends[0], got, sizeof got);
    assert_true(length > 60000 && length < 100000);
    pass(50 + WHEEL_TICK_MS);
    length += (size_t)read(ends[0], got + length, sizeof got - length);
    assert_int_equal(length, 100000);
    assert_memory_equal(got, large, 100000);
    alarm(0);
    close(ends[0]);
}

static void bounded_backlog(void **state)
{
    static char large[32769];
    memset(large, 'x', 32768);
    for (int i = 1023; i < 32768; i += 1024)
        large[i] = '\n';
    assert_true(open_log("/dev/full"));
    for (int i = 0; i < 300; i++)
        give(large);
    uint64_t fit = ACCESS_BACKLOG_BYTES / (32768 + sizeof(struct access_batch));
    assert_int_equal(dropped(), (300 - fit) * 32);
    pass(61000);
    char expected[64];
    snprintf(expected, sizeof expected, "No space left on device, %llu lines dropped",
             (unsigned long long)dropped());
    assert_non_null(strstr(warnings(), expected));
    assert_true(open_log(path));
    give("room\n"); /* and the backlog is empty */
    assert_int_equal(dropped(), (300 - fit) * 32);
    for (int i = 0; i < 300; i++)
        give(large);
    assert_int_equal(dropped(), (300 - fit) * 32);
}

/* Many small batches weigh more than their bytes. */
static void small_batches_have_a_weight(void **state)
{
    for (int i = 0; i < POSTS_MOST - 1; i++)
        take("x\n");
    assert_int_equal(dropped(), 0);
    assert_true(open_log(path));
    run();
    assert_int_equal(strlen(read_file(path)), 2 * (POSTS_MOST - 1));
}

static void the_end_writes_what_waits(void **state)
{
    char name[64];
    int ends[2];
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[1]);
    static char large[65537], got[70000];
    memset(large, 'x', 65536);
    large[65535] = '\n';
    assert_true(open_log(name));
    give(large);
    give("waits\n");
    assert_int_equal(read(ends[0], got, sizeof got), 65536);
    end();
    assert_int_equal(read(ends[0], got, sizeof got), 6);
    assert_int_equal(dropped(), 0);
    close(ends[0]);
    close(ends[1]);
}

static void the_end_does_not_wait_for_ever(void **state)
{
    char name[64];
    int ends[2];
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[1]);
    static char large[65537];
    memset(large, 'x', 65536);
    large[65535] = '\n';
    assert_true(open_log(name));
    give(large);
    give("a\nb\n");
    give("c\n");
    end();
    assert_int_equal(dropped(), 3);
    assert_non_null(strstr(warnings(), "too slow, 3 lines dropped"));
    close(ends[0]);
    close(ends[1]);
}

static void the_end_of_a_full_disk(void **state)
{
    assert_true(open_log("/dev/full"));
    give("a\nb\n");
    warnings();
    uint64_t before_ms = now_ms;
    end();
    assert_true(now_ms - before_ms < 500); /* at once */
    assert_int_equal(dropped(), 2);
    assert_non_null(strstr(warnings(), "No space left on device, 2 lines dropped"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(in_order),
        TEST(reopened_by_name),
        TEST(reopening_fails),
        TEST(nothing_to_reopen),
        TEST(another_file),
        TEST(full_disk),
        TEST(tried_again),
        TEST(opened_again_within_a_line),
        TEST(standard_output_that_nobody_reads),
        TEST(bounded_backlog),
        TEST(small_batches_have_a_weight),
        TEST(the_end_writes_what_waits),
        TEST(the_end_does_not_wait_for_ever),
        TEST(the_end_of_a_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
