/* tests/unit/core/base/memory_test.c - what is in use; arenas of blocks of any size
 *
 * memory.c is compiled in here with an allocator that counts and can fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    int blocks, allocations;
    bool fails;
} system_memory;

static void *counted_malloc(size_t size)
{
    system_memory.blocks++;
    system_memory.allocations++;
    return system_memory.fails ? NULL : malloc(size);
}

static void counted_free(void *memory)
{
    system_memory.blocks -= memory != NULL;
    free(memory);
}

#define malloc(size) counted_malloc(size)
#define free(memory) counted_free(memory)
#include "core/base/memory.c"
#undef malloc
#undef free

#include "core/base/string.h"
#include "tests/sim/dice.h"

static int set_up(void **state)
{
    system_memory.blocks = system_memory.allocations = 0;
    return 0;
}

static int tear_down(void **state)
{
    arena_pool_deinit();
    assert_int_equal(system_memory.blocks, 0);
    return 0;
}

/* --- the allocator */

static void zeroed_and_resized(void **state)
{
    static const uint8_t zeros[100];
    uint8_t *memory = memory_zeroed(100);
    assert_memory_equal(memory, zeros, 100);
    memset(memory, 3, 100);
    memory = memory_resize(memory, 200);
    for (int i = 0; i < 100; i++)
        assert_int_equal(memory[i], 3);
    system_memory.blocks++; /* calloc is not counted */
    memory_free(memory);
    memory_free(NULL);
}

static void copied_strings_end(void **state)
{
    char *copy = memory_copy_string((weir_string){"abcdef", 3});
    assert_string_equal(copy, "abc");
    memory_free(copy);
    copy = memory_copy_string((weir_string){NULL, 0});
    assert_string_equal(copy, "");
    memory_free(copy);
}

static void aborts_without_memory(void **state)
{
    int status;
    pid_t child = fork();
    if (!child) {
        signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        system_memory.fails = true;
        memory_allocate(10);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void usage_is_counted(void **state)
{
    memory_trim();
    size_t before = memory_used();
    assert_int_equal(memory_spare(), 0);
    void *memory = memory_allocate(1000);
    assert_true(memory_used() - before >= 1000 && memory_used() - before < 1100);
    memory = memory_resize(memory, 5000);
    assert_true(memory_used() - before >= 5000 && memory_used() - before < 5100);
    memory = memory_resize(memory, 2000);
    assert_true(memory_used() - before >= 2000 && memory_used() - before < 5100);
    size_t most = memory_used() + memory_spare();
    memory_free(memory);
    assert_int_equal(memory_used(), before);
    assert_int_equal(memory_spare(), most - before);
    memory_trim();
    assert_int_equal(memory_spare(), 0);
    assert_int_equal(memory_used(), before);
}

/* --- the arena */

static void everything_is_aligned_and_apart(void **state)
{
    enum { MANY = 1000 };
    static struct {
        uint8_t *bytes;
        size_t size;
    } given[MANY];
    for (uint64_t seed = 1; seed <= 10; seed++) {
        _Alignas(8) uint8_t first[512];
        struct dice dice = dice_of(seed, 0);
        struct arena arena;
        arena_init(&arena, first + seed % 8, sizeof first - seed % 8);
        for (int i = 0; i < MANY; i++) {
            given[i].size =
                dice_percent(&dice, 5) ? dice_below(&dice, 10000) : dice_below(&dice, 200);
            given[i].bytes = arena_allocate(&arena, given[i].size);
            assert_int_equal((uintptr_t)given[i].bytes % 8, 0);
            memset(given[i].bytes, i & 0xff, given[i].size);
        }
        for (int i = 0; i < MANY; i++)
            for (size_t k = 0; k < given[i].size; k++)
                assert_int_equal(given[i].bytes[k], i & 0xff);
        arena_deinit(&arena);
    }
}

static void first_block_costs_nothing(void **state)
{
    _Alignas(8) uint8_t first[64];
    struct arena arena;
    arena_init(&arena, first, sizeof first);
    assert_ptr_equal(arena_allocate(&arena, 1), first);
    assert_ptr_equal(arena_allocate(&arena, 56), first + 8); /* to the last byte */
    assert_int_equal(system_memory.allocations, 0);
    arena_allocate(&arena, 1);
    assert_int_equal(system_memory.allocations, 1);
    arena_deinit(&arena);
}

static void goes_on_where_more_room_is(void **state)
{
    _Alignas(8) uint8_t first[1024];
    struct arena arena;
    arena_init(&arena, first, sizeof first);
    uint8_t *large = arena_allocate(&arena, 100000);
    memset(large, 1, 100000);
    assert_ptr_equal(arena_allocate(&arena, 1000), first); /* the first has more left */
    uint8_t *next = arena_allocate(&arena, 100);
    int before = system_memory.allocations;
    assert_ptr_equal(arena_allocate(&arena, 100), next + 104); /* now the new block has */
    assert_int_equal(system_memory.allocations, before);
    arena_deinit(&arena);
    assert_int_equal(system_memory.blocks, 1); /* a large block is not kept */
}

static void blocks_are_used_again(void **state)
{
    _Alignas(8) uint8_t first[8];
    struct arena arena;
    for (int i = 0; i < 3; i++) {
        arena_init(&arena, first, sizeof first);
        for (int k = 0; k < 20; k++)
            memset(arena_allocate(&arena, 1000), k, 1000);
        arena_deinit(&arena);
    }
    assert_int_equal(system_memory.allocations, 1); /* 2 allocations to a block: one slab, once */
    assert_int_equal(system_memory.blocks, 1);
    arena_pool_deinit();
    assert_int_equal(system_memory.blocks, 0);
}

static void strings_are_copied(void **state)
{
    _Alignas(8) uint8_t first[64];
    struct arena arena;
    char text[] = "text";
    arena_init(&arena, first, sizeof first);
    weir_string copy = arena_copy(&arena, string_of(text));
    text[0] = 'n';
    assert_true(string_equal(copy, WEIR_STRING("text")));
    weir_string empty = arena_copy(&arena, (weir_string){NULL, 0});
    assert_int_equal(empty.length, 0);
    assert_non_null(empty.bytes);
    arena_deinit(&arena);
}

static void joins_parts(void **state)
{
    _Alignas(8) uint8_t first[16];
    struct arena arena;
    arena_init(&arena, first, sizeof first);
    const weir_string parts[] = {WEIR_STRING("one"), WEIR_STRING(""), WEIR_STRING(", "),
                                 WEIR_STRING("and a longer one than the block")};
    assert_true(string_equal(arena_join(&arena, parts, 4),
                             WEIR_STRING("one, and a longer one than the block")));
    assert_int_equal(arena_join(&arena, parts, 0).length, 0);
    arena_deinit(&arena);
}

static void formats_of_any_length(void **state)
{
    _Alignas(8) uint8_t first[16];
    char expected[5001];
    struct arena arena;
    arena_init(&arena, first, sizeof first);
    assert_true(string_equal(arena_format(&arena, "%d-%s", 42, "x"), WEIR_STRING("42-x")));
    weir_string text = arena_format(&arena, "%05000d", 7);
    memset(expected, '0', 4999);
    expected[4999] = '7';
    assert_int_equal(text.length, 5000);
    assert_memory_equal(text.bytes, expected, 5000);
    arena_deinit(&arena);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(zeroed_and_resized),        TEST(copied_strings_end),
        TEST(aborts_without_memory),     TEST(everything_is_aligned_and_apart),
        TEST(first_block_costs_nothing), TEST(goes_on_where_more_room_is),
        TEST(blocks_are_used_again),     TEST(strings_are_copied),
        TEST(joins_parts),               TEST(formats_of_any_length),
        TEST(usage_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
