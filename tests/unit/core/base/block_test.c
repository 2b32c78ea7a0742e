/* tests/unit/core/base/block_test.c - blocks: apart from each other, used again, given back
 *
 * Brings its own allocator, which counts the slabs. */
#include "core/base/block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "core/base/poison.h"
#include "tests/sim/dice.h"

enum { SLAB = 15, SLABS_KEPT = 16, MANY = 1000 };

static int slabs;

void *memory_allocate(size_t size)
{
    assert_in_range(size, SLAB * BLOCK_BYTES, SLAB * (BLOCK_BYTES + 16) + 64);
    slabs++;
    return malloc(size);
}

void memory_free(void *memory)
{
    slabs--;
    free(memory);
}

static int set_up(void **state)
{
    slabs = 0;
    return 0;
}

static int tear_down(void **state)
{
    block_pool_deinit();
    assert_int_equal(slabs, 0);
    return 0;
}

static void take(void **blocks, int count)
{
    for (int i = 0; i < count; i++)
        blocks[i] = block_new();
}

static void give(void **blocks, int count)
{
    for (int i = 0; i < count; i++)
        block_free(blocks[i]);
}

static void they_are_apart(void **state)
{
    uint8_t *blocks[MANY];
    for (int i = 0; i < MANY; i++) {
        blocks[i] = block_new();
        assert_int_equal((uintptr_t)blocks[i] % 8, 0);
        memset(blocks[i], i & 0xff, BLOCK_BYTES);
    }
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < BLOCK_BYTES; k++)
            assert_int_equal(blocks[i][k], i & 0xff);
    give((void **)blocks, MANY);
}

static void the_last_one_freed_comes_first(void **state)
{
    void *first = block_new(), *second = block_new();
    block_free(first);
    block_free(second);
    assert_ptr_equal(block_new(), second);
    assert_ptr_equal(block_new(), first);
    assert_int_equal(slabs, 1);
    block_free(first);
    block_free(second);
}

/* Of builds with AddressSanitizer. */
static void what_is_free_is_not_to_be_touched(void **state)
{
#ifdef ADDRESS_SANITIZER
    uint8_t *first = block_new(), *second = block_new();
    block_free(first);
    assert_true(__asan_address_is_poisoned(first));
    assert_true(__asan_address_is_poisoned(first + BLOCK_BYTES - 1));
    assert_null(__asan_region_is_poisoned(second, BLOCK_BYTES));
    assert_ptr_equal(block_new(), first);
    assert_null(__asan_region_is_poisoned(first, BLOCK_BYTES));
    uint8_t *third = block_new();
    assert_null(__asan_region_is_poisoned(third, BLOCK_BYTES));
    block_free(third);
    block_free(second);
    block_free(first);
#else
    skip();
#endif
}

static void a_full_slab_is_followed_by_another(void **state)
{
    void *blocks[SLAB + 1];
    take(blocks, SLAB);
    assert_int_equal(slabs, 1);
    blocks[SLAB] = block_new();
    assert_int_equal(slabs, 2);
    block_free(blocks[3]); /* the first slab has room again, behind the second */
    void *block = block_new();
    assert_ptr_not_equal(block, blocks[3]);
    assert_int_equal(slabs, 2);
    block_free(block);
    blocks[3] = block_new();
    give(blocks, SLAB + 1);
}

static void some_empty_slabs_are_kept(void **state)
{
    void *blocks[MANY];
    take(blocks, MANY);
    assert_int_equal(slabs, (MANY + SLAB - 1) / SLAB);
    give(blocks, MANY);
    assert_int_equal(slabs, SLABS_KEPT);
    take(blocks, SLABS_KEPT * SLAB);
    assert_int_equal(slabs, SLABS_KEPT);
    give(blocks, SLABS_KEPT * SLAB);
}

static void those_in_use_outlive_the_pool(void **state)
{
    void *blocks[3 * SLAB];
    take(blocks, 3 * SLAB);
    give(blocks, SLAB);
    give(blocks + 2 * SLAB, SLAB - 1);
    block_pool_deinit();
    assert_int_equal(slabs, 2); /* the full one, and the one that has a block in use */
    block_pool_deinit();
    assert_int_equal(slabs, 2);
    memset(blocks[SLAB], 1, BLOCK_BYTES);
    give(blocks + SLAB, SLAB);
    block_free(blocks[3 * SLAB - 1]);
}

static void in_any_order(void **state)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct dice dice = dice_of(seed, 0);
        uint32_t *blocks[MANY];
        uint32_t count = 0;
        for (uint32_t i = 0; i < 5000; i++) {
            bool grow = dice_percent(&dice, i / 500 % 2 ? 30 : 70);
            if (grow && count < MANY) {
                blocks[count] = block_new();
                *blocks[count] = count;
                count++;
            } else if (count) {
                uint32_t which = (uint32_t)dice_below(&dice, count);
                assert_int_equal(*blocks[which], which);
                block_free(blocks[which]);
                blocks[which] = blocks[--count];
                if (which < count)
                    *blocks[which] = which;
            }
            if (dice_percent(&dice, 1))
                block_pool_deinit();
        }
        give((void **)blocks, (int)count);
        assert_true(slabs <= SLABS_KEPT);
        block_pool_deinit();
        assert_int_equal(slabs, 0);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(they_are_apart),
        TEST(the_last_one_freed_comes_first),
        TEST(what_is_free_is_not_to_be_touched),
        TEST(a_full_slab_is_followed_by_another),
        TEST(some_empty_slabs_are_kept),
        TEST(those_in_use_outlive_the_pool),
        TEST(in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
