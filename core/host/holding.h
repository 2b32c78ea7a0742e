/* core/host/holding.h - the buffers that plugins hold, under --check-plugins
 *
 * Each worker knows which buffers plugins have references to, so that what is no buffer, or is not
 * held any more, is told of and left alone. [worker] */
#ifndef CORE_HOST_HOLDING_H
#define CORE_HOST_HOLDING_H

#include <stdbool.h>

#include "core/base/buffer.h"

/* As in weir_host. */
weir_buffer *holding_buffer_new(size_t capacity, uint8_t **bytes);
void holding_buffer_reference(weir_buffer *buffer);
void holding_buffer_release(weir_buffer *buffer);

/* The same bytes in a buffer of their own, of which a plugin may take references until
 * holding_lent_back(). Without an owner it is static, and stays what it is. */
weir_slice holding_lend(weir_slice slice);
void holding_lent_back(weir_buffer *buffer);

/* Whether a plugin may give these to weir: each lies in a buffer that a plugin holds, or is lent,
 * or has no owner. */
bool holding_may_give(const weir_slice *slices, uint32_t count);

/* At the worker's end, when no plugin runs on it any more: says what was never given back, plugin
 * by plugin, and gives it back. */
void holding_end(uint32_t worker);

#endif
