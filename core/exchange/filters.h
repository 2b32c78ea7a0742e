/* core/exchange/filters.h - runs the chain: forwards on requests, backwards on responses
 *
 * A chain has one dispatch list per hook, made when the configuration is loaded; a filter without
 * the hook is not in its list, and an empty list costs one load. */
#ifndef CORE_EXCHANGE_FILTERS_H
#define CORE_EXCHANGE_FILTERS_H

#include "abi/filter.h"

struct exchange;

enum filter_hook { HOOK_OPEN, HOOK_REQUEST, HOOK_UPSTREAM, HOOK_RESPONSE, HOOK_CLOSE, HOOKS };

enum { CHAIN_FILTERS_MOST = 32 };

struct filter_chain {
    uint32_t counts[HOOKS];
    const weir_filter *lists[HOOKS][CHAIN_FILTERS_MOST]; /* each in the order it runs */
};

/* [main] Makes the chain of these filters, in this order; at most CHAIN_FILTERS_MOST. */
void filter_chain_build(struct filter_chain *chain, const weir_filter *const *filters,
                        uint32_t count);

/* Runs every open(), whatever one before answered, so that each filter that is closed was opened.
 * Before any other hook, and once. Returns the first answer, as filters_run(). */
weir_answer filters_open(struct exchange *exchange);
/* WEIR_CONTINUE, WEIR_RESPOND (the exchange has the answer) or WEIR_FAIL. */
weir_answer filters_run(struct exchange *exchange, enum filter_hook hook);
/* Nothing if the exchange ended before filters_open(). */
void filters_close(struct exchange *exchange);

/* The table behind query("weir.filter/0"). */
extern const weir_filter_host exchange_filter_host;

#endif
