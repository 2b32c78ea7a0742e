/* core/exchange/filters.c - runs the chain: forwards on requests, backwards on responses */
#include "core/exchange/filters.h"

#include <assert.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/snapshot.h"
#include "core/exchange/exchange.h"
#include "core/exchange/filter_facts.h"
#include "core/exchange/filter_heads.h"

typedef weir_answer (*hook_function)(weir_exchange *exchange);

static hook_function hook_of(const weir_filter *filter, enum filter_hook hook)
{
    switch (hook) {
    case HOOK_OPEN:
        return filter->open;
    case HOOK_REQUEST:
        return filter->request;
    case HOOK_UPSTREAM:
        return filter->upstream;
    case HOOK_RESPONSE:
        return filter->response;
    case HOOK_CLOSE:
    case HOOKS:
        break;
    }
    return NULL;
}

static void add(struct filter_chain *chain, enum filter_hook hook, uint32_t index)
{
    chain->lists[hook][chain->counts[hook]++] = (uint8_t)index;
}

void filter_chain_build(struct filter_chain *chain, const struct filter_use *const *uses,
                        uint32_t count)
{
    assert(count <= CHAIN_FILTERS_MOST);
    memset(chain, 0, sizeof *chain);
    chain->count = count;
    for (uint32_t i = 0; i < count; i++) {
        chain->uses[i] = uses[i];
        for (int hook = HOOK_OPEN; hook < HOOK_RESPONSE; hook++)
            if (hook_of(uses[i]->filter, (enum filter_hook)hook))
                add(chain, (enum filter_hook)hook, i);
    }
    for (uint32_t i = count; i-- > 0;) {
        if (uses[i]->filter->response)
            add(chain, HOOK_RESPONSE, i);
        if (uses[i]->filter->close)
            add(chain, HOOK_CLOSE, i);
    }
}

/* --- what an exchange has of its filters */

static struct filter_state *state_of(weir_exchange *public)
{
    return CONTAINER(public, struct filter_state, public);
}

static void *new_state(struct exchange *exchange, uint32_t size)
{
    if (!size)
        return NULL;
    uintptr_t memory = (uintptr_t)arena_allocate(&exchange->arena, size + 8);
    void *aligned = (void *)((memory + 15) & ~(uintptr_t)15);
    return memset(aligned, 0, size);
}

static void make_states(struct exchange *exchange)
{
    const struct filter_chain *chain = exchange->chain;
    void *const *worker_states = exchange->use ? exchange->use->worker_states : NULL;
    exchange->filters = arena_allocate(&exchange->arena, chain->count * sizeof *exchange->filters);
    for (uint32_t i = 0; i < chain->count; i++) {
        const struct filter_use *use = chain->uses[i];
        exchange->filters[i] = (struct filter_state){
            .public.state = new_state(exchange, use->filter->state_size),
            .public.instance = use->instance,
            .public.worker_state = worker_states ? worker_states[use->index] : NULL,
            .exchange = exchange,
            .use = use,
        };
    }
}

/* --- running hooks */

static weir_answer run_one(struct exchange *exchange, enum filter_hook hook, uint32_t index)
{
    struct filter_state *state = &exchange->filters[index];
    weir_answer answer = hook_of(state->use->filter, hook)(&state->public);
    if (answer == WEIR_CONTINUE)
        return WEIR_CONTINUE;
    if (answer == WEIR_DONE && exchange->reply) {
        exchange->replier = state->use->filter;
        return WEIR_DONE;
    }
    log_write(LOG_WARNING, "filter %s failed", state->use->filter->name);
    return WEIR_FAIL;
}

weir_answer filters_open(struct exchange *exchange)
{
    const struct filter_chain *chain = exchange->chain;
    weir_answer first = WEIR_CONTINUE;
    exchange->opened = true;
    if (chain->count)
        make_states(exchange);
    for (uint32_t i = 0; i < chain->counts[HOOK_OPEN]; i++) {
        weir_answer answer = run_one(exchange, HOOK_OPEN, chain->lists[HOOK_OPEN][i]);
        if (first == WEIR_CONTINUE)
            first = answer;
    }
    return first;
}

weir_answer filters_run(struct exchange *exchange, enum filter_hook hook)
{
    const struct filter_chain *chain = exchange->chain;
    weir_answer answer = WEIR_CONTINUE;
    TRACE();
    for (uint32_t i = 0; i < chain->counts[hook] && answer == WEIR_CONTINUE; i++)
        answer = run_one(exchange, hook, chain->lists[hook][i]);
    return answer;
}

void filters_close(struct exchange *exchange)
{
    const struct filter_chain *chain = exchange->chain;
    for (uint32_t i = 0; exchange->opened && i < chain->counts[HOOK_CLOSE]; i++) {
        struct filter_state *state = &exchange->filters[chain->lists[HOOK_CLOSE][i]];
        state->use->filter->close(&state->public);
    }
}

/* --- what filters call */

static struct exchange *of(weir_exchange *public)
{
    return state_of(public)->exchange;
}

static const weir_head *host_request_head(weir_exchange *public)
{
    return &of(public)->request->view;
}

static const weir_head *host_response_head(weir_exchange *public)
{
    return of(public)->response ? &of(public)->response->view : NULL;
}

static weir_result host_respond(weir_exchange *public, const weir_reply *reply)
{
    struct exchange *exchange = of(public);
    if (reply->status < 200 || reply->status > 599 || exchange->reply || exchange->response_sent)
        return WEIR_INVALID;
    exchange->reply = head_new(&exchange->arena);
    exchange->reply->view.status = reply->status;
    for (uint32_t i = 0; i < reply->count; i++)
        head_append(exchange->reply, arena_copy(&exchange->arena, reply->fields[i].name),
                    arena_copy(&exchange->arena, reply->fields[i].value));
    exchange->reply_body = reply->body;
    buffer_reference(reply->body.owner);
    return WEIR_OK;
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
    .respond = host_respond,
};
