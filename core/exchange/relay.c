/* core/exchange/relay.c - moves body and tunnel bytes from one leg to the other, by credit
 *
 * The source's credit covers the whole way: it is returned when the sink's protocol says that bytes
 * left (to the kernel, to a TLS record, to a packet), so what one direction holds anywhere in weir
 * never exceeds what its source was granted. */
#include "core/exchange/relay.h"

#include "core/base/log.h"
#include "core/exchange/hop.h"

enum {
    SLICES_MOST = 32,     /* passed on at once */
    SLICES_WAITING = 256, /* of more the sink would have to keep a list that costs more than they */
    BYTES_LEAST = 512     /* that a sink gets while it has not sent what it got before */
};

static void return_credit(struct flow *flow)
{
    uint64_t back = flow->sink->returned;
    if (back > flow->in_transit)
        back = flow->in_transit; /* the rest is the protocol's first grant */
    flow->sink->returned = 0;
    flow->in_transit -= back;
    if (back)
        channel_grant(flow->source, (size_t)back);
}

static bool at_end(const struct flow *flow, uint64_t bytes)
{
    return flow->source->incoming_ended && flow->source->incoming.bytes == bytes;
}

/* A sink that is slow does not get a few bytes now and a few in the next step: they would cost it
 * more than they are. That what it has leaves, or that it fails, marks the exchange. */
static bool holds_back(const struct flow *flow)
{
    return flow->in_transit && flow->source->incoming.bytes < BYTES_LEAST &&
           !flow->source->incoming_ended;
}

bool relay_may_go_on(const struct flow *flow)
{
    return flow->source->incoming.count && flow->sink->credit && !holds_back(flow);
}

void relay_wait(struct flow *flow)
{
    slice_queue_settle(&flow->source->incoming);
}

/* Passes on one batch; false when there was nothing to do or no credit to do it with. */
static bool move_batch(struct flow *flow, uint64_t most)
{
    struct channel *source = flow->source, *sink = flow->sink;
    weir_slice slices[SLICES_MOST];
    uint64_t allowed = sink->credit < most ? sink->credit : most, bytes = 0;
    uint32_t count = slice_queue_peek(&source->incoming, slices, SLICES_MOST, allowed);
    for (uint32_t i = 0; i < count; i++)
        bytes += slices[i].length;
    bool last = at_end(flow, bytes) && !source->trailers;
    if (!bytes && !last)
        return false;
    channel_data(sink, slices, count, bytes, last ? WEIR_END : 0);
    slice_queue_drop(&source->incoming, bytes);
    flow->in_transit += bytes;
    flow->ended = last;
    return true;
}

static bool pass_trailers(struct flow *flow)
{
    if (flow->ended || !flow->source->trailers || !at_end(flow, 0))
        return false;
    hop_trailers(flow->source->trailers);
    channel_trailers(flow->sink, flow->source->trailers);
    flow->ended = true;
    return true;
}

bool relay_pump(struct flow *flow)
{
    uint64_t before = flow->sink->sent_bytes;
    bool moved = false;
    TRACE();
    return_credit(flow);
    bool held = holds_back(flow);
    if (flow->in_transit || flow->source->incoming.count > SLICES_WAITING)
        slice_queue_settle(&flow->source->incoming); /* what goes into its queue stays a while */
    while (!held && !flow->ended && channel_open(flow->sink)) {
        uint64_t done = flow->sink->sent_bytes - before;
        if (done >= RELAY_BYTES_MOST || !move_batch(flow, RELAY_BYTES_MOST - done))
            break;
        moved = true;
    }
    if (channel_open(flow->sink) && pass_trailers(flow))
        moved = true;
    relay_wait(flow);
    return moved;
}

bool relay_drained(const struct flow *flow)
{
    return !flow->source->incoming.count;
}
