/* tests/sim/peer.c - what clients and origins have in common: one end, one exchange at a time */
#include "tests/sim/peer.h"

#include "core/base/list.h"

enum { PIECE_MOST = 65536, STALL_US_MOST = 4 * 1000 * 1000, HANG_US = 150 * 1000 * 1000 };

static uint8_t piece[PIECE_MOST];

/* All that fits, or any part of it. */
static size_t piece_size(size_t most)
{
    most = most < PIECE_MOST ? most : PIECE_MOST;
    return dice_percent(&simulation.dice, 60) ? most : dice_size(&simulation.dice, most);
}

static void fire_resume(struct event *event)
{
    struct peer *peer = CONTAINER(event, struct peer, resume);
    if (peer->end)
        endpoint_pause(peer->end, false);
}

void peer_init(struct peer *peer, enum way out, void (*act)(struct event *event))
{
    peer->out = out;
    event_init(&peer->act, act);
    event_init(&peer->resume, fire_resume);
}

void peer_begin(struct peer *peer, struct plan *plan)
{
    peer->plan = plan;
    peer->writing = peer->stalled = peer->hangs = false;
    peer->moved = peer->written = 0;
}

bool peer_write(struct peer *peer)
{
    size_t room = endpoint_room(peer->end);
    if (peer->hangs)
        return false;
    if (!room) {
        endpoint_want_room(peer->end);
        return false;
    }
    size_t count = writer_next(&peer->writer, piece, piece_size(room));
    endpoint_write(peer->end, piece, count);
    happened(peer->out == REQUEST ? "client writes" : "origin writes", peer->end->number, count);
    peer->moved += count;
    peer->written += count;
    if (!peer->plan->may_fail && !peer->plan->may_break) /* what is behind a failure is dropped */
        account_send(peer->writer.plan, peer->out);
    if (writer_done(&peer->writer))
        return true;
    if (count)
        event_set(&peer->act, endpoint_pause_us(peer->end));
    return false;
}

ptrdiff_t peer_read(struct peer *peer, const uint8_t **bytes)
{
    size_t most = peer->end->count ? piece_size(peer->end->count) : 1;
    ptrdiff_t count = endpoint_read(peer->end, piece, most);
    happened(peer->out == REQUEST ? "client reads" : "origin reads", peer->end->number,
             (uint64_t)count);
    *bytes = piece;
    if (count > 0)
        peer->moved += (uint64_t)count;
    return count;
}

void peer_stall(struct peer *peer)
{
    const struct direction *in = &peer->plan->ways[!peer->out];
    if (peer->stalled || in->received < in->stall_at || peer->end->impatient)
        return;
    peer->stalled = true;
    endpoint_pause(peer->end, true);
    event_set(&peer->resume, dice_below(&simulation.dice, STALL_US_MOST));
}

void peer_hang(struct peer *peer)
{
    happened(peer->out == REQUEST ? "client hangs" : "origin hangs", peer->end->number, 0);
    peer->hangs = peer->stalled = true;
    event_clear(&peer->act);
    endpoint_pause(peer->end, true);
    event_set(&peer->resume, HANG_US);
}

static void forget_end(struct peer *peer)
{
    event_clear(&peer->act);
    event_clear(&peer->resume);
    peer->end = NULL;
}

void peer_leave(struct peer *peer)
{
    bool clean = endpoint_close(peer->end);
    happened(peer->out == REQUEST ? "client closes" : "origin closes", peer->end->number, clean);
    /* What lasts until the end of the connection ends by that, whatever the sender had in mind. */
    if (clean && peer->writing && peer->writer.text_at == peer->writer.text.length &&
        peer->plan->ways[peer->out].delivery == BODY_UNTIL_CLOSE)
        peer->plan->ways[peer->out].ended = true;
    forget_end(peer);
}

void peer_reset(struct peer *peer)
{
    happened(peer->out == REQUEST ? "client resets" : "origin resets", peer->end->number, 0);
    endpoint_reset(peer->end);
    forget_end(peer);
}
