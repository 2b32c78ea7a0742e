/* core/exchange/stage.c - a filter's place in one direction of an exchange, where it sees the bytes
 *
 * A stage asks its filter only while its own queue is empty, so what a direction holds is bounded:
 * one credit for the source, and one for each stage whose filter emits. */
#include "core/exchange/stage.h"

#include <string.h>

#include "core/base/string.h"
#include "core/exchange/exchange.h"

enum { SLICES_MOST = 32, BUFFER_STANDARD = 1 << 20 };

/* --- the stages of a flow */

static struct stage *append(struct exchange *x, struct flow *flow, struct filter_state *filter,
                            enum filter_hook hook)
{
    struct stage *stage = arena_allocate(&x->arena, sizeof *stage);
    *stage = (struct stage){.previous = flow->last, .filter = filter, .hook = hook, .exact = true};
    if (flow->last)
        flow->last->next = stage;
    else
        flow->first = stage;
    flow->last = stage;
    return stage;
}

static bool comes_before(const struct filter_state *a, const struct filter_state *b,
                         uint32_t direction)
{
    return direction == WEIR_REQUEST_DIRECTION ? a->number < b->number : a->number > b->number;
}

void stages_extend(struct exchange *x, uint32_t direction, enum filter_hook hook,
                   const struct filter_state *limit)
{
    struct flow *flow = exchange_flow(x, direction);
    uint32_t count = filters_count(&x->filters, hook);
    for (; flow->staged < count; flow->staged++) {
        struct filter_state *state = filters_nth(x, hook, flow->staged, direction);
        if (limit && !comes_before(state, limit, direction))
            break;
        if (filters_takes_part(state, direction) && !stage_find(flow, state))
            append(x, flow, state, hook);
    }
}

static enum filter_hook body_hook(uint32_t direction)
{
    return direction == WEIR_REQUEST_DIRECTION ? HOOK_REQUEST_BODY : HOOK_RESPONSE_BODY;
}

bool stages_may_have_body(const struct exchange *x, uint32_t direction)
{
    const weir_head *head = &x->request->view;
    if (direction == WEIR_REQUEST_DIRECTION)
        return head->kind == WEIR_REQUEST && !head->protocol.length;
    bool asked = !string_equal(head->method, WEIR_STRING("HEAD"));
    head = &x->response->view;
    return asked && head->kind == WEIR_REQUEST && !head->protocol.length && head->status >= 200 &&
           head->status != 204 && head->status != 304;
}

bool stages_collect(struct exchange *x, uint32_t direction, struct filter_state *filter)
{
    struct flow *flow = exchange_flow(x, direction);
    if (!stages_may_have_body(x, direction))
        return false;
    stages_extend(x, direction, body_hook(direction), filter);
    struct stage *stage = append(x, flow, filter, body_hook(direction));
    stage->mode = STAGE_COLLECTS;
    stage->exact = false;
    stage->most = filter->buffer_most ? filter->buffer_most : filter->use->buffer_limit;
    if (!stage->most)
        stage->most = BUFFER_STANDARD;
    stage->truncates = filter->buffer_truncates;
    return true;
}

struct stage *stage_find(const struct flow *flow, const struct filter_state *filter)
{
    struct stage *stage = flow->first;
    while (stage && stage->filter != filter)
        stage = stage->next;
    return stage;
}

void stages_clear(struct flow *flow)
{
    for (struct stage *stage = flow->first; stage; stage = stage->next)
        slice_queue_deinit(&stage->queue);
    flow->first = flow->last = NULL;
    flow->staged = 0;
}

/* --- accounts */

/* Of what a stage took that does not go out byte by byte: all but what is held, when nothing that
 * came of it is there any more. */
static uint64_t gone(const struct stage *stage)
{
    return stage->transit || stage->queue.bytes ? 0 : stage->taken - stage->held;
}

/* `bytes` of what `stage` passed on have left; of the source when it is NULL. */
static void give_back(struct flow *flow, struct stage *stage, uint64_t bytes)
{
    while (bytes && stage) {
        stage->transit -= bytes;
        if (!stage->exact)
            bytes = gone(stage);
        stage->taken -= bytes;
        stage = stage->previous;
    }
    if (!bytes)
        return;
    flow->in_transit -= bytes;
    channel_grant(flow->source, (size_t)bytes);
}

/* Nothing came of what it took, or nothing that is still there. */
static void settle(struct flow *flow, struct stage *stage)
{
    uint64_t bytes = stage->exact ? 0 : gone(stage);
    if (!bytes)
        return;
    stage->taken -= bytes;
    give_back(flow, stage->previous, bytes);
}

void stages_give_back(struct flow *flow, uint64_t bytes)
{
    give_back(flow, flow->last, bytes);
}

/* --- what comes in */

static struct slice_queue *input_of(struct flow *flow, const struct stage *stage)
{
    return stage->previous ? &stage->previous->queue : &flow->source->incoming;
}

static bool input_ended(const struct flow *flow, const struct stage *stage)
{
    return stage->previous ? stage->previous->ended : flow->source->incoming_ended;
}

static void take(struct flow *flow, struct stage *stage, uint64_t bytes)
{
    slice_queue_drop(input_of(flow, stage), bytes);
    stage->taken += bytes;
    if (stage->previous)
        stage->previous->transit += bytes;
    else
        flow->in_transit += bytes;
}

/* The bytes at the front go on as they are. */
static void pass(struct flow *flow, struct stage *stage, uint64_t bytes, bool end)
{
    weir_slice slices[SLICES_MOST];
    for (uint64_t left = bytes; left;) {
        uint64_t part = 0;
        uint32_t count = slice_queue_peek(input_of(flow, stage), slices, SLICES_MOST, left);
        for (uint32_t i = 0; i < count; i++) {
            slice_queue_push(&stage->queue, slices[i]);
            part += slices[i].length;
        }
        take(flow, stage, part);
        left -= part;
    }
    stage->ended |= end;
}

/* --- asking the filter */

static weir_answer act(struct exchange *x, uint32_t direction, struct stage *stage,
                       weir_answer answer, const weir_data *data)
{
    struct flow *flow = exchange_flow(x, direction);
    bool end = data->flags & WEIR_END;
    switch (answer) {
    case WEIR_CONTINUE:
        pass(flow, stage, data->bytes, end && !stage->ended);
        break;
    case WEIR_HOLD:
        stage->held += data->bytes;
        /* fall through */
    case WEIR_TAKE:
        stage->exact = false;
        take(flow, stage, data->bytes);
        stage->surplus -= (int64_t)data->bytes;
        stage->end_taken |= end;
        settle(flow, stage);
        break;
    case WEIR_PAUSE:
        filters_pause(stage->filter, direction, stage->hook);
        stage->shown = data->bytes;
        stage->shown_end = end;
        break;
    default:
        return answer;
    }
    return WEIR_CONTINUE;
}

static weir_answer ask(struct exchange *x, uint32_t direction, struct stage *stage, bool *moved)
{
    struct flow *flow = exchange_flow(x, direction);
    struct slice_queue *input = input_of(flow, stage);
    weir_slice slices[SLICES_MOST];
    weir_data data = {.size = sizeof data, .direction = direction, .slices = slices};
    data.count = slice_queue_peek(input, slices, SLICES_MOST, WEIR_BODY_MOST);
    for (uint32_t i = 0; i < data.count; i++)
        data.bytes += slices[i].length;
    if (input_ended(flow, stage) && data.bytes == input->bytes)
        data.flags = WEIR_END;
    if (!data.bytes && !data.flags)
        return WEIR_CONTINUE;
    *moved = true;
    weir_answer answer = filters_call(stage->filter, stage->hook, &data);
    return act(x, direction, stage, answer, &data);
}

static bool may_ask(const struct flow *flow, const struct stage *stage)
{
    bool more = input_of((struct flow *)flow, stage)->bytes || input_ended(flow, stage);
    return more && !stage->queue.bytes && !stage->ended && !stage->end_taken;
}

static weir_answer step_asks(struct exchange *x, uint32_t direction, struct stage *stage,
                             bool *moved)
{
    struct flow *flow = exchange_flow(x, direction);
    if (stage->shown || stage->shown_end) { /* it goes on */
        pass(flow, stage, stage->shown, stage->shown_end && !stage->ended);
        stage->shown = 0;
        stage->shown_end = false;
        *moved = true;
    }
    if (may_ask(flow, stage))
        return ask(x, direction, stage, moved);
    return WEIR_CONTINUE;
}

/* What comes behind an end that the filter made itself is of no use to anybody. */
static void drop_rest(struct flow *flow, struct stage *stage)
{
    struct slice_queue *input = input_of(flow, stage);
    if (!stage->ended)
        return;
    stage->shown = 0; /* it ended before those that it paused on, too */
    stage->shown_end = false;
    if (input->bytes) {
        stage->exact = false;
        stage->surplus -= (int64_t)input->bytes;
        take(flow, stage, input->bytes);
        settle(flow, stage);
    }
}

static void step_passes(struct flow *flow, struct stage *stage, bool *moved)
{
    struct slice_queue *input = input_of(flow, stage);
    bool end = input_ended(flow, stage) && !stage->ended;
    if (stage->queue.bytes || (!input->bytes && !end))
        return;
    pass(flow, stage, input->bytes, end);
    *moved = true;
}

/* --- bodies that are wanted whole */

/* What is collected does not count: the one before may send as much again. */
static void step_collects(struct flow *flow, struct stage *stage, bool *moved)
{
    uint64_t come = input_of(flow, stage)->bytes;
    uint64_t room = stage->most - stage->queue.bytes;
    bool end = input_ended(flow, stage);
    if (stage->full)
        return;
    if (come > room) {
        stage->overflowed = true;
        come = room;
        end = false;
    }
    if (come)
        pass(flow, stage, come, false);
    slice_queue_settle(&stage->queue);
    stage->ended = end;
    stage->full = end || stage->overflowed;
    stage->taken = 0;
    if (come)
        give_back(flow, stage->previous, come);
    *moved |= come || stage->full;
}

static weir_answer too_large(struct exchange *x, uint32_t direction)
{
    bool request = direction == WEIR_REQUEST_DIRECTION;
    x->filters.record->refusal = request ? WEIR_BODY_TOO_LARGE : WEIR_BUFFER_FULL;
    return WEIR_DENY;
}

static weir_answer show(struct exchange *x, uint32_t direction, struct stage *stage)
{
    uint32_t count = stage->queue.count;
    weir_slice *slices = memory_allocate((count ? count : 1) * sizeof *slices);
    weir_data data = {.size = sizeof data,
                      .direction = direction,
                      .slices = slices,
                      .bytes = stage->queue.bytes,
                      .flags = stage->overflowed ? WEIR_TRUNCATED_DATA : WEIR_END};
    data.count = slice_queue_peek(&stage->queue, slices, count, UINT64_MAX);
    weir_answer answer = filters_call(stage->filter, HOOK_BODY_FULL, &data);
    memory_free(slices);
    return answer;
}

weir_answer stage_show_whole(struct exchange *x, uint32_t direction, struct stage *stage)
{
    struct slice_queue emitted = {0};
    if (stage->overflowed && !stage->truncates)
        return too_large(x, direction);
    stage->whole = &emitted;
    weir_answer answer = show(x, direction, stage);
    stage->whole = NULL;
    stage->mode = STAGE_PASSES;
    if (answer != WEIR_TAKE) {
        slice_queue_deinit(&emitted);
        return answer;
    }
    slice_queue_deinit(&stage->queue);
    stage->queue = emitted;
    bool more = stage->overflowed || exchange_flow(x, direction)->source->trailers;
    exchange_set_length(x, direction, more ? -1 : (int64_t)emitted.bytes);
    return WEIR_CONTINUE;
}

weir_answer stage_show_nothing(uint32_t direction, struct filter_state *filter)
{
    weir_data data = {.size = sizeof data, .direction = direction, .flags = WEIR_END};
    weir_answer answer = filters_call(filter, HOOK_BODY_FULL, &data);
    return answer == WEIR_TAKE ? WEIR_CONTINUE : answer;
}

/* --- all of them */

static weir_answer tell_credit(uint32_t direction, struct stage *stage)
{
    weir_event event = {.size = sizeof event, .kind = WEIR_EVENT_CREDIT, .direction = direction};
    stage->wants_credit = false;
    if (!stage->filter->use->filter->event || stage->filter->detached)
        return WEIR_CONTINUE;
    return filters_call(stage->filter, HOOK_EVENT, &event);
}

static weir_answer step_stage(struct exchange *x, uint32_t direction, struct stage *stage,
                              bool *moved)
{
    struct flow *flow = exchange_flow(x, direction);
    if (stage->filter->paused & (1u << direction))
        return WEIR_CONTINUE;
    if (stage->mode != STAGE_PASSES && stage->filter->detached) {
        stage->mode = STAGE_PASSES;
        stage->held = 0;
        stage->ended |= stage->end_taken; /* the end that it owes is nobody else's to bring */
    }
    if (stage->wants_credit && !stage->queue.bytes) {
        weir_answer answer = tell_credit(direction, stage);
        if (answer != WEIR_CONTINUE)
            return answer;
    }
    switch (stage->mode) {
    case STAGE_ASKS:
        drop_rest(flow, stage);
        return step_asks(x, direction, stage, moved);
    case STAGE_COLLECTS:
        step_collects(flow, stage, moved);
        break;
    case STAGE_PASSES:
        drop_rest(flow, stage);
        step_passes(flow, stage, moved);
        settle(flow, stage);
        break;
    }
    return WEIR_CONTINUE;
}

weir_answer stages_pump(struct exchange *x, uint32_t direction, bool *moved)
{
    struct flow *flow = exchange_flow(x, direction);
    weir_answer answer = WEIR_CONTINUE;
    for (struct stage *stage = flow->first; stage && answer == WEIR_CONTINUE; stage = stage->next)
        answer = step_stage(x, direction, stage, moved);
    return answer;
}

/* --- the length that the head has said */

/* Whether what leaves the last stage is more or less than it was to be: 1 or -1; 0: neither yet. */
static int compare_length(const struct exchange *x, uint32_t direction)
{
    const struct flow *flow = exchange_flow((struct exchange *)x, direction);
    const struct head *head = direction == WEIR_REQUEST_DIRECTION ? x->request : x->response;
    uint64_t bytes = flow->sink->sent_bytes + flow->last->queue.bytes;
    int64_t said = head->view.content_length;
    if (said < 0 || !stages_may_have_body(x, direction))
        return 0;
    if (bytes > (uint64_t)said)
        return 1;
    return flow->last->ended && bytes < (uint64_t)said ? -1 : 0;
}

static bool made_shorter(struct flow *flow, const struct stage *stage)
{
    return stage->surplus < 0 || (stage->ended && !input_ended(flow, stage));
}

weir_answer stages_keep_length(struct exchange *x, uint32_t direction)
{
    struct flow *flow = exchange_flow(x, direction);
    int more = compare_length(x, direction);
    struct stage *stage = more ? flow->first : NULL;
    while (stage && !(more > 0 ? stage->surplus > 0 : made_shorter(flow, stage)))
        stage = stage->next;
    if (!stage) /* a protocol's, which the other one sees */
        return WEIR_CONTINUE;
    filters_fault(stage->filter, stage->hook, "it changed the length of a body without its flag");
    return WEIR_FAIL; /* also of one that is skipped: the bytes are gone */
}

/* --- what a filter does with its stage */

static void push_copy(struct slice_queue *queue, weir_slice slice)
{
    weir_buffer *buffer = buffer_new(slice.length);
    memcpy(buffer->bytes, slice.bytes, slice.length);
    slice_queue_push(queue, (weir_slice){buffer->bytes, slice.length, buffer});
    buffer_release(buffer);
}

void slices_push(struct slice_queue *queue, const weir_slice *slices, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (slices[i].owner)
            slice_queue_push(queue, slices[i]);
        else if (slices[i].length)
            push_copy(queue, slices[i]);
}

uint64_t slices_bytes(const weir_slice *slices, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += slices[i].length;
    return bytes;
}

static size_t credit_of(const struct stage *stage)
{
    uint64_t most = stage->whole ? stage->most : WEIR_CREDIT;
    uint64_t used = stage->whole ? stage->whole->bytes : stage->queue.bytes;
    return used < most ? (size_t)(most - used) : 0;
}

size_t stage_credit(struct stage *stage)
{
    stage->wants_credit = !stage->whole && stage->queue.bytes;
    return credit_of(stage);
}

weir_result stage_emit(struct stage *stage, const weir_slice *slices, uint32_t count,
                       uint32_t flags)
{
    bool collecting = stage->mode != STAGE_ASKS;
    if (stage->ended && !stage->whole)
        return WEIR_ALREADY;
    if (collecting && !stage->whole)
        return WEIR_WRONG_PHASE;
    if (slices_bytes(slices, count) > credit_of(stage)) {
        stage->filter->faulty = stage->filter->exchange->filters.record->eventful = true;
        return WEIR_TOO_MUCH;
    }
    slices_push(stage->whole ? stage->whole : &stage->queue, slices, count);
    if (!stage->whole) {
        stage->surplus += (int64_t)slices_bytes(slices, count);
        stage->exact = false;
        stage->ended |= (flags & WEIR_END) != 0;
    }
    return WEIR_OK;
}

weir_result stage_release(struct flow *flow, struct stage *stage, uint64_t bytes)
{
    if (bytes > stage->held)
        return WEIR_INVALID;
    stage->held -= bytes;
    settle(flow, stage);
    return WEIR_OK;
}
