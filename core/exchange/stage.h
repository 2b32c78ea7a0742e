/* core/exchange/stage.h - a filter's place in one direction of an exchange, where it sees the bytes
 *
 * A flow without such filters has no stages, and the relay takes bytes straight from the source.
 * With them each stage takes from the one before and queues for the next; each hop has an account
 * of its own: what a stage took is given back to the one before when all that came of it has left.
 */
#ifndef CORE_EXCHANGE_STAGE_H
#define CORE_EXCHANGE_STAGE_H

#include "core/exchange/filters.h"
#include "core/exchange/relay.h"

enum stage_mode {
    STAGE_ASKS,     /* the filter's hook judges the bytes */
    STAGE_COLLECTS, /* the whole body is wanted */
    STAGE_PASSES    /* as they are */
};

struct stage {
    struct stage *previous, *next; /* towards the source, the sink */
    struct filter_state *filter;
    enum filter_hook hook;
    enum stage_mode mode;
    struct slice_queue queue;  /* what it passed on or emitted, for the next */
    struct slice_queue *whole; /* while body_full() runs: what was emitted in place of the body */
    uint64_t taken;            /* bytes from the one before that are not given back */
    uint64_t transit;          /* bytes that the next one took and has not given back */
    uint64_t held;             /* of `taken`: the filter has them */
    uint64_t shown;  /* at the front of what comes: it paused on these, they pass when it goes on */
    uint64_t most;   /* that are collected */
    int64_t surplus; /* emitted more than taken: less when it is negative */
    bool exact;      /* as many bytes go out as come in */
    bool shown_end;  /* likewise */
    bool end_taken;  /* it saw the end and did not pass it on: it owes one */
    bool ended;      /* the end is in the queue, behind its last byte */
    bool truncates;  /* more than `most`: shows what there is, and passes on the rest */
    bool overflowed; /* there was more */
    bool full;       /* collected: the end, or as much as may be */
    bool wants_credit;
};

/* Adds the stages of the filters that have `hook` and come before `limit` in that direction (NULL:
 * of all that are left). */
void stages_extend(struct exchange *exchange, uint32_t direction, enum filter_hook hook,
                   const struct filter_state *limit);
/* False: the message never has one, like a tunnel or the answer to HEAD. */
bool stages_may_have_body(const struct exchange *exchange, uint32_t direction);
/* Adds one that collects for that filter: the head waits for the whole body. False: the message
 * never has one. */
bool stages_collect(struct exchange *exchange, uint32_t direction, struct filter_state *filter);
struct stage *stage_find(const struct flow *flow, const struct filter_state *filter);
/* The whole body that was collected has been shown: passes it on, or what was emitted instead. */
weir_answer stage_show_whole(struct exchange *exchange, uint32_t direction, struct stage *stage);
/* Likewise of a message without a body; it stays one. */
weir_answer stage_show_nothing(uint32_t direction, struct filter_state *filter);

/* Moves what can be moved through all stages. As filters_run(); *moved is set when anything did. */
weir_answer stages_pump(struct exchange *exchange, uint32_t direction, bool *moved);
/* What has come of the body is what its head has said, as far as filters can help it; else that is
 * the fault of the one that changed it: WEIR_FAIL. */
weir_answer stages_keep_length(struct exchange *exchange, uint32_t direction);
/* `bytes` of what the last stage (or the source) passed to the sink have left. */
void stages_give_back(struct flow *flow, uint64_t bytes);

/* What a filter does with its stage. */
weir_result stage_emit(struct stage *stage, const weir_slice *slices, uint32_t count,
                       uint32_t flags);
size_t stage_credit(struct stage *stage);
weir_result stage_release(struct flow *flow, struct stage *stage, uint64_t bytes);

/* Slices without an owner are copied. */
void slices_push(struct slice_queue *queue, const weir_slice *slices, uint32_t count);
uint64_t slices_bytes(const weir_slice *slices, uint32_t count);

/* Drops all stages and what is in them. */
void stages_clear(struct flow *flow);

#endif
