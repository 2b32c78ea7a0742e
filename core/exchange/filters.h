/* core/exchange/filters.h - runs the chain: forwards on requests, backwards on responses
 *
 * A chain has one dispatch list per hook, made when the configuration is loaded; a filter without
 * the hook is not in its list, and an empty list costs one load. */
#ifndef CORE_EXCHANGE_FILTERS_H
#define CORE_EXCHANGE_FILTERS_H

#include "abi/filter.h"
#include "core/plugins/filter_use.h"

struct exchange;

enum filter_hook { HOOK_OPEN, HOOK_REQUEST, HOOK_UPSTREAM, HOOK_RESPONSE, HOOK_CLOSE, HOOKS };

enum { CHAIN_FILTERS_MOST = 32 };

/* The filters of a listener, in their order. Made when the configuration is loaded, constant
 * afterwards. */
struct filter_chain {
    uint32_t count;
    const struct filter_use *uses[CHAIN_FILTERS_MOST];
    /* Which of them have the hook, in the order in which they run. */
    uint8_t counts[HOOKS];
    uint8_t lists[HOOKS][CHAIN_FILTERS_MOST];
};

/* What one exchange has of one of its filters. */
struct filter_state {
    weir_exchange public; /* what its hooks get */
    struct exchange *exchange;
    const struct filter_use *use;
};

/* [main] Makes the chain of these, in this order; at most CHAIN_FILTERS_MOST. */
void filter_chain_build(struct filter_chain *chain, const struct filter_use *const *uses,
                        uint32_t count);

/* Runs every open(), whatever one before answered, so that each filter that is closed was opened.
 * Before any other hook, and once. Returns the first answer, as filters_run(). */
weir_answer filters_open(struct exchange *exchange);
/* WEIR_CONTINUE, WEIR_DONE (the exchange has the answer) or WEIR_FAIL. */
weir_answer filters_run(struct exchange *exchange, enum filter_hook hook);
/* Nothing if the exchange ended before filters_open(). */
void filters_close(struct exchange *exchange);

/* The table behind query("weir.filter/0"). */
extern const weir_filter_host exchange_filter_host;

#endif
