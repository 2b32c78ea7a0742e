/* core/exchange/deadline.c - how long an exchange may wait for what it waits for */
#include "core/exchange/deadline.h"

#include "core/base/snapshot.h"

/* How long a server may keep a client waiting for "100 Continue" before weir says it. Long enough
 * for servers that do answer, short enough that a client of one that does not is not stuck. */
enum { CONTINUE_MS = 1000 };

enum { RATE_GRACE_MS = 10000 };

static struct deadline after(const struct exchange *x, uint32_t limit_ms, weir_result cause)
{
    return (struct deadline){limit_ms ? x->active_ms + limit_ms : WHEEL_NEVER, cause};
}

/* The request has left as far as it came, and the client owes the rest. What the server does not
 * take takes up the client's credit: then it may not send. */
static bool waits_for_client(const struct exchange *x)
{
    return x->progress != PROGRESS_ANSWERED && !x->server.head && !x->client.incoming_ended &&
           !x->client.incoming.count && !x->request_flow.in_transit &&
           x->request->view.kind == WEIR_REQUEST && !x->request->view.protocol.length;
}

static bool waits_for_answer(const struct exchange *x)
{
    return x->progress == PROGRESS_SENT && !x->server.head && x->request_flow.ended;
}

/* body_rate_min: a body that has come more slowly than that, after a time of grace and but for the
 * time in which the server held it up, is too slow (a client that sends a byte now and then). */
static struct deadline too_slow(const struct exchange *x)
{
    uint32_t rate = x->snapshot->body_rate_min;
    if (!rate)
        return (struct deadline){WHEEL_NEVER, WEIR_BODY_TIMEOUT};
    uint64_t earned_ms = x->client.received_bytes * 1000 / rate;
    uint64_t at_ms = x->start_us / 1000 + RATE_GRACE_MS + x->blocked_ms + earned_ms;
    return (struct deadline){at_ms, WEIR_BODY_TIMEOUT};
}

static struct deadline earlier(struct deadline a, struct deadline b)
{
    return b.at_ms < a.at_ms ? b : a;
}

struct deadline deadline_of(const struct exchange *x)
{
    const struct timeouts *timeouts = &x->snapshot->timeouts;
    if (x->filters.record->pauses)
        return (struct deadline){filters_deadline(x), WEIR_FILTER_TIMEOUT};
    if (x->tunnel || x->event_stream)
        return after(x, timeouts->tunnel_idle, WEIR_IDLE_TIMEOUT);
    weir_result silence = x->server.head ? WEIR_IDLE_TIMEOUT : WEIR_RESPONSE_TIMEOUT;
    struct deadline idle = after(x, timeouts->exchange_idle, silence);
    if (x->expects_continue && x->progress == PROGRESS_SENT && !x->server.answered)
        return earlier(idle, after(x, CONTINUE_MS, WEIR_OK));
    if (waits_for_client(x))
        return earlier(too_slow(x), earlier(idle, after(x, timeouts->body, WEIR_BODY_TIMEOUT)));
    if (waits_for_answer(x))
        return earlier(idle, after(x, timeouts->response_head, WEIR_RESPONSE_TIMEOUT));
    return idle;
}
