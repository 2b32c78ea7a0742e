/* core/exchange/filters.h - which filters an exchange has, and running their hooks
 *
 * A chain has one list per hook, made when the configuration is loaded; a filter without the hook
 * is in no list, and an empty list costs one load. An exchange has the chain of its listener and,
 * once it is routed, that of its route behind it. Requests run them first to last, responses last
 * to first. A hook that pauses is where its direction's run goes on later. */
#ifndef CORE_EXCHANGE_FILTERS_H
#define CORE_EXCHANGE_FILTERS_H

#include "abi/filter.h"
#include "core/plugins/filter_use.h"

struct address;
struct exchange;
struct head;
struct owner; /* core/io/owner.h */
struct snapshot_use;

enum filter_hook {
    HOOK_REQUEST, /* those up to HEAD_HOOKS see a head, and most requests come to them */
    HOOK_ROUTE,
    HOOK_UPSTREAM,
    HOOK_RESPONSE,
    HEAD_HOOKS,
    HOOK_ACCEPT = HEAD_HOOKS,
    HOOK_OPEN,
    HOOK_AUTHENTICATE,
    HOOK_ADDRESS,
    HOOK_UPSTREAM_ERROR,
    HOOK_INTERIM,
    HOOK_REQUEST_BODY,
    HOOK_RESPONSE_BODY,
    HOOK_TUNNEL,
    HOOK_BODY_FULL,
    HOOK_TRAILERS,
    HOOK_EVENT,
    HOOK_LOG,
    HOOK_CLOSE,
    HOOKS
};

extern const char *const filter_hook_names[HOOKS]; /* "request" */

/* Of those that see what passes in one direction. */
static inline uint32_t filter_hook_direction(enum filter_hook hook)
{
    return hook == HOOK_RESPONSE || hook == HOOK_INTERIM ? WEIR_RESPONSE_DIRECTION
                                                         : WEIR_REQUEST_DIRECTION;
}

enum { CHAIN_FILTERS_MOST = 32 };

/* One call of a head's hook, with all that it takes at hand. */
struct filter_call {
    weir_answer (*function)(weir_exchange *exchange);
    const char *plugin;
    uint32_t place; /* of its state among those of its chain, in bytes */
};

/* The filters of a listener or of a route, in their order. Made when the configuration is loaded,
 * constant afterwards. */
struct filter_chain {
    uint32_t count;
    const struct filter_use *uses[CHAIN_FILTERS_MOST];
    uint8_t counts[HOOKS]; /* of those that have the hook, in their order: */
    uint8_t lists[HOOKS][CHAIN_FILTERS_MOST];
    /* In the order in which they run; behind them one without a function. */
    struct filter_call calls[HEAD_HOOKS][CHAIN_FILTERS_MOST + 1];
};

extern const struct filter_chain filter_chain_empty;

/* [main] Makes the chain of these, in this order; at most CHAIN_FILTERS_MOST. */
void filter_chain_build(struct filter_chain *chain, const struct filter_use *const *uses,
                        uint32_t count);

/* What one exchange has of one of its filters. */
struct filter_state {
    weir_exchange public; /* what its hooks get */
    struct exchange *exchange;
    const struct filter_use *use;
    uint32_t pause_ms[2];      /* by direction: until when it pauses, from the exchange's begin; or
                                  how long its next pause may last, 0: as the configuration says */
    uint32_t buffer_most;      /* as by set_limit(); 0: the configuration's */
    uint8_t paused;            /* bit by direction */
    uint8_t number;            /* among the exchange's filters, those of the route last */
    uint8_t deniable : 2;      /* likewise: a hook paused that may deny, so event() may */
    bool detached : 1;         /* only close() is called */
    bool faulty : 1;           /* in this call of a hook it did what it must not */
    bool buffer_truncates : 1; /* as by set_limit() */
};

/* Where the hooks of one direction have come to. */
struct filter_run {
    uint8_t next;                 /* in the order in which they run */
    struct filter_state *waiting; /* the one there, when it has paused or collects a body */
    bool collecting;              /* ... a body */
};

/* What an exchange has of its filters, and what they did. */
struct filter_record {
    struct filter_state *states[2]; /* by chain */
    struct filter_run runs[2];      /* by direction */
    uint8_t pauses;                 /* how many there are */
    uint8_t seen_from;              /* filters of that number less one, or more, saw another
                                       response before this one; 0: nobody did */
    bool eventful;                  /* a filter did more than to continue: each call is looked at
                                       closely from then on */
    bool settled;                   /* one has responded or aborted: to be acted upon */
    bool repeat_forbidden;          /* of the attempt that has failed */
    bool answer_waits;              /* the replier wants to know when it has credit again */
    bool reply_continues;           /* more of the reply's body comes */
    weir_result refusal;            /* why, when it is not WEIR_DENIED */
    struct filter_state *replier;   /* whose answer the client gets; NULL: not a filter's */
    struct owner *owner;            /* of what they wait for; NULL: none has asked for its name */
    struct head *reply;             /* an answer that is to be given; NULL: none */
    weir_slice reply_body;
    weir_string retarget;    /* where the exchange is sent; empty: nowhere else */
    struct head *interim;    /* while they see it */
    struct exchange *behalf; /* of a request of weir's own: whose filters judge addresses for it;
                                NULL: nobody's */
};

/* The filters of an exchange: those of its listener, and of its route. Most have none: their record
 * is one that stays empty, of the thread. */
struct filters {
    const struct filter_chain *chains[2];
    struct filter_record *record;
};

/* Of an exchange that begins. */
void filters_init(struct filters *filters, const struct filter_chain *chain);
/* The record of its own that this exchange has from now on. */
struct filter_record *filters_make_record(struct exchange *exchange);

/* What a client's address is judged by, at accept. */
bool filters_accept(const struct filter_chain *chain, const struct snapshot_use *use,
                    const struct address *client, const char *listener);

/* The use whose accept() got that. */
const struct filter_use *filters_use_of(const weir_client *client);

/* Makes the states of the listener's filters (part 0) or of the route's (1) and runs every open(),
 * whatever one before answered. Returns the first answer, as filters_run(). */
weir_answer filters_open(struct exchange *exchange, uint32_t part);

/* Runs the hook of those that have not run it yet in this direction, until one does not continue:
 *   WEIR_CONTINUE  all have; the next hook of this direction may begin
 *   WEIR_PAUSE     one waits; run it again when the exchange is stepped
 *   WEIR_DONE      the exchange has a filter's answer, or is to be aborted
 *   WEIR_DENY, WEIR_FAIL
 * For authenticate, request, route, upstream, response and trailers. */
weir_answer filters_run(struct exchange *exchange, enum filter_hook hook, uint32_t direction,
                        const void *argument);
/* Likewise, when the filter whose turn it is was called already and did more than to continue, or
 * answered that: judges it and goes on with those behind it. */
weir_answer filters_run_closely(struct filter_state *state, enum filter_hook hook,
                                uint32_t direction, weir_answer answer);
static inline uint32_t filters_count(const struct filters *filters, enum filter_hook hook)
{
    return (uint32_t)filters->chains[0]->counts[hook] + filters->chains[1]->counts[hook];
}
/* Another hook begins in this direction, with the first filter. */
void filters_rewind(struct exchange *exchange, uint32_t direction);
/* That hook begins on requests, with the first filter, or with the first of the route. */
void filters_begin(struct exchange *exchange, enum filter_hook hook, bool of_route);

/* Runs a hook that cannot wait through all that have it: address, upstream_error, interim, log. */
weir_answer filters_ask(struct exchange *exchange, enum filter_hook hook, const void *argument);

/* One hook of one filter, as judged: what it must not answer is a fault, and that is WEIR_CONTINUE
 * when the configuration says that a fault is skipped. */
weir_answer filters_call(struct filter_state *state, enum filter_hook hook, const void *argument);
/* The filter did what it must not. WEIR_FAIL, or WEIR_CONTINUE and it is out of the exchange. */
weir_answer filters_fault(struct filter_state *state, enum filter_hook hook, const char *what);

/* When the first pause is over its time, in milliseconds of the loop; UINT64_MAX: there is none. */
uint64_t filters_deadline(const struct exchange *exchange);
/* Pauses that are over their time: their filters are told, and at fault if they still do not act.
 * As filters_run(). */
weir_answer filters_pauses_over(struct exchange *exchange);

/* The filter whose answer streams has credit again. */
weir_answer filters_tell_replier(struct exchange *exchange);

/* The name under which things come for that filter, as events. 0: too many are alive. */
weir_reference filters_reference(struct filter_state *state);
/* Whose that owner is; NULL: no exchange's. */
struct exchange *filters_exchange_of(struct owner *owner);
/* What has come for filters that waited goes to their event(). As filters_run(). */
weir_answer filters_deliver_events(struct exchange *exchange);

/* Whether one that still takes part has that flag. */
bool filters_have(const struct exchange *exchange, uint32_t flag);

/* Nothing if the exchange ended before filters_open(). */
void filters_close(struct exchange *exchange);

/* The exchange gets another answer than what its filters wait for or have seen: nobody is waited
 * for any more, and those that have seen a response do not see the other one. */
void filters_make_way(struct exchange *exchange);

/* What argument upstream_error has. */
struct filter_upstream_error {
    weir_result why;
    uint32_t repeats;
};

/* --- for those that walk the filters themselves */

/* The nth of those that have the hook, in the order of the direction. */
struct filter_state *filters_nth(struct exchange *exchange, enum filter_hook hook, uint32_t n,
                                 uint32_t direction);
static inline struct filter_state *filter_state_of(weir_exchange *public)
{
    return (struct filter_state *)(void *)public;
}
/* Whether it sees what passes in that direction. */
bool filters_takes_part(const struct filter_state *state, uint32_t direction);
void filters_pause(struct filter_state *state, uint32_t direction, enum filter_hook hook);
/* Of the pause that it has in that direction, from now on, or of the next one. */
void filters_limit_pause(struct filter_state *state, uint32_t direction, uint32_t milliseconds);
void filters_unpause(struct filter_state *state, uint32_t direction);

#endif
