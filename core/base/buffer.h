/* core/base/buffer.h - reference-counted buffers, the receive space, and queues of slices
 *
 * Buffers belong to one thread (their counts are not atomic); each thread keeps a few free ones.
 * The receive space is the rest of one large buffer: reads append to it, so many small messages
 * share one buffer while they are looked at. A queue that keeps slices beyond a turn settles them
 * (slice_queue_settle): slices that leave more than an eighth of their buffer unused, and small
 * ones, are copied into one of the right size; of one that has left in part since then three
 * quarters may be gone. So queued memory is hardly more than the bytes that came in, and at most
 * four times those that are left. */
#ifndef CORE_BASE_BUFFER_H
#define CORE_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/weir.h"

enum { RECEIVE_BUFFER_BYTES = 61440 }; /* as much as a carrier is granted at once */

struct weir_buffer {
    uint32_t references;
    uint32_t capacity;
    weir_buffer *next_free;
    uint8_t bytes[];
};

/* A buffer with one reference and at least that capacity. */
weir_buffer *buffer_new(size_t capacity);
void buffer_free(weir_buffer *buffer);
void buffer_pool_deinit(void); /* frees what this thread keeps for reuse */

static inline void buffer_reference(weir_buffer *buffer)
{
    if (buffer)
        buffer->references++;
}

static inline void buffer_release(weir_buffer *buffer)
{
    if (buffer && --buffer->references == 0)
        buffer_free(buffer);
}

/* Where the next read may put up to *size bytes; valid until receive_take() or the next call. */
uint8_t *receive_space(size_t *size);
/* The `length` bytes just read there; the caller owns one reference to the slice's buffer. */
weir_slice receive_take(size_t length);

struct slice_queue {
    weir_slice *slices; /* a ring of `capacity`, a power of two; NULL: empty */
    uint32_t first, count, capacity;
    uint32_t settled : 31; /* so many from the front are known to be of the right size */
    uint32_t cut : 1;      /* a part of the first one has left */
    uint64_t bytes;
};

/* Takes a reference of its own. Empty slices are dropped. */
void slice_queue_push(struct slice_queue *queue, weir_slice slice);
/* Up to `most` slices and `bytes` bytes from the front, without removing them; a last slice may be
 * cut. Borrowed. Returns how many. */
uint32_t slice_queue_peek(const struct slice_queue *queue, weir_slice *slices, uint32_t most,
                          uint64_t bytes);
/* Releases that many bytes from the front. */
void slice_queue_drop(struct slice_queue *queue, uint64_t bytes);
void slice_queue_settle_rest(struct slice_queue *queue); /* only for the next one */
static inline void slice_queue_settle(struct slice_queue *queue)
{
    if (queue->settled < queue->count)
        slice_queue_settle_rest(queue);
}
void slice_queue_deinit(struct slice_queue *queue);

#endif
