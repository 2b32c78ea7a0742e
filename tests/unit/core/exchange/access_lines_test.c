/* tests/unit/core/exchange/access_lines_test.c - when lines are handed on, and which there are
 *
 * The clock is this file's own. */
#include "core/exchange/access_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "core/io/loop.h"

static uint64_t now_ms;
static struct wheel wheel;
static struct worker worker;
static struct access_lines *lines;
static struct arena arena;
static const struct access_format *format;
static struct access_batch *batches[64];
static int handed, taken;

uint64_t loop_now_ms(struct loop *loop)
{
    return now_ms;
}

static void hand(void *user, struct access_batch *batch)
{
    assert_ptr_equal(user, &handed);
    assert_ptr_equal(batch->worker, &worker);
    assert_true(handed < 64);
    batches[handed++] = batch;
}

static int set_up(void **state)
{
    static uint64_t first_block[64];
    struct access_mistake mistake;
    now_ms = 1000000;
    wheel_init(&wheel, now_ms);
    worker = (struct worker){.wheel = &wheel};
    lines = access_lines_new(&worker, hand, &handed);
    arena_init(&arena, first_block, sizeof first_block);
    format = access_format_compile(WEIR_STRING("{user}"), &arena, &mistake);
    handed = taken = 0;
    return 0;
}

static int tear_down(void **state)
{
    for (; taken < handed; taken++)
        memory_free(batches[taken]);
    access_lines_free(lines);
    arena_deinit(&arena);
    arena_pool_deinit();
    return 0;
}

static void add(const char *user)
{
    static const weir_head nothing = {.size = sizeof nothing};
    struct access_record record = {.request = &nothing, .user = string_of(user)};
    access_lines_add(lines, format, &record);
}

static void pass(uint64_t ms)
{
    for (uint64_t until = now_ms + ms; now_ms < until;)
        wheel_advance(&wheel, ++now_ms);
}

static void batch_is(const char *expected, uint32_t count)
{
    assert_int_equal(handed, taken + 1);
    struct access_batch *batch = batches[taken++];
    assert_int_equal(batch->length, strlen(expected));
    assert_memory_equal(batch->bytes, expected, batch->length);
    assert_int_equal(batch->lines, count);
    memory_free(batch);
}

static void handed_on_after_a_second(void **state)
{
    add("a");
    pass(500);
    add("b");
    pass(499);
    assert_int_equal(handed, 0);
    pass(1 + WHEEL_TICK_MS);
    batch_is("a\nb\n", 2);
    pass(5000);
    assert_int_equal(handed, taken); /* nothing is no batch */
    add("c");
    pass(999);
    assert_int_equal(handed, taken);
    pass(1 + WHEEL_TICK_MS);
    batch_is("c\n", 1);
}

static void handed_on_when_it_is_large(void **state)
{
    char user[1024] = "";
    memset(user, 'x', sizeof user - 1);
    for (int i = 0; i < 31; i++)
        add(user);
    assert_int_equal(handed, 0);
    add(user);
    assert_int_equal(handed, 1);
    assert_int_equal(batches[0]->length, ACCESS_BATCH_BYTES);
    assert_int_equal(batches[0]->lines, 32);
    pass(500); /* the second is counted from the first line of a batch */
    add("a");
    pass(700);
    assert_int_equal(handed, 1);
    pass(300 + WHEEL_TICK_MS);
    memory_free(batches[taken++]);
    batch_is("a\n", 1);
}

/* The longest lines, when the batch is almost full. */
static void there_is_room_for_any_line(void **state)
{
    static char user[40000];
    memset(user, '"', sizeof user - 1);
    user[ACCESS_BATCH_BYTES / 4 - 10] = 0;
    for (int i = 0; i < 50; i++) {
        user[ACCESS_BATCH_BYTES / 4 - 10] = i % 2 ? '"' : 0;
        add(user);
    }
    uint32_t count = 0;
    access_lines_flush(lines);
    for (int i = 0; i < handed; i++)
        count += batches[i]->lines;
    assert_int_equal(count, 50);
}

static void flushed_when_asked(void **state)
{
    access_lines_flush(NULL);
    access_lines_flush(lines);
    assert_int_equal(handed, 0);
    add("a");
    access_lines_flush(lines);
    batch_is("a\n", 1);
}

/* Whoever ends without flushing loses lines, but no memory. */
static void freed_with_lines(void **state)
{
    add("a");
}

static void sampled(void **state)
{
    int ordinary = 0;
    for (int i = 0; i < 1000; i++) {
        assert_true(access_lines_wanted(lines, 7, true));
        ordinary += access_lines_wanted(lines, 7, false);
    }
    assert_int_equal(ordinary, 143); /* the 1st, 8th, .. 995th */
    for (int i = 0; i < 10; i++)
        assert_true(access_lines_wanted(lines, 1, false));
    assert_true(access_lines_wanted(lines, 0, false));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(handed_on_after_a_second),   TEST(handed_on_when_it_is_large),
        TEST(there_is_room_for_any_line), TEST(flushed_when_asked),
        TEST(freed_with_lines),           TEST(sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
