/* plugins/socks5/queue.c - slices that wait until the carrier asks for them */
#include "plugins/socks5/queue.h"

#include <string.h>

enum { CAPACITY_FIRST = 8 };

static void grow(const weir_host *host, struct queue *queue)
{
    uint8_t *bytes;
    uintptr_t most = _Alignof(weir_slice) - 1;
    uint32_t capacity = queue->capacity ? queue->capacity * 4 : CAPACITY_FIRST;
    weir_buffer *owner = host->buffer_new(capacity * sizeof(weir_slice) + most, &bytes);
    weir_slice *slices = (weir_slice *)(((uintptr_t)bytes + most) & ~most);
    if (queue->count)
        memcpy(slices, queue->slices, queue->count * sizeof *slices);
    host->buffer_release(queue->owner);
    queue->slices = slices;
    queue->owner = owner;
    queue->capacity = capacity;
}

void queue_push(const weir_host *host, struct queue *queue, weir_slice slice)
{
    if (!slice.length)
        return;
    if (queue->count == queue->capacity)
        grow(host, queue);
    host->buffer_reference(slice.owner);
    queue->slices[queue->count++] = slice;
}

void queue_clear(const weir_host *host, struct queue *queue)
{
    for (uint32_t i = 0; i < queue->count; i++)
        host->buffer_release(queue->slices[i].owner);
    host->buffer_release(queue->owner);
    *queue = (struct queue){0};
}
