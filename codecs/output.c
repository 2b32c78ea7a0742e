/* codecs/output.c - what a protocol has to send and has not given to its carrier yet */
#include "codecs/output.h"

#include <string.h>

enum { TEXT_BYTES = 1024, SLICES_FIRST = 8, SLICES_BYTES = SLICES_FIRST * sizeof(weir_slice) };

static weir_slice *aligned(uint8_t *bytes)
{
    uintptr_t most = _Alignof(weir_slice) - 1;
    return (weir_slice *)(((uintptr_t)bytes + most) & ~most);
}

static void new_text(const weir_host *host, struct output *output, size_t bytes)
{
    host->buffer_release(output->text);
    output->text_capacity = bytes > TEXT_BYTES ? bytes : TEXT_BYTES;
    output->text = host->buffer_new(output->text_capacity, &output->text_bytes);
    output->text_used = 0;
}

/* Text with the list of slices in front of it. */
static void begin(const weir_host *host, struct output *output, size_t bytes)
{
    enum { ALIGNED_BYTES = SLICES_BYTES + _Alignof(weir_slice) - 1 };
    new_text(host, output, ALIGNED_BYTES + bytes);
    output->slices = aligned(output->text_bytes);
    output->owner = output->text;
    output->capacity = SLICES_FIRST;
    output->text_used = ALIGNED_BYTES;
    host->buffer_reference(output->owner);
}

static void grow(const weir_host *host, struct output *output)
{
    uint8_t *bytes;
    uint32_t capacity = output->capacity * 4;
    weir_buffer *owner = host->buffer_new((capacity + 1) * sizeof(weir_slice), &bytes);
    weir_slice *slices = aligned(bytes);
    memcpy(slices, output->slices, output->count * sizeof *slices);
    host->buffer_release(output->owner);
    output->slices = slices;
    output->owner = owner;
    output->capacity = capacity;
}

static void append(const weir_host *host, struct output *output, weir_slice slice)
{
    if (!output->slices)
        begin(host, output, 0);
    if (output->count == output->capacity)
        grow(host, output);
    host->buffer_reference(slice.owner);
    output->slices[output->count++] = slice;
}

uint8_t *output_reserve(const weir_host *host, struct output *output, size_t bytes)
{
    if (!output->slices)
        begin(host, output, bytes);
    else if (output->text_capacity - output->text_used < bytes)
        new_text(host, output, bytes);
    return output->text_bytes + output->text_used;
}

void output_commit(const weir_host *host, struct output *output, size_t bytes)
{
    const uint8_t *start = output->text_bytes + output->text_used;
    weir_slice *last = output->count ? &output->slices[output->count - 1] : NULL;
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
    for (uint32_t i = 0; i < output->count; i++)
        host->buffer_release(output->slices[i].owner);
    host->buffer_release(output->owner);
    host->buffer_release(output->text);
    *output = (struct output){0};
}
