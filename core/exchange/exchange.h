/* core/exchange/exchange.h - one request and its answer: START HERE
 *
 * A client channel joined to a server channel by two flows. Events only store and mark; the step
 * reads what is there and does what can be done. Everything that is the same for all protocols
 * lives here: filters, routing, retries, time limits, the answer to every failure. */
#ifndef CORE_EXCHANGE_EXCHANGE_H
#define CORE_EXCHANGE_EXCHANGE_H

#include "core/connection/connection.h"
#include "core/exchange/filters.h"
#include "core/exchange/relay.h"
#include "core/upstream/attempt.h"

/* How far the request has come. */
enum progress {
    PROGRESS_BEGUN,     /* filters see it; it has no target yet */
    PROGRESS_ROUTED,    /* it has; filters see that */
    PROGRESS_ACQUIRING, /* waits for a server connection */
    PROGRESS_CONNECTED, /* has one; filters see that */
    PROGRESS_SENT,      /* its head went to the server */
    PROGRESS_ANSWERED   /* weir or a filter answers: nothing goes to a server any more */
};

struct exchange {
    struct mark mark, dead; /* in the turn's lists: to be stepped, to be freed */
    struct worker *worker;
    struct snapshot_use *use;
    const struct snapshot *snapshot; /* of `use` */
    struct filters filters;
    struct arena arena;
    struct channel client, server;
    struct flow request_flow, response_flow;
    enum progress progress;
    bool own;              /* a request of weir's own, for a plugin: no connection, no filters */
    bool opened;           /* the filters know it */
    bool routed;           /* it has a target, and the filters of its route */
    bool authenticated;    /* its filters so far were asked who the client is */
    bool aborted;          /* a filter wants it to end without an answer */
    bool response_sent;    /* the final head went to the client */
    bool tunnel;           /* both directions carry bytes and end by themselves */
    bool event_stream;     /* an answer that may be silent for long: text/event-stream */
    bool expects_continue; /* the client waits for "100 Continue" before it sends the body */
    bool continue_due;     /* ... and the server leaves it to us to say so */
    weir_result timed_out; /* a deadline has passed; WEIR_OK: none has */
    bool finished;         /* nothing more to do; freed at the end of the turn */
    struct head *request, *response;
    struct target target;
    struct attempt attempt;
    struct wheel_entry deadline;
    uint64_t number; /* of those of its worker */
    uint64_t active_ms, start_us;
    uint64_t blocked_since_ms, blocked_ms; /* the client could not send on: 0, it can; in all */
    weir_result cause;            /* of the failure that weir answers; WEIR_OK: it answers none */
    struct exchange_notes *notes; /* for filters and the access log; NULL: nobody asks */
};

static inline struct flow *exchange_flow(struct exchange *exchange, uint32_t direction)
{
    return direction == WEIR_REQUEST_DIRECTION ? &exchange->request_flow : &exchange->response_flow;
}

/* A body that has not been sent yet will have that length; -1: nobody knows. */
void exchange_set_length(struct exchange *exchange, uint32_t direction, int64_t bytes);
/* A filter wants the request's body before there is a server: a client that waits for "100
 * Continue" is told to send it. */
void exchange_invite_body(struct exchange *exchange);

/* A request of weir's own, by which nobody is answered and nothing logged: it passes no filters,
 * and is sent to `to` as if a filter had said so (route_named()). Its client channel is the
 * caller's, who sets operations, state and credit, and may deliver a body. While it lasts so must
 * `behalf`, or the client channel must fail. [worker] */
struct exchange *exchange_begin_own(struct worker *worker, struct snapshot_use *use,
                                    struct exchange *behalf, const weir_head *head, weir_string to);

/* Sets connection_hooks.on_exchange. */
void exchange_start(void);

#endif
