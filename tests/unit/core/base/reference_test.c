/* tests/unit/core/base/reference_test.c - references name what lives, and nothing else
 *
 * A model remembers every reference ever made and whether its object lives. */
#include "core/base/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "tests/sim/dice.h"

enum { KIND = 3, WORKER = 5 };

static struct references references;
static char objects[20000];

static int set_up(void **state)
{
    (void)state;
    references_init(&references, WORKER, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    references_deinit(&references);
    return 0;
}

static weir_reference make(void *object)
{
    return reference_make(&references, object, KIND);
}

static void *resolve(weir_reference reference)
{
    return reference_resolve(&references, reference, KIND);
}

static void names_its_object_until_the_end(void **state)
{
    (void)state;
    weir_reference a = make(&objects[0]), b = make(&objects[1]);
    assert_int_not_equal(a.value, b.value);
    assert_ptr_equal(resolve(a), &objects[0]);
    assert_ptr_equal(resolve(b), &objects[1]);
    reference_end(&references, a);
    assert_null(resolve(a));
    assert_ptr_equal(resolve(b), &objects[1]);
    assert_int_equal(references.live, 1);
    reference_end(&references, a); /* again */
    assert_int_equal(references.live, 1);
}

static void the_next_in_its_slot_is_another(void **state)
{
    (void)state;
    weir_reference old = make(&objects[0]);
    for (int i = 0; i < 1000; i++) {
        reference_end(&references, old);
        weir_reference next = make(&objects[1]);
        assert_null(resolve(old));
        assert_ptr_equal(resolve(next), &objects[1]);
        old = next;
    }
}

static void tells_kinds_workers_and_tags_apart(void **state)
{
    (void)state;
    weir_reference a = make(&objects[0]), tagged = reference_with_tag(a, 200);
    assert_null(reference_resolve(&references, a, KIND + 1));
    assert_int_equal(reference_worker(a), WORKER);
    assert_int_equal(reference_tag(a), 0);
    assert_int_equal(reference_tag(tagged), 200);
    assert_int_equal(reference_worker(tagged), WORKER);
    assert_ptr_equal(resolve(tagged), &objects[0]);
    struct references other;
    references_init(&other, WORKER + 1, 0);
    weir_reference there = reference_make(&other, &objects[1], KIND);
    assert_null(resolve(there));
    assert_null(reference_resolve(&other, a, KIND));
    references_deinit(&other);
}

static void wild_values_name_nothing(void **state)
{
    struct dice dice = {77};
    (void)state;
    assert_null(resolve((weir_reference){0}));
    assert_null(resolve((weir_reference){UINT64_MAX}));
    weir_reference a = make(&objects[0]);
    reference_end(&references, (weir_reference){UINT64_MAX});
    for (int i = 0; i < 1000000; i++) {
        weir_reference wild = {dice_roll(&dice)};
        void *object = resolve(wild);
        assert_true(object == NULL || reference_with_tag(wild, 0).value == a.value);
    }
    for (uint64_t bit = 0; bit < 56; bit++)
        assert_null(resolve((weir_reference){a.value ^ 1ull << bit}));
}

static void a_slot_is_retired_when_its_generations_are_used_up(void **state)
{
    uint64_t seen[3000];
    (void)state;
    references_deinit(&references);
    references_init(&references, WORKER, 2);
    for (int i = 0; i < 3000; i++) {
        weir_reference a = make(&objects[i]);
        assert_ptr_equal(resolve(a), &objects[i]);
        reference_end(&references, a);
        seen[i] = a.value;
        for (int j = 0; j < i; j++)
            assert_int_not_equal(seen[j], a.value);
    }
}

static void memory_is_that_of_what_lives(void **state)
{
    static weir_reference made[20000];
    (void)state;
    make(&objects[0]);
    size_t before = memory_used();
    for (int i = 0; i < 20000; i++)
        made[i] = make(&objects[i]);
    size_t most = memory_used() - before;
    assert_true(most < 20000 * 32);
    for (int i = 0; i < 20000; i++)
        reference_end(&references, made[i]);
    assert_true(memory_used() - before < most / 16);
    for (int i = 0; i < 20000; i++) { /* the chunks of the second time are others */
        weir_reference again = make(&objects[i]);
        assert_null(resolve(made[i]));
        assert_ptr_equal(resolve(again), &objects[i]);
    }
}

static void random_lives_and_ends(void **state)
{
    enum { MADE = 60000, ALIVE = 1500 };
    static weir_reference made[MADE], alive[ALIVE];
    static int object_of[ALIVE];
    struct dice dice = {4711};
    uint32_t count = 0;
    (void)state;
    references_deinit(&references);
    references_init(&references, WORKER, 40);
    for (uint32_t i = 0; i < MADE; i++) {
        uint32_t most = (uint32_t)dice_below(&dice, ALIVE);
        while (count > most) {
            uint32_t which = (uint32_t)dice_below(&dice, count--);
            assert_ptr_equal(resolve(alive[which]), &objects[object_of[which]]);
            reference_end(&references, alive[which]);
            assert_null(resolve(alive[which]));
            alive[which] = alive[count];
            object_of[which] = object_of[count];
        }
        object_of[count] = (int)(i % sizeof objects);
        alive[count] = made[i] = make(&objects[object_of[count]]);
        count++;
        assert_int_equal(references.live, count);
        weir_reference any = made[dice_below(&dice, i + 1)];
        bool lives = false;
        for (uint32_t j = 0; j < count; j++)
            lives |= alive[j].value == any.value;
        assert_int_equal(resolve(any) != NULL, lives);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_its_object_until_the_end),
        TEST(the_next_in_its_slot_is_another),
        TEST(tells_kinds_workers_and_tags_apart),
        TEST(wild_values_name_nothing),
        TEST(a_slot_is_retired_when_its_generations_are_used_up),
        TEST(memory_is_that_of_what_lives),
        TEST(random_lives_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
