/* codecs/h2/queue.h - what one stream has to send: slices with a reference each, first in first out
 *
 * A few lie in the queue itself; more in a buffer, which goes when the queue is empty. */
#ifndef CODECS_H2_QUEUE_H
#define CODECS_H2_QUEUE_H

#include "codecs/output.h"

enum { H2_QUEUE_FEW = 4 };

struct h2_queue {
    weir_slice few[H2_QUEUE_FEW];
    weir_slice *slices; /* a ring; NULL: `few` is */
    weir_buffer *owner;
    uint32_t first, count, capacity; /* of the ring in the buffer */
    size_t bytes;
};

void h2_queue_push(const weir_host *host, struct h2_queue *queue, weir_slice slice);
/* Moves that many bytes from the front to the output. */
void h2_queue_take(const weir_host *host, struct h2_queue *queue, size_t bytes,
                   struct output *output);
void h2_queue_clear(const weir_host *host, struct h2_queue *queue);

#endif
