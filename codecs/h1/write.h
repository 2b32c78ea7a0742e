/* codecs/h1/write.h - heads and chunks to bytes */
#ifndef CODECS_H1_WRITE_H
#define CODECS_H1_WRITE_H

#include <stdbool.h>

#include "abi/protocol.h"
#include "codecs/output.h"

/* What the framing adds to the fields of a head; each may be NULL. Whole lines with CR LF. */
struct h1_framing_lines {
    const char *connection, *length;
    weir_string handshake; /* a field's line, of a WebSocket; empty: none */
    weir_string upgrade;   /* the protocol; makes both Upgrade and Connection. Empty: none */
};

void h1_write_request(const weir_host *host, struct output *output, const weir_head *head,
                      const struct h1_framing_lines *lines);
void h1_write_response(const weir_host *host, struct output *output, const weir_head *head,
                       const struct h1_framing_lines *lines);
/* The line before a chunk. What closes the chunk before it is the caller's. */
void h1_write_chunk_size(const weir_host *host, struct output *output, uint64_t bytes);
void h1_write_trailers(const weir_host *host, struct output *output, const weir_field *fields,
                       uint32_t count);

#endif
