/* codecs/h2/order.h - which streams a client has begun, and which of them were reset here
 *
 * Who has no use for RFC 7540's priorities keeps no closed streams: nghttp2 cannot tell HEADERS for
 * one, which nobody may send, from those that were under way when the stream was reset. */
#ifndef CODECS_H2_ORDER_H
#define CODECS_H2_ORDER_H

#include <stdbool.h>
#include <stdint.h>

enum { H2_ORDER_STREAMS = 256 };

struct h2_order {
    int32_t newest;
    uint64_t resets[H2_ORDER_STREAMS / 64]; /* a bit for each of the newest */
};

/* Whether HEADERS of that stream begin it: it is newer than all before. It is the newest then. */
bool h2_order_begins(struct h2_order *order, int32_t id);
void h2_order_reset(struct h2_order *order, int32_t id);
/* Also when it is so old that nobody knows. */
bool h2_order_was_reset(const struct h2_order *order, int32_t id);

#endif
