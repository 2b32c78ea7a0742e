/* tests/unit/core/host/dictionary_test.c - values, time, room, and steps of many threads */
#include "core/host/dictionary.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "core/base/string.h"

#define HOST (&dictionary_host)

enum { ROOM = 65536, THREADS = 8, STEPS_EACH = 20000 };

static weir_dictionary *dictionary;

static int set_up(void **state)
{
    static int made;
    char name[16];
    (void)state;
    snprintf(name, sizeof name, "test %d", made++);
    dictionary = HOST->open(string_of(name), ROOM);
    return 0;
}

static weir_result set(const char *key, const char *value)
{
    return HOST->set(dictionary, string_of(key), string_of(value), 0, 0);
}

static void expect(const char *key, const char *value)
{
    char bytes[64];
    size_t length;
    assert_int_equal(HOST->get(dictionary, string_of(key), bytes, sizeof bytes, &length), WEIR_OK);
    assert_int_equal(length, strlen(value));
    assert_memory_equal(bytes, value, length);
}

static weir_result look(const char *key)
{
    return HOST->get(dictionary, string_of(key), NULL, 0, NULL);
}

static void pause_ms(long milliseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000}, NULL);
}

/* --- values */

static void keeps_what_was_set(void **state)
{
    char start[3] = {0, 0, 'x'};
    size_t length;
    (void)state;
    assert_int_equal(look("a"), WEIR_NOT_FOUND);
    assert_int_equal(set("a", "1"), WEIR_OK);
    assert_int_equal(set("", "empty"), WEIR_OK);
    assert_int_equal(set("b", ""), WEIR_OK);
    expect("a", "1");
    expect("", "empty");
    expect("b", "");
    assert_int_equal(set("a", "longer than before"), WEIR_OK);
    expect("a", "longer than before");
    assert_int_equal(HOST->get(dictionary, WEIR_STRING("a"), start, 2, &length), WEIR_OK);
    assert_int_equal(length, 18);
    assert_memory_equal(start, "lox", 3);
    assert_int_equal(HOST->remove(dictionary, WEIR_STRING("a")), WEIR_OK);
    assert_int_equal(HOST->remove(dictionary, WEIR_STRING("a")), WEIR_NOT_FOUND);
    assert_int_equal(look("a"), WEIR_NOT_FOUND);
}

static void sets_what_is_absent(void **state)
{
    weir_string key = WEIR_STRING("k");
    (void)state;
    assert_int_equal(HOST->set(dictionary, key, WEIR_STRING("1"), 20, 1), WEIR_OK);
    assert_int_equal(HOST->set(dictionary, key, WEIR_STRING("2"), 20, 1), WEIR_ALREADY);
    expect("k", "1");
    pause_ms(30);
    assert_int_equal(HOST->set(dictionary, key, WEIR_STRING("3"), 0, 1), WEIR_OK);
    pause_ms(30);
    expect("k", "3");
}

static void one_name_is_one_dictionary(void **state)
{
    (void)state;
    weir_dictionary *a = HOST->open(WEIR_STRING("a name"), ROOM);
    assert_ptr_equal(a, HOST->open(WEIR_STRING("a name"), ROOM * 16));
    assert_ptr_not_equal(a, HOST->open(WEIR_STRING("another"), ROOM));
}

/* --- room */

static void what_was_not_used_for_longest_makes_room(void **state)
{
    char key[32];
    (void)state;
    size_t before = memory_used();
    set("kept", "by being used");
    set("lost", "by not being used");
    for (int i = 0; i < 10000; i++) {
        snprintf(key, sizeof key, "key %d", i);
        assert_int_equal(set(key, "some value or other"), WEIR_OK);
        expect("kept", "by being used");
        assert_true(memory_used() - before <= ROOM);
    }
    assert_int_equal(look("lost"), WEIR_NOT_FOUND);
    assert_int_equal(look("key 0"), WEIR_NOT_FOUND);
    expect("key 9999", "some value or other");
    expect("key 9900", "some value or other");
}

static void what_is_too_large_changes_nothing(void **state)
{
    static char large[ROOM];
    weir_string value = {large, sizeof large};
    (void)state;
    set("a", "1");
    assert_int_equal(HOST->set(dictionary, WEIR_STRING("a"), value, 0, 0), WEIR_TOO_MUCH);
    assert_int_equal(HOST->set(dictionary, value, WEIR_STRING(""), 0, 0), WEIR_TOO_MUCH);
    expect("a", "1");
    value.length -= 200;
    assert_int_equal(HOST->set(dictionary, WEIR_STRING("b"), value, 0, 0), WEIR_OK);
    weir_dictionary *none = HOST->open(WEIR_STRING("without room"), 0);
    assert_int_equal(HOST->set(none, WEIR_STRING("a"), WEIR_STRING(""), 0, 0), WEIR_TOO_MUCH);
}

static void less_room_takes_effect_at_once(void **state)
{
    char key[32];
    weir_dictionary *large = HOST->open(WEIR_STRING("shrinks"), ROOM * 32);
    (void)state;
    size_t before = memory_used();
    for (int i = 0; i < 10000; i++) {
        snprintf(key, sizeof key, "key %d", i);
        HOST->set(large, string_of(key), WEIR_STRING("value"), 0, 0);
    }
    assert_true(memory_used() - before > ROOM);
    HOST->open(WEIR_STRING("shrinks"), ROOM);
    assert_true(memory_used() - before < ROOM * 4); /* the tables stay */
}

/* --- counters */

static void counters_count_from_their_first_value(void **state)
{
    weir_string key = WEIR_STRING("c");
    int64_t value;
    (void)state;
    assert_int_equal(HOST->increment(dictionary, key, 5, 100, 0, &value), WEIR_OK);
    assert_int_equal(value, 105);
    assert_int_equal(HOST->increment(dictionary, key, -200, 100, 0, &value), WEIR_OK);
    assert_int_equal(value, -95);
    expect("c", "-95");
    assert_int_equal(HOST->increment(dictionary, key, INT64_MIN, 0, 0, &value), WEIR_TOO_MUCH);
    expect("c", "-95");
    set("text", "7");
    assert_int_equal(HOST->increment(dictionary, WEIR_STRING("text"), 1, 0, 0, &value),
                     WEIR_INVALID);
    expect("text", "7");
}

static void counters_live_from_their_beginning(void **state)
{
    weir_string key = WEIR_STRING("c");
    int64_t value;
    (void)state;
    HOST->increment(dictionary, key, 1, 0, 60, &value);
    pause_ms(40);
    HOST->increment(dictionary, key, 1, 0, 60, &value);
    assert_int_equal(value, 2);
    pause_ms(40);
    HOST->increment(dictionary, key, 1, 0, 60, &value);
    assert_int_equal(value, 1);
}

/* --- rates */

static bool taken(const char *key, double per_second, double burst, double cost)
{
    uint32_t wait_ms = 4711;
    assert_int_equal(HOST->rate(dictionary, string_of(key), per_second, burst, cost, &wait_ms),
                     WEIR_OK);
    return !wait_ms;
}

static void a_bucket_gives_its_burst_and_then_its_rate(void **state)
{
    uint32_t wait_ms;
    (void)state;
    for (int i = 0; i < 5; i++)
        assert_true(taken("r", 20, 5, 1));
    assert_false(taken("r", 20, 5, 1));
    HOST->rate(dictionary, WEIR_STRING("r"), 20, 5, 1, &wait_ms);
    assert_in_range(wait_ms, 1, 50);
    pause_ms((long)wait_ms);
    assert_true(taken("r", 20, 5, 1));
    assert_false(taken("r", 20, 5, 5));
    assert_true(taken("r", 20, 5, 0)); /* nothing always fits */
    assert_int_equal(look("r"), WEIR_INVALID);
}

static void what_never_fits_is_refused(void **state)
{
    uint32_t wait_ms;
    weir_string key = WEIR_STRING("r");
    double none = 0, nan = none / none;
    (void)state;
    assert_int_equal(HOST->rate(dictionary, key, 1, 5, 6, &wait_ms), WEIR_INVALID);
    assert_int_equal(HOST->rate(dictionary, key, 0, 5, 1, &wait_ms), WEIR_INVALID);
    assert_int_equal(HOST->rate(dictionary, key, nan, 5, 1, &wait_ms), WEIR_INVALID);
    assert_int_equal(HOST->rate(dictionary, key, 1, nan, 1, &wait_ms), WEIR_INVALID);
    assert_int_equal(HOST->rate(dictionary, key, 1, 5, nan, &wait_ms), WEIR_INVALID);
    assert_int_equal(HOST->rate(dictionary, key, 1, 5, -1, &wait_ms), WEIR_INVALID);
}

/* --- threads */

static atomic_int admitted;

static void *step(void *user)
{
    char key[16];
    int64_t value;
    (void)user;
    for (int i = 0; i < STEPS_EACH; i++) {
        HOST->increment(dictionary, WEIR_STRING("all"), 1, 0, 0, &value);
        snprintf(key, sizeof key, "key %d", i % 50);
        HOST->set(dictionary, string_of(key), string_of(key), 0, 0);
        if (taken("rate", 1e-6, 10000, 1))
            atomic_fetch_add(&admitted, 1);
    }
    return NULL;
}

static void steps_of_threads_are_exact(void **state)
{
    pthread_t threads[THREADS];
    int64_t value;
    (void)state;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, step, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(HOST->increment(dictionary, WEIR_STRING("all"), 0, 0, 0, &value), WEIR_OK);
    assert_int_equal(value, THREADS * STEPS_EACH);
    assert_int_equal(admitted, 10000);
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keeps_what_was_set),
        TEST(sets_what_is_absent),
        TEST(one_name_is_one_dictionary),
        TEST(what_was_not_used_for_longest_makes_room),
        TEST(what_is_too_large_changes_nothing),
        TEST(less_room_takes_effect_at_once),
        TEST(counters_count_from_their_first_value),
        TEST(counters_live_from_their_beginning),
        TEST(a_bucket_gives_its_burst_and_then_its_rate),
        TEST(what_never_fits_is_refused),
        TEST(steps_of_threads_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
