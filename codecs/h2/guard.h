/* codecs/h2/guard.h - what a peer may not do, or only so often: the line and the count for each
 *
 * What nghttp2 bounds itself is not judged here, only told of: CONTINUATION frames of one block,
 * acknowledgements that nobody reads, settings in one frame, resets by the second. */
#ifndef CODECS_H2_GUARD_H
#define CODECS_H2_GUARD_H

#include "abi/protocol.h"

enum h2_offence {
    H2_RESETS,  /* streams given up by the client, or by us for what it did */
    H2_CONTROL, /* frames that carry nothing: PING, SETTINGS, PRIORITY_UPDATE, empty DATA */
    H2_COUNTED, /* those before are allowed so often; these not at all: */
    H2_SLOW_HEAD = H2_COUNTED, /* a header block, or the first SETTINGS, that does not end */
    H2_STALL,                  /* nothing is taken of answers that are complete */
    H2_CONTINUATIONS,          /* too many frames for one header block */
    H2_FLOOD,                  /* so much has to be answered that is not read */
    H2_ERROR,                  /* any other violation of the protocol */
    H2_OFFENCES
};

struct h2_guard {
    uint64_t since_ms;
    uint32_t counts[H2_COUNTED]; /* since then */
};

void h2_guard_start(void); /* once */
/* When there were too many of them the connection is told to calm down, and ends. */
void h2_guard_count(weir_connection *connection, enum h2_offence offence);
/* One ends for that. */
void h2_guard_tell(enum h2_offence offence);

#endif
