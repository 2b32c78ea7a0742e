/* plugins/socks5/queue.h - slices that wait until the carrier asks for them */
#ifndef PLUGINS_SOCKS5_QUEUE_H
#define PLUGINS_SOCKS5_QUEUE_H

#include "abi/weir.h"

struct queue { /* empty: it holds nothing */
    weir_slice *slices;
    weir_buffer *owner; /* where the list lies */
    uint32_t count, capacity;
};

/* Takes a reference of its own. */
void queue_push(const weir_host *host, struct queue *queue, weir_slice slice);
void queue_clear(const weir_host *host, struct queue *queue);

#endif
