/* codecs/h2/guard.h - what a peer may do that costs it little and others much, so often a minute
 *
 * What nghttp2 bounds itself is not here: CONTINUATION frames of one block, acknowledgements that
 * nobody reads, settings in one frame, resets by the second. */
#ifndef CODECS_H2_GUARD_H
#define CODECS_H2_GUARD_H

#include "abi/protocol.h"

enum h2_offence {
    H2_RESETS,  /* streams given up by the client, or by us for what it did */
    H2_CONTROL, /* frames that carry nothing: PING, SETTINGS, PRIORITY_UPDATE, empty DATA */
    H2_OFFENCES
};

struct h2_guard {
    uint64_t since_ms;
    uint32_t counts[H2_OFFENCES]; /* since then */
};

void h2_guard_start(void); /* once */
/* When there were too many of them the connection is told to calm down, and ends. */
void h2_guard_count(weir_connection *connection, enum h2_offence offence);

#endif
