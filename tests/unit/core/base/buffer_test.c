/* tests/unit/core/base/buffer_test.c - buffers, the receive space and slice queues, byte by byte
 *
 * Brings its own allocator, which counts what is alive. */
#include "core/base/buffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "tests/sim/dice.h"

static struct {
    int blocks;
    int allocations; /* ever */
} memory;

void *memory_allocate(size_t size)
{
    memory.blocks++;
    memory.allocations++;
    return malloc(size);
}

void memory_free(void *block)
{
    memory.blocks -= block != NULL;
    free(block);
}

static int set_up(void **state)
{
    memory.blocks = memory.allocations = 0;
    return 0;
}

static int tear_down(void **state)
{
    buffer_pool_deinit();
    assert_int_equal(memory.blocks, 0);
    return 0;
}

/* --- buffers */

static void sizes_of_buffers(void **state)
{
    static const struct {
        size_t asked;
        uint32_t capacity;
    } sizes[] = {{0, 0},       {1, 1},       {512, 512},   {513, 1024},    {1024, 1024},
                 {1025, 4096}, {4096, 4096}, {4097, 4097}, {65536, 65536}, {100000, 100000}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        weir_buffer *buffer = buffer_new(sizes[i].asked);
        assert_int_equal(buffer->capacity, sizes[i].capacity);
        assert_int_equal(buffer->references, 1);
        memset(buffer->bytes, 0xaa, buffer->capacity);
        buffer_release(buffer);
    }
}

static void lives_until_the_last_reference_goes(void **state)
{
    weir_buffer *buffer = buffer_new(10);
    buffer_reference(buffer);
    buffer_release(buffer);
    assert_int_equal(memory.blocks, 1);
    memset(buffer->bytes, 1, 10);
    buffer_release(buffer);
    assert_int_equal(memory.blocks, 0);
    buffer_reference(NULL);
    buffer_release(NULL);
}

static void usual_sizes_are_kept_and_used_again(void **state)
{
    static const size_t usual[] = {700, 1024, 3000, 4096};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        weir_buffer *first = buffer_new(usual[i]);
        buffer_release(first);
        int before = memory.allocations;
        weir_buffer *second = buffer_new(usual[i]);
        assert_ptr_equal(first, second);
        assert_int_equal(second->references, 1);
        assert_int_equal(memory.allocations, before);
        buffer_release(second);
    }
}

static void not_many_are_kept(void **state)
{
    enum { MANY = 400 };
    static weir_buffer *buffers[MANY];
    for (int i = 0; i < MANY; i++)
        buffers[i] = buffer_new(i % 2 ? 1024 : 4096);
    for (int i = 0; i < MANY; i++)
        buffer_release(buffers[i]);
    assert_int_equal(memory.blocks, 200 + 64); /* all of 256 small ones, 64 of the larger */
    for (int i = 0; i < MANY; i++)
        buffers[i] = buffer_new(1024);
    for (int i = 0; i < MANY; i++)
        buffer_release(buffers[i]);
    assert_int_equal(memory.blocks, 256 + 64);
}

/* --- the receive space */

static weir_slice receive(size_t length, uint8_t fill)
{
    size_t size;
    uint8_t *bytes = receive_space(&size);
    assert_true(length <= size);
    memset(bytes, fill, length);
    return receive_take(length);
}

static void bytes_are(const weir_slice *slice, uint8_t fill)
{
    for (size_t i = 0; i < slice->length; i++)
        assert_int_equal(slice->bytes[i], fill);
}

static void reads_share_one_buffer(void **state)
{
    size_t size;
    weir_slice first = receive(100, 1), second = receive(5, 2);
    assert_ptr_equal(first.owner, second.owner);
    assert_int_equal(first.owner->references, 3);
    assert_ptr_equal(second.bytes, first.bytes + 104); /* the next one begins aligned */
    receive_space(&size);
    assert_int_equal(size, RECEIVE_BUFFER_BYTES - 104 - 8);
    bytes_are(&first, 1);
    bytes_are(&second, 2);
    buffer_release(first.owner);
    buffer_release(second.owner);
}

static void space_rewinds_when_nothing_is_held(void **state)
{
    size_t size;
    weir_slice first = receive(1000, 1), second = receive(1000, 2);
    buffer_release(second.owner);
    assert_ptr_equal(receive_space(&size), first.bytes + 2000); /* the first one is still there */
    assert_int_equal(size, RECEIVE_BUFFER_BYTES - 2000);
    buffer_release(first.owner);
    assert_ptr_equal(receive_space(&size), first.bytes);
    assert_int_equal(size, RECEIVE_BUFFER_BYTES);
    assert_int_equal(memory.allocations, 1);
}

static void little_room_takes_another_buffer(void **state)
{
    size_t size;
    weir_slice most = receive(RECEIVE_BUFFER_BYTES - 16384, 1);
    assert_ptr_equal(receive_space(&size), most.bytes + most.length);
    assert_int_equal(size, 16384);
    weir_slice one = receive(1, 2);
    assert_ptr_equal(one.owner, most.owner);
    uint8_t *other = receive_space(&size);
    assert_int_equal(size, RECEIVE_BUFFER_BYTES);
    assert_true(other < most.bytes || other >= most.bytes + RECEIVE_BUFFER_BYTES);
    memset(other, 3, size);
    bytes_are(&most, 1);
    bytes_are(&one, 2);
    assert_int_equal(most.owner->references, 2); /* the space has let go of it */
    buffer_release(most.owner);
    buffer_release(one.owner);
}

static void a_read_may_fill_the_space(void **state)
{
    size_t size;
    weir_slice odd = receive(3, 1);
    receive_space(&size);
    weir_slice all = receive(size, 2);
    assert_ptr_equal(all.bytes + all.length, odd.bytes + RECEIVE_BUFFER_BYTES);
    weir_slice next = receive(10, 3);
    assert_ptr_not_equal(next.owner, all.owner);
    bytes_are(&odd, 1);
    bytes_are(&all, 2);
    buffer_release(odd.owner);
    buffer_release(all.owner);
    buffer_release(next.owner);
}

static void slices_outlive_the_space(void **state)
{
    weir_slice slice = receive(100, 7);
    buffer_pool_deinit();
    bytes_are(&slice, 7);
    buffer_release(slice.owner);
}

/* --- slice queues: the stream's byte at position i is pattern(i) */

static uint8_t pattern(uint64_t position)
{
    return (uint8_t)(position * 2654435761u >> 16);
}

static void fill(uint8_t *bytes, size_t length, uint64_t position)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = pattern(position + i);
}

/* A slice of a buffer of its own that is `spare` bytes larger. */
static weir_slice own_slice(size_t length, size_t spare, uint64_t position)
{
    weir_buffer *buffer = buffer_new(length + spare);
    fill(buffer->bytes + spare / 2, length, position);
    return (weir_slice){buffer->bytes + spare / 2, length, buffer};
}

static void push(struct slice_queue *queue, size_t length, size_t spare, uint64_t position)
{
    weir_slice slice = own_slice(length, spare, position);
    slice_queue_push(queue, slice);
    buffer_release(slice.owner);
}

/* The whole queue holds the stream from `position` on. */
static void holds(const struct slice_queue *queue, uint64_t position)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < queue->count; i++) {
        const weir_slice *slice = &queue->slices[(queue->first + i) % queue->capacity];
        assert_true(slice->length > 0);
        for (size_t k = 0; k < slice->length; k++)
            assert_int_equal(slice->bytes[k], pattern(position + bytes + k));
        bytes += slice->length;
    }
    assert_int_equal(queue->bytes, bytes);
}

static void takes_references_of_its_own(void **state)
{
    struct slice_queue queue = {0};
    weir_slice slice = own_slice(10, 0, 0);
    slice_queue_push(&queue, slice);
    assert_int_equal(slice.owner->references, 2);
    buffer_release(slice.owner);
    holds(&queue, 0);
    slice_queue_deinit(&queue);
    assert_null(queue.slices);
    assert_int_equal(queue.bytes, 0);
}

static void empty_slices_are_dropped(void **state)
{
    struct slice_queue queue = {0};
    weir_slice slice = own_slice(10, 0, 0);
    slice_queue_push(&queue, (weir_slice){slice.bytes, 0, slice.owner});
    slice_queue_push(&queue, (weir_slice){0});
    assert_int_equal(queue.count, 0);
    assert_null(queue.slices);
    assert_int_equal(slice.owner->references, 1);
    buffer_release(slice.owner);
}

static void peek_is_bounded_by_both(void **state)
{
    struct slice_queue queue = {0};
    weir_slice slices[4];
    push(&queue, 10, 0, 0);
    push(&queue, 20, 0, 10);
    push(&queue, 30, 0, 30);
    assert_int_equal(slice_queue_peek(&queue, slices, 4, 1000), 3);
    assert_int_equal(slices[2].length, 30);
    assert_int_equal(slice_queue_peek(&queue, slices, 2, 1000), 2);
    assert_int_equal(slices[1].length, 20);
    assert_int_equal(slice_queue_peek(&queue, slices, 4, 30), 2);
    assert_int_equal(slices[1].length, 20);
    assert_int_equal(slice_queue_peek(&queue, slices, 4, 31), 3);
    assert_int_equal(slices[2].length, 1);
    assert_int_equal(slices[2].bytes[0], pattern(30));
    assert_int_equal(slice_queue_peek(&queue, slices, 4, 0), 0);
    assert_int_equal(slice_queue_peek(&queue, slices, 0, 100), 0);
    holds(&queue, 0); /* nothing was taken */
    slice_queue_deinit(&queue);
    assert_int_equal(slice_queue_peek(&queue, slices, 4, 100), 0);
}

static void drop_releases_what_is_passed(void **state)
{
    struct slice_queue queue = {0};
    weir_slice first = own_slice(10, 0, 0), second = own_slice(20, 0, 10);
    slice_queue_push(&queue, first);
    slice_queue_push(&queue, second);
    slice_queue_drop(&queue, 9);
    holds(&queue, 9);
    assert_int_equal(first.owner->references, 2);
    slice_queue_drop(&queue, 1);
    holds(&queue, 10);
    assert_int_equal(first.owner->references, 1);
    slice_queue_drop(&queue, 5);
    holds(&queue, 15);
    assert_int_equal(second.owner->references, 2);
    slice_queue_drop(&queue, 0);
    holds(&queue, 15);
    slice_queue_drop(&queue, 15);
    assert_int_equal(queue.count, 0);
    assert_int_equal(second.owner->references, 1);
    buffer_release(first.owner);
    buffer_release(second.owner);
    slice_queue_deinit(&queue);
}

/* The ring's beginning is in the middle of its memory when it grows. */
static void ring_grows_in_order(void **state)
{
    struct slice_queue queue = {0};
    uint64_t in = 0, out = 0;
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < 3; i++, in += 7)
            push(&queue, 7, 0, in);
        slice_queue_drop(&queue, 7);
        out += 7;
        holds(&queue, out);
    }
    assert_int_equal(queue.count, 80);
    assert_int_equal(queue.capacity, 128);
    slice_queue_deinit(&queue);
}

static void an_empty_queue_has_no_ring(void **state)
{
    struct slice_queue queue = {0}, other = {0};
    for (int i = 0; i < 17; i++)
        push(&queue, 1, 0, (uint64_t)i);
    slice_queue_drop(&queue, 16);
    assert_int_equal(queue.capacity, 32); /* not empty yet */
    slice_queue_drop(&queue, 1);
    assert_int_equal(queue.capacity, 0);
    assert_null(queue.slices);
    push(&queue, 1, 0, 0);
    const weir_slice *ring = queue.slices;
    slice_queue_drop(&queue, 1);
    assert_null(queue.slices);
    push(&other, 1, 0, 0); /* the ring of usual size serves the next queue */
    assert_ptr_equal(other.slices, ring);
    holds(&other, 0);
    slice_queue_deinit(&other);
}

static void not_many_rings_are_kept(void **state)
{
    enum { MANY = 200 };
    static struct slice_queue queues[MANY];
    static const uint8_t byte = 1;
    for (int i = 0; i < MANY; i++)
        slice_queue_push(&queues[i], (weir_slice){&byte, 1, NULL});
    assert_int_equal(memory.blocks, MANY);
    for (int i = 0; i < MANY; i++)
        slice_queue_deinit(&queues[i]);
    assert_int_equal(memory.blocks, 64);
}

/* --- settling */

/* What the queue keeps alive: the capacities of its buffers, each counted once. */
static uint64_t pinned(const struct slice_queue *queue)
{
    static weir_buffer *seen[4096];
    uint32_t count = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < queue->count; i++) {
        weir_buffer *owner = queue->slices[(queue->first + i) % queue->capacity].owner;
        uint32_t known = 0;
        while (known < count && seen[known] != owner)
            known++;
        if (!owner || known < count)
            continue;
        seen[count++] = owner;
        bytes += owner->capacity;
        assert_true(count < 4096);
    }
    return bytes;
}

static void small_slices_of_large_buffers_are_gathered(void **state)
{
    struct slice_queue queue = {0};
    for (int i = 0; i < 100; i++) { /* each pins 60 KiB */
        weir_slice slice = own_slice(100, RECEIVE_BUFFER_BYTES - 100, (uint64_t)i * 100);
        slice_queue_push(&queue, slice);
        buffer_release(slice.owner);
    }
    assert_int_equal(pinned(&queue), 100 * RECEIVE_BUFFER_BYTES);
    slice_queue_settle(&queue);
    assert_int_equal(queue.count, 1);
    assert_int_equal(pinned(&queue), 10000);
    holds(&queue, 0);
    slice_queue_deinit(&queue);
}

/* Settles a queue of one slice; whether it still has its buffer. */
static bool stays(struct slice_queue *queue)
{
    const weir_buffer *owner = queue->slices[queue->first].owner;
    slice_queue_settle(queue);
    return queue->slices[queue->first].owner == owner;
}

static void at_most_an_eighth_of_a_buffer_is_unused(void **state)
{
    static const struct {
        size_t length, spare;
        bool stays;
    } cases[] = {{7000, 1000, true}, {6999, 1001, false}, {8, 1, true}, {7, 2, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slice_queue queue = {0};
        push(&queue, cases[i].length, cases[i].spare, 0);
        assert_int_equal(stays(&queue), cases[i].stays);
        assert_true(pinned(&queue) * 7 <= queue.bytes * 8);
        holds(&queue, 0);
        slice_queue_deinit(&queue);
    }
}

static void slices_of_one_buffer_fill_it_together(void **state)
{
    struct slice_queue queue = {0};
    weir_slice whole = own_slice(9000, 0, 0);
    for (size_t i = 0; i < 9000; i += 1000)
        slice_queue_push(&queue, (weir_slice){whole.bytes + i, 1000, whole.owner});
    buffer_release(whole.owner);
    slice_queue_settle(&queue);
    assert_int_equal(queue.count, 9);
    assert_ptr_equal(queue.slices[8].owner, whole.owner);
    slice_queue_deinit(&queue);
}

/* Nothing new comes in for what has left before all of it has. */
static void of_a_slice_that_was_cut_a_quarter_is_enough(void **state)
{
    struct slice_queue queue = {0};
    push(&queue, 8000, 0, 0);
    assert_true(stays(&queue));
    slice_queue_drop(&queue, 6000);
    assert_true(stays(&queue));
    slice_queue_drop(&queue, 1);
    assert_false(stays(&queue));
    assert_int_equal(pinned(&queue), 1999);
    slice_queue_drop(&queue, 1499);
    assert_true(stays(&queue)); /* it is the copy now, cut again */
    holds(&queue, 7500);
    push(&queue, 1000, 1000, 8000);
    slice_queue_drop(&queue, 500);
    assert_false(stays(&queue)); /* the next one has not been cut */
    holds(&queue, 8000);
    slice_queue_deinit(&queue);
}

static void static_bytes_stay_where_they_are(void **state)
{
    static uint8_t bytes[100];
    struct slice_queue queue = {0};
    fill(bytes, sizeof bytes, 0);
    slice_queue_push(&queue, (weir_slice){bytes, 60, NULL});
    slice_queue_push(&queue, (weir_slice){bytes + 60, 40, NULL});
    slice_queue_settle(&queue);
    holds(&queue, 0);
    assert_ptr_equal(queue.slices[0].bytes, bytes);
    assert_ptr_equal(queue.slices[1].bytes, bytes + 60);
    assert_int_equal(queue.count, 2);
    slice_queue_deinit(&queue);
}

static void settled_slices_are_not_copied_again(void **state)
{
    struct slice_queue queue = {0};
    for (int i = 0; i < 3; i++)
        push(&queue, 300, 4000, (uint64_t)i * 300);
    slice_queue_settle(&queue);
    const uint8_t *bytes = queue.slices[0].bytes;
    push(&queue, 300, 4000, 900);
    slice_queue_settle(&queue);
    assert_ptr_equal(queue.slices[0].bytes, bytes);
    assert_int_equal(queue.count, 2);
    holds(&queue, 0);
    slice_queue_deinit(&queue);
}

/* A byte at a time, settled each time: few slices, and hardly more memory than bytes. */
static void small_slices_join_what_is_settled(void **state)
{
    struct slice_queue queue = {0};
    for (uint64_t i = 0; i < 5000; i++) {
        push(&queue, 1, i % 2 * RECEIVE_BUFFER_BYTES, i);
        slice_queue_settle(&queue);
        assert_true(queue.count <= 1 + queue.bytes / 512);
        assert_true(pinned(&queue) <= 2 * queue.bytes);
    }
    holds(&queue, 0);
    slice_queue_deinit(&queue);
}

static void ring_shrinks_with_what_it_holds(void **state)
{
    struct slice_queue queue = {0};
    for (uint64_t i = 0; i < 200; i++)
        push(&queue, 1, RECEIVE_BUFFER_BYTES, i);
    assert_int_equal(queue.capacity, 256);
    slice_queue_drop(&queue, 100); /* the ring's beginning is in the middle of its memory */
    slice_queue_settle(&queue);
    assert_true(queue.capacity <= 16);
    holds(&queue, 100);
    push(&queue, 1, 0, 200);
    holds(&queue, 100);
    slice_queue_deinit(&queue);
}

static void crumbs_do_not_make_the_ring_large(void **state)
{
    struct slice_queue queue = {0};
    for (uint64_t i = 0; i < 20000; i++) {
        push(&queue, 1, 10, i);
        assert_true(queue.capacity <= 256);
    }
    holds(&queue, 0);
    slice_queue_deinit(&queue);
}

static void what_a_drop_leaves_of_a_slice_is_settled_again(void **state)
{
    struct slice_queue queue = {0};
    push(&queue, 1000, 0, 0);
    push(&queue, 1000, 0, 1000);
    slice_queue_settle(&queue);
    slice_queue_drop(&queue, 995);
    slice_queue_settle(&queue);
    assert_true(pinned(&queue) <= 4 * queue.bytes);
    assert_int_equal(queue.slices[queue.first].owner->capacity, 5);
    holds(&queue, 995);
    slice_queue_deinit(&queue);
}

static void copies_are_of_bounded_size(void **state)
{
    struct slice_queue queue = {0};
    for (int i = 0; i < 40; i++)
        push(&queue, 1000, 4001, (uint64_t)i * 1000);
    slice_queue_settle(&queue);
    holds(&queue, 0);
    assert_int_equal(queue.count, 3);
    for (uint32_t i = 0; i < queue.count; i++)
        assert_true(queue.slices[i].owner->capacity <= 17000); /* the one that passes 16 KiB */
    slice_queue_deinit(&queue);
}

static size_t random_spare(struct dice *dice)
{
    return dice_percent(dice, 50) ? dice_below(dice, 8) : dice_size(dice, 20000);
}

static void push_random(struct slice_queue *queue, struct dice *dice, uint64_t *in)
{
    size_t length = dice_size(dice, 3000);
    if (dice_percent(dice, 40)) { /* as a read would */
        size_t size;
        fill(receive_space(&size), length, *in);
        weir_slice slice = receive_take(length);
        slice_queue_push(queue, slice);
        buffer_release(slice.owner);
    } else {
        push(queue, length, random_spare(dice), *in);
    }
    *in += length;
}

static void random_operations_keep_the_stream(void **state)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct dice dice = dice_of(seed, 0);
        struct slice_queue queue = {0};
        uint64_t in = 0, out = 0;
        for (int i = 0; i < 600; i++) {
            uint64_t what = dice_below(&dice, 10);
            if (what < 5 && queue.bytes < 100000) {
                push_random(&queue, &dice, &in);
            } else if (what < 8) {
                uint64_t bytes = dice_below(&dice, queue.bytes + 1);
                slice_queue_drop(&queue, bytes);
                out += bytes;
            } else {
                slice_queue_settle(&queue);
                assert_true(pinned(&queue) <= 4 * queue.bytes);
            }
            assert_int_equal(queue.bytes, in - out);
            holds(&queue, out);
        }
        slice_queue_deinit(&queue);
        buffer_pool_deinit();
        assert_int_equal(memory.blocks, 0);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sizes_of_buffers),
        TEST(lives_until_the_last_reference_goes),
        TEST(usual_sizes_are_kept_and_used_again),
        TEST(not_many_are_kept),
        TEST(reads_share_one_buffer),
        TEST(space_rewinds_when_nothing_is_held),
        TEST(little_room_takes_another_buffer),
        TEST(a_read_may_fill_the_space),
        TEST(slices_outlive_the_space),
        TEST(takes_references_of_its_own),
        TEST(empty_slices_are_dropped),
        TEST(peek_is_bounded_by_both),
        TEST(drop_releases_what_is_passed),
        TEST(ring_grows_in_order),
        TEST(an_empty_queue_has_no_ring),
        TEST(not_many_rings_are_kept),
        TEST(small_slices_of_large_buffers_are_gathered),
        TEST(at_most_an_eighth_of_a_buffer_is_unused),
        TEST(slices_of_one_buffer_fill_it_together),
        TEST(of_a_slice_that_was_cut_a_quarter_is_enough),
        TEST(static_bytes_stay_where_they_are),
        TEST(settled_slices_are_not_copied_again),
        TEST(small_slices_join_what_is_settled),
        TEST(ring_shrinks_with_what_it_holds),
        TEST(crumbs_do_not_make_the_ring_large),
        TEST(what_a_drop_leaves_of_a_slice_is_settled_again),
        TEST(copies_are_of_bounded_size),
        TEST(random_operations_keep_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
