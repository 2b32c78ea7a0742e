/* tests/sim/network.c - the two ends of a simulated connection and the buffers between them */
#include "tests/sim/network.h"

#include <string.h>

#include "core/base/list.h"
#include "core/base/memory.h"

struct network_servers network_servers;

struct connection_pair {
    struct endpoint ends[2];
    struct event free; /* later: an end may be closed from inside its own event */
};

static uint64_t connections;

static struct dice *dice(void)
{
    return &simulation.dice;
}

uint64_t endpoint_pause_us(const struct endpoint *end)
{
    uint64_t kind = dice_below(dice(), 1000);
    if (!end->peer)
        return kind < 600 ? 0 : dice_below(dice(), kind < 980 ? 200 : 20000);
    if (kind < 900 || end->impatient)
        return dice_below(dice(), kind < 500 ? 100 : 5000);
    return dice_below(dice(), kind < 998 ? 100000 : 1500000);
}

/* --- what waits */

static bool something_to_read(const struct endpoint *end)
{
    return end->count || (end->reset_come && !end->reset_read) || (end->end_come && !end->end_read);
}

/* A reset may be noticed by an end that does not read, or only when it reads again. */
static bool wants_to_read(const struct endpoint *end)
{
    return !end->paused || (end->reset_come && !end->count && dice_percent(dice(), 30));
}

static void expect_reading(struct endpoint *end, uint64_t delay_us)
{
    if (!end->closed && !end->lost && !event_is_set(&end->readable) && something_to_read(end) &&
        wants_to_read(end))
        event_set(&end->readable, delay_us + endpoint_pause_us(end));
}

static void expect_writing(struct endpoint *end)
{
    if (!end->closed && end->wants_room && !event_is_set(&end->writable) && endpoint_room(end))
        event_set(&end->writable, endpoint_pause_us(end));
}

static void fire_readable(struct event *event)
{
    struct endpoint *end = CONTAINER(event, struct endpoint, readable);
    end->events->readable(end->user);
    expect_reading(end, 0);
}

static void fire_writable(struct event *event)
{
    struct endpoint *end = CONTAINER(event, struct endpoint, writable);
    end->wants_room = false;
    end->events->writable(end->user);
}

/* --- reading and writing */

static size_t take(struct endpoint *end, uint8_t *bytes, size_t most)
{
    size_t count = most < end->count ? most : end->count;
    size_t run = end->capacity - end->first;
    run = run < count ? run : count;
    memcpy(bytes, end->bytes + end->first, run);
    memcpy(bytes + run, end->bytes, count - run);
    end->first = (end->first + (uint32_t)count) & (end->capacity - 1);
    end->count -= (uint32_t)count;
    return count;
}

ptrdiff_t endpoint_read(struct endpoint *end, uint8_t *bytes, size_t most)
{
    size_t count = take(end, bytes, most);
    if (count) {
        expect_writing(end->other);
        return (ptrdiff_t)count;
    }
    if (end->count)
        return READ_NOTHING;
    if (end->end_come && !end->end_read) {
        end->end_read = true;
        return READ_END;
    }
    if (end->reset_come && !end->reset_read) {
        end->reset_read = true;
        return READ_RESET;
    }
    return READ_NOTHING;
}

size_t endpoint_room(const struct endpoint *end)
{
    const struct endpoint *other = end->other;
    return end->reset_come || other->closed ? ENDPOINT_BYTES_MOST : other->capacity - other->count;
}

static void put(struct endpoint *end, const uint8_t *bytes, size_t count)
{
    size_t last = (end->first + end->count) & (end->capacity - 1);
    size_t run = end->capacity - last;
    run = run < count ? run : count;
    memcpy(end->bytes + last, bytes, run);
    memcpy(end->bytes, bytes + run, count - run);
    end->count += (uint32_t)count;
}

/* The other end's reset reaches this one, and may overtake what it sent before. */
static void come_reset(struct endpoint *end)
{
    if (end->reset_come || end->closed)
        return;
    end->reset_come = true;
    if (!end->end_come && dice_percent(dice(), 50))
        end->count = 0;
    expect_reading(end, end->latency_us);
    expect_writing(end);
}

size_t endpoint_write(struct endpoint *end, const uint8_t *bytes, size_t count)
{
    struct endpoint *other = end->other;
    if (end->reset_come)
        return count;
    if (other->closed) {
        come_reset(end); /* nobody is there: the kernel answers with a reset */
        return count;
    }
    size_t room = endpoint_room(end);
    count = count < room ? count : room;
    put(other, bytes, count);
    expect_reading(other, other->latency_us);
    return count;
}

void endpoint_want_room(struct endpoint *end)
{
    end->wants_room = true;
    expect_writing(end);
}

void endpoint_pause(struct endpoint *end, bool paused)
{
    end->paused = paused;
    if (paused)
        event_clear(&end->readable);
    expect_reading(end, 0);
}

/* --- the end */

void endpoint_finish(struct endpoint *end)
{
    struct endpoint *other = end->other;
    if (other->end_come || other->reset_come)
        return;
    other->end_come = true;
    expect_reading(other, other->latency_us);
}

static void fire_free(struct event *event)
{
    struct connection_pair *pair = CONTAINER(event, struct connection_pair, free);
    for (int i = 0; i < 2; i++)
        memory_free(pair->ends[i].bytes);
    memory_free(pair);
    loop_hold(-1);
}

static void close_end(struct endpoint *end)
{
    struct endpoint *first = end < end->other ? end : end->other;
    end->closed = true;
    event_clear(&end->readable);
    event_clear(&end->writable);
    if (end->other->closed)
        event_set(&CONTAINER(first, struct connection_pair, ends)->free, 0);
}

void endpoint_reset(struct endpoint *end)
{
    come_reset(end->other);
    close_end(end);
}

bool endpoint_close(struct endpoint *end)
{
    if (end->count)
        come_reset(end->other);
    else
        endpoint_finish(end);
    close_end(end);
    return !end->other->reset_come;
}

/* --- the beginning */

static void widen(struct endpoint *end, uint32_t capacity)
{
    if (end->capacity >= capacity || end->count)
        return;
    end->capacity = capacity;
    end->bytes = memory_resize(end->bytes, capacity);
}

void endpoint_widen(struct endpoint *end, uint32_t capacity)
{
    widen(end, capacity);
    widen(end->other, capacity);
}

static void init_end(struct endpoint *end, struct endpoint *other, bool peer)
{
    end->other = other;
    end->number = connections;
    end->peer = peer;
    end->capacity = ENDPOINT_BYTES_MOST >> dice_below(dice(), 8);
    end->bytes = memory_allocate(end->capacity);
    end->latency_us = (uint32_t)dice_size(dice(), 30000);
    event_init(&end->readable, fire_readable);
    event_init(&end->writable, fire_writable);
}

struct endpoint *connection_pair_new(void)
{
    struct connection_pair *pair = memory_zeroed(sizeof *pair);
    connections++;
    init_end(&pair->ends[0], &pair->ends[1], false);
    init_end(&pair->ends[1], &pair->ends[0], true);
    event_init(&pair->free, fire_free);
    loop_hold(1);
    return &pair->ends[0];
}
