/* codecs/output.h - what a protocol has to send and has not given to its carrier yet
 *
 * Text (heads, framing) is copied into one buffer at a time; bodies are slices with a reference.
 * Adjacent text becomes one slice, so a small message leaves as one or two. The list of slices lies
 * in the first buffer of text, as long as it fits: an output with nothing to send holds nothing. */
#ifndef CODECS_OUTPUT_H
#define CODECS_OUTPUT_H

#include "abi/protocol.h"

struct output {
    weir_slice *slices; /* in `owner`; NULL: none */
    weir_buffer *owner;
    uint32_t count, capacity;
    weir_buffer *text; /* being filled; its slices hold references of their own */
    uint8_t *text_bytes;
    size_t text_used, text_capacity;
};

/* Room for that many bytes of text, to be filled and then committed (at most so many). */
uint8_t *output_reserve(const weir_host *host, struct output *output, size_t bytes);
void output_commit(const weir_host *host, struct output *output, size_t bytes);
void output_text(const weir_host *host, struct output *output, weir_string text);
void output_slice(const weir_host *host, struct output *output, weir_slice slice);
/* The slices in order; borrowed. */
static inline const weir_slice *output_slices(const struct output *output)
{
    return output->slices;
}
void output_clear(const weir_host *host, struct output *output);

/* How many bytes those are. */
static inline size_t output_total(const weir_slice *slices, uint32_t count)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += slices[i].length;
    return bytes;
}

#endif
