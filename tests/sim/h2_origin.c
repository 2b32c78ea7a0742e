/* tests/sim/h2_origin.c - random origins that speak HTTP/2: answer requests side by side, fail */
#include "tests/sim/h2_origin.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/list.h"
#include "core/base/memory.h"
#include "tests/sim/account.h"
#include "tests/sim/mux.h"

enum { IDLE_US_MOST = 2 * 1000 * 1000, THINK_US_MOST = 300 * 1000 };

/* One connection of an origin's. */
struct h2_origin {
    struct mux mux;
    const struct host *host;
    struct event idle; /* it has had nothing to do for long enough */
    int32_t newest;    /* the stream that came last */
    int32_t answered;  /* the highest to which an answer began */
    int32_t last;      /* nothing above it is processed */
    bool goes;         /* says so by GOAWAY; otherwise only by the end of the connection */
};

static struct h2_origin *of(const struct mux *mux)
{
    return CONTAINER(mux, struct h2_origin, mux);
}

static bool chance(uint32_t percent)
{
    return dice_percent(&simulation.dice, percent);
}

/* Filters may hold up the exchange for which the connection was made, so that another is first. */
static bool may_be_reused(const struct mux_stream *stream)
{
    return stream->id > 1 || simulation.filters;
}

/* --- failing: connections */

/* Whether weir may send it again when it has read so much of the connection, and no more. */
static bool is_repeatable(const struct mux_stream *stream, uint64_t passed)
{
    const struct plan *plan = stream->plan;
    return may_be_reused(stream) && account_idempotent(plan) && !plan->ways[REQUEST].received &&
           passed < stream->head_to;
}

static void close_end(struct h2_origin *origin, bool reset)
{
    uint64_t passed = mux_close(&origin->mux, reset);
    for (struct mux_stream *stream = origin->mux.streams; stream; stream = stream->next)
        if (stream->plan)
            stream->plan->attempt_repeatable = is_repeatable(stream, passed);
    mux_deinit(&origin->mux);
    event_clear(&origin->idle);
    memory_free(origin);
    loop_hold(-1);
}

/* Goes in the middle of everything; not while an answer that is complete might be lost. */
static bool cut(struct h2_origin *origin, bool reset)
{
    if (mux_passed(&origin->mux) < origin->mux.ended_at || !account_disturb(origin->host, CUT))
        return false;
    close_end(origin, reset);
    return true;
}

/* --- failing: GOAWAY */

/* Nothing was done with it, nor will be. */
static void drop(struct mux_stream *stream)
{
    struct plan *plan = stream->plan;
    happened("origin drops exchange", plan->number, 0);
    plan->attempt_repeatable = true;
    stream->plan = NULL;
    event_clear(&stream->act);
}

/* Some of what has come is not processed: at least what is answered is. */
static bool go_away(struct h2_origin *origin)
{
    if (origin->last != INT32_MAX || !account_disturb(origin->host, UNPROCESSED))
        return false;
    origin->goes = true;
    origin->last = chance(50) ? origin->newest : origin->answered;
    mux_go_away(&origin->mux, origin->last);
    for (struct mux_stream *stream = origin->mux.streams; stream; stream = stream->next)
        if (stream->plan && stream->id > origin->last)
            drop(stream);
    return true;
}

/* --- failing: streams */

/* Nothing was done, says the origin: weir knows that it may repeat it, once. */
static void refuse(struct mux_stream *stream)
{
    struct plan *plan = stream->plan;
    bool lies = sabotage(NO_REPEAT_OF_PROCESSED, 1000);
    plan->fault = FAULT_NONE;
    plan->may_fail |= plan->ways[REQUEST].delivery != BODY_NONE || plan->attempts > 1;
    plan->attempt_repeatable = !lies;
    stream->plan = NULL;
    mux_reset_stream(stream, NGHTTP2_REFUSED_STREAM);
}

static void reset_stream(struct mux_stream *stream)
{
    static const uint32_t codes[] = {NGHTTP2_INTERNAL_ERROR, NGHTTP2_CANCEL, NGHTTP2_NO_ERROR,
                                     NGHTTP2_PROTOCOL_ERROR, NGHTTP2_ENHANCE_YOUR_CALM};
    struct plan *plan = stream->plan;
    if (stream->writing && sabotage(TRUNCATED_NEVER_COMPLETED, 1000)) {
        stream->cut_short = plan->may_fail = plan->may_break = true;
        mux_go_on(stream);
        return;
    }
    plan->may_fail = true;
    plan->may_break |= stream->writing;
    stream->plan = NULL;
    mux_reset_stream(stream, codes[dice_below(&simulation.dice, 5)]);
}

/* True: the connection has gone. */
static bool go(struct h2_origin *origin, struct mux_stream *stream)
{
    struct plan *plan = stream->plan;
    bool resets = plan->fault == ORIGIN_RESETS;
    happened("origin fails exchange", plan->number, resets);
    if (chance(40) && cut(origin, resets))
        return true;
    if (chance(40) && go_away(origin))
        plan->fault = FAULT_NONE;
    else if (!stream->writing && chance(50))
        refuse(stream);
    else
        reset_stream(stream);
    return false;
}

/* Fails if that is the plan, and says how far weir may be excused. */
static bool fail(struct h2_origin *origin, struct mux_stream *stream)
{
    struct plan *plan = stream->plan;
    bool is_planned =
        plan->fault == ORIGIN_RESETS || plan->fault == ORIGIN_LEAVES || plan->fault == ORIGIN_HANGS;
    if (!is_planned || stream->moved < plan->fault_at || stream->has_hung || stream->cut_short ||
        plan->ways[RESPONSE].ended)
        return false;
    if (plan->fault != ORIGIN_HANGS)
        return go(origin, stream);
    plan->may_fail = true;
    plan->may_break |= stream->writing;
    mux_hang(stream);
    return false;
}

static bool before(struct mux *mux)
{
    for (struct mux_stream *stream = mux->streams; stream; stream = stream->next)
        if (stream->plan && fail(of(mux), stream))
            return true;
    return false;
}

/* --- the answer */

static void start_answer(struct mux_stream *stream)
{
    struct plan *plan = stream->plan;
    if (plan->fault == ORIGIN_SILENT || plan->fault == ORIGIN_NONSENSE)
        plan->may_fail = true;
    if (!stream->writing && plan->fault != ORIGIN_SILENT && !event_is_set(&stream->act))
        event_set(&stream->act, dice_size(&simulation.dice, THINK_US_MOST));
}

static void answer(struct mux_stream *stream)
{
    struct text head;
    struct plan other = *stream->plan;
    other.number += sabotage(OWN_ANSWER, 5);
    plan_head(&other, RESPONSE, &head);
    if (stream->plan->fault == ORIGIN_NONSENSE)
        head.bytes[strlen("HTTP/1.1 ")] = 'x';
    mux_answer(stream, &head);
    if (stream->id > of(stream->mux)->answered)
        of(stream->mux)->answered = stream->id;
}

static void act(struct mux_stream *stream)
{
    struct mux *mux = stream->mux;
    if (before(mux))
        return;
    if (stream->plan && !stream->hangs && !stream->writing)
        answer(stream);
    mux_pump(mux);
}

/* --- the request */

static void on_head(struct mux_stream *stream)
{
    struct h2_origin *origin = of(stream->mux);
    const struct endpoint *end = stream->mux->end;
    char number[64];
    text_field(&stream->in, "X-Number", number);
    struct plan *plan = account_find(strtoull(number, NULL, 10));
    const char *wrong = plan ? plan_check_head(plan, REQUEST, &stream->in) : "it has no number";
    if (wrong)
        violated(FIELDS_KEPT, plan ? plan->number : 0, "%s:\n%s", wrong, stream->in.bytes);
    if (stream->id > origin->last) { /* it may long have been repeated */
        happened("origin ignores exchange", plan->number, origin->goes);
        return;
    }
    origin->newest = stream->id;
    stream->plan = plan;
    event_clear(&origin->idle);
    account_attempt(plan, false);
    plan->ways[REQUEST].buffers += end->capacity;
    plan->ways[RESPONSE].buffers += end->other->capacity + ENDPOINT_BYTES_MOST / 2;
    if (!plan->early)
        start_answer(stream);
}

static void on_body(struct mux_stream *stream, const uint8_t *bytes, size_t count)
{
    struct plan *plan = stream->plan;
    account_receive(plan, REQUEST, bytes, count);
    if (plan->ways[REQUEST].received >= plan->early)
        start_answer(stream);
    mux_stall(stream);
}

static void on_end(struct mux_stream *stream)
{
    account_arrive(stream->plan, REQUEST, &stream->in);
    start_answer(stream);
}

/* Weir gave up on it only because of a failure, or when it has its answer. */
static void on_closed(struct mux_stream *stream, uint32_t code)
{
    struct h2_origin *origin = of(stream->mux);
    const struct plan *plan = stream->plan;
    if (plan && !plan->may_fail && !plan->may_break && !plan->ways[RESPONSE].ended)
        violated(NO_SPURIOUS_FAILURE, plan->number, "weir reset the stream: %u", code);
    if (simulation.faults && !stream->next && origin->mux.streams == stream &&
        (origin->goes || chance(10)))
        event_set(&origin->idle, dice_size(&simulation.dice, IDLE_US_MOST));
}

static void on_lost(struct mux *mux, bool clean)
{
    (void)clean;
    for (const struct mux_stream *stream = mux->streams; stream; stream = stream->next) {
        const struct plan *plan = stream->plan;
        if (plan && !plan->may_fail && !plan->may_break && !plan->ways[RESPONSE].ended)
            violated(NO_SPURIOUS_FAILURE, plan->number, "weir left the origin");
    }
    close_end(of(mux), false);
}

/* --- connections */

static const struct mux_events origin_events = {
    .before = before,
    .head = on_head,
    .body = on_body,
    .end = on_end,
    .closed = on_closed,
    .act = act,
    .lost = on_lost,
};

/* Closes, having been idle for so long. Some say before that nothing more is processed. */
static void fire_idle(struct event *event)
{
    struct h2_origin *origin = CONTAINER(event, struct h2_origin, idle);
    if (origin->mux.streams || origin->mux.finished)
        return;
    bool goes = origin->goes || (chance(50) && go_away(origin));
    mux_pump(&origin->mux);
    if (!mux_is_quiet(&origin->mux) || (!goes && !account_disturb(origin->host, CLOSED_IDLE))) {
        event_set(&origin->idle, dice_size(&simulation.dice, IDLE_US_MOST));
        return;
    }
    happened("origin closes while idle", origin->mux.end->number, goes);
    origin->last = goes ? origin->last : origin->newest;
    mux_finish(&origin->mux);
}

void h2_origin_accept(const struct host *host, struct endpoint *end)
{
    struct h2_origin *origin = memory_zeroed(sizeof *origin);
    loop_hold(1);
    origin->host = host;
    origin->last = INT32_MAX;
    event_init(&origin->idle, fire_idle);
    mux_init(&origin->mux, end, RESPONSE, &origin_events);
    happened("origin accepts", end->number, 2);
    mux_pump(&origin->mux);
}
