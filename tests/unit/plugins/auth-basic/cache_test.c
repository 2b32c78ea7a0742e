/* tests/unit/plugins/auth-basic/cache_test.c - digests, and how long they are remembered */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "plugins/auth-basic/cache.h"

static struct digest digest_of_number(uint64_t number)
{
    return digest_of(WEIR_STRING("number"), (weir_string){(const char *)&number, sizeof number});
}

/* The reference implementation's vectors_sip128, for the key 00 01 .. 0f and messages 00 01 ... */
static void is_siphash(void **state)
{
    static const struct {
        size_t length;
        uint64_t words[2];
    } vectors[] = {{0, {0xe6a825ba047f81a3, 0x930255c71472f66d}},
                   {1, {0x44af996bd8c187da, 0x45fc229b11597634}},
                   {15, {0x11a8b03399e99354, 0xd9c3cf970fec087e}}};
    static const uint64_t key[] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    char message[16];
    for (int i = 0; i < 16; i++)
        message[i] = (char)i;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        weir_string whole = {message, vectors[i].length};
        struct digest digest = digest_with(key, &whole, 1);
        assert_int_equal(digest.words[0], vectors[i].words[0]);
        assert_int_equal(digest.words[1], vectors[i].words[1]);
    }
}

/* However a message is cut into parts, it is the same message. */
static void parts_do_not_matter(void **state)
{
    static const uint64_t key[] = {1, 2};
    weir_string whole = WEIR_STRING("the quick brown fox jumps over the lazy dog");
    struct digest expected = digest_with(key, &whole, 1);
    for (size_t cut = 0; cut <= whole.length; cut++) {
        weir_string parts[] = {{whole.bytes, cut}, {whole.bytes + cut, whole.length - cut}};
        assert_true(digest_equal(digest_with(key, parts, 2), expected));
    }
}

static void names_end_somewhere(void **state)
{
    struct digest digest = digest_of(WEIR_STRING("ab"), WEIR_STRING("c"));
    assert_true(digest_equal(digest, digest_of(WEIR_STRING("ab"), WEIR_STRING("c"))));
    assert_false(digest_equal(digest, digest_of(WEIR_STRING("a"), WEIR_STRING("bc"))));
    assert_false(digest_equal(digest, digest_of(WEIR_STRING("ab"), WEIR_STRING("d"))));
    assert_false(digest_equal(digest, digest_of(WEIR_STRING("ab"), WEIR_STRING(""))));
}

static void is_remembered_for_a_while(void **state)
{
    struct cache *cache = cache_new(100);
    struct digest digest = digest_of_number(1);
    assert_false(cache_has(cache, digest, 1000));
    cache_put(cache, digest, 61000, 1000);
    assert_true(cache_has(cache, digest, 1000));
    assert_true(cache_has(cache, digest, 60999));
    assert_false(cache_has(cache, digest, 61000));
    assert_false(cache_has(cache, digest_of_number(2), 1000));
    cache_put(cache, digest, 90000, 61000);
    assert_true(cache_has(cache, digest, 89999));
    cache_free(cache);
}

static void nothing_is_remembered_for_no_time(void **state)
{
    struct cache *cache = cache_new(0);
    cache_put(cache, digest_of_number(1), 1000, 1000);
    assert_false(cache_has(cache, digest_of_number(1), 1000));
    assert_false(cache_has(cache, (struct digest){{0, 0}}, 0));
    cache_free(cache);
}

static void is_bounded_and_forgets_the_oldest(void **state)
{
    struct cache *cache = cache_new(64);
    uint32_t found = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        cache_put(cache, digest_of_number(i), 60000 + i, i);
        assert_true(cache_has(cache, digest_of_number(i), i));
    }
    for (uint64_t i = 0; i < 10000; i++)
        found += cache_has(cache, digest_of_number(i), 10000);
    assert_int_equal(found, 64);
    cache_free(cache);
}

static void the_same_again_takes_no_place(void **state)
{
    struct cache *cache = cache_new(8);
    for (uint64_t i = 0; i < 8; i++)
        cache_put(cache, digest_of_number(i), 100 + i, 0);
    for (int times = 0; times < 5; times++)
        cache_put(cache, digest_of_number(3), 200, 0);
    for (uint64_t i = 0; i < 8; i++)
        assert_true(cache_has(cache, digest_of_number(i), 50));
    cache_put(cache, digest_of_number(9), 300, 50);
    assert_false(cache_has(cache, digest_of_number(0), 50));
    cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_siphash),
        cmocka_unit_test(parts_do_not_matter),
        cmocka_unit_test(names_end_somewhere),
        cmocka_unit_test(is_remembered_for_a_while),
        cmocka_unit_test(nothing_is_remembered_for_no_time),
        cmocka_unit_test(is_bounded_and_forgets_the_oldest),
        cmocka_unit_test(the_same_again_takes_no_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
