/* core/exchange/relay.c - moves body and tunnel bytes from one leg to the other, by credit
 *
 * The source's credit covers the whole way: it is returned when the sink's protocol says that bytes
 * left (to the kernel, to a TLS record, to a packet), so what one direction holds anywhere in weir
 * never exceeds what its source was granted. */
#include "core/exchange/relay.h"

#include "core/base/log.h"
#include "core/exchange/hop.h"
#include "core/exchange/stage.h"

enum {
    SLICES_MOST = 32,     /* passed on at once */
    SLICES_WAITING = 256, /* of more the sink would have to keep a list that costs more than they */
    BYTES_LEAST = 512     /* that a sink gets while it has not sent what it got before */
};

/* What is to be passed on next: of the last filter that sees the bytes, or as they came. */
static struct slice_queue *output_of(const struct flow *flow)
{
    return flow->last ? &flow->last->queue : &flow->source->incoming;
}

static bool output_ended(const struct flow *flow)
{
    return flow->last ? flow->last->ended : flow->source->incoming_ended;
}

static uint64_t *transit_of(struct flow *flow)
{
    return flow->last ? &flow->last->transit : &flow->in_transit;
}

void relay_return_credit(struct flow *flow)
{
    uint64_t back = flow->sink->left, transit = *transit_of(flow);
    if (back > transit)
        back = transit; /* no protocol is believed that says more */
    flow->sink->left = 0;
    if (back)
        stages_give_back(flow, back);
}

static bool at_end(const struct flow *flow, uint64_t bytes)
{
    return output_ended(flow) && output_of(flow)->bytes == bytes;
}

/* A sink that is slow does not get a few bytes now and a few in the next step: they would cost it
 * more than they are. That what it has leaves, or that it fails, marks the exchange. */
static bool holds_back(struct flow *flow)
{
    return *transit_of(flow) && output_of(flow)->bytes < BYTES_LEAST && !output_ended(flow);
}

bool relay_may_go_on(struct flow *flow)
{
    return output_of(flow)->count && flow->sink->credit && !holds_back(flow);
}

void relay_wait(struct flow *flow)
{
    slice_queue_settle(&flow->source->incoming);
}

/* Passes on one batch; false when there was nothing to do or no credit to do it with. */
static bool move_batch(struct flow *flow, uint64_t most)
{
    struct channel *sink = flow->sink;
    struct slice_queue *output = output_of(flow);
    weir_slice slices[SLICES_MOST];
    uint64_t allowed = sink->credit < most ? sink->credit : most, bytes = 0;
    uint32_t count = slice_queue_peek(output, slices, SLICES_MOST, allowed);
    for (uint32_t i = 0; i < count; i++)
        bytes += slices[i].length;
    bool last = at_end(flow, bytes) && !flow->source->trailers;
    if (!bytes && !last)
        return false;
    channel_data(sink, slices, count, bytes, last ? WEIR_END : 0);
    slice_queue_drop(output, bytes);
    *transit_of(flow) += bytes;
    flow->ended = last;
    return true;
}

bool relay_at_trailers(const struct flow *flow)
{
    return !flow->ended && flow->source->trailers && at_end(flow, 0) && channel_open(flow->sink);
}

void relay_pass_trailers(struct flow *flow)
{
    hop_trailers(flow->source->trailers);
    channel_trailers(flow->sink, flow->source->trailers);
    flow->ended = true;
}

bool relay_pump(struct flow *flow)
{
    uint64_t before = flow->sink->sent_bytes;
    struct slice_queue *output = output_of(flow);
    bool moved = false;
    TRACE();
    bool held = holds_back(flow);
    if (*transit_of(flow) || output->count > SLICES_WAITING)
        slice_queue_settle(output); /* what goes into its queue stays a while */
    while (!held && !flow->ended && channel_open(flow->sink)) {
        uint64_t done = flow->sink->sent_bytes - before;
        if (done >= RELAY_BYTES_MOST || !move_batch(flow, RELAY_BYTES_MOST - done))
            break;
        moved = true;
    }
    relay_wait(flow);
    return moved;
}

bool relay_drained(const struct flow *flow)
{
    bool drained = !flow->source->incoming.count;
    for (const struct stage *stage = flow->first; stage; stage = stage->next)
        drained &= !stage->queue.bytes && !stage->held;
    return drained;
}

bool relay_complete(const struct flow *flow)
{
    return output_ended(flow) && relay_drained(flow) && !flow->source->trailers;
}
