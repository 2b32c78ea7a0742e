/* tests/unit/codecs/h2/order_test.c - what is known of a client's streams that are gone */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codecs/h2/order.h"

static void numbers_only_grow(void **state)
{
    struct h2_order order = {0};
    assert_true(h2_order_begins(&order, 1));
    assert_true(h2_order_begins(&order, 7));
    assert_false(h2_order_begins(&order, 7));
    assert_false(h2_order_begins(&order, 5)); /* skipped */
    assert_false(h2_order_was_reset(&order, 5));
    assert_true(h2_order_begins(&order, INT32_MAX));
    assert_false(h2_order_begins(&order, 1));
}

static void resets_are_known(void **state)
{
    struct h2_order order = {0};
    for (int32_t id = 1; id < 200; id += 2) {
        h2_order_begins(&order, id);
        if (id % 3 == 0)
            h2_order_reset(&order, id);
    }
    for (int32_t id = 1; id < 200; id += 2)
        assert_int_equal(h2_order_was_reset(&order, id), id % 3 == 0);
}

/* A place is another's later, and what was so long ago is let pass. */
static void old_ones_are_forgotten(void **state)
{
    struct h2_order order = {0};
    const int32_t later = 1 + 2 * H2_ORDER_STREAMS;
    h2_order_begins(&order, 1);
    h2_order_reset(&order, 1);
    h2_order_begins(&order, later - 2);
    assert_true(h2_order_was_reset(&order, 1));
    h2_order_begins(&order, later);
    assert_false(h2_order_was_reset(&order, later));
    assert_true(h2_order_was_reset(&order, 1));
    h2_order_reset(&order, 1); /* does not count for who has its place */
    assert_false(h2_order_was_reset(&order, later));
    h2_order_begins(&order, later + 20 * H2_ORDER_STREAMS);
    assert_false(h2_order_was_reset(&order, later + 20 * H2_ORDER_STREAMS - 2));
    assert_true(h2_order_was_reset(&order, later));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_only_grow),
        cmocka_unit_test(resets_are_known),
        cmocka_unit_test(old_ones_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
