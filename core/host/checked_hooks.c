/* core/host/checked_hooks.c - the hooks of filters under --check-plugins: each is lent copies */
#include "core/host/checked_hooks.h"

#include "core/base/list.h"
#include "core/exchange/filters.h"
#include "core/host/holding.h"
#include "core/host/lending.h"
#include "core/io/owner.h"
#include "core/plugins/instance.h"
#include "core/plugins/plugin.h"

/* The table as the plugin wrote it. */
static const weir_filter *written(const struct filter_use *use)
{
    return &CONTAINER(use->filter, struct plugin_filter, filter)->written;
}

static const weir_filter *written_of(weir_exchange *exchange)
{
    return written(filter_state_of(exchange)->use);
}

/* --- hooks that get the exchange alone */

#define ASK(HOOK)                                                                                  \
    static weir_answer check_##HOOK(weir_exchange *exchange)                                       \
    {                                                                                              \
        struct lending lending;                                                                    \
        lending_begin(&lending, exchange);                                                         \
        weir_answer answer = written_of(exchange)->HOOK(exchange);                                 \
        lending_end(&lending);                                                                     \
        return answer;                                                                             \
    }

#define TELL(HOOK)                                                                                 \
    static void check_##HOOK(weir_exchange *exchange)                                              \
    {                                                                                              \
        struct lending lending;                                                                    \
        lending_begin(&lending, exchange);                                                         \
        written_of(exchange)->HOOK(exchange);                                                      \
        lending_end(&lending);                                                                     \
    }

ASK(open)
ASK(request)
ASK(route)
ASK(upstream)
ASK(response)
TELL(log)
TELL(close)

/* --- ... and a number */

#define ASK_ABOUT(HOOK)                                                                            \
    static weir_answer check_##HOOK(weir_exchange *exchange, uint32_t number)                      \
    {                                                                                              \
        struct lending lending;                                                                    \
        lending_begin(&lending, exchange);                                                         \
        weir_answer answer = written_of(exchange)->HOOK(exchange, number);                         \
        lending_end(&lending);                                                                     \
        return answer;                                                                             \
    }

ASK_ABOUT(interim)
ASK_ABOUT(trailers)

static weir_answer check_upstream_error(weir_exchange *exchange, weir_result why, uint32_t repeats)
{
    struct lending lending;
    lending_begin(&lending, exchange);
    weir_answer answer = written_of(exchange)->upstream_error(exchange, why, repeats);
    lending_end(&lending);
    return answer;
}

/* --- ... and bytes */

static weir_data *lend_data(const weir_data *data)
{
    weir_data *copy = lend_bytes(LENT_TO_HOOK, data, sizeof *data);
    weir_slice *slices = lend_bytes(LENT_TO_HOOK, data->slices, data->count * sizeof *slices);
    for (uint32_t i = 0; i < data->count; i++)
        slices[i] = holding_lend(slices[i]);
    copy->slices = slices;
    return copy;
}

static void take_back(const weir_data *lent)
{
    for (uint32_t i = 0; i < lent->count; i++)
        if (lent->slices[i].owner)
            holding_lent_back(lent->slices[i].owner);
}

#define ASK_WITH_DATA(HOOK)                                                                        \
    static weir_answer check_##HOOK(weir_exchange *exchange, const weir_data *data)                \
    {                                                                                              \
        struct lending lending;                                                                    \
        lending_begin(&lending, exchange);                                                         \
        const weir_data *lent = lend_data(data);                                                   \
        weir_answer answer = written_of(exchange)->HOOK(exchange, lent);                           \
        take_back(lent);                                                                           \
        lending_end(&lending);                                                                     \
        return answer;                                                                             \
    }

ASK_WITH_DATA(request_body)
ASK_WITH_DATA(response_body)
ASK_WITH_DATA(tunnel)
ASK_WITH_DATA(body_full)

/* --- ... and something else */

static weir_answer check_authenticate(weir_exchange *exchange, const weir_credentials *credentials)
{
    struct lending lending;
    lending_begin(&lending, exchange);
    weir_credentials *lent = lend_bytes(LENT_TO_HOOK, credentials, sizeof *credentials);
    lent->scheme = lend_string(LENT_TO_HOOK, credentials->scheme);
    lent->name = lend_string(LENT_TO_HOOK, credentials->name);
    lent->secret = lend_string(LENT_TO_HOOK, credentials->secret);
    lent->token = lend_string(LENT_TO_HOOK, credentials->token);
    weir_answer answer = written_of(exchange)->authenticate(exchange, lent);
    lending_end(&lending);
    return answer;
}

static weir_answer check_address(weir_exchange *exchange, const weir_address *address)
{
    struct lending lending;
    lending_begin(&lending, exchange);
    weir_address *lent = lend_bytes(LENT_TO_HOOK, address, sizeof *address);
    lent->text = lend_string(LENT_TO_HOOK, address->text);
    weir_answer answer = written_of(exchange)->address(exchange, lent);
    lending_end(&lending);
    return answer;
}

static weir_answer check_event(weir_exchange *exchange, const weir_event *event)
{
    struct lending lending;
    lending_begin(&lending, exchange);
    weir_answer answer = written_of(exchange)->event(exchange, lend_event(event));
    lending_end(&lending);
    return answer;
}

/* --- hooks that are about no exchange */

static weir_answer check_accept(const weir_client *client)
{
    struct lending lending;
    lending_begin(&lending, NULL);
    weir_client *lent = lend_bytes(LENT_TO_HOOK, client, sizeof *client);
    lent->address = lend_string(LENT_TO_HOOK, client->address);
    lent->listener = lend_string(LENT_TO_HOOK, client->listener);
    weir_answer answer = written(filters_use_of(client))->accept(lent);
    lending_end(&lending);
    return answer;
}

static void check_worker_event(const void *instance, void *worker_state, const weir_event *event)
{
    struct lending lending;
    const struct task *task = CONTAINER(event, struct task, event);
    lending_begin(&lending, NULL);
    written(instance_use_of(task->owner))->worker_event(instance, worker_state, lend_event(event));
    lending_end(&lending);
}

/* --- all of them */

#define WRAP(HOOK) filter->HOOK = filter->HOOK ? check_##HOOK : NULL

void checked_hooks_wrap(weir_filter *filter)
{
    WRAP(accept);
    WRAP(open);
    WRAP(authenticate);
    WRAP(request);
    WRAP(route);
    WRAP(address);
    WRAP(upstream);
    WRAP(upstream_error);
    WRAP(interim);
    WRAP(response);
    WRAP(request_body);
    WRAP(response_body);
    WRAP(tunnel);
    WRAP(body_full);
    WRAP(trailers);
    WRAP(event);
    WRAP(log);
    WRAP(close);
    WRAP(worker_event);
}
