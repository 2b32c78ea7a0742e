/* core/exchange/filters.c - which filters an exchange has, and running their hooks */
#include "core/exchange/filters.h"

#include <assert.h>
#include <string.h>

#include "core/base/breadcrumb.h"
#include "core/base/log.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/exchange/exchange.h"
#include "core/exchange/notes.h"
#include "core/exchange/stage.h"
#include "core/io/loop.h"
#include "core/io/owner.h"

enum { PAUSE_STANDARD_MS = 30000 };

/* What a filter costs an exchange beside what it asked for, with 8 bytes of alignment. */
_Static_assert(sizeof(struct filter_state) + 8 <= 64, "a filter's state has grown");

const struct filter_chain filter_chain_empty;

#define ANSWER(name) (1u << (WEIR_##name))

const char *const filter_hook_names[HOOKS] = {
    [HOOK_ACCEPT] = "accept",
    [HOOK_OPEN] = "open",
    [HOOK_AUTHENTICATE] = "authenticate",
    [HOOK_REQUEST] = "request",
    [HOOK_ROUTE] = "route",
    [HOOK_ADDRESS] = "address",
    [HOOK_UPSTREAM] = "upstream",
    [HOOK_UPSTREAM_ERROR] = "upstream_error",
    [HOOK_INTERIM] = "interim",
    [HOOK_RESPONSE] = "response",
    [HOOK_REQUEST_BODY] = "request_body",
    [HOOK_RESPONSE_BODY] = "response_body",
    [HOOK_TUNNEL] = "tunnel",
    [HOOK_BODY_FULL] = "body_full",
    [HOOK_TRAILERS] = "trailers",
    [HOOK_EVENT] = "event",
    [HOOK_LOG] = "log",
    [HOOK_CLOSE] = "close",
};

/* What each hook may answer beside WEIR_FAIL. */
static const uint32_t allowed_answers[HOOKS] = {
    [HOOK_ACCEPT] = ANSWER(CONTINUE) | ANSWER(DENY),
    [HOOK_OPEN] = ANSWER(CONTINUE) | ANSWER(DETACH) | ANSWER(DENY) | ANSWER(DONE),
    [HOOK_AUTHENTICATE] = ANSWER(CONTINUE) | ANSWER(DETACH) | ANSWER(ACCEPT) | ANSWER(PAUSE) |
                          ANSWER(DENY) | ANSWER(DONE),
    [HOOK_REQUEST] = ANSWER(CONTINUE) | ANSWER(DETACH) | ANSWER(PAUSE) | ANSWER(BUFFER) |
                     ANSWER(DENY) | ANSWER(DONE),
    [HOOK_ROUTE] = ANSWER(CONTINUE) | ANSWER(DETACH) | ANSWER(PAUSE) | ANSWER(DENY) | ANSWER(DONE),
    [HOOK_ADDRESS] = ANSWER(CONTINUE) | ANSWER(DENY),
    [HOOK_UPSTREAM] =
        ANSWER(CONTINUE) | ANSWER(DETACH) | ANSWER(PAUSE) | ANSWER(DENY) | ANSWER(DONE),
    [HOOK_UPSTREAM_ERROR] = ANSWER(CONTINUE) | ANSWER(DETACH) | ANSWER(FORBID) | ANSWER(DONE),
    [HOOK_INTERIM] = ANSWER(CONTINUE) | ANSWER(DETACH),
    [HOOK_RESPONSE] =
        ANSWER(CONTINUE) | ANSWER(DETACH) | ANSWER(PAUSE) | ANSWER(BUFFER) | ANSWER(DONE),
    [HOOK_REQUEST_BODY] = ANSWER(CONTINUE) | ANSWER(DETACH) | ANSWER(PAUSE) | ANSWER(TAKE) |
                          ANSWER(HOLD) | ANSWER(DONE),
    [HOOK_RESPONSE_BODY] = ANSWER(CONTINUE) | ANSWER(DETACH) | ANSWER(PAUSE) | ANSWER(TAKE) |
                           ANSWER(HOLD) | ANSWER(DONE),
    [HOOK_TUNNEL] = ANSWER(CONTINUE) | ANSWER(DETACH) | ANSWER(PAUSE) | ANSWER(TAKE) |
                    ANSWER(HOLD) | ANSWER(DONE),
    [HOOK_BODY_FULL] = ANSWER(CONTINUE) | ANSWER(DETACH) | ANSWER(PAUSE) | ANSWER(TAKE) |
                       ANSWER(DENY) | ANSWER(DONE),
    [HOOK_TRAILERS] = ANSWER(CONTINUE) | ANSWER(DETACH) | ANSWER(PAUSE) | ANSWER(DONE),
    [HOOK_EVENT] = ANSWER(CONTINUE) | ANSWER(DETACH) | ANSWER(DENY) | ANSWER(DONE),
    [HOOK_LOG] = ANSWER(CONTINUE),
    [HOOK_CLOSE] = ANSWER(CONTINUE),
};

static bool has(const weir_filter *filter, enum filter_hook hook)
{
    switch (hook) {
    case HOOK_ACCEPT:
        return filter->accept;
    case HOOK_OPEN:
        return filter->open;
    case HOOK_AUTHENTICATE:
        return filter->authenticate;
    case HOOK_REQUEST:
        return filter->request;
    case HOOK_ROUTE:
        return filter->route;
    case HOOK_ADDRESS:
        return filter->address;
    case HOOK_UPSTREAM:
        return filter->upstream;
    case HOOK_UPSTREAM_ERROR:
        return filter->upstream_error;
    case HOOK_INTERIM:
        return filter->interim;
    case HOOK_RESPONSE:
        return filter->response;
    case HOOK_REQUEST_BODY:
        return filter->request_body;
    case HOOK_RESPONSE_BODY:
        return filter->response_body;
    case HOOK_TUNNEL:
        return filter->tunnel;
    case HOOK_BODY_FULL:
        return filter->body_full;
    case HOOK_TRAILERS:
        return filter->trailers;
    case HOOK_EVENT:
        return filter->event;
    case HOOK_LOG:
        return filter->log;
    case HOOK_CLOSE:
        return filter->close;
    case HOOKS:
        break;
    }
    return false;
}

static weir_answer (*head_function(const weir_filter *filter, int hook))(weir_exchange *)
{
    switch (hook) {
    case HOOK_REQUEST:
        return filter->request;
    case HOOK_ROUTE:
        return filter->route;
    case HOOK_UPSTREAM:
        return filter->upstream;
    default:
        return filter->response;
    }
}

/* Those of responses run from the last filter to the first. */
static void prepare_calls(struct filter_chain *chain, int hook)
{
    uint32_t count = chain->counts[hook];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = chain->lists[hook][hook == HOOK_RESPONSE ? count - 1 - i : i];
        const struct filter_use *use = chain->uses[number];
        chain->calls[hook][i] =
            (struct filter_call){head_function(use->filter, hook), use->plugin,
                                 number * (uint32_t)sizeof(struct filter_state)};
    }
}

void filter_chain_build(struct filter_chain *chain, const struct filter_use *const *uses,
                        uint32_t count)
{
    assert(count <= CHAIN_FILTERS_MOST);
    memset(chain, 0, sizeof *chain);
    chain->count = count;
    for (uint32_t i = 0; i < count; i++) {
        chain->uses[i] = uses[i];
        for (int hook = 0; hook < HOOKS; hook++)
            if (has(uses[i]->filter, (enum filter_hook)hook))
                chain->lists[hook][chain->counts[hook]++] = (uint8_t)i;
    }
    for (int hook = 0; hook < HEAD_HOOKS; hook++)
        prepare_calls(chain, hook);
}

/* Who waits for what its filters asked for. */
struct filter_owner {
    struct owner owner;
    struct exchange *exchange;
};

/* --- what an exchange has of its filters */

static void *new_state(struct exchange *x, uint32_t size)
{
    if (!size)
        return NULL;
    uintptr_t memory = (uintptr_t)arena_allocate(&x->arena, size + 8);
    void *aligned = (void *)((memory + 15) & ~(uintptr_t)15);
    return memset(aligned, 0, size);
}

/* Nothing is ever written there but what it holds. */
static _Thread_local struct filter_record no_record;

void filters_init(struct filters *filters, const struct filter_chain *chain)
{
    *filters = (struct filters){{chain, &filter_chain_empty}, &no_record};
}

struct filter_record *filters_make_record(struct exchange *x)
{
    if (x->filters.record != &no_record)
        return x->filters.record;
    x->filters.record = arena_allocate(&x->arena, sizeof *x->filters.record);
    *x->filters.record = (struct filter_record){0};
    return x->filters.record;
}

static void make_states(struct exchange *x, uint32_t part)
{
    filters_make_record(x);
    const struct filter_chain *chain = x->filters.chains[part];
    void *const *worker_states = x->use->worker_states;
    struct filter_state *states = arena_allocate(&x->arena, chain->count * sizeof *states);
    for (uint32_t i = 0; i < chain->count; i++) {
        const struct filter_use *use = chain->uses[i];
        states[i] = (struct filter_state){
            .public.state = new_state(x, use->filter->state_size),
            .public.instance = use->instance,
            .public.worker_state = worker_states ? worker_states[use->index] : NULL,
            .exchange = x,
            .use = use,
            .number = (uint8_t)(i + (part ? x->filters.chains[0]->count : 0)),
        };
    }
    x->filters.record->states[part] = states;
}

struct filter_state *filters_nth(struct exchange *x, enum filter_hook hook, uint32_t n,
                                 uint32_t direction)
{
    const struct filters *filters = &x->filters;
    uint32_t first = filters->chains[0]->counts[hook];
    if (direction == WEIR_RESPONSE_DIRECTION)
        n = first + filters->chains[1]->counts[hook] - 1 - n;
    uint32_t part = n >= first;
    return &filters->record->states[part][filters->chains[part]->lists[hook][part ? n - first : n]];
}

static struct filter_state *state_at(const struct exchange *x, uint32_t number)
{
    const struct filters *filters = &x->filters;
    uint32_t first = filters->chains[0]->count;
    return number < first ? &filters->record->states[0][number]
                          : &filters->record->states[1][number - first];
}

static uint32_t count_states(const struct exchange *x)
{
    return x->filters.chains[0]->count + x->filters.chains[1]->count;
}

bool filters_takes_part(const struct filter_state *state, uint32_t direction)
{
    const struct filter_record *record = state->exchange->filters.record;
    bool seen = direction == WEIR_RESPONSE_DIRECTION && record->seen_from &&
                state->number + 1 >= record->seen_from;
    return !state->detached && state != record->replier && !seen;
}

/* --- one hook of one filter */

static weir_answer call(struct filter_state *state, enum filter_hook hook, const void *argument)
{
    const weir_filter *filter = state->use->filter;
    weir_exchange *public = &state->public;
    const struct filter_upstream_error *error = argument;
    switch (hook) {
    case HOOK_OPEN:
        return filter->open(public);
    case HOOK_AUTHENTICATE:
        return filter->authenticate(public, argument);
    case HOOK_REQUEST:
        return filter->request(public);
    case HOOK_ROUTE:
        return filter->route(public);
    case HOOK_ADDRESS:
        return filter->address(public, argument);
    case HOOK_UPSTREAM:
        return filter->upstream(public);
    case HOOK_UPSTREAM_ERROR:
        return filter->upstream_error(public, error->why,
                                      error->repeats &&
                                          !state->exchange->filters.record->repeat_forbidden);
    case HOOK_INTERIM:
        return filter->interim(public, *(const uint32_t *)argument);
    case HOOK_RESPONSE:
        return filter->response(public);
    case HOOK_REQUEST_BODY:
        return filter->request_body(public, argument);
    case HOOK_RESPONSE_BODY:
        return filter->response_body(public, argument);
    case HOOK_TUNNEL:
        return filter->tunnel(public, argument);
    case HOOK_BODY_FULL:
        return filter->body_full(public, argument);
    case HOOK_TRAILERS:
        return filter->trailers(public, *(const uint32_t *)argument);
    case HOOK_EVENT:
        return filter->event(public, argument);
    case HOOK_LOG:
        filter->log(public);
        return WEIR_CONTINUE;
    case HOOK_CLOSE:
        filter->close(public);
        return WEIR_CONTINUE;
    case HOOK_ACCEPT:
    case HOOKS:
        break;
    }
    return WEIR_FAIL;
}

static void report(const struct filter_state *state, enum filter_hook hook, const char *what)
{
    metric_add(&state->exchange->worker->metrics, METRIC_FILTER_FAULTS, 1);
    log_write(LOG_WARNING, "filter %s (plugin %s) failed in %s: %s", state->use->filter->name,
              state->use->plugin, filter_hook_names[hook], what);
}

/* Whether the message would lack what the filter has taken if it left now. */
static bool owes(const struct filter_state *state, const struct flow *flow)
{
    const struct stage *stage = stage_find(flow, state);
    return stage && (stage->held || (stage->end_taken && !stage->ended));
}

/* Likewise of an answer of its own. */
static bool owes_answer(const struct filter_state *state)
{
    const struct exchange *x = state->exchange;
    return x->filters.record->replier == state && x->progress == PROGRESS_ANSWERED &&
           x->cause == WEIR_OK && !x->server.incoming_ended;
}

static bool owes_any(const struct filter_state *state)
{
    const struct exchange *x = state->exchange;
    return owes(state, &x->request_flow) || owes(state, &x->response_flow) || owes_answer(state);
}

/* A filter that is out of the exchange holds nothing up. */
static void leave(struct filter_state *state)
{
    state->detached = true;
    filters_unpause(state, WEIR_REQUEST_DIRECTION);
    filters_unpause(state, WEIR_RESPONSE_DIRECTION);
}

weir_answer filters_fault(struct filter_state *state, enum filter_hook hook, const char *what)
{
    report(state, hook, what);
    struct exchange *x = state->exchange;
    bool skips = state->use->skip_on_fault && !owes_any(state);
    if (!x->filters.record->settled) { /* what it said itself, if anything */
        x->filters.record->reply = NULL;
        x->aborted = false;
    }
    leave(state);
    return skips ? WEIR_CONTINUE : WEIR_FAIL;
}

static bool is_legal(const struct filter_state *state, enum filter_hook hook, weir_answer answer)
{
    if (hook == HOOK_EVENT && answer == WEIR_DENY) /* late, for the hook that paused */
        return state->paused & state->deniable;
    return answer >= 0 && answer < 32 && (allowed_answers[hook] & (1u << answer));
}

/* What DONE and ACCEPT say that it has called. NULL: it has. */
static const char *missing_call(const struct filter_state *state, weir_answer answer)
{
    const struct exchange *x = state->exchange;
    bool settles = (x->filters.record->reply || x->aborted) && !x->filters.record->settled;
    if (answer == WEIR_ACCEPT && !notes_user(x).length)
        return "it answered WEIR_ACCEPT without set_user()";
    if (settles && answer != WEIR_DONE)
        return "it responded and did not answer WEIR_DONE";
    if (answer == WEIR_DONE && !settles && !x->filters.record->settled)
        return "it answered WEIR_DONE without a response";
    return NULL;
}

/* Every answer but the usual one. */
static weir_answer judge(struct filter_state *state, enum filter_hook hook, weir_answer answer)
{
    struct exchange *x = state->exchange;
    x->filters.record->eventful = true;
    if (answer == WEIR_FAIL)
        return filters_fault(state, hook, "it said so");
    if (!is_legal(state, hook, answer))
        return filters_fault(state, hook, "it may not answer that here");
    if (state->faulty)
        return filters_fault(state, hook, "it emitted beyond its credit");
    const char *missing = missing_call(state, answer);
    if (missing)
        return filters_fault(state, hook, missing);
    if (answer == WEIR_DONE && !x->filters.record->settled) {
        x->filters.record->replier = state;
        x->filters.record->settled = true;
    }
    if (answer != WEIR_DETACH)
        return answer;
    if (owes_any(state))
        return filters_fault(state, hook, "it detached with bytes or an end that it owes");
    leave(state);
    return WEIR_CONTINUE;
}

weir_answer filters_call(struct filter_state *state, enum filter_hook hook, const void *argument)
{
    struct exchange *x = state->exchange;
    state->faulty = false;
    struct breadcrumb before =
        breadcrumb_leave(state->use->plugin, filter_hook_names[hook], x->number);
    weir_answer answer = call(state, hook, argument);
    breadcrumb_restore(before);
    if (answer == WEIR_CONTINUE && !state->faulty && !x->filters.record->reply && !x->aborted)
        return WEIR_CONTINUE;
    return judge(state, hook, answer);
}

/* --- running a hook through all that have it */

/* What accept() gets, and of which use. */
struct filter_client {
    weir_client public;
    const struct filter_use *use;
};

const struct filter_use *filters_use_of(const weir_client *client)
{
    return CONTAINER(client, struct filter_client, public)->use;
}

bool filters_accept(const struct filter_chain *chain, const struct snapshot_use *use,
                    const struct address *client, const char *listener)
{
    char text[ADDRESS_TEXT_BYTES];
    bool is_unix = client->any.sa_family == AF_UNIX;
    struct filter_client about = {
        .public.size = sizeof about.public,
        .public.port = address_port(client),
        .public.address =
            is_unix ? WEIR_STRING("unix") : string_of(address_format_host(client, text)),
        .public.listener = string_of(listener),
    };
    for (uint32_t i = 0; i < chain->counts[HOOK_ACCEPT]; i++) {
        const struct filter_use *one = chain->uses[chain->lists[HOOK_ACCEPT][i]];
        about.use = one;
        about.public.instance = one->instance;
        about.public.worker_state = use->worker_states ? use->worker_states[one->index] : NULL;
        struct breadcrumb before = breadcrumb_leave(one->plugin, filter_hook_names[HOOK_ACCEPT], 0);
        weir_answer answer = one->filter->accept(&about.public);
        breadcrumb_restore(before);
        if (answer == WEIR_DENY)
            return false;
        if (answer == WEIR_CONTINUE)
            continue;
        log_write(LOG_WARNING, "filter %s (plugin %s) failed in accept", one->filter->name,
                  one->plugin);
        if (!one->skip_on_fault)
            return false;
    }
    return true;
}

weir_answer filters_open(struct exchange *x, uint32_t part)
{
    const struct filter_chain *chain = x->filters.chains[part];
    weir_answer first = WEIR_CONTINUE;
    if (part == 0)
        x->opened = true;
    if (chain->count)
        make_states(x, part);
    for (uint32_t i = 0; i < chain->counts[HOOK_OPEN]; i++) {
        struct filter_state *state = &x->filters.record->states[part][chain->lists[HOOK_OPEN][i]];
        weir_answer answer = filters_call(state, HOOK_OPEN, NULL);
        if (first == WEIR_CONTINUE)
            first = answer;
    }
    return first;
}

/* A body that a filter wants whole: the head waits. */
static weir_answer collect(struct exchange *x, uint32_t direction, struct filter_state *state)
{
    struct filter_run *run = &x->filters.record->runs[direction];
    if (!state->use->filter->body_full)
        return filters_fault(state, HOOK_BODY_FULL, "it has no body_full to buffer for");
    if (!stages_collect(x, direction, state))
        return stage_show_nothing(direction, state);
    run->collecting = true;
    if (direction == WEIR_REQUEST_DIRECTION)
        exchange_invite_body(x);
    return WEIR_PAUSE;
}

/* What the filter waited for may have come. WEIR_CONTINUE: it goes on. */
static weir_answer look_again(struct exchange *x, uint32_t direction, struct filter_state *state)
{
    struct filter_run *run = &x->filters.record->runs[direction];
    if (state->paused & (1u << direction))
        return WEIR_PAUSE;
    run->collecting &= !state->detached;
    if (!run->collecting)
        return WEIR_CONTINUE;
    struct stage *stage = stage_find(exchange_flow(x, direction), state);
    if (!stage->full)
        return WEIR_PAUSE;
    run->collecting = false;
    return stage_show_whole(x, direction, stage);
}

/* With credentials that one filter knows nobody else is asked. */
static bool is_settled(const struct exchange *x, enum filter_hook hook)
{
    return hook == HOOK_AUTHENTICATE && notes_user(x).length != 0;
}

/* What the filter answered, or what has become of what it waited for, is taken down. */
static weir_answer note_answer(struct filter_state *state, enum filter_hook hook,
                               uint32_t direction, bool waited, weir_answer answer)
{
    struct exchange *x = state->exchange;
    struct filter_run *run = &x->filters.record->runs[direction];
    run->waiting = NULL;
    if (answer == WEIR_BUFFER) {
        answer = collect(x, direction, state);
        waited = true;
    }
    if (answer == WEIR_PAUSE && !run->collecting && !(state->paused & (1u << direction)))
        filters_pause(state, direction, waited ? HOOK_BODY_FULL : hook);
    run->waiting = answer == WEIR_PAUSE ? state : NULL;
    return answer == WEIR_ACCEPT || answer == WEIR_TAKE ? WEIR_CONTINUE : answer;
}

static weir_answer run_one(struct exchange *x, enum filter_hook hook, uint32_t direction,
                           struct filter_state *state, const void *argument)
{
    bool waited = x->filters.record->runs[direction].waiting != NULL;
    weir_answer answer;
    if (waited)
        answer = look_again(x, direction, state);
    else if (!filters_takes_part(state, direction))
        return WEIR_CONTINUE;
    else
        answer = filters_call(state, hook, argument);
    return note_answer(state, hook, direction, waited, answer);
}

weir_answer filters_run(struct exchange *x, enum filter_hook hook, uint32_t direction,
                        const void *argument)
{
    struct filter_run *run = &x->filters.record->runs[direction];
    uint32_t count = filters_count(&x->filters, hook);
    TRACE();
    while (run->next < count && (run->waiting || !is_settled(x, hook))) {
        struct filter_state *state = filters_nth(x, hook, run->next, direction);
        if (!run->waiting && (state->paused & (1u << direction)))
            return WEIR_PAUSE; /* of its body: it is asked when it has gone on */
        weir_answer answer = run_one(x, hook, direction, state, argument);
        if (answer == WEIR_PAUSE)
            return WEIR_PAUSE;
        run->next++;
        if (answer != WEIR_CONTINUE)
            return answer;
    }
    return WEIR_CONTINUE;
}

weir_answer filters_run_closely(struct filter_state *state, enum filter_hook hook,
                                uint32_t direction, weir_answer answer)
{
    struct exchange *x = state->exchange;
    answer = note_answer(state, hook, direction, false, judge(state, hook, answer));
    if (answer == WEIR_PAUSE)
        return answer;
    x->filters.record->runs[direction].next++;
    return answer == WEIR_CONTINUE ? filters_run(x, hook, direction, NULL) : answer;
}

/* Whoever still waits waits in vain: what its hook was asked about is over. */
void filters_rewind(struct exchange *x, uint32_t direction)
{
    struct filter_run *run = &x->filters.record->runs[direction];
    if (run->waiting)
        filters_unpause(run->waiting, direction);
    *run = (struct filter_run){0};
}

void filters_make_way(struct exchange *x)
{
    struct filter_record *record = x->filters.record;
    struct filter_run *run = &record->runs[WEIR_RESPONSE_DIRECTION];
    for (uint32_t i = 0; record->pauses && i < count_states(x); i++)
        for (uint32_t direction = 0; direction < 2; direction++)
            filters_unpause(state_at(x, i), direction);
    run->next += run->waiting != NULL;
    if (run->next) {
        record->eventful = true;
        record->seen_from =
            filters_nth(x, HOOK_RESPONSE, run->next - 1u, WEIR_RESPONSE_DIRECTION)->number + 1;
    }
    run->waiting = record->runs[WEIR_REQUEST_DIRECTION].waiting = NULL;
    run->collecting = false;
    record->settled = false;
}

void filters_begin(struct exchange *x, enum filter_hook hook, bool of_route)
{
    filters_rewind(x, WEIR_REQUEST_DIRECTION);
    if (of_route)
        x->filters.record->runs[WEIR_REQUEST_DIRECTION].next = x->filters.chains[0]->counts[hook];
}

weir_answer filters_ask(struct exchange *x, enum filter_hook hook, const void *argument)
{
    uint32_t count = filters_count(&x->filters, hook);
    x->filters.record->repeat_forbidden = false;
    for (uint32_t i = 0; i < count; i++) {
        struct filter_state *state = filters_nth(x, hook, i, filter_hook_direction(hook));
        if (state->detached)
            continue;
        weir_answer answer = filters_call(state, hook, argument);
        if (answer == WEIR_FORBID)
            x->filters.record->repeat_forbidden = true; /* the others are told of it */
        else if (answer != WEIR_CONTINUE)
            return answer;
    }
    return x->filters.record->repeat_forbidden ? WEIR_FORBID : WEIR_CONTINUE;
}

/* --- pauses */

static uint32_t since_begin_ms(const struct exchange *x)
{
    uint64_t now_ms = loop_now_ms(x->worker->loop), begun_ms = x->start_us / 1000;
    return now_ms > begun_ms ? (uint32_t)(now_ms - begun_ms) : 0;
}

void filters_pause(struct filter_state *state, uint32_t direction, enum filter_hook hook)
{
    uint32_t limit = state->pause_ms[direction];
    if (state->paused & (1u << direction))
        return;
    if (!limit)
        limit = state->use->pause_limit_ms ? state->use->pause_limit_ms : PAUSE_STANDARD_MS;
    state->exchange->filters.record->pauses++;
    state->paused |= (uint8_t)(1u << direction);
    state->deniable &= (uint8_t) ~(1u << direction);
    if (allowed_answers[hook] & ANSWER(DENY))
        state->deniable |= (uint8_t)(1u << direction);
    filters_limit_pause(state, direction, limit);
}

void filters_limit_pause(struct filter_state *state, uint32_t direction, uint32_t milliseconds)
{
    state->pause_ms[direction] = milliseconds;
    if (state->paused & (1u << direction))
        state->pause_ms[direction] += since_begin_ms(state->exchange);
}

void filters_unpause(struct filter_state *state, uint32_t direction)
{
    if (!(state->paused & (1u << direction)))
        return;
    state->paused &= (uint8_t) ~(1u << direction);
    state->pause_ms[direction] = 0;
    state->exchange->filters.record->pauses--;
    state->exchange->active_ms = loop_now_ms(state->exchange->worker->loop); /* nobody was idle */
}

bool filters_have(const struct exchange *x, uint32_t flag)
{
    for (uint32_t i = 0; i < count_states(x); i++) {
        const struct filter_state *state = state_at(x, i);
        if (!state->detached && state != x->filters.record->replier &&
            (state->use->filter->flags & flag))
            return true;
    }
    return false;
}

uint64_t filters_deadline(const struct exchange *x)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; x->filters.record->pauses && i < count_states(x); i++)
        for (uint32_t direction = 0; direction < 2; direction++) {
            const struct filter_state *state = state_at(x, i);
            if ((state->paused & (1u << direction)) && state->pause_ms[direction] < least)
                least = state->pause_ms[direction];
        }
    return least == UINT32_MAX ? UINT64_MAX : x->start_us / 1000 + least;
}

static bool is_over(const struct filter_state *state, uint32_t direction)
{
    return (state->paused & (1u << direction)) &&
           state->pause_ms[direction] <= since_begin_ms(state->exchange);
}

static weir_answer pause_over(struct filter_state *state, uint32_t direction)
{
    weir_event event = {.size = sizeof event,
                        .kind = WEIR_EVENT_PAUSE_LIMIT,
                        .direction = direction,
                        .result = WEIR_FILTER_TIMEOUT};
    weir_answer answer = WEIR_CONTINUE;
    if (state->use->filter->event)
        answer = filters_call(state, HOOK_EVENT, &event);
    if (answer == WEIR_CONTINUE && is_over(state, direction))
        return filters_fault(state, HOOK_EVENT, "it paused and did not go on in time");
    return answer;
}

weir_answer filters_pauses_over(struct exchange *x)
{
    for (uint32_t i = 0; i < count_states(x); i++)
        for (uint32_t direction = 0; direction < 2; direction++) {
            struct filter_state *state = state_at(x, i);
            if (!is_over(state, direction))
                continue;
            weir_answer answer = pause_over(state, direction);
            if (answer != WEIR_CONTINUE)
                return answer;
        }
    return WEIR_CONTINUE;
}

/* --- what filters wait for */

static void on_event(struct owner *owner)
{
    struct filter_owner *own = CONTAINER(owner, struct filter_owner, owner);
    turn_mark(owner->worker->turn, TURN_EXCHANGES, &own->exchange->mark);
}

weir_reference filters_reference(struct filter_state *state)
{
    struct exchange *x = state->exchange;
    if (!x->filters.record->owner) {
        struct filter_owner *own = arena_allocate(&x->arena, sizeof *own);
        own->exchange = x;
        owner_init(&own->owner, x->worker, x->use, on_event);
        x->filters.record->owner = &own->owner;
    }
    return owner_reference(x->filters.record->owner, state->number);
}

struct exchange *filters_exchange_of(struct owner *owner)
{
    return owner->on_event == on_event ? CONTAINER(owner, struct filter_owner, owner)->exchange
                                       : NULL;
}

weir_answer filters_tell_replier(struct exchange *x)
{
    weir_event event = {
        .size = sizeof event, .kind = WEIR_EVENT_CREDIT, .direction = WEIR_RESPONSE_DIRECTION};
    struct filter_state *state = x->filters.record->replier;
    x->filters.record->answer_waits = false;
    if (!state->use->filter->event || state->detached)
        return WEIR_CONTINUE;
    return filters_call(state, HOOK_EVENT, &event);
}

weir_answer filters_deliver_events(struct exchange *x)
{
    weir_answer answer = WEIR_CONTINUE;
    struct task *task;
    while (answer == WEIR_CONTINUE && (task = owner_next_event(x->filters.record->owner))) {
        struct filter_state *state = state_at(x, task->tag);
        if (state->use->filter->event && !state->detached)
            answer = filters_call(state, HOOK_EVENT, &task->event);
        owner_event_done(task);
    }
    return answer;
}

/* --- end */

static void close_part(struct exchange *x, uint32_t part)
{
    const struct filter_chain *chain = x->filters.chains[part];
    for (uint32_t i = chain->counts[HOOK_CLOSE]; x->filters.record->states[part] && i-- > 0;)
        filters_call(&x->filters.record->states[part][chain->lists[HOOK_CLOSE][i]], HOOK_CLOSE,
                     NULL);
}

void filters_close(struct exchange *x)
{
    if (x->filters.record->owner)
        owner_end(x->filters.record->owner);
    close_part(x, 1);
    close_part(x, 0);
}
