/* codecs/h2/order.c - which streams a client has begun, and which of them were reset here */
#include "codecs/h2/order.h"

/* A client's streams have odd numbers. */
static uint32_t place(int32_t id)
{
    return (uint32_t)id / 2 % H2_ORDER_STREAMS;
}

static uint64_t bit(int32_t id)
{
    return (uint64_t)1 << place(id) % 64;
}

static bool is_known(const struct h2_order *order, int32_t id)
{
    return id <= order->newest && order->newest - id < 2 * H2_ORDER_STREAMS;
}

/* The places of the new one and of those that it skips had others before. */
bool h2_order_begins(struct h2_order *order, int32_t id)
{
    if (id <= order->newest)
        return false;
    for (int32_t i = 0; i < H2_ORDER_STREAMS && id - 2 * i > order->newest; i++)
        order->resets[place(id - 2 * i) / 64] &= ~bit(id - 2 * i);
    order->newest = id;
    return true;
}

void h2_order_reset(struct h2_order *order, int32_t id)
{
    if (is_known(order, id))
        order->resets[place(id) / 64] |= bit(id);
}

bool h2_order_was_reset(const struct h2_order *order, int32_t id)
{
    return !is_known(order, id) || order->resets[place(id) / 64] & bit(id);
}
