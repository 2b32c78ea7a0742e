/* core/base/buffer.c - reference-counted buffers, the receive space, and queues of slices */
#include "core/base/buffer.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/poison.h"

/* Buffers come in three kept sizes; anything else is allocated as asked. A thread keeps so many
 * free ones of each, as many as a busy worker has in flight in one turn. */
enum { SIZE_SMALL = 1024, SIZE_MEDIUM = 4096, SIZES = 3 };
static const uint32_t size_bytes[SIZES] = {SIZE_SMALL, SIZE_MEDIUM, RECEIVE_BUFFER_BYTES};
static const uint32_t size_keep[SIZES] = {256, 64, 8};

/* A queue has a ring only while it holds something. The first one has so many slices, and a thread
 * keeps some of those. Before one of RING_SETTLED slices grows it is settled, so that crumbs do not
 * make it large. */
enum { RING_SLICES = 8, RINGS_KEPT = 64, RING_SETTLED = 256 };

union ring {
    union ring *next_free;
    weir_slice slices[RING_SLICES];
};

/* A slice of fewer bytes shares a buffer with its neighbours once it stays: alone it would cost
 * more than it holds. They are copied together until they have GATHER_BYTES. */
enum { SLICE_SMALL = 512, GATHER_BYTES = 16384 };

/* A receive space smaller than this is not worth a read. */
enum { RECEIVE_LEAST = 16384 };

struct pool {
    weir_buffer *free[SIZES];
    uint32_t kept[SIZES];
    weir_buffer *receive; /* the pool holds one reference */
    uint32_t received;    /* bytes of it in use */
    union ring *free_rings;
    uint32_t rings_kept;
};
static _Thread_local struct pool pool;

static weir_buffer *allocate(uint32_t capacity)
{
    weir_buffer *buffer = memory_allocate(sizeof *buffer + capacity);
    buffer->capacity = capacity;
    return buffer;
}

static int size_index(size_t capacity)
{
    if (capacity == SIZE_SMALL)
        return 0;
    if (capacity == SIZE_MEDIUM)
        return 1;
    return capacity == RECEIVE_BUFFER_BYTES ? 2 : -1;
}

static weir_buffer *take(int index)
{
    weir_buffer *buffer = pool.free[index];
    if (buffer) {
        UNPOISON(buffer, sizeof *buffer + size_bytes[index]);
        pool.free[index] = buffer->next_free;
        pool.kept[index]--;
    } else {
        buffer = allocate(size_bytes[index]);
    }
    buffer->references = 1;
    return buffer;
}

weir_buffer *buffer_new(size_t capacity)
{
    assert(capacity <= UINT32_MAX);
    if (capacity > SIZE_SMALL / 2 && capacity <= SIZE_SMALL)
        return take(0);
    if (capacity > SIZE_SMALL && capacity <= SIZE_MEDIUM)
        return take(1);
    weir_buffer *buffer = allocate((uint32_t)capacity);
    buffer->references = 1;
    return buffer;
}

void buffer_free(weir_buffer *buffer)
{
    int index = size_index(buffer->capacity);
    if (index < 0 || pool.kept[index] == size_keep[index]) {
        memory_free(buffer);
        return;
    }
    buffer->next_free = pool.free[index];
    pool.free[index] = buffer;
    pool.kept[index]++;
    POISON(buffer, sizeof *buffer + size_bytes[index]);
}

void buffer_pool_deinit(void)
{
    buffer_release(pool.receive);
    for (int i = 0; i < SIZES; i++)
        while (pool.free[i]) {
            UNPOISON(pool.free[i], sizeof *pool.free[i]);
            weir_buffer *next = pool.free[i]->next_free;
            memory_free(pool.free[i]);
            pool.free[i] = next;
        }
    while (pool.free_rings) {
        UNPOISON(pool.free_rings, sizeof *pool.free_rings);
        union ring *next = pool.free_rings->next_free;
        memory_free(pool.free_rings);
        pool.free_rings = next;
    }
    memset(&pool, 0, sizeof pool);
}

uint8_t *receive_space(size_t *size)
{
    if (pool.receive && pool.receive->references == 1)
        pool.received = 0;
    if (!pool.receive || RECEIVE_BUFFER_BYTES - pool.received < RECEIVE_LEAST) {
        buffer_release(pool.receive);
        pool.receive = take(2);
        pool.received = 0;
    }
    *size = RECEIVE_BUFFER_BYTES - pool.received;
    return pool.receive->bytes + pool.received;
}

weir_slice receive_take(size_t length)
{
    weir_slice slice = {pool.receive->bytes + pool.received, length, pool.receive};
    assert(length <= RECEIVE_BUFFER_BYTES - pool.received);
    buffer_reference(pool.receive);
    pool.received += (uint32_t)((length + 7) & ~(size_t)7);
    if (pool.received > RECEIVE_BUFFER_BYTES)
        pool.received = RECEIVE_BUFFER_BYTES;
    return slice;
}

static weir_slice *slot(const struct slice_queue *queue, uint32_t index)
{
    return &queue->slices[(queue->first + index) & (queue->capacity - 1)];
}

static weir_slice *ring_new(uint32_t capacity)
{
    union ring *ring = pool.free_rings;
    if (capacity != RING_SLICES || !ring)
        return memory_allocate(capacity * sizeof(weir_slice));
    UNPOISON(ring, sizeof *ring);
    pool.free_rings = ring->next_free;
    pool.rings_kept--;
    return ring->slices;
}

static void ring_free(weir_slice *slices, uint32_t capacity)
{
    union ring *ring = (union ring *)slices;
    if (capacity != RING_SLICES || pool.rings_kept == RINGS_KEPT) {
        memory_free(slices);
        return;
    }
    ring->next_free = pool.free_rings;
    pool.free_rings = ring;
    pool.rings_kept++;
    POISON(ring, sizeof *ring);
}

static void set_capacity(struct slice_queue *queue, uint32_t capacity)
{
    weir_slice *slices = ring_new(capacity);
    for (uint32_t i = 0; i < queue->count; i++)
        slices[i] = *slot(queue, i);
    if (queue->capacity)
        ring_free(queue->slices, queue->capacity);
    queue->slices = slices;
    queue->capacity = capacity;
    queue->first = 0;
}

/* The queue has become empty. */
static void let_go_of_ring(struct slice_queue *queue)
{
    ring_free(queue->slices, queue->capacity);
    queue->slices = NULL;
    queue->capacity = 0;
    queue->cut = false;
}

void slice_queue_push(struct slice_queue *queue, weir_slice slice)
{
    if (!slice.length)
        return;
    if (queue->count == queue->capacity && queue->capacity >= RING_SETTLED)
        slice_queue_settle(queue);
    if (queue->count == queue->capacity)
        set_capacity(queue, queue->capacity ? queue->capacity * 2 : RING_SLICES);
    buffer_reference(slice.owner);
    *slot(queue, queue->count) = slice;
    queue->count++;
    queue->bytes += slice.length;
}

uint32_t slice_queue_peek(const struct slice_queue *queue, weir_slice *slices, uint32_t most,
                          uint64_t bytes)
{
    uint32_t count = 0;
    while (count < most && count < queue->count && bytes) {
        slices[count] = *slot(queue, count);
        if (slices[count].length > bytes)
            slices[count].length = (size_t)bytes;
        bytes -= slices[count].length;
        count++;
    }
    return count;
}

void slice_queue_drop(struct slice_queue *queue, uint64_t bytes)
{
    assert(bytes <= queue->bytes);
    queue->bytes -= bytes;
    while (bytes) {
        weir_slice *slice = slot(queue, 0);
        if (slice->length > bytes) {
            slice->bytes += bytes;
            slice->length -= (size_t)bytes;
            queue->settled = 0; /* what is left of it may now fill little of its buffer */
            queue->cut = true;
            return;
        }
        bytes -= slice->length;
        buffer_release(slice->owner);
        queue->first = (queue->first + 1) & (queue->capacity - 1);
        queue->count--;
        queue->cut = false;
        if (queue->settled)
            queue->settled--;
    }
    if (!queue->count && queue->capacity)
        let_go_of_ring(queue);
}

/* Slices in a row that lie in one buffer. */
struct run {
    uint32_t count;
    size_t bytes;
};

static struct run run_at(const struct slice_queue *queue, uint32_t index)
{
    const weir_buffer *owner = slot(queue, index)->owner;
    struct run run = {0};
    while (index + run.count < queue->count && slot(queue, index + run.count)->owner == owner) {
        run.bytes += slot(queue, index + run.count)->length;
        run.count++;
    }
    return run;
}

/* Whether the run fills its buffer well enough to keep it. What was cut did when it was whole, and
 * the source may not send as much again before the rest has gone. */
static bool fits(const struct slice_queue *queue, uint32_t index, const struct run *run)
{
    const weir_buffer *owner = slot(queue, index)->owner;
    if (!owner)
        return true;
    if (index == 0 && queue->cut)
        return run->bytes * 4 >= owner->capacity;
    return run->bytes + owner->capacity / 8 >= owner->capacity;
}

static bool is_small(const weir_slice *slice)
{
    return slice->owner && slice->length < SLICE_SMALL;
}

/* So many slices in a row could share one buffer, because they do not fit theirs or are small. */
static struct run loose_runs(const struct slice_queue *queue, uint32_t index)
{
    struct run loose = {0};
    while (index + loose.count < queue->count && loose.bytes < GATHER_BYTES) {
        uint32_t at = index + loose.count;
        struct run run = run_at(queue, at);
        bool small = slot(queue, at)->owner && run.bytes < (size_t)run.count * SLICE_SMALL;
        if (fits(queue, at, &run) && !small)
            break;
        loose.count += run.count;
        loose.bytes += run.bytes;
    }
    return loose;
}

/* Copies the slices of the run into one buffer; returns the slice that replaces them. */
static weir_slice gather(const struct slice_queue *queue, uint32_t index, const struct run *run)
{
    weir_buffer *buffer = allocate((uint32_t)run->bytes); /* just as large: it stays a while */
    buffer->references = 1;
    uint8_t *at = buffer->bytes;
    for (uint32_t i = index; i < index + run->count; i++) {
        weir_slice *slice = slot(queue, i);
        memcpy(at, slice->bytes, slice->length);
        at += slice->length;
        buffer_release(slice->owner);
    }
    return (weir_slice){buffer->bytes, run->bytes, buffer};
}

/* Where there is something to do: behind what is settled, whose last slice may still be small. */
static uint32_t unsettled(const struct slice_queue *queue)
{
    uint32_t from = queue->settled;
    return from && from < queue->count && is_small(slot(queue, from - 1)) ? from - 1 : from;
}

/* Settles the run; returns in how many slices it is now, from `to` on. */
static uint32_t settle_run(struct slice_queue *queue, uint32_t from, uint32_t to, struct run *run)
{
    *run = loose_runs(queue, from);
    bool alone = run->count == 1 && fits(queue, from, run); /* small, and nobody to share with */
    if (run->count && !alone) {
        queue->cut &= from > 0;
        *slot(queue, to) = gather(queue, from, run);
        return 1;
    }
    if (!run->count)
        *run = run_at(queue, from);
    for (uint32_t i = 0; i < run->count; i++)
        *slot(queue, to + i) = *slot(queue, from + i);
    return run->count;
}

void slice_queue_settle_rest(struct slice_queue *queue)
{
    uint32_t from = unsettled(queue), to = from;
    while (from < queue->count) {
        struct run run;
        to += settle_run(queue, from, to, &run);
        from += run.count;
    }
    queue->count = to;
    queue->settled = to;
    while (queue->capacity > RING_SLICES && queue->count * 4 <= queue->capacity)
        set_capacity(queue, queue->capacity / 2);
}

void slice_queue_deinit(struct slice_queue *queue)
{
    slice_queue_drop(queue, queue->bytes);
    queue->settled = 0;
}
