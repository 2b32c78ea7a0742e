/* tests/unit/core/exchange/relay_test.c - bytes from one channel to the other, by credit
 *
 * Both channels' operations are this file's: the sink keeps what it is sent until the test lets it
 * leave, the source counts the credit that it gets back. */
#include "core/exchange/relay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "tests/sim/dice.h"

static _Alignas(8) uint8_t first_block[1024];
static struct arena arena;
static struct turn turn;
static struct mark owner;
static struct channel source, sink;
static struct flow flow;
static uint64_t delivered; /* to the source: byte i of the stream is pattern(i) */
static uint64_t taken;     /* by the sink */
static uint64_t left;      /* of the sink's: with its peer */
static uint64_t granted;   /* to the sink, ever */
static uint64_t returned;  /* to the source, ever */
static int batches, ends, trailers;
static uint64_t pinned; /* the largest sum of buffers of one batch for its bytes, in percent */

static uint8_t pattern(uint64_t position)
{
    return (uint8_t)(position * 2654435761u >> 16);
}

static void step(struct mark *mark)
{
}

/* --- the sink and the source */

static void sink_data(weir_channel *channel, const weir_slice *slices, uint32_t count,
                      uint32_t flags)
{
    assert_ptr_equal(channel, &sink.public);
    assert_int_equal(ends + trailers, 0);
    assert_true(count || flags & WEIR_END);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(slices[i].length > 0);
        for (size_t k = 0; k < slices[i].length; k++)
            assert_int_equal(slices[i].bytes[k], pattern(taken + k));
        taken += slices[i].length;
        if (slices[i].owner && slices[i].owner->capacity * 100 / slices[i].length > pinned)
            pinned = slices[i].owner->capacity * 100 / slices[i].length;
    }
    assert_true(taken <= granted); /* credit is never exceeded */
    batches++;
    if (flags & WEIR_END) {
        assert_int_equal(taken, delivered); /* the end is behind the last byte */
        ends++;
    }
}

static void sink_trailers(weir_channel *channel, const weir_field *fields, uint32_t count)
{
    assert_ptr_equal(channel, &sink.public);
    assert_int_equal(ends + trailers, 0);
    assert_int_equal(taken, delivered);
    assert_int_equal(count, 1);
    assert_true(string_equal(fields[0].name, WEIR_STRING("X-Sum")));
    trailers++;
}

static void source_grant(weir_channel *channel, size_t bytes)
{
    assert_ptr_equal(channel, &source.public);
    assert_true(bytes > 0);
    returned += bytes;
    assert_true(returned <= left); /* only what has left frees room */
}

static void channel_over(weir_channel *channel)
{
    (void)channel;
}

static const weir_channel_operations sink_operations = {
    .size = sizeof sink_operations,
    .data = sink_data,
    .trailers = sink_trailers,
    .close = channel_over,
};

static const weir_channel_operations source_operations = {
    .size = sizeof source_operations,
    .grant = source_grant,
    .close = channel_over,
};

static int set_up(void **state)
{
    delivered = taken = left = granted = returned = pinned = 0;
    batches = ends = trailers = 0;
    arena_init(&arena, first_block, sizeof first_block);
    turn_init(&turn);
    mark_init(&owner, step);
    channel_init(&source, &turn, &owner, &arena);
    channel_init(&sink, &turn, &owner, &arena);
    source.operations = &source_operations;
    sink.operations = &sink_operations;
    flow = (struct flow){.source = &source, .sink = &sink};
    return 0;
}

static int tear_down(void **state)
{
    source.owed = 0; /* what was not passed on is nobody's here */
    channel_close(&source);
    channel_close(&sink);
    arena_deinit(&arena);
    arena_pool_deinit();
    buffer_pool_deinit();
    return 0;
}

/* --- what happens */

/* That many bytes come, in a buffer that is `spare` bytes larger. */
static void deliver(size_t length, size_t spare, uint32_t flags)
{
    weir_buffer *buffer = buffer_new(length + spare);
    for (size_t i = 0; i < length; i++)
        buffer->bytes[i] = pattern(delivered + i);
    delivered += length;
    channel_deliver_data(&source, &(weir_slice){buffer->bytes, length, buffer}, flags);
    buffer_release(buffer);
}

static void grant(uint64_t bytes)
{
    granted += bytes;
    channel_granted(&sink, bytes);
}

/* That many of the bytes that the sink took leave it. */
static void leave(uint64_t bytes)
{
    left += bytes;
    assert_true(left <= taken);
    channel_has_sent(&sink, bytes);
    grant(bytes);
}

/* As the exchange does it when no filter sees the bytes. */
static bool move(void)
{
    relay_return_credit(&flow);
    bool moved = relay_pump(&flow);
    if (!relay_at_trailers(&flow))
        return moved;
    relay_pass_trailers(&flow);
    return true;
}

static void pump(bool moved)
{
    assert_int_equal(move(), moved);
    assert_true(source.incoming.bytes + flow.in_transit <= delivered - returned);
}

/* --- tests */

static void nothing_to_do(void **state)
{
    grant(1000);
    pump(false);
    assert_int_equal(batches, 0);
    assert_true(relay_drained(&flow));
}

static void moves_what_is_there(void **state)
{
    grant(1000);
    pump(false);
    deliver(300, 0, 0);
    deliver(200, 0, 0);
    assert_false(relay_drained(&flow));
    pump(true);
    assert_int_equal(taken, 500);
    assert_int_equal(batches, 1); /* both together */
    assert_int_equal(sink.credit, 500);
    assert_true(relay_drained(&flow));
    pump(false);
    assert_false(flow.ended);
}

static void credit_bounds_it(void **state)
{
    deliver(1000, 0, WEIR_END);
    pump(false); /* no credit yet */
    grant(999);
    pump(true);
    assert_int_equal(taken, 999);
    assert_int_equal(ends, 0);
    pump(false);
    leave(1);
    pump(true);
    assert_int_equal(taken, 1000);
    assert_int_equal(ends, 1);
    assert_true(flow.ended);
}

static void the_end_comes_with_the_last_byte(void **state)
{
    grant(1000);
    pump(false);
    deliver(10, 0, WEIR_END);
    pump(true);
    assert_int_equal(batches, 1);
    assert_int_equal(ends, 1);
    pump(false);
    assert_int_equal(ends, 1);
}

static void the_end_needs_no_credit(void **state)
{
    weir_slice nothing = {0};
    grant(10);
    pump(false);
    deliver(10, 0, 0);
    pump(true);
    assert_int_equal(sink.credit, 0);
    channel_deliver_data(&source, &nothing, WEIR_END);
    pump(true);
    assert_int_equal(batches, 2);
    assert_int_equal(ends, 1);
}

static void deliver_trailers(void)
{
    const weir_field fields[] = {{WEIR_STRING("Content-Length"), WEIR_STRING("5")},
                                 {WEIR_STRING("X-Sum"), WEIR_STRING("1")}};
    channel_deliver_trailers(&source, fields, 2);
}

static void trailers_come_behind_the_last_byte(void **state)
{
    grant(10);
    pump(false);
    deliver(20, 0, 0);
    deliver_trailers();
    pump(true);
    assert_int_equal(taken, 10);
    assert_int_equal(trailers, 0);
    leave(10);
    pump(true);
    assert_int_equal(trailers, 1);
    assert_int_equal(ends, 0); /* they are the end */
    assert_true(flow.ended);
    pump(false);
    assert_int_equal(trailers, 1);
}

static void trailers_without_a_body(void **state)
{
    deliver_trailers();
    pump(true);
    assert_int_equal(batches, 0);
    assert_int_equal(trailers, 1);
    assert_true(flow.ended);
}

static void many_slices_go_in_batches(void **state)
{
    grant(65536);
    pump(false);
    for (int i = 0; i < 100; i++)
        deliver(10, 0, i == 99 ? WEIR_END : 0);
    pump(true);
    assert_int_equal(taken, 1000);
    assert_int_equal(batches, 4); /* of at most 32 */
    assert_int_equal(ends, 1);
}

static void one_step_has_a_bound(void **state)
{
    grant(1000000);
    pump(false);
    for (int i = 0; i < 20; i++)
        deliver(10000, 0, i == 19 ? WEIR_END : 0);
    pump(true);
    assert_int_equal(taken, RELAY_BYTES_MOST);
    pump(true);
    assert_int_equal(taken, 2 * RELAY_BYTES_MOST);
    assert_false(flow.ended);
    pump(true);
    pump(true);
    assert_int_equal(taken, 200000);
    assert_true(flow.ended);
}

static void one_step_of_many_slices_has_the_same_bound(void **state)
{
    grant(1000000);
    pump(false);
    for (int i = 0; i < 100; i++)
        deliver(1000, 0, 0);
    pump(true);
    assert_int_equal(taken, RELAY_BYTES_MOST);
    pump(true);
    assert_int_equal(taken, 100000);
}

static void credit_comes_back_for_what_has_left(void **state)
{
    grant(65536);
    pump(false);
    deliver(50000, 0, 0);
    pump(true);
    pump(false);
    assert_int_equal(returned, 0); /* the first grant is no sign of anything */
    assert_int_equal(flow.in_transit, 50000);
    leave(20000);
    pump(false);
    assert_int_equal(returned, 20000);
    assert_int_equal(flow.in_transit, 30000);
    assert_int_equal(source.owed, 30000);
    leave(30000);
    pump(false);
    assert_int_equal(returned, 50000);
    assert_int_equal(flow.in_transit, 0);
    pump(false);
    assert_int_equal(returned, 50000);
}

/* A peer may open its window before anything has left, or keep it shut although all has. */
static void room_and_what_has_left_are_two_accounts(void **state)
{
    deliver(2000, 0, 0);
    pump(false);
    grant(1000);
    pump(true);
    grant(1000);
    pump(true);
    grant(1 << 20);
    pump(false);
    assert_int_equal(returned, 0);
    left += 2000;
    channel_has_sent(&sink, 2000);
    pump(false);
    assert_int_equal(returned, 2000);
    assert_int_equal(sink.credit, 1 << 20);
}

static void a_sink_that_says_too_much_is_not_believed(void **state)
{
    grant(1000);
    deliver(100, 0, 0);
    pump(true);
    left += 100;
    channel_has_sent(&sink, 5000);
    pump(false);
    assert_int_equal(returned, 100);
    assert_int_equal(flow.in_transit, 0);
}

static void a_closed_sink_takes_nothing(void **state)
{
    grant(1000);
    pump(false);
    deliver(10, 0, WEIR_END);
    channel_fail(&sink, WEIR_RESET, false);
    pump(false);
    assert_int_equal(batches, 0);
    deliver_trailers();
    pump(false);
    assert_int_equal(trailers, 0);
    assert_false(flow.ended);
}

static uint64_t held(void)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < source.incoming.count; i++)
        bytes += source.incoming.slices[(source.incoming.first + i) % source.incoming.capacity]
                     .owner->capacity;
    return bytes;
}

static void what_waits_fits_its_buffers(void **state)
{
    for (int i = 0; i < 200; i++)
        deliver(20, RECEIVE_BUFFER_BYTES, 0);
    pump(false);
    assert_true(held() <= 4 * source.incoming.bytes);
    grant(100);
    pump(true);
    assert_true(held() <= 4 * source.incoming.bytes);
}

/* When something is in transit already, what is added to it stays a while too. */
static void what_a_slow_sink_keeps_fits_its_buffers(void **state)
{
    grant(65536);
    pump(false);
    deliver(1000, 0, 0);
    pump(true);
    for (int i = 0; i < 50; i++)
        deliver(20, RECEIVE_BUFFER_BYTES, 0);
    pinned = 0;
    pump(true);
    assert_true(pinned && pinned <= 400);
    assert_int_equal(taken, 2000);
}

static void a_slow_sink_gets_no_crumbs(void **state)
{
    grant(65536);
    pump(false);
    deliver(1000, 0, 0);
    pump(true);
    for (int i = 0; i < 511; i++) {
        deliver(1, 0, 0);
        pump(false);
        assert_false(relay_may_go_on(&flow)); /* it would be stepped for nothing */
    }
    assert_int_equal(source.incoming.count, 1);
    deliver(1, 0, 0);
    pump(true); /* enough of them */
    assert_int_equal(taken, 1512);
    deliver(1, 0, 0);
    pump(false);
    leave(1512);
    pump(true); /* it is not slow any more */
    assert_int_equal(taken, 1513);
    deliver(1, 0, WEIR_END);
    pump(true); /* and the end does not wait */
    assert_int_equal(ends, 1);
}

static void a_sink_gets_no_long_list_of_crumbs(void **state)
{
    grant(65536);
    pump(false);
    for (int i = 0; i < 10000; i++)
        deliver(1, 0, 0);
    pump(true);
    assert_int_equal(taken, 10000);
    assert_true(batches <= 2);
}

static void may_go_on_when_only_the_bound_was_in_its_way(void **state)
{
    deliver(2 * RELAY_BYTES_MOST, 0, 0);
    pump(false);
    assert_false(relay_may_go_on(&flow)); /* there is no credit */
    grant(2 * RELAY_BYTES_MOST);
    pump(true);
    assert_true(relay_may_go_on(&flow));
    pump(true);
    assert_false(relay_may_go_on(&flow));
}

static void what_cannot_be_passed_on_yet_fits_its_buffers(void **state)
{
    for (int i = 0; i < 100; i++) {
        deliver(1, RECEIVE_BUFFER_BYTES, 0);
        relay_wait(&flow);
        assert_true(held() <= 4 * source.incoming.bytes);
    }
    assert_int_equal(batches, 0);
}

/* A sink that keeps up gets the bytes where they lie. */
static void nothing_is_copied_for_a_fast_sink(void **state)
{
    grant(65536);
    pump(false);
    deliver(20, 5000, 0);
    pump(true);
    assert_true(pinned > 10000);
}

static void random_events_move_everything(void **state)
{
    enum { WINDOW = 65536 };
    weir_slice nothing = {0};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct dice dice = dice_of(seed, 0);
        uint64_t credit = dice_size(&dice, WINDOW);
        uint64_t total = dice_size(&dice, credit < 8000 ? 50 * credit : 400000);
        bool with_trailers = dice_percent(&dice, 30), over = false;
        grant(credit);
        pump(false);
        for (int i = 0; i < 100000 && !(flow.ended && left == total); i++) {
            uint64_t room = WINDOW - (delivered - returned), most = total - delivered;
            most = room < most ? room : most;
            uint64_t what = dice_below(&dice, 10);
            if (what < 4 && most) {
                size_t length = 1 + dice_below(&dice, most < 5000 ? most : 5000);
                deliver(length, dice_below(&dice, 3) * 5000, 0);
            } else if (what < 5 && delivered == total && !over) {
                over = true;
                if (with_trailers)
                    deliver_trailers();
                else
                    channel_deliver_data(&source, &nothing, WEIR_END);
            } else if (what < 7) {
                leave(dice_below(&dice, taken - left + 1));
            } else {
                move();
            }
            assert_true(source.incoming.bytes + flow.in_transit <= WINDOW);
        }
        move();
        assert_int_equal(taken, total);
        assert_int_equal(left, total);
        assert_int_equal(returned, total); /* to the last byte */
        assert_int_equal(flow.in_transit, 0);
        assert_int_equal(ends, !with_trailers);
        assert_int_equal(trailers, with_trailers);
        tear_down(state);
        set_up(state);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_to_do),
        TEST(moves_what_is_there),
        TEST(credit_bounds_it),
        TEST(the_end_comes_with_the_last_byte),
        TEST(the_end_needs_no_credit),
        TEST(trailers_come_behind_the_last_byte),
        TEST(trailers_without_a_body),
        TEST(many_slices_go_in_batches),
        TEST(one_step_has_a_bound),
        TEST(one_step_of_many_slices_has_the_same_bound),
        TEST(credit_comes_back_for_what_has_left),
        TEST(room_and_what_has_left_are_two_accounts),
        TEST(a_sink_that_says_too_much_is_not_believed),
        TEST(a_closed_sink_takes_nothing),
        TEST(what_waits_fits_its_buffers),
        TEST(what_a_slow_sink_keeps_fits_its_buffers),
        TEST(a_slow_sink_gets_no_crumbs),
        TEST(a_sink_gets_no_long_list_of_crumbs),
        TEST(may_go_on_when_only_the_bound_was_in_its_way),
        TEST(what_cannot_be_passed_on_yet_fits_its_buffers),
        TEST(nothing_is_copied_for_a_fast_sink),
        TEST(random_events_move_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
