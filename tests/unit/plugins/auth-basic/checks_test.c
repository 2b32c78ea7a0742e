/* tests/unit/plugins/auth-basic/checks_test.c - who waits for which check, and what is told whom */
#include "plugins/auth-basic/checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"

#define HASH "$2y$04$abcdefghijklmnopqrstuudMegMbPN37MbpdEfAtP66w1z0RBCtLG" /* of p */

/* --- a host whose work is done when the test says so */

static struct work {
    weir_result (*run)(void *data);
    void (*drop)(void *data);
    void *data; /* NULL: it was dropped */
} works[CHECKS_MOST + 1];
static uint32_t work_count, cancelled, told[CHECKS_MOST + 1], told_good;
static weir_result work_answer;

static weir_result fake_work(weir_reference owner, weir_result (*run)(void *data), uint32_t tag,
                             void *data, void (*drop)(void *data), weir_reference *work)
{
    assert_int_equal(owner.value, 77);
    if (work_answer < 0) {
        drop(data);
        return work_answer;
    }
    works[work_count] = (struct work){run, drop, data};
    work->value = work_count++;
    return WEIR_OK;
}

static void drop_work(uint64_t number)
{
    struct work *work = &works[number];
    if (work->data)
        work->drop(work->data);
    work->data = NULL;
}

static weir_result fake_cancel(weir_reference task)
{
    cancelled++;
    drop_work(task.value);
    return WEIR_OK;
}

static weir_result fake_post(weir_reference owner, uint32_t tag, void *data, void (*drop)(void *))
{
    told[owner.value]++;
    told_good += tag;
    return WEIR_OK;
}

static const weir_asynchronous_host host = {
    .size = sizeof host, .post = fake_post, .work = fake_work, .cancel = fake_cancel};

static struct checks checks;
static struct waiter waiters[CHECKS_MOST + 1];

static int set_up(void **state)
{
    checks = (struct checks){.host = &host, .owner = {77}};
    memset(waiters, 0, sizeof waiters);
    memset(told, 0, sizeof told);
    work_count = cancelled = told_good = 0;
    work_answer = WEIR_OK;
    return 0;
}

static int tear_down(void **state)
{
    checks_end(&checks);
    for (uint32_t i = 0; i < work_count; i++)
        drop_work(i);
    return 0;
}

static weir_result wait_for(uint32_t number, const char *name, weir_string secret, bool decoy)
{
    struct question question = {.digest = digest_of(string_of(name), secret),
                                .hash = HASH,
                                .decoy = decoy,
                                .secret = secret};
    waiters[number].exchange.value = number;
    return checks_wait(&checks, &question, &waiters[number]);
}

/* Runs that work as another thread would, and tells what came of it. */
static bool finish(uint32_t number, bool *good)
{
    struct digest digest;
    weir_event event = {.size = sizeof event,
                        .kind = WEIR_EVENT_WORK,
                        .data = works[number].data,
                        .result = works[number].run(works[number].data)};
    bool outcome = checks_done(&checks, &event, &digest, good);
    drop_work(number);
    return outcome;
}

static void comes_out(weir_string secret, bool decoy, bool expected)
{
    bool good;
    uint32_t number = work_count;
    assert_int_equal(wait_for(0, "u", secret, decoy), WEIR_OK);
    assert_ptr_equal(waiters[0].check, checks.first);
    assert_true(finish(number, &good));
    assert_int_equal(good, expected);
    assert_null(waiters[0].check);
    assert_int_equal(checks.count, 0);
}

static void right_and_wrong(void **state)
{
    char longest[600];
    memset(longest, 'p', sizeof longest);
    comes_out(WEIR_STRING("p"), false, true);
    assert_int_equal(told_good, 1);
    comes_out(WEIR_STRING("q"), false, false);
    comes_out(WEIR_STRING(""), false, false);
    comes_out(WEIR_STRING("p\0"), false, false);
    comes_out(WEIR_STRING("p\0q"), false, false);
    comes_out((weir_string){longest, sizeof longest}, false, false);
    comes_out(WEIR_STRING("p"), true, false);
    assert_int_equal(told[0], 7);
    assert_int_equal(told_good, 1);
}

static void the_same_is_checked_once(void **state)
{
    bool good;
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(wait_for(i, "u", WEIR_STRING("p"), false), WEIR_OK);
    assert_int_equal(wait_for(3, "u", WEIR_STRING("q"), false), WEIR_OK);
    assert_int_equal(wait_for(4, "v", WEIR_STRING("p"), false), WEIR_OK);
    assert_int_equal(work_count, 3);
    assert_true(finish(0, &good));
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(told[i], i < 3);
    assert_int_equal(told_good, 3);
    assert_int_equal(checks.count, 2);
}

static void who_leaves_is_not_told(void **state)
{
    bool good;
    wait_for(0, "u", WEIR_STRING("p"), false);
    wait_for(1, "u", WEIR_STRING("p"), false);
    wait_for(2, "u", WEIR_STRING("p"), false);
    checks_leave(&checks, &waiters[1]);
    checks_leave(&checks, &waiters[1]);
    assert_int_equal(cancelled, 0);
    finish(0, &good);
    assert_int_equal(told[0] + told[2], 2);
    assert_int_equal(told[1], 0);
    checks_leave(&checks, &waiters[0]);
    assert_int_equal(cancelled, 0);
}

static void nobody_waits_any_more(void **state)
{
    wait_for(0, "u", WEIR_STRING("p"), false);
    wait_for(1, "u", WEIR_STRING("p"), false);
    checks_leave(&checks, &waiters[0]);
    checks_leave(&checks, &waiters[1]);
    assert_int_equal(cancelled, 1);
    assert_int_equal(checks.count, 0);
    wait_for(2, "u", WEIR_STRING("p"), false);
    assert_int_equal(work_count, 2);
}

/* It may still run on its thread. */
static void is_cancelled_while_it_runs(void **state)
{
    wait_for(0, "u", WEIR_STRING("p"), false);
    struct work running = works[0];
    works[0].data = NULL; /* the host drops it later */
    checks_leave(&checks, &waiters[0]);
    assert_int_equal(running.run(running.data), WEIR_OK);
    running.drop(running.data);
}

/* What the host gave up is no outcome, and nobody gets in by it. */
static void was_not_done(void **state)
{
    struct digest digest;
    bool good;
    wait_for(0, "u", WEIR_STRING("p"), false);
    weir_event event = {.size = sizeof event,
                        .kind = WEIR_EVENT_WORK,
                        .data = works[0].data,
                        .result = WEIR_CANCELLED};
    assert_false(checks_done(&checks, &event, &digest, &good));
    assert_int_equal(told[0], 1);
    assert_int_equal(told_good, 0);
}

static void too_many(void **state)
{
    char secret[16];
    for (uint32_t i = 0; i < CHECKS_MOST; i++) {
        snprintf(secret, sizeof secret, "%u", i);
        assert_int_equal(wait_for(i, "u", string_of(secret), false), WEIR_OK);
    }
    assert_int_equal(wait_for(CHECKS_MOST, "u", WEIR_STRING("p"), false), WEIR_TOO_MUCH);
    assert_null(waiters[CHECKS_MOST].check);
    assert_int_equal(work_count, CHECKS_MOST);
}

static void the_host_refuses(void **state)
{
    work_answer = WEIR_TOO_MUCH;
    assert_int_equal(wait_for(0, "u", WEIR_STRING("p"), false), WEIR_TOO_MUCH);
    assert_null(waiters[0].check);
    assert_int_equal(checks.count, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(right_and_wrong),
        TEST(the_same_is_checked_once),
        TEST(who_leaves_is_not_told),
        TEST(nobody_waits_any_more),
        TEST(is_cancelled_while_it_runs),
        TEST(was_not_done),
        TEST(too_many),
        TEST(the_host_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
