/* tests/unit/core/base/keyed_hash_test.c - SipHash-1-3: known answers, and every byte counts */
#include "core/base/keyed_hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void every_bit_and_the_length_count(void **state)
{
    char bytes[40] = {0};
    (void)state;
    for (size_t length = 0; length < sizeof bytes; length++) {
        uint64_t plain = keyed_hash((weir_string){bytes, length});
        assert_int_equal(plain, keyed_hash((weir_string){bytes, length}));
        if (length)
            assert_int_not_equal(plain, keyed_hash((weir_string){bytes, length - 1}));
        for (size_t bit = 0; bit < length * 8; bit++) {
            bytes[bit / 8] ^= (char)(1 << bit % 8);
            assert_int_not_equal(plain, keyed_hash((weir_string){bytes, length}));
            bytes[bit / 8] ^= (char)(1 << bit % 8);
        }
    }
}

static void the_key_counts(void **state)
{
    (void)state;
    uint64_t hash = keyed_hash_with(WEIR_STRING("weir"), 1, 2);
    assert_int_not_equal(hash, keyed_hash_with(WEIR_STRING("weir"), 1, 3));
    assert_int_not_equal(hash, keyed_hash_with(WEIR_STRING("weir"), 0, 2));
}

/* What CPython 3.11 says of the same bytes with PYTHONHASHSEED=0, a key of zeros. */
static void answers_are_the_known_ones(void **state)
{
    char counted[63];
    (void)state;
    for (size_t i = 0; i < sizeof counted; i++)
        counted[i] = (char)(i + 1);
    assert_true(keyed_hash_with(WEIR_STRING("weir"), 0, 0) == 12670949181429689416u);
    assert_true(keyed_hash_with(WEIR_STRING("a"), 0, 0) == 4644417185603328019u);
    assert_true(keyed_hash_with(WEIR_STRING("abcdefgh"), 0, 0) == 4574395652268504554u);
    assert_true(keyed_hash_with((weir_string){counted, sizeof counted}, 0, 0) ==
                7759677939277784347u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_and_the_length_count),
        cmocka_unit_test(the_key_counts),
        cmocka_unit_test(answers_are_the_known_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
