/* tests/unit/plugins/throttle/bucket_test.c - rates hold on average, whenever one asks again */
#include "plugins/throttle/bucket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_burst_then_the_rate(void **state)
{
    struct bucket bucket = {0};
    struct rate rate = {1000, 5000};
    assert_int_equal(bucket_take(&bucket, rate, 5000, 100), 0);
    assert_int_equal(bucket_take(&bucket, rate, 500, 100), 501);
    assert_int_equal(bucket_take(&bucket, rate, 500, 350), 251); /* nothing was taken */
    assert_int_equal(bucket_take(&bucket, rate, 500, 600), 0);
    assert_int_equal(bucket_take(&bucket, rate, 1, 600), 2);
    assert_int_equal(bucket_take(&bucket, rate, 5000, 900000), 0); /* no more than a burst */
    assert_int_equal(bucket_take(&bucket, rate, 1000, 900000), 1001);
}

static void the_burst_is_large_enough(void **state)
{
    struct rate rate = rate_make(8000, 0, 15360);
    assert_true(rate.burst == 16360);
    assert_true(rate_make(8000, 100000, 15360).burst == 100000);
}

/* Parts of all sizes, each asked for again as late as timers are. */
static void exact_on_average(void **state)
{
    struct bucket bucket = {0};
    struct rate rate = rate_make(1 << 20, 0, 15360);
    uint64_t now_ms = 1, passed = 0, random = 1;
    while (now_ms < 1000000) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t part = 1 + (random >> 33) % 15360;
        for (uint32_t wait_ms; (wait_ms = bucket_take(&bucket, rate, part, now_ms));)
            now_ms += wait_ms + (random >> 20) % 33;
        passed += part;
    }
    double expected = rate.burst + (double)(now_ms - 1) / 1000 * rate.per_second;
    assert_true((double)passed <= expected);
    assert_true((double)passed > expected * 0.999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_then_the_rate),
        cmocka_unit_test(the_burst_is_large_enough),
        cmocka_unit_test(exact_on_average),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
