/* core/exchange/relay.c - moves body and tunnel bytes from one leg to the other, by credit
 *
 * The source's credit covers the whole way: it is returned when the sink's protocol says that bytes
 * left (to the kernel, to a TLS record, to a packet), so what one direction holds anywhere in weir
 * never exceeds what its source was granted. */
#include "core/exchange/relay.h"

#include "core/base/log.h"
#include "core/exchange/hop.h"

enum { SLICES_MOST = 32 };

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
    if (flow->in_transit) /* the sink is slow: what goes into its queue stays a while */
        slice_queue_settle(&flow->source->incoming);
    while (!flow->ended && channel_open(flow->sink)) {
        uint64_t done = flow->sink->sent_bytes - before;
        if (done >= RELAY_BYTES_MOST || !move_batch(flow, RELAY_BYTES_MOST - done))
            break;
        moved = true;
    }
    if (channel_open(flow->sink) && pass_trailers(flow))
        moved = true;
    if (flow->source->incoming.count) /* what stays beyond this turn, in buffers of its size */
        slice_queue_settle(&flow->source->incoming);
    return moved;
}

bool relay_drained(const struct flow *flow)
{
    return !flow->source->incoming.count;
}
