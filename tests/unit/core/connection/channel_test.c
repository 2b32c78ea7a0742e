/* tests/unit/core/connection/channel_test.c - a leg of an exchange: what is stored, how it is let
 * go */
#include "core/connection/channel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"

static _Alignas(8) uint8_t first_block[1024];
static struct arena arena;
static struct turn turn;
static struct mark owner;
static struct channel channel;
static struct link list; /* of the connection */
static char calls[256];  /* of the operations, in order */

static void step(struct mark *mark)
{
}

/* --- the protocol */

static void call(const char *name, long long number)
{
    size_t length = strlen(calls);
    snprintf(calls + length, sizeof calls - length, "%s %lld ", name, number);
}

static void protocol_reset(weir_channel *public, weir_result why)
{
    assert_ptr_equal(public, &channel.public);
    call("reset", why);
}

static void protocol_grant(weir_channel *public, size_t bytes)
{
    assert_ptr_equal(public, &channel.public);
    call("grant", (long long)bytes);
}

static void protocol_close(weir_channel *public)
{
    assert_ptr_equal(public, &channel.public);
    call("close", channel.incoming.count); /* what was not taken is dropped first: 0 */
}

static const weir_channel_operations operations = {
    .size = sizeof operations,
    .reset = protocol_reset,
    .grant = protocol_grant,
    .close = protocol_close,
};

static int set_up(void **state)
{
    arena_init(&arena, first_block, sizeof first_block);
    turn_init(&turn);
    mark_init(&owner, step);
    channel_init(&channel, &turn, &owner, &arena);
    channel.operations = &operations;
    link_init(&list);
    link_insert(&list, &channel.link);
    calls[0] = 0;
    return 0;
}

static int tear_down(void **state)
{
    channel_close(&channel);
    arena_deinit(&arena);
    arena_pool_deinit();
    buffer_pool_deinit();
    return 0;
}

static void marks_its_owner(void)
{
    assert_true(owner.marked);
    assert_false(turn_run(&turn));
}

static void deliver(size_t bytes)
{
    weir_buffer *buffer = buffer_new(bytes);
    channel_deliver_data(&channel, &(weir_slice){buffer->bytes, bytes, buffer}, 0);
    buffer_release(buffer);
}

/* --- what it receives */

static void everything_marks_the_owner(void **state)
{
    const weir_head head = {.size = sizeof head, .status = 200};
    const weir_field field = {WEIR_STRING("a"), WEIR_STRING("b")};
    channel_deliver_interim(&channel, &head);
    marks_its_owner();
    channel_deliver_head(&channel, &head);
    assert_int_equal(channel.head->view.status, 200);
    marks_its_owner();
    deliver(5);
    marks_its_owner();
    channel_deliver_trailers(&channel, &field, 1);
    marks_its_owner();
    channel_deliver_error(&channel, WEIR_MALFORMED);
    marks_its_owner();
    channel_granted(&channel, 5);
    channel_granted(&channel, 2);
    assert_int_equal(channel.credit, 7);
    assert_int_equal(channel.left, 0); /* room is no sign of what has left */
    marks_its_owner();
    channel_has_sent(&channel, 3);
    channel_has_sent(&channel, 1);
    assert_int_equal(channel.left, 4);
    assert_int_equal(channel.credit, 7); /* nor the other way round */
    marks_its_owner();
    channel_fail(&channel, WEIR_RESET, false);
    marks_its_owner();
    assert_string_equal(calls, ""); /* nothing is answered from inside an event */
}

static void interim_heads_wait_in_order(void **state)
{
    for (uint32_t status = 100; status < 103; status++) {
        const weir_head head = {.size = sizeof head, .status = status};
        channel_deliver_interim(&channel, &head);
    }
    assert_true(channel.answered);
    assert_null(channel.head);
    struct head *interim = channel.interim;
    for (uint32_t status = 100; status < 103; status++, interim = interim->next)
        assert_int_equal(interim->view.status, status);
    assert_null(interim);
}

static void ends(void **state)
{
    const weir_head open = {.size = sizeof open}, whole = {.size = sizeof whole, .flags = WEIR_END};
    const weir_slice nothing = {0};
    channel_deliver_head(&channel, &open);
    assert_false(channel.incoming_ended);
    deliver(5);
    assert_false(channel.incoming_ended);
    channel_deliver_data(&channel, &nothing, WEIR_END);
    assert_true(channel.incoming_ended);
    assert_int_equal(channel.incoming.bytes, 5);
    assert_int_equal(channel.received_bytes, 5);
    tear_down(state);
    set_up(state);
    channel_deliver_head(&channel, &whole);
    assert_true(channel.incoming_ended);
    tear_down(state);
    set_up(state);
    channel_deliver_trailers(&channel, NULL, 0);
    assert_true(channel.incoming_ended);
}

static void the_first_failure_counts(void **state)
{
    channel_fail(&channel, WEIR_REFUSED, true);
    channel_fail(&channel, WEIR_RESET, false);
    assert_int_equal(channel.failed, WEIR_REFUSED);
    assert_true(channel.unprocessed);
    assert_false(channel_open(&channel));
}

/* --- how it is let go */

static void what_was_not_taken_is_granted(void **state)
{
    weir_connection connection;
    channel.public.connection = &connection;
    channel.connection = (struct connection *)&list; /* any */
    deliver(100);
    deliver(50);
    channel_grant(&channel, 30); /* consumed */
    channel_close(&channel);
    assert_string_equal(calls, "grant 30 grant 120 close 0 ");
    assert_true(link_alone(&list));
    assert_null(channel.connection);
    assert_null(channel.public.connection);
    channel_close(&channel); /* once */
    channel_abort(&channel, WEIR_RESET);
    assert_string_equal(calls, "grant 30 grant 120 close 0 ");
}

static void an_abort_tells_why(void **state)
{
    deliver(10);
    channel_abort(&channel, WEIR_CANCELLED);
    assert_string_equal(calls, "reset -5 grant 10 close 0 ");
}

/* A dead leg is not aborted once more, and has no credit to give. */
static void a_failed_one_is_only_closed(void **state)
{
    deliver(10);
    channel_fail(&channel, WEIR_RESET, false);
    channel_abort(&channel, WEIR_CANCELLED);
    assert_string_equal(calls, "close 0 ");
}

/* The connection is gone: its protocol has forgotten the channel. */
static void a_detached_one_is_not_even_closed(void **state)
{
    deliver(10);
    channel.detached = true;
    channel_fail(&channel, WEIR_RESET, false);
    channel_abort(&channel, WEIR_CANCELLED);
    assert_string_equal(calls, "");
    assert_int_equal(channel.incoming.count, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(everything_marks_the_owner),
        TEST(interim_heads_wait_in_order),
        TEST(ends),
        TEST(the_first_failure_counts),
        TEST(what_was_not_taken_is_granted),
        TEST(an_abort_tells_why),
        TEST(a_failed_one_is_only_closed),
        TEST(a_detached_one_is_not_even_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
