/* codecs/h2/queue.c - what one stream has to send: slices with a reference each */
#include "codecs/h2/queue.h"

/* Fewer bytes than this are copied between the frames' heads: cheaper than a slice of their own. */
enum { COPY_MOST = 256 };

static uint32_t capacity_of(const struct h2_queue *queue)
{
    return queue->slices ? queue->capacity : H2_QUEUE_FEW;
}

static weir_slice *slot(struct h2_queue *queue, uint32_t index)
{
    weir_slice *ring = queue->slices ? queue->slices : queue->few;
    return &ring[(queue->first + index) & (capacity_of(queue) - 1)];
}

static void grow(const weir_host *host, struct h2_queue *queue)
{
    uint8_t *bytes;
    uint32_t capacity = capacity_of(queue) * 4;
    weir_buffer *owner = host->buffer_new(capacity * sizeof(weir_slice), &bytes);
    weir_slice *slices = (weir_slice *)(void *)bytes;
    for (uint32_t i = 0; i < queue->count; i++)
        slices[i] = *slot(queue, i);
    host->buffer_release(queue->owner);
    queue->owner = owner;
    queue->slices = slices;
    queue->capacity = capacity;
    queue->first = 0;
}

void h2_queue_push(const weir_host *host, struct h2_queue *queue, weir_slice slice)
{
    if (!slice.length)
        return;
    if (queue->count == capacity_of(queue))
        grow(host, queue);
    host->buffer_reference(slice.owner);
    queue->count++;
    *slot(queue, queue->count - 1) = slice;
    queue->bytes += slice.length;
}

static void drop_first(const weir_host *host, struct h2_queue *queue)
{
    host->buffer_release(slot(queue, 0)->owner);
    queue->first = (queue->first + 1) & (capacity_of(queue) - 1);
    queue->count--;
}

static void pass_on(const weir_host *host, weir_slice piece, struct output *output)
{
    if (piece.length <= COPY_MOST)
        output_text(host, output, (weir_string){(const char *)piece.bytes, piece.length});
    else
        output_slice(host, output, piece);
}

static void forget_ring(const weir_host *host, struct h2_queue *queue)
{
    host->buffer_release(queue->owner);
    queue->owner = NULL;
    queue->slices = NULL;
    queue->first = 0;
}

void h2_queue_take(const weir_host *host, struct h2_queue *queue, size_t bytes,
                   struct output *output)
{
    queue->bytes -= bytes;
    while (bytes) {
        weir_slice *first = slot(queue, 0);
        weir_slice piece = *first;
        if (piece.length > bytes)
            piece.length = bytes;
        pass_on(host, piece, output);
        bytes -= piece.length;
        first->bytes += piece.length;
        first->length -= piece.length;
        if (!first->length)
            drop_first(host, queue);
    }
    if (!queue->count && queue->owner)
        forget_ring(host, queue);
}

void h2_queue_clear(const weir_host *host, struct h2_queue *queue)
{
    while (queue->count)
        drop_first(host, queue);
    queue->bytes = 0;
    forget_ring(host, queue);
}
