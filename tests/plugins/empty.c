/* tests/plugins/empty.c - filters that do nothing, to measure what that costs */
#include "abi/filter.h"

static weir_answer nothing(weir_exchange *exchange)
{
    (void)exchange;
    return WEIR_CONTINUE;
}

static weir_answer nothing_of_data(weir_exchange *exchange, const weir_data *data)
{
    (void)exchange;
    (void)data;
    return WEIR_CONTINUE;
}

static weir_answer nothing_of_number(weir_exchange *exchange, uint32_t number)
{
    (void)exchange;
    (void)number;
    return WEIR_CONTINUE;
}

static weir_answer nothing_of_error(weir_exchange *exchange, weir_result why, uint32_t repeats)
{
    (void)exchange;
    (void)why;
    (void)repeats;
    return WEIR_CONTINUE;
}

static weir_answer nothing_of_event(weir_exchange *exchange, const weir_event *event)
{
    (void)exchange;
    (void)event;
    return WEIR_CONTINUE;
}

static weir_result load(const weir_host *host)
{
    static const weir_filter filters[] = {
        {.size = sizeof(weir_filter), .name = "no-hook"},
        {.size = sizeof(weir_filter), .name = "request", .request = nothing},
        {.size = sizeof(weir_filter),
         .name = "request-response",
         .request = nothing,
         .response = nothing},
        /* With those that no plain request and answer come to. */
        {.size = sizeof(weir_filter),
         .name = "unused",
         .request = nothing,
         .upstream_error = nothing_of_error,
         .interim = nothing_of_number,
         .tunnel = nothing_of_data,
         .body_full = nothing_of_data,
         .trailers = nothing_of_number,
         .event = nothing_of_event},
    };
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (host->register_filter(host, &filters[i]) != WEIR_OK)
            return WEIR_ALREADY;
    return WEIR_OK;
}

WEIR_PLUGIN(0, 0, 1, "test.empty", "1", "MIT", "weir.filter/0", load, NULL);
