/* core/exchange/filter_host.c - what filters do to an exchange: settle it, pause it, emit bytes
 *
 * Nothing here acts at once but on the filter's own stage: the exchange's step does, when the hook
 * has returned. */
#include "core/exchange/filter_host.h"

#include "core/exchange/authentication.h"
#include "core/exchange/filter_facts.h"
#include "core/exchange/filter_heads.h"
#include "core/exchange/notes.h"
#include "core/exchange/stage.h"
#include "core/upstream/route.h"

enum { PAUSE_MOST_MS = 3600000 };

static struct exchange *of(weir_exchange *public)
{
    return filter_state_of(public)->exchange;
}

static void mark(struct exchange *x)
{
    turn_mark(x->worker->turn, TURN_EXCHANGES, &x->mark);
}

static const weir_head *host_request_head(weir_exchange *public)
{
    return &of(public)->request->view;
}

static const weir_head *host_response_head(weir_exchange *public)
{
    return of(public)->response ? &of(public)->response->view : NULL;
}

/* --- settling it */

static weir_result may_settle(const struct exchange *x)
{
    if (x->finished)
        return WEIR_WRONG_PHASE;
    return x->filters.record->reply || x->aborted ? WEIR_ALREADY : WEIR_OK;
}

static bool good_fields(const weir_reply *reply)
{
    for (uint32_t i = 0; i < reply->count; i++)
        if (!filter_heads_may_have(reply->fields[i].name, reply->fields[i].value))
            return false;
    return true;
}

/* What the status says of the message: 204 and 304 have no body, 2xx to CONNECT is a tunnel. */
static bool good_status(const struct exchange *x, const weir_reply *reply)
{
    bool opens = x->request->view.kind == WEIR_TUNNEL && reply->status < 300;
    bool body = reply->body.length || (reply->flags & WEIR_MORE_DATA);
    return reply->status >= 200 && reply->status <= 599 && !opens &&
           !(body && (reply->status == 204 || reply->status == 304));
}

static struct head *head_of_reply(struct arena *arena, const weir_reply *reply)
{
    struct head *head = head_new(arena);
    head->view.status = reply->status;
    for (uint32_t i = 0; i < reply->count; i++)
        head_append(head, arena_copy(arena, reply->fields[i].name),
                    arena_copy(arena, reply->fields[i].value));
    return head;
}

/* Bytes that nobody owns are the plugin's, and may be gone when the hook has returned. */
static weir_slice own_body(weir_slice body)
{
    if (body.owner) {
        buffer_reference(body.owner);
        return body;
    }
    struct slice_queue queue = {0};
    weir_slice copy = {0};
    slices_push(&queue, &body, 1);
    slice_queue_peek(&queue, &copy, 1, UINT64_MAX);
    buffer_reference(copy.owner);
    slice_queue_deinit(&queue);
    return copy;
}

static weir_result host_respond(weir_exchange *public, const weir_reply *reply)
{
    struct exchange *x = of(public);
    weir_result rc = may_settle(x);
    if (rc != WEIR_OK)
        return rc;
    if (x->response_sent)
        return WEIR_WRONG_PHASE;
    if (!good_status(x, reply) || !good_fields(reply))
        return WEIR_INVALID;
    if (!filter_heads_fit(reply->fields, reply->count))
        return WEIR_TOO_MUCH;
    buffer_release(x->filters.record->reply_body.owner);
    x->filters.record->eventful = true;
    x->filters.record->reply = head_of_reply(&x->arena, reply);
    x->filters.record->reply_body = own_body(reply->body);
    x->filters.record->reply_continues = reply->flags & WEIR_MORE_DATA;
    return WEIR_OK;
}

static weir_result host_abort(weir_exchange *public)
{
    struct exchange *x = of(public);
    weir_result rc = may_settle(x);
    x->filters.record->eventful = true;
    x->aborted |= rc == WEIR_OK;
    return rc;
}

/* --- bytes */

/* The body of its own answer a filter delivers like a server would. */
static struct channel *own_answer(const struct filter_state *state, uint32_t direction)
{
    struct exchange *x = state->exchange;
    bool own = direction == WEIR_RESPONSE_DIRECTION && x->progress == PROGRESS_ANSWERED &&
               x->filters.record->replier == state && x->cause == WEIR_OK && !x->finished;
    return own && !x->server.incoming_ended ? &x->server : NULL;
}

static size_t answer_credit(const struct channel *channel)
{
    return channel->owed < WEIR_CREDIT ? WEIR_CREDIT - (size_t)channel->owed : 0;
}

static weir_result deliver_answer(struct filter_state *state, struct channel *channel,
                                  const weir_slice *slices, uint32_t count, uint32_t flags)
{
    struct slice_queue queue = {0};
    weir_slice slice;
    if (slices_bytes(slices, count) > answer_credit(channel)) {
        state->faulty = state->exchange->filters.record->eventful = true;
        return WEIR_TOO_MUCH;
    }
    slices_push(&queue, slices, count);
    while (slice_queue_peek(&queue, &slice, 1, UINT64_MAX)) {
        channel_deliver_data(channel, &slice, 0);
        slice_queue_drop(&queue, slice.length);
    }
    if (flags & WEIR_END)
        channel_deliver_data(channel, &(weir_slice){0}, WEIR_END);
    return WEIR_OK;
}

static struct stage *stage_of(struct filter_state *state, uint32_t direction)
{
    if (direction > WEIR_RESPONSE_DIRECTION || state->exchange->finished || state->detached)
        return NULL;
    return stage_find(exchange_flow(state->exchange, direction), state);
}

static weir_result host_emit(weir_exchange *public, uint32_t direction, const weir_slice *slices,
                             uint32_t count, uint32_t flags)
{
    struct filter_state *state = filter_state_of(public);
    struct channel *answer = own_answer(state, direction);
    struct stage *stage = stage_of(state, direction);
    if (answer)
        return deliver_answer(state, answer, slices, count, flags);
    if (!stage)
        return WEIR_WRONG_PHASE;
    mark(state->exchange);
    return stage_emit(stage, slices, count, flags);
}

static size_t host_credit(weir_exchange *public, uint32_t direction)
{
    struct filter_state *state = filter_state_of(public);
    const struct channel *answer = own_answer(state, direction);
    struct stage *stage = stage_of(state, direction);
    if (answer) {
        state->exchange->filters.record->answer_waits |= answer->owed != 0;
        return answer_credit(answer);
    }
    return stage ? stage_credit(stage) : 0;
}

static weir_result host_release(weir_exchange *public, uint32_t direction, uint64_t bytes)
{
    struct filter_state *state = filter_state_of(public);
    struct stage *stage = stage_of(state, direction);
    if (!stage)
        return WEIR_WRONG_PHASE;
    mark(state->exchange);
    return stage_release(exchange_flow(state->exchange, direction), stage, bytes);
}

/* --- pauses and limits */

static weir_result host_resume(weir_exchange *public, uint32_t direction)
{
    struct filter_state *state = filter_state_of(public);
    if (direction > WEIR_RESPONSE_DIRECTION)
        return WEIR_INVALID;
    if (!(state->paused & (1u << direction)))
        return WEIR_ALREADY;
    filters_unpause(state, direction);
    mark(state->exchange);
    return WEIR_OK;
}

static weir_result host_pause_limit(weir_exchange *public, uint32_t direction,
                                    uint32_t milliseconds)
{
    struct filter_state *state = filter_state_of(public);
    if (direction > WEIR_RESPONSE_DIRECTION || !milliseconds || milliseconds > PAUSE_MOST_MS)
        return WEIR_INVALID;
    filters_limit_pause(state, direction, milliseconds);
    return WEIR_OK;
}

static weir_result host_set_limit(weir_exchange *public, uint32_t limit, uint32_t direction,
                                  uint64_t value)
{
    struct filter_state *state = filter_state_of(public);
    if (direction > WEIR_RESPONSE_DIRECTION)
        return WEIR_INVALID;
    if (limit == WEIR_BUFFER_LIMIT && value >= 1 && value <= 1u << 30)
        state->buffer_most = (uint32_t)value;
    else if (limit == WEIR_BUFFER_TRUNCATES && value <= 1)
        state->buffer_truncates = value;
    else
        return WEIR_INVALID;
    return WEIR_OK;
}

/* --- who and where */

static weir_result host_set_user(weir_exchange *public, weir_string user)
{
    struct exchange *x = of(public);
    return x->authenticated ? WEIR_WRONG_PHASE : notes_set_user(x, user);
}

static weir_result host_retarget(weir_exchange *public, weir_string target)
{
    struct exchange *x = of(public);
    struct target found;
    if (x->progress >= PROGRESS_SENT && !x->server.failed)
        return WEIR_WRONG_PHASE;
    weir_string copy = arena_copy(&x->arena, target);
    weir_result rc = route_named(x->snapshot, &x->request->view, copy, 0, &found);
    if (rc == WEIR_OK)
        x->filters.record->retarget = copy;
    return rc;
}

static weir_reference host_reference(weir_exchange *public)
{
    struct filter_state *state = filter_state_of(public);
    return state->exchange->finished ? (weir_reference){0} : filters_reference(state);
}

const weir_filter_host exchange_filter_host = {
    .size = sizeof exchange_filter_host,
    .request_head = host_request_head,
    .response_head = host_response_head,
    .field = filter_field,
    .field_at = filter_field_at,
    .set_field = filter_set_field,
    .add_field = filter_add_field,
    .remove_field = filter_remove_field,
    .set_part = filter_set_part,
    .set_status = filter_set_status,
    .text = filter_text,
    .number = filter_number,
    .variable = filter_variable,
    .set_variable = filter_set_variable,
    .set_user = host_set_user,
    .set_limit = host_set_limit,
    .respond = host_respond,
    .abort = host_abort,
    .retarget = host_retarget,
    .emit = host_emit,
    .credit = host_credit,
    .release = host_release,
    .resume = host_resume,
    .pause_limit = host_pause_limit,
    .reference = host_reference,
    .credentials = filter_credentials,
};
