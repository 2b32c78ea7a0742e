/* core/exchange/exchange.c - the life of one request, top to bottom; one step function
 *
 * Read from exchange_begin() on. Each step_ function does the next thing if it can and leaves it
 * otherwise: whatever it waits for marks the exchange again. */
#include "core/exchange/exchange.h"

#include <string.h>

#include "core/base/block.h"
#include "core/base/log.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/exchange/access_record.h"
#include "core/exchange/deadline.h"
#include "core/exchange/hop.h"
#include "core/exchange/reply.h"
#include "core/io/loop.h"
#include "core/upstream/pool.h"
#include "core/upstream/route.h"

/* The exchange and its arena's first part are one block. */
_Static_assert(sizeof(struct exchange) + 1024 < BLOCK_BYTES, "little room for the heads");

static void exchange_step(struct mark *mark);
static void exchange_free(struct mark *mark);
static void on_deadline(struct wheel_entry *entry);
static void watch_deadline(struct exchange *x);
static void finish(struct exchange *x, weir_result why);

/* --- begin */

static struct exchange *exchange_new(void)
{
    struct exchange *x = block_new();
    memset(x, 0, sizeof *x);
    arena_init(&x->arena, x + 1, BLOCK_BYTES - sizeof *x);
    return x;
}

/* A client's connection has a request head. Only stores; the step acts. */
static struct channel *exchange_begin(struct connection *connection, const weir_head *head)
{
    struct worker *worker = connection->worker;
    const struct connection_terms *terms = connection->terms;
    struct exchange *x = exchange_new();
    TRACE();
    x->worker = worker;
    x->use = snapshot_take(terms->use);
    x->snapshot = x->use->snapshot;
    x->chain = terms->chain;
    x->start_us = loop_now_us(worker->loop);
    mark_init(&x->mark, exchange_step);
    mark_init(&x->dead, exchange_free);
    channel_init(&x->client, worker->turn, &x->mark, &x->arena);
    channel_init(&x->server, worker->turn, &x->mark, &x->arena);
    x->request_flow = (struct flow){.source = &x->client, .sink = &x->server};
    x->response_flow = (struct flow){.source = &x->server, .sink = &x->client};
    connection_attach(connection, &x->client);
    connection->exchanges++;
    channel_deliver_head(&x->client, head);
    x->request = x->client.head;
    attempt_init(&x->attempt, worker, x->snapshot, &connection->carrier->facts.local, &x->mark);
    wheel_entry_init(&x->deadline, on_deadline);
    x->active_ms = loop_now_ms(worker->loop);
    metric_add(&worker->metrics, METRIC_EXCHANGES, 1);
    metric_add(&worker->metrics, METRIC_EXCHANGES_OPEN, 1);
    access_begin(x, connection);
    return &x->client;
}

/* --- answers that weir makes itself */

/* Lets go of the server's leg; its connection is kept for others when the protocol says so. */
static void release_server(struct exchange *x, weir_result why)
{
    struct connection *connection = x->server.connection;
    attempt_cancel(&x->attempt);
    if (why == WEIR_OK)
        channel_close(&x->server);
    else
        channel_abort(&x->server, why);
    if (connection)
        pool_put(x->worker->pool, connection);
}

/* For another try, or for an answer that weir makes. */
static void renew_server(struct exchange *x, weir_result why)
{
    release_server(x, why);
    channel_init(&x->server, x->worker->turn, &x->mark, &x->arena);
}

static void make_way_for_answer(struct exchange *x)
{
    renew_server(x, WEIR_CANCELLED);
    x->response = NULL;
    x->progress = PROGRESS_ANSWERED;
}

/* After the response head has gone out the only honest signal is an abort. */
static void answer_failure(struct exchange *x, weir_result cause)
{
    metric_add(&x->worker->metrics, METRIC_EXCHANGES_FAILED, 1);
    if (x->response_sent) {
        finish(x, cause);
        return;
    }
    make_way_for_answer(x);
    x->cause = cause;
    reply_for_cause(&x->server, cause, string_of(x->snapshot->via_name),
                    x->snapshot->error_template);
}

/* A filter answered or failed instead of continuing. */
static void answer_for_filter(struct exchange *x, weir_answer answer)
{
    if (answer == WEIR_FAIL || x->response_sent) {
        answer_failure(x, WEIR_INTERNAL);
        return;
    }
    make_way_for_answer(x);
    reply_with(&x->server, x->reply, &x->reply_body);
}

/* --- the request, on its way to a server */

static void start_attempt(struct exchange *x)
{
    x->progress = PROGRESS_ACQUIRING;
    attempt_start(&x->attempt, &x->target);
}

/* What weir answers itself although nothing is wrong (RFC 9110 7.6.2, 9.3.7, 9.3.8). */
static bool answered_here(struct exchange *x)
{
    enum reply_own own = hop_own_answer(x->request, x->snapshot->fixed_upstream != NULL);
    if (own == REPLY_NOT_OURS)
        return false;
    make_way_for_answer(x);
    reply_own(&x->server, own, &x->request->view);
    return true;
}

static weir_result choose_target(struct exchange *x)
{
    weir_string name = string_of(x->snapshot->via_name);
    uint32_t turn = (uint32_t)metric_read(&x->worker->metrics, METRIC_EXCHANGES);
    weir_head *head = &x->request->view;
    if (hop_is_loop(x->request, name))
        return WEIR_LOOP;
    weir_result rc = route_pick(x->snapshot, head, turn, &x->target);
    if (rc == WEIR_OK && head->kind != WEIR_TUNNEL)
        hop_request(x->request, name);
    return rc;
}

static bool body_too_large(const struct exchange *x)
{
    uint64_t most = x->snapshot->request_body_max;
    int64_t announced = x->request->view.content_length;
    if (!most || x->request->view.kind != WEIR_REQUEST || x->tunnel)
        return false;
    return x->client.received_bytes > most || (announced > 0 && (uint64_t)announced > most);
}

/* First of all, also when it is answered because it is malformed or broke off already. */
static void step_new(struct exchange *x)
{
    weir_answer answer = filters_open(x);
    if (answer != WEIR_CONTINUE)
        answer_for_filter(x, answer);
}

static void step_begun(struct exchange *x)
{
    if (x->request->view.kind == WEIR_MALFORMED_REQUEST) {
        answer_failure(x, x->request->view.error);
        return;
    }
    weir_answer answer = filters_run(x, HOOK_REQUEST);
    if (answer != WEIR_CONTINUE) {
        answer_for_filter(x, answer);
        return;
    }
    if (answered_here(x))
        return;
    weir_result rc = choose_target(x);
    if (rc == WEIR_OK)
        start_attempt(x);
    else
        answer_failure(x, rc);
}

static void send_request_head(struct exchange *x)
{
    bool whole = x->client.incoming_ended && relay_drained(&x->request_flow) && !x->client.trailers;
    bool end = whole && x->request->view.kind != WEIR_TUNNEL;
    x->progress = PROGRESS_SENT;
    x->request_flow.ended = end;
    x->active_ms = loop_now_ms(x->worker->loop);
    x->expects_continue = !end && hop_expects_continue(x->request);
    access_sent(x);
    weir_result rc = channel_head(&x->server, x->request, end ? WEIR_END : 0);
    if (rc == WEIR_REFUSED)
        channel_fail(&x->server, WEIR_REFUSED, true);
}

static void step_acquiring(struct exchange *x)
{
    enum attempt_state state = attempt_step(&x->attempt, &x->target);
    if (state == ATTEMPT_FAILED) {
        answer_failure(x, x->attempt.error);
        return;
    }
    if (state != ATTEMPT_READY)
        return;
    connection_attach(x->attempt.connection, &x->server);
    weir_answer answer = filters_run(x, HOOK_UPSTREAM);
    if (answer == WEIR_CONTINUE)
        send_request_head(x);
    else
        answer_for_filter(x, answer);
}

/* The server's leg died. What it delivered before is still passed on. */
static void step_server_failed(struct exchange *x)
{
    weir_result why = x->server.failed;
    bool may =
        !x->response_sent &&
        attempt_may_repeat(&x->attempt, &x->server, x->request->view.method, x->server.sent_bytes);
    if (may) {
        renew_server(x, why);
        x->request_flow.in_transit = 0;
        start_attempt(x);
        turn_mark(x->worker->turn, TURN_EXCHANGES, &x->mark); /* the dial may wait for us only */
    } else if (!x->server.head && !x->response_sent) {
        answer_failure(x, why);
    } else if (relay_drained(&x->response_flow)) {
        metric_add(&x->worker->metrics, METRIC_EXCHANGES_FAILED, 1);
        finish(x, why);
    }
}

/* The client's request broke off or came too slowly or too large: answered if it still can be. An
 * answer on its way already goes on; it is the better one. A tunnel has no answer to wait for. */
static void step_request_error(struct exchange *x, weir_result cause)
{
    if (x->tunnel)
        finish(x, cause);
    else if (x->progress != PROGRESS_ANSWERED && !x->response_sent)
        answer_failure(x, cause);
}

/* More of a body has come than may be passed on, while the server answers already: no answer is
 * owed the client that brings the limit to nothing. */
static void step_too_large(struct exchange *x)
{
    if (x->progress == PROGRESS_SENT && x->response_sent)
        finish(x, WEIR_BODY_TOO_LARGE);
    else
        step_request_error(x, WEIR_BODY_TOO_LARGE);
}

static void step_timed_out(struct exchange *x)
{
    weir_result cause = x->timed_out;
    x->timed_out = WEIR_OK;
    if (x->progress == PROGRESS_ANSWERED || x->response_sent)
        finish(x, cause);
    else
        answer_failure(x, cause);
}

static void step_request(struct exchange *x)
{
    if (x->progress == PROGRESS_BEGUN)
        step_begun(x);
    if (x->progress == PROGRESS_ACQUIRING)
        step_acquiring(x);
}

/* --- the response, on its way to the client */

/* RFC 9110 10.1.1: a client that waits is not left waiting by a server that does not know how. */
static void say_continue(struct exchange *x)
{
    struct head *head = head_new(&x->arena);
    x->continue_due = x->expects_continue = false;
    if (x->server.answered)
        return;
    head->view.status = 100;
    head->view.reason = WEIR_STRING("Continue");
    channel_interim(&x->client, head);
}

static void pass_interim(struct exchange *x)
{
    if (x->continue_due)
        say_continue(x);
    while (x->server.interim) {
        struct head *interim = x->server.interim;
        x->server.interim = interim->next;
        hop_response(interim, string_of(x->snapshot->via_name));
        channel_interim(&x->client, interim);
    }
}

/* Whether the client's connection is of no use behind this answer. */
static bool is_last(const struct exchange *x)
{
    uint32_t most = x->snapshot->requests_per_connection;
    /* What a client sends that took a tunnel for granted would be read as a request. Who is asked
     * for credentials asks again. */
    bool refused_tunnel = x->request->view.kind == WEIR_TUNNEL && !x->tunnel;
    return (x->response->view.flags & WEIR_LAST) ||
           (refused_tunnel && x->response->view.status != 407) ||
           (most && x->client.connection->exchanges >= most);
}

static void send_response_head(struct exchange *x)
{
    bool end = x->server.incoming_ended && relay_drained(&x->response_flow) &&
               !x->server.trailers && x->response->view.kind != WEIR_TUNNEL;
    x->response_sent = true;
    x->tunnel = x->response->view.kind == WEIR_TUNNEL;
    x->response_flow.ended = end;
    channel_head(&x->client, x->response, (end ? WEIR_END : 0) | (is_last(x) ? WEIR_LAST : 0));
}

static void step_response(struct exchange *x)
{
    if (x->response_sent || !channel_open(&x->client))
        return;
    pass_interim(x);
    if (!x->server.head)
        return;
    TRACE();
    x->response = x->server.head;
    access_answered(x);
    x->event_stream = head_is_event_stream(x->response);
    weir_answer answer = filters_run(x, HOOK_RESPONSE);
    if (answer != WEIR_CONTINUE && x->progress != PROGRESS_ANSWERED) {
        answer_for_filter(x, answer);
        return; /* the answer marked us: it is sent in the next step, past the filters */
    }
    if (x->progress != PROGRESS_ANSWERED)
        hop_response(x->response, string_of(x->snapshot->via_name));
    send_response_head(x);
}

/* --- both directions */

/* What the server does not take is not the client's slowness. */
static void note_blocked(struct exchange *x, bool blocked)
{
    if (blocked == (x->blocked_since_ms != 0))
        return;
    uint64_t now_ms = loop_now_ms(x->worker->loop);
    if (!blocked)
        x->blocked_ms += now_ms - x->blocked_since_ms;
    x->blocked_since_ms = blocked ? now_ms : 0;
}

/* Returns whether anything moved; `more`: it could go on. */
static bool step_flow(struct flow *flow, bool may_move, bool *more)
{
    if (!may_move) {
        relay_wait(flow);
        return false;
    }
    bool moved = relay_pump(flow);
    *more |= relay_may_go_on(flow);
    return moved;
}

static void step_flows(struct exchange *x)
{
    bool moved = false, more = false;
    bool may_send = x->progress == PROGRESS_SENT && channel_open(&x->server) &&
                    (!x->request->view.protocol.length || x->tunnel); /* not before it is agreed */
    bool may_answer = x->response_sent && channel_open(&x->client);
    moved |= step_flow(&x->request_flow, may_send, &more);
    moved |= step_flow(&x->response_flow, may_answer, &more);
    if (moved)
        x->active_ms = loop_now_ms(x->worker->loop);
    note_blocked(x, x->client.incoming.count != 0);
    if (more) /* the step's share was used up: go on in the next turn */
        turn_mark(x->worker->turn, TURN_EXCHANGES, &x->mark);
}

/* A complete answer ends the exchange; a tunnel waits for both directions. */
static bool over(const struct exchange *x)
{
    return x->response_flow.ended && (x->request_flow.ended || !x->tunnel);
}

static void exchange_step(struct mark *mark)
{
    struct exchange *x = CONTAINER(mark, struct exchange, mark);
    TRACE();
    if (x->finished)
        return;
    if (x->client.failed != WEIR_OK) {
        finish(x, x->client.failed);
        return;
    }
    if (!x->opened)
        step_new(x);
    if (x->timed_out != WEIR_OK)
        step_timed_out(x);
    else if (x->client.incoming_error != WEIR_OK)
        step_request_error(x, x->client.incoming_error);
    else if (body_too_large(x))
        step_too_large(x);
    if (x->finished)
        return;
    step_request(x);
    step_response(x);
    step_flows(x);
    if (over(x))
        finish(x, WEIR_OK);
    else if (x->server.failed != WEIR_OK)
        step_server_failed(x);
    if (!x->finished)
        watch_deadline(x);
}

/* --- time limits */

static void watch_deadline(struct exchange *x)
{
    struct deadline deadline = deadline_of(x);
    if (deadline.at_ms != WHEEL_NEVER)
        wheel_set(x->worker->wheel, &x->deadline, deadline.at_ms);
}

/* Comes when the deadline passes that was in force when it was set; what is waited for may have
 * changed. Only stores: the step acts. */
static void on_deadline(struct wheel_entry *entry)
{
    struct exchange *x = CONTAINER(entry, struct exchange, deadline);
    struct deadline deadline = deadline_of(x);
    if (deadline.at_ms > loop_now_ms(x->worker->loop)) {
        watch_deadline(x);
        return;
    }
    if (deadline.cause == WEIR_OK)
        x->continue_due = true;
    else
        x->timed_out = deadline.cause;
    turn_mark(x->worker->turn, TURN_EXCHANGES, &x->mark);
}

/* --- end */

/* `why`: WEIR_OK when everything was passed on; else both legs are aborted honestly. */
static void finish(struct exchange *x, weir_result why)
{
    TRACE();
    access_end(x, why);
    metric_add(&x->worker->metrics, METRIC_REQUEST_BYTES, (int64_t)x->client.received_bytes);
    metric_add(&x->worker->metrics, METRIC_RESPONSE_BYTES, (int64_t)x->client.sent_bytes);
    release_server(x, why == WEIR_OK ? WEIR_OK : WEIR_CANCELLED);
    if (why == WEIR_OK)
        channel_close(&x->client);
    else
        channel_abort(&x->client, why);
    filters_close(x);
    wheel_clear(&x->deadline);
    x->finished = true;
    turn_mark(x->worker->turn, TURN_DEAD, &x->dead);
}

static void exchange_free(struct mark *mark)
{
    struct exchange *x = CONTAINER(mark, struct exchange, dead);
    struct worker *worker = x->worker;
    turn_unmark(worker->turn, TURN_EXCHANGES, &x->mark);
    metric_add(&worker->metrics, METRIC_EXCHANGES_OPEN, -1);
    buffer_release(x->reply_body.owner);
    snapshot_drop(x->use);
    arena_deinit(&x->arena);
    block_free(x);
}

void exchange_start(void)
{
    connection_hooks.on_exchange = exchange_begin;
}
