/* tests/unit/core/io/wheel_test.c - deadlines: never early, at most a tick late
 *
 * The wheel is advanced by hand. A timer of these tests knows when it may come: not before its
 * deadline, and not after the first advance to the tick behind its deadline. */
#include "core/io/wheel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/sim/dice.h"

enum { HORIZON_MS = WHEEL_TICK_MS * WHEEL_SLOTS };

static struct wheel wheel;
static uint64_t now_ms;

struct timer {
    struct wheel_entry entry;
    uint64_t deadline_ms; /* WHEEL_NEVER: must not come */
    uint64_t latest_ms;   /* an advance to here must bring it */
    int count;            /* how often it came */
    uint64_t again_ms;    /* set again from within expired(), in so long; 0: not */
    struct timer *clears; /* cleared from within expired() */
};

static void set(struct timer *timer, uint64_t deadline_ms)
{
    wheel_set(&wheel, &timer->entry, deadline_ms);
    timer->deadline_ms = deadline_ms;
    timer->latest_ms = WHEEL_NEVER;
    if (deadline_ms != WHEEL_NEVER)
        timer->latest_ms = (deadline_ms > now_ms ? deadline_ms : now_ms) + WHEEL_TICK_MS;
}

static void clear(struct timer *timer)
{
    wheel_clear(&timer->entry);
    timer->deadline_ms = timer->latest_ms = WHEEL_NEVER;
}

static void expired(struct wheel_entry *entry)
{
    struct timer *timer = CONTAINER(entry, struct timer, entry);
    assert_true(timer->deadline_ms != WHEEL_NEVER);
    assert_true(now_ms >= timer->deadline_ms);
    timer->count++;
    timer->deadline_ms = timer->latest_ms = WHEEL_NEVER;
    if (timer->again_ms)
        set(timer, now_ms + timer->again_ms);
    if (timer->clears)
        clear(timer->clears);
}

static void init(struct timer *timer)
{
    *timer = (struct timer){.deadline_ms = WHEEL_NEVER, .latest_ms = WHEEL_NEVER};
    wheel_entry_init(&timer->entry, expired);
}

static void advance_to(uint64_t ms)
{
    now_ms = ms;
    wheel_advance(&wheel, ms);
}

static void start_at(uint64_t ms)
{
    now_ms = ms;
    wheel_init(&wheel, ms);
}

static int set_up(void **state)
{
    start_at(1000000007);
    return 0;
}

/* Goes on by one millisecond at a time; returns how late the timer came. */
static uint64_t lateness(struct timer *timer)
{
    uint64_t deadline_ms = timer->deadline_ms;
    int before = timer->count;
    while (timer->count == before) {
        assert_true(now_ms <= timer->latest_ms);
        advance_to(now_ms + 1);
    }
    return now_ms - deadline_ms;
}

static void never_early_and_at_most_a_tick_late(void **state)
{
    for (uint64_t start = 0; start < 70; start++)
        for (uint64_t delay = 1; delay < 140; delay++) {
            struct timer timer;
            start_at(start);
            init(&timer);
            set(&timer, start + delay);
            assert_true(lateness(&timer) <= WHEEL_TICK_MS);
            advance_to(now_ms + 2 * HORIZON_MS);
            assert_int_equal(timer.count, 1); /* once */
        }
}

static void what_is_past_comes_with_the_next_tick(void **state)
{
    struct timer past, now;
    init(&past);
    init(&now);
    set(&past, 5);
    set(&now, now_ms);
    advance_to(now_ms + WHEEL_TICK_MS);
    assert_int_equal(past.count, 1);
    assert_int_equal(now.count, 1);
}

static void later_only_stores(void **state)
{
    struct timer timer;
    init(&timer);
    set(&timer, now_ms + 100);
    uint64_t slot_ms = timer.entry.slot_ms;
    for (int i = 0; i < 50; i++) { /* a deadline that activity keeps moving */
        advance_to(now_ms + 90);
        set(&timer, now_ms + 100);
        assert_int_equal(timer.count, 0);
    }
    set(&timer, now_ms + 5000);
    assert_true(lateness(&timer) <= WHEEL_TICK_MS);
    start_at(0);
    init(&timer);
    set(&timer, 100);
    slot_ms = timer.entry.slot_ms;
    set(&timer, 20000);
    assert_int_equal(timer.entry.slot_ms, slot_ms);
    assert_true(lateness(&timer) <= WHEEL_TICK_MS);
}

static void earlier_counts_at_once(void **state)
{
    struct timer timer;
    init(&timer);
    set(&timer, now_ms + 20000);
    set(&timer, now_ms + 300);
    assert_true(lateness(&timer) <= WHEEL_TICK_MS);
    advance_to(now_ms + HORIZON_MS);
    assert_int_equal(timer.count, 1);
}

static void beyond_the_horizon(void **state)
{
    static const uint64_t delays[] = {
        HORIZON_MS - WHEEL_TICK_MS, HORIZON_MS - 1, HORIZON_MS, HORIZON_MS + 1, 300000, 3600000};
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
        struct timer timer;
        init(&timer);
        set(&timer, now_ms + delays[i]);
        assert_true(lateness(&timer) <= WHEEL_TICK_MS);
    }
}

static void one_step_over_everything(void **state)
{
    struct timer timers[100];
    for (int i = 0; i < 100; i++) {
        init(&timers[i]);
        set(&timers[i], now_ms + (uint64_t)i * 1000);
    }
    advance_to(now_ms + 50000 + WHEEL_TICK_MS); /* beyond the horizon in one go */
    for (int i = 0; i < 100; i++)
        assert_int_equal(timers[i].count, i <= 50);
    advance_to(now_ms + 1000000);
    for (int i = 0; i < 100; i++)
        assert_int_equal(timers[i].count, 1);
}

/* Nobody looks at the wheel while nothing is due; it may be set from a stale clock. */
static void set_after_a_long_idle_time(void **state)
{
    struct timer timer;
    init(&timer);
    now_ms += 12345678;
    set(&timer, now_ms + 200); /* the wheel does not know the time yet */
    advance_to(now_ms);
    assert_int_equal(timer.count, 0);
    assert_true(lateness(&timer) <= WHEEL_TICK_MS);
}

static void cleared_does_not_come(void **state)
{
    struct timer first, second;
    init(&first);
    init(&second);
    set(&first, now_ms + 100);
    set(&second, now_ms + 100);
    clear(&first);
    clear(&first);
    assert_true(link_alone(&first.entry.link)); /* its memory may go */
    advance_to(now_ms + HORIZON_MS);
    assert_int_equal(first.count, 0);
    assert_int_equal(second.count, 1);
    set(&first, now_ms + 100);
    assert_true(lateness(&first) <= WHEEL_TICK_MS);
}

static void switched_off_and_on(void **state)
{
    struct timer timer;
    init(&timer);
    set(&timer, now_ms + 100);
    set(&timer, WHEEL_NEVER);
    advance_to(now_ms + 1000);
    assert_int_equal(timer.count, 0);
    assert_int_equal(timer.entry.slot_ms, WHEEL_NEVER); /* its slot came up */
    set(&timer, WHEEL_NEVER);
    set(&timer, now_ms + 100);
    set(&timer, WHEEL_NEVER);
    set(&timer, now_ms + 200); /* while it was still in its slot */
    assert_true(lateness(&timer) <= WHEEL_TICK_MS);
}

static void set_from_within_expired(void **state)
{
    struct timer timer;
    init(&timer);
    timer.again_ms = 50;
    set(&timer, now_ms + 50);
    for (int i = 0; i < 100; i++)
        assert_true(lateness(&timer) <= WHEEL_TICK_MS);
    timer.again_ms = HORIZON_MS - 1; /* lands in the slot that is being emptied */
    assert_true(lateness(&timer) <= WHEEL_TICK_MS);
    assert_int_equal(timer.count, 101);
    timer.again_ms = 0;
    assert_true(lateness(&timer) <= WHEEL_TICK_MS);
}

static void set_from_within_a_long_step_comes_once(void **state)
{
    struct timer timer;
    init(&timer);
    timer.again_ms = 1000;
    set(&timer, now_ms + 50);
    advance_to(now_ms + 10 * HORIZON_MS);
    assert_int_equal(timer.count, 1); /* its new deadline is after now */
    assert_true(lateness(&timer) <= WHEEL_TICK_MS);
}

static void cleared_from_within_expired(void **state)
{
    struct timer first, second, self;
    init(&first);
    init(&second);
    init(&self);
    first.clears = &second;
    second.clears = &first;
    self.clears = &self;
    set(&first, now_ms + 100); /* both in one slot: whoever comes first clears the other */
    set(&second, now_ms + 100);
    set(&self, now_ms + 100);
    advance_to(now_ms + 1000);
    assert_int_equal(first.count + second.count, 1);
    assert_int_equal(self.count, 1);
}

static void looks_at_no_slot_before_something_is_due(void **state)
{
    struct timer timer;
    assert_int_equal(wheel.next_ms, WHEEL_NEVER);
    init(&timer);
    set(&timer, now_ms + 10000);
    assert_true(wheel.next_ms >= now_ms + 10000 && wheel.next_ms <= now_ms + 10032);
    advance_to(now_ms + 9000);
    assert_int_equal(wheel.now_tick, now_ms / WHEEL_TICK_MS);
    advance_to(now_ms + 2000);
    assert_int_equal(timer.count, 1);
    assert_int_equal(wheel.next_ms, WHEEL_NEVER);
}

/* --- against a model: every timer knows when it may come, which expired() and this check */

static void nothing_is_overdue(const struct timer *timers, int count)
{
    for (int i = 0; i < count; i++)
        assert_true(timers[i].latest_ms == WHEEL_NEVER || timers[i].latest_ms > now_ms);
}

static uint64_t random_delay(struct dice *dice)
{
    static const uint64_t most[] = {40, 1000, HORIZON_MS, 4000000};
    return dice_below(dice, most[dice_below(dice, 4)]);
}

static void random_operation(struct dice *dice, struct timer *timer)
{
    switch (dice_below(dice, 8)) {
    case 0:
        clear(timer);
        break;
    case 1:
        set(timer, WHEEL_NEVER);
        break;
    case 2:
        set(timer, now_ms - random_delay(dice) % now_ms);
        break;
    case 3:
        timer->again_ms = dice_percent(dice, 50) ? random_delay(dice) : 0;
        break;
    default:
        set(timer, now_ms + random_delay(dice));
    }
}

static void as_a_model_says(void **state)
{
    enum { TIMERS = 60 };
    static struct timer timers[TIMERS];
    int came = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct dice dice = dice_of(seed, 0);
        start_at(1 + dice_below(&dice, 1000000));
        for (int i = 0; i < TIMERS; i++)
            init(&timers[i]);
        for (int round = 0; round < 1500; round++) {
            for (uint64_t left = dice_below(&dice, 4); left; left--) {
                struct timer *timer = &timers[dice_below(&dice, TIMERS)];
                random_operation(&dice, timer);
                timer->clears = dice_percent(&dice, 5) ? &timers[dice_below(&dice, TIMERS)] : NULL;
            }
            advance_to(now_ms +
                       (dice_percent(&dice, 95) ? dice_below(&dice, 100) : random_delay(&dice)));
            nothing_is_overdue(timers, TIMERS);
        }
        for (int i = 0; i < TIMERS; i++)
            came += timers[i].count;
    }
    assert_true(came > 10000); /* the model saw something happen */
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(never_early_and_at_most_a_tick_late),
        TEST(what_is_past_comes_with_the_next_tick),
        TEST(later_only_stores),
        TEST(earlier_counts_at_once),
        TEST(beyond_the_horizon),
        TEST(one_step_over_everything),
        TEST(set_after_a_long_idle_time),
        TEST(cleared_does_not_come),
        TEST(switched_off_and_on),
        TEST(set_from_within_expired),
        TEST(set_from_within_a_long_step_comes_once),
        TEST(cleared_from_within_expired),
        TEST(looks_at_no_slot_before_something_is_due),
        TEST(as_a_model_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
