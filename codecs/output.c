/* codecs/output.c - what a protocol has to send and has not given to its carrier yet */
#include "codecs/output.h"

#include <string.h>

enum { TEXT_BYTES = 1024 };

static weir_slice *storage(struct output *output)
{
    return output->more ? output->more : output->slices;
}

const weir_slice *output_slices(const struct output *output)
{
    return output->more ? output->more : output->slices;
}

static void grow(const weir_host *host, struct output *output)
{
    uint8_t *bytes;
    uint32_t capacity = output->capacity * 4;
    weir_buffer *owner = host->buffer_new(capacity * sizeof(weir_slice) + 15, &bytes);
    weir_slice *slices = (weir_slice *)(((uintptr_t)bytes + 15) & ~(uintptr_t)15);
    memcpy(slices, storage(output), output->count * sizeof *slices);
    host->buffer_release(output->more_owner);
    output->more = slices;
    output->more_owner = owner;
    output->capacity = capacity;
}

static void append(const weir_host *host, struct output *output, weir_slice slice)
{
    if (!output->capacity)
        output->capacity = OUTPUT_SLICES_INLINE;
    if (output->count == output->capacity)
        grow(host, output);
    host->buffer_reference(slice.owner);
    storage(output)[output->count++] = slice;
}

uint8_t *output_reserve(const weir_host *host, struct output *output, size_t bytes)
{
    if (!output->text || output->text_capacity - output->text_used < bytes) {
        host->buffer_release(output->text);
        output->text_capacity = bytes > TEXT_BYTES ? bytes : TEXT_BYTES;
        output->text = host->buffer_new(output->text_capacity, &output->text_bytes);
        output->text_used = 0;
    }
    return output->text_bytes + output->text_used;
}

void output_commit(const weir_host *host, struct output *output, size_t bytes)
{
    const uint8_t *start = output->text_bytes + output->text_used;
    weir_slice *last = output->count ? &storage(output)[output->count - 1] : NULL;
    if (!bytes)
        return;
    if (last && last->owner == output->text && last->bytes + last->length == start)
        last->length += bytes;
    else
        append(host, output, (weir_slice){start, bytes, output->text});
    output->text_used += bytes;
}

void output_text(const weir_host *host, struct output *output, weir_string text)
{
    memcpy(output_reserve(host, output, text.length), text.bytes, text.length);
    output_commit(host, output, text.length);
}

void output_slice(const weir_host *host, struct output *output, weir_slice slice)
{
    if (slice.length)
        append(host, output, slice);
}

void output_clear(const weir_host *host, struct output *output)
{
    const weir_slice *slices = output_slices(output);
    for (uint32_t i = 0; i < output->count; i++)
        host->buffer_release(slices[i].owner);
    host->buffer_release(output->more_owner);
    host->buffer_release(output->text);
    output->more = NULL;
    output->more_owner = NULL;
    output->text = NULL;
    output->count = output->capacity = 0;
}
