/* tests/unit/codecs/output_test.c - text and slices in order, merged where they adjoin */
#include "codecs/output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/buffer.h"
#include "tests/sim/dice.h"

static int references; /* that output holds */

static weir_buffer *new_buffer(size_t capacity, uint8_t **bytes)
{
    weir_buffer *buffer = buffer_new(capacity);
    references++;
    *bytes = buffer->bytes;
    return buffer;
}

static void reference(weir_buffer *buffer)
{
    references += buffer != NULL;
    buffer_reference(buffer);
}

static void release(weir_buffer *buffer)
{
    references -= buffer != NULL;
    buffer_release(buffer);
}

static const weir_host host = {.size = sizeof host,
                               .buffer_new = new_buffer,
                               .buffer_reference = reference,
                               .buffer_release = release};

static struct output output;

static int set_up(void **state)
{
    memset(&output, 0, sizeof output);
    references = 0;
    return 0;
}

static int tear_down(void **state)
{
    output_clear(&host, &output);
    assert_int_equal(references, 0);
    assert_int_equal(output.count, 0);
    output_clear(&host, &output); /* nothing is there any more */
    buffer_pool_deinit();
    return 0;
}

static void text(const char *bytes)
{
    output_text(&host, &output, (weir_string){bytes, strlen(bytes)});
}

static void slice(const char *bytes)
{
    output_slice(&host, &output, (weir_slice){(const uint8_t *)bytes, strlen(bytes), NULL});
}

/* The slices, each behind a bar. */
static void output_is(const char *expected)
{
    char joined[8192] = "";
    size_t length = 0;
    const weir_slice *slices = output_slices(&output);
    for (uint32_t i = 0; i < output.count; i++)
        length += (size_t)snprintf(joined + length, sizeof joined - length, "|%.*s",
                                   (int)slices[i].length, (const char *)slices[i].bytes);
    assert_string_equal(joined, expected);
}

static void nothing_yet(void **state)
{
    output_is("");
}

static void adjacent_text_is_one_slice(void **state)
{
    text("HTTP/1.1 200 OK\r\n");
    text("");
    text("A: b\r\n");
    text("\r\n");
    output_is("|HTTP/1.1 200 OK\r\nA: b\r\n\r\n");
}

static void slices_stand_between_text(void **state)
{
    text("5\r\n");
    slice("hello");
    text("\r\n0");
    text("\r\n");
    slice("");
    slice("x");
    output_is("|5\r\n|hello|\r\n0\r\n|x");
    assert_ptr_equal(output_slices(&output)[0].owner, output_slices(&output)[2].owner);
}

static void slices_keep_their_buffers(void **state)
{
    weir_buffer *buffer = buffer_new(5);
    memcpy(buffer->bytes, "hello", 5);
    output_slice(&host, &output, (weir_slice){buffer->bytes, 5, buffer});
    output_slice(&host, &output, (weir_slice){buffer->bytes, 0, buffer});
    assert_int_equal(buffer->references, 2);
    output_is("|hello");
    output_clear(&host, &output);
    assert_int_equal(buffer->references, 1);
    buffer_release(buffer);
}

static void reserved_and_partly_used(void **state)
{
    uint8_t *bytes = output_reserve(&host, &output, 100);
    memcpy(bytes, "abc", 3);
    output_commit(&host, &output, 3);
    bytes = output_reserve(&host, &output, 10);
    output_commit(&host, &output, 0);
    output_is("|abc");
    memcpy(bytes, "de", 2);
    output_commit(&host, &output, 2);
    output_is("|abcde");
}

static void a_slice_of_its_own_text_buffer_is_no_text(void **state)
{
    text("abc");
    weir_slice part = {output_slices(&output)[0].bytes, 2, output.text};
    output_slice(&host, &output, part);
    text("d"); /* does not adjoin the slice before it */
    output_is("|abc|ab|d");
}

static void text_of_any_length(void **state)
{
    static char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    text("a");
    text(longest);
    text("b");
    assert_int_equal(output.count, 3);
    assert_int_equal(output_slices(&output)[1].length, sizeof longest - 1);
    assert_memory_equal(output_slices(&output)[1].bytes, longest, sizeof longest - 1);
    output_clear(&host, &output);
    for (int i = 0; i < 5000; i++) /* in buffers of 1024, of which the first has the list too */
        text("x");
    assert_true(output.count <= 6);
}

static void more_slices_than_fit_inside(void **state)
{
    char expected[2000] = "";
    static char names[384][16];
    for (int i = 0; i < 384; i++) { /* to the last one of the third storage */
        snprintf(names[i], sizeof names[i], "%d", i);
        slice(names[i]);
        strcat(expected, "|");
        strcat(expected, names[i]);
    }
    assert_int_equal(output.count, 384);
    assert_int_equal((uintptr_t)output_slices(&output) % _Alignof(weir_slice), 0);
    output_is(expected);
}

static void used_again_after_clear(void **state)
{
    for (int i = 0; i < 20; i++)
        slice("a");
    output_clear(&host, &output);
    assert_int_equal(references, 0);
    output_is("");
    text("b");
    slice("c");
    output_is("|b|c");
}

static void random_sequences(void **state)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct dice dice = dice_of(seed, 0);
        char expected[20000], actual[20000];
        size_t length = 0, at = 0;
        while (length < 15000) {
            char piece[4000];
            size_t bytes = dice_size(&dice, sizeof piece);
            for (size_t i = 0; i < bytes; i++)
                piece[i] = expected[length++] = (char)dice_roll(&dice);
            weir_buffer *buffer = buffer_new(bytes);
            memcpy(buffer->bytes, piece, bytes);
            if (dice_percent(&dice, 50))
                output_text(&host, &output, (weir_string){piece, bytes});
            else
                output_slice(&host, &output, (weir_slice){buffer->bytes, bytes, buffer});
            buffer_release(buffer);
        }
        for (uint32_t i = 0; i < output.count; i++) {
            memcpy(actual + at, output_slices(&output)[i].bytes, output_slices(&output)[i].length);
            at += output_slices(&output)[i].length;
        }
        assert_int_equal(at, length);
        assert_memory_equal(actual, expected, length);
        output_clear(&host, &output);
        assert_int_equal(references, 0);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_yet),
        TEST(adjacent_text_is_one_slice),
        TEST(slices_stand_between_text),
        TEST(slices_keep_their_buffers),
        TEST(reserved_and_partly_used),
        TEST(a_slice_of_its_own_text_buffer_is_no_text),
        TEST(text_of_any_length),
        TEST(more_slices_than_fit_inside),
        TEST(used_again_after_clear),
        TEST(random_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
