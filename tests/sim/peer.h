/* tests/sim/peer.h - what clients and origins have in common: one end, one exchange at a time */
#ifndef TESTS_SIM_PEER_H
#define TESTS_SIM_PEER_H

#include "tests/sim/account.h"

struct peer {
    struct endpoint *end;
    struct plan *plan; /* NULL: idle */
    struct reader reader;
    struct writer writer;
    struct event act;    /* the next thing to write, or to begin */
    struct event resume; /* a stall is over */
    enum way out;        /* what this side sends */
    bool writing;        /* `writer` is in use */
    bool hangs;
    bool stalled;            /* once per exchange is enough */
    uint64_t moved, written; /* bytes for this exchange: read and written; written */
};

void peer_init(struct peer *peer, enum way out, void (*act)(struct event *event));
void peer_begin(struct peer *peer, struct plan *plan);
/* Writes the next piece, and sets `act` for the one after. Returns whether all was written. */
bool peer_write(struct peer *peer);
/* A piece of what came; *bytes is valid until the next call. Otherwise READ_END etc. */
ptrdiff_t peer_read(struct peer *peer, const uint8_t **bytes);
/* Stops reading for a while if that is the plan. */
void peer_stall(struct peer *peer);
/* Neither reads nor writes for very long; then reads again. */
void peer_hang(struct peer *peer);
/* Closes its end, cleanly if it can. */
void peer_leave(struct peer *peer);
void peer_reset(struct peer *peer);

#endif
