/* core/exchange/filters.c - runs the chain: forwards on requests, backwards on responses */
#include "core/exchange/filters.h"

#include <assert.h>
#include <string.h>

#include "core/base/log.h"
#include "core/exchange/exchange.h"

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

static void add(struct filter_chain *chain, enum filter_hook hook, const weir_filter *filter)
{
    chain->lists[hook][chain->counts[hook]++] = filter;
}

void filter_chain_build(struct filter_chain *chain, const weir_filter *const *filters,
                        uint32_t count)
{
    assert(count <= CHAIN_FILTERS_MOST);
    memset(chain, 0, sizeof *chain);
    for (uint32_t i = 0; i < count; i++) {
        for (int hook = HOOK_OPEN; hook < HOOK_RESPONSE; hook++)
            if (hook_of(filters[i], (enum filter_hook)hook))
                add(chain, (enum filter_hook)hook, filters[i]);
        const weir_filter *backwards = filters[count - 1 - i];
        if (backwards->response)
            add(chain, HOOK_RESPONSE, backwards);
        if (backwards->close)
            add(chain, HOOK_CLOSE, backwards);
    }
}

static weir_exchange *public_of(struct exchange *exchange)
{
    return (weir_exchange *)exchange;
}

static struct exchange *of(weir_exchange *public)
{
    return (struct exchange *)public;
}

static weir_answer run_one(struct exchange *exchange, enum filter_hook hook,
                           const weir_filter *filter)
{
    weir_answer answer = hook_of(filter, hook)(public_of(exchange));
    if (answer == WEIR_CONTINUE)
        return WEIR_CONTINUE;
    if (answer == WEIR_RESPOND && exchange->reply) {
        exchange->replier = filter;
        return WEIR_RESPOND;
    }
    log_write(LOG_WARNING, "filter %s failed", filter->name);
    return WEIR_FAIL;
}

weir_answer filters_open(struct exchange *exchange)
{
    const struct filter_chain *chain = exchange->chain;
    weir_answer first = WEIR_CONTINUE;
    exchange->opened = true;
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
    for (uint32_t i = 0; exchange->opened && i < chain->counts[HOOK_CLOSE]; i++)
        chain->lists[HOOK_CLOSE][i]->close(public_of(exchange));
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
    .respond = host_respond,
};
