/* tests/held.h - what a test's filter keeps back of one direction, and lets go later
 *
 * Included by filters that take bytes and pass on copies of them: the same bytes in the same order,
 * in other pieces and at other times. The memory is free()'s; held_forget() gives it back. */
#ifndef TESTS_HELD_H
#define TESTS_HELD_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/exchange/filter_host.h"

struct held {
    uint8_t *bytes; /* NULL: nothing is kept */
    uint64_t count, room;
    uint64_t held; /* of what WEIR_HOLD took */
    bool end;      /* it was behind them */
    bool waits;    /* for a timer */
};

static inline void held_keep(struct held *held, const weir_data *data)
{
    if (!held->bytes || held->room - held->count < data->bytes) {
        held->room = 2 * (held->count + data->bytes) + 64;
        held->bytes = realloc(held->bytes, held->room);
    }
    for (uint32_t i = 0; i < data->count; i++) {
        memcpy(held->bytes + held->count, data->slices[i].bytes, data->slices[i].length);
        held->count += data->slices[i].length;
    }
    held->end |= (data->flags & WEIR_END) != 0;
}

static inline void held_forget(struct held *held)
{
    free(held->bytes);
    *held = (struct held){0};
}

static inline weir_result held_emit(weir_exchange *exchange, uint32_t direction,
                                    const uint8_t *bytes, uint64_t count, uint32_t flags)
{
    weir_slice slice = {bytes, (size_t)count, NULL};
    return exchange_filter_host.emit(exchange, direction, &slice, count ? 1 : 0, flags);
}

/* Emits what is kept, as far as there is credit; the rest when there is credit again, which the
 * filter is told. Whatever emit() said. */
static inline weir_result held_let_go(weir_exchange *exchange, uint32_t direction,
                                      struct held *held)
{
    if (exchange_filter_host.release(exchange, direction, 0) != WEIR_OK) {
        held_forget(held); /* there is another answer: nobody wants these bytes any more */
        return WEIR_OK;
    }
    uint64_t credit = exchange_filter_host.credit(exchange, direction);
    uint64_t some = held->count < credit ? held->count : credit;
    bool all = some == held->count;
    weir_result rc =
        held_emit(exchange, direction, held->bytes, some, all && held->end ? WEIR_END : 0);
    memmove(held->bytes, held->bytes + some, held->count - some);
    held->count -= some;
    if (all) {
        uint64_t release = held->held;
        held_forget(held);
        exchange_filter_host.release(exchange, direction, release);
    } else {
        exchange_filter_host.credit(exchange, direction); /* says that there is none: be told */
    }
    return rc;
}

/* Emits a copy in two pieces, each byte turned by `mask`. Whatever emit() said. */
static inline weir_result held_pass_copy(weir_exchange *exchange, const weir_data *data,
                                         uint64_t first, uint8_t mask)
{
    struct held all = {0};
    held_keep(&all, data);
    for (uint64_t i = 0; i < all.count; i++)
        all.bytes[i] ^= mask;
    weir_result rc = held_emit(exchange, data->direction, all.bytes, first, 0);
    if (rc == WEIR_OK)
        rc = held_emit(exchange, data->direction, all.bytes + first, all.count - first,
                       data->flags & WEIR_END);
    held_forget(&all);
    return rc;
}

#endif
