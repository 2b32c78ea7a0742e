/* core/exchange/exchange.c - the life of one request, top to bottom; one step function
 *
 * Read from exchange_begin() on. Each step_ function does the next thing if it can and leaves it
 * otherwise: whatever it waits for marks the exchange again. */
#include "core/exchange/exchange.h"

#include <string.h>

#include "core/base/block.h"
#include "core/base/breadcrumb.h"
#include "core/base/log.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/exchange/access_record.h"
#include "core/exchange/authentication.h"
#include "core/exchange/deadline.h"
#include "core/exchange/hop.h"
#include "core/exchange/notes.h"
#include "core/exchange/reply.h"
#include "core/exchange/stage.h"
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
static weir_result judge_address(struct mark *mark, const struct address *address);

/* --- begin */

/* `reached` is kept. */
static struct exchange *exchange_new(struct worker *worker, struct snapshot_use *use,
                                     const struct filter_chain *chain,
                                     const struct address *reached)
{
    struct exchange *x = block_new();
    memset(x, 0, sizeof *x);
    arena_init(&x->arena, x + 1, BLOCK_BYTES - sizeof *x);
    x->worker = worker;
    x->use = snapshot_take(use);
    x->snapshot = x->use->snapshot;
    filters_init(&x->filters, chain);
    x->start_us = loop_now_us(worker->loop);
    mark_init(&x->mark, exchange_step);
    mark_init(&x->dead, exchange_free);
    channel_init(&x->client, worker->turn, &x->mark, &x->arena);
    channel_init(&x->server, worker->turn, &x->mark, &x->arena);
    x->request_flow = (struct flow){.source = &x->client, .sink = &x->server};
    x->response_flow = (struct flow){.source = &x->server, .sink = &x->client};
    attempt_init(&x->attempt, worker, x->snapshot, reached, judge_address, &x->mark);
    wheel_entry_init(&x->deadline, on_deadline);
    x->active_ms = loop_now_ms(worker->loop);
    return x;
}

/* Only stores; the step acts. */
static void take_request(struct exchange *x, const weir_head *head)
{
    channel_deliver_head(&x->client, head);
    x->request = x->client.head;
}

/* A client's connection has a request head. */
static struct channel *exchange_begin(struct connection *connection, const weir_head *head)
{
    struct worker *worker = connection->worker;
    const struct connection_terms *terms = connection->terms;
    struct exchange *x =
        exchange_new(worker, terms->use, terms->chain, &connection->carrier->facts.local);
    TRACE();
    if (head->kind == WEIR_AUTHENTICATION)
        authentication_attach(x, connection);
    else
        connection_attach(connection, &x->client);
    connection->exchanges++;
    take_request(x, head);
    metric_add(&worker->metrics, METRIC_EXCHANGES, 1);
    x->number = metric_read(&worker->metrics, METRIC_EXCHANGES);
    metric_add(&worker->metrics, METRIC_EXCHANGES_OPEN, 1);
    access_begin(x, connection);
    if (connection->user)
        notes_set_user(x, string_of(connection->user));
    return &x->client;
}

struct exchange *exchange_begin_own(struct worker *worker, struct snapshot_use *use,
                                    struct exchange *behalf, const weir_head *head, weir_string to)
{
    static const struct address nowhere = {.any.sa_family = AF_UNSPEC};
    struct exchange *x =
        exchange_new(worker, use, &filter_chain_empty, behalf ? behalf->attempt.reached : &nowhere);
    x->own = true;
    filters_make_record(x)->behalf = behalf;
    x->filters.record->retarget = arena_copy(&x->arena, to);
    take_request(x, head);
    metric_add(&worker->metrics, METRIC_SUBREQUESTS, 1);
    metric_add(&worker->metrics, METRIC_SUBREQUESTS_OPEN, 1);
    return x;
}

/* Of weir's own requests whoever made them counts how they end. */
static void count_failed(const struct exchange *x)
{
    if (!x->own)
        metric_add(&x->worker->metrics, METRIC_EXCHANGES_FAILED, 1);
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
    stages_clear(&x->request_flow);
    stages_clear(&x->response_flow);
    x->response_flow = (struct flow){.source = &x->server, .sink = &x->client};
    filters_make_way(x);
    x->response = NULL;
    x->filters.record->reply = NULL;
    x->filters.record->answer_waits = false;
    x->aborted = false;
    x->progress = PROGRESS_ANSWERED;
}

/* After the response head has gone out the only honest signal is an abort. */
static void answer_failure(struct exchange *x, weir_result cause)
{
    count_failed(x);
    if (x->response_sent) {
        finish(x, cause);
        return;
    }
    make_way_for_answer(x);
    x->filters.record->replier = NULL;
    x->cause = cause;
    reply_for_cause(&x->server, cause, string_of(x->snapshot->via_name),
                    x->snapshot->error_template);
}

static void answer_with_reply(struct exchange *x)
{
    struct head *reply = x->filters.record->reply;
    weir_slice body = x->filters.record->reply_body;
    make_way_for_answer(x);
    x->filters.record->answer_waits = x->filters.record->reply_continues;
    reply_with(&x->server, reply, &body, x->filters.record->reply_continues);
}

/* A filter settled the exchange instead of continuing. */
static void answer_for_filter(struct exchange *x, weir_answer answer)
{
    weir_result refusal =
        x->filters.record->refusal != WEIR_OK ? x->filters.record->refusal : WEIR_DENIED;
    x->filters.record->refusal = WEIR_OK;
    if (answer == WEIR_DENY)
        answer_failure(x, refusal);
    else if (answer != WEIR_DONE)
        answer_failure(x, WEIR_INTERNAL);
    else if (x->aborted)
        finish(x, WEIR_CANCELLED);
    else
        answer_with_reply(x);
}

/* Whether the exchange goes on: what the filters of a step said. */
static bool goes_on(struct exchange *x, weir_answer answer)
{
    if (answer != WEIR_CONTINUE && answer != WEIR_PAUSE)
        answer_for_filter(x, answer);
    return answer == WEIR_CONTINUE;
}

static inline bool has_filters(const struct exchange *x)
{
    return (x->filters.chains[0]->count | x->filters.chains[1]->count) != 0;
}

/* What costs nothing when no filter has the hook. */
static inline weir_answer run_hook(struct exchange *x, enum filter_hook hook, uint32_t direction)
{
    return filters_count(&x->filters, hook) ? filters_run(x, hook, direction, &direction)
                                            : WEIR_CONTINUE;
}

/* Only filters of one chain have the hook, and none has run it yet. As long as nobody does more
 * than to continue this is all that it costs. */
static inline weir_answer call_head_hooks(struct exchange *x, uint32_t part, enum filter_hook hook)
{
    struct filter_record *record = x->filters.record;
    uint32_t direction = filter_hook_direction(hook);
    const struct filter_call *call = x->filters.chains[part]->calls[hook];
    breadcrumb_hook(filter_hook_names[hook], x->number);
    do {
        struct filter_state *state = (void *)((char *)record->states[part] + call->place);
        breadcrumb_plugin(call->plugin);
        weir_answer answer = call->function(&state->public);
        breadcrumb_plugin(NULL);
        if (answer != WEIR_CONTINUE || record->eventful)
            return filters_run_closely(state, hook, direction, answer);
        record->runs[direction].next++;
    } while ((++call)->function);
    return WEIR_CONTINUE;
}

static __attribute__((noinline)) weir_answer run_route_head_hook(struct exchange *x,
                                                                 enum filter_hook hook)
{
    struct filter_record *record = x->filters.record;
    uint32_t direction = filter_hook_direction(hook);
    if (x->filters.chains[0]->counts[hook] || record->eventful || record->runs[direction].next)
        return filters_run(x, hook, direction, NULL);
    return call_head_hooks(x, 1, hook);
}

/* Likewise, for the hooks of heads. */
static inline weir_answer run_head_hook(struct exchange *x, enum filter_hook hook)
{
    struct filter_record *record = x->filters.record;
    uint32_t direction = filter_hook_direction(hook);
    if (x->filters.chains[1]->counts[hook])
        return run_route_head_hook(x, hook);
    if (!x->filters.chains[0]->counts[hook])
        return WEIR_CONTINUE;
    if (record->eventful || record->runs[direction].next)
        return filters_run(x, hook, direction, NULL);
    return call_head_hooks(x, 0, hook);
}

static inline weir_answer ask_hook(struct exchange *x, enum filter_hook hook, const void *argument)
{
    return filters_count(&x->filters, hook) ? filters_ask(x, hook, argument) : WEIR_CONTINUE;
}

/* --- the request, on its way to a server */

static void start_attempt(struct exchange *x)
{
    x->progress = PROGRESS_ACQUIRING;
    attempt_start(&x->attempt);
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

/* Where a filter sends it, or where it is meant to go. */
static weir_result pick_target(struct exchange *x)
{
    const struct metrics *metrics = &x->worker->metrics;
    uint32_t turn = (uint32_t)(metric_read(metrics, METRIC_EXCHANGES) +
                               metric_read(metrics, METRIC_SUBREQUESTS));
    weir_string wanted = x->filters.record->retarget;
    x->filters.record->retarget.length = 0;
    if (wanted.length)
        return route_named(x->snapshot, &x->request->view, wanted, turn, &x->target);
    return route_pick(x->snapshot, &x->request->view, turn, &x->target);
}

static weir_result choose_target(struct exchange *x)
{
    if (hop_is_loop(x->request, string_of(x->snapshot->via_name)))
        return WEIR_LOOP;
    return pick_target(x);
}

/* A filter may have changed where it goes. */
static bool follow_retarget(struct exchange *x)
{
    weir_result rc = x->filters.record->retarget.length ? pick_target(x) : WEIR_OK;
    if (rc != WEIR_OK)
        answer_failure(x, rc);
    return rc == WEIR_OK;
}

static bool body_too_large(const struct exchange *x)
{
    uint64_t most = x->snapshot->request_body_max;
    int64_t announced = x->request->view.content_length;
    if (!most || x->own || x->request->view.kind != WEIR_REQUEST || x->tunnel)
        return false;
    return x->client.received_bytes > most || (announced > 0 && (uint64_t)announced > most);
}

/* First of all, also when it is answered because it is malformed or broke off already. */
static void step_new(struct exchange *x)
{
    goes_on(x, filters_open(x, 0));
}

/* Who the client is, and what the filters say that it wants. */
static weir_answer run_request_hooks(struct exchange *x)
{
    if (!x->authenticated) {
        weir_answer answer = authentication_run(x);
        if (answer != WEIR_CONTINUE)
            return answer;
        x->authenticated = true;
        filters_begin(x, HOOK_REQUEST, x->routed);
    }
    return run_head_hook(x, HOOK_REQUEST);
}

/* The filters of the route are behind those of the listener, and see what those left. */
static weir_answer enter_route(struct exchange *x)
{
    const struct route_config *route = x->target.route;
    x->routed = true;
    if (!route || !route->chain || !route->chain->count)
        return WEIR_CONTINUE;
    x->filters.chains[1] = route->chain;
    x->authenticated = false;
    filters_begin(x, HOOK_AUTHENTICATE, true);
    return filters_open(x, 1);
}

/* Whether it has a target, and the filters of the route let it go on. */
static bool step_target(struct exchange *x)
{
    if (answered_here(x))
        return false;
    weir_result rc = choose_target(x);
    if (rc != WEIR_OK) {
        answer_failure(x, rc);
        return false;
    }
    return goes_on(x, enter_route(x)) &&
           (!x->filters.chains[1]->count || goes_on(x, run_request_hooks(x)));
}

/* No request: the filters say who the client is, and that is all. */
static void step_authentication(struct exchange *x)
{
    weir_answer answer = authentication_run(x);
    if (answer != WEIR_PAUSE)
        finish(x, notes_user(x).length ? WEIR_OK : WEIR_UNAUTHENTICATED);
}

static void step_begun(struct exchange *x)
{
    if (x->request->view.kind == WEIR_AUTHENTICATION) {
        step_authentication(x);
        return;
    }
    if (x->request->view.kind == WEIR_MALFORMED_REQUEST) {
        answer_failure(x, x->request->view.error);
        return;
    }
    if (has_filters(x) && !goes_on(x, run_request_hooks(x)))
        return;
    if ((!x->routed && !step_target(x)) || !follow_retarget(x))
        return;
    filters_rewind(x, WEIR_REQUEST_DIRECTION);
    x->progress = PROGRESS_ROUTED;
}

/* Filters that see the bytes; those that may change how many there are make the length unknown. */
static void prepare_flow(struct exchange *x, uint32_t direction, enum filter_hook hook,
                         uint32_t edits)
{
    struct flow *flow = exchange_flow(x, direction);
    if (!filters_count(&x->filters, hook) && !flow->first)
        return;
    if (relay_complete(flow) || !stages_may_have_body(x, direction))
        return;
    stages_extend(x, direction, hook, NULL);
    for (struct stage *stage = flow->first; stage; stage = stage->next)
        if (stage->mode == STAGE_ASKS && (stage->filter->use->filter->flags & edits))
            exchange_set_length(x, direction, -1);
}

static struct head *head_to_be_sent(struct exchange *x, uint32_t direction)
{
    if (direction == WEIR_REQUEST_DIRECTION)
        return x->progress < PROGRESS_SENT ? x->request : NULL;
    return x->response_sent ? NULL : x->response;
}

void exchange_set_length(struct exchange *x, uint32_t direction, int64_t bytes)
{
    struct head *head = head_to_be_sent(x, direction);
    if (!head)
        return;
    for (uint32_t i = 0; i < head->count; i++)
        if (head->ids[i] == FIELD_CONTENT_LENGTH)
            head_remove(head, i);
    head_compact(head);
    head->view.content_length = bytes;
    if (bytes >= 0)
        head_append(head, WEIR_STRING("Content-Length"),
                    arena_format(&x->arena, "%lld", (long long)bytes));
}

static void step_routed(struct exchange *x)
{
    if (!goes_on(x, run_head_hook(x, HOOK_ROUTE)) || !follow_retarget(x))
        return;
    if (x->request->view.kind != WEIR_TUNNEL)
        hop_request(x->request, string_of(x->snapshot->via_name));
    filters_rewind(x, WEIR_REQUEST_DIRECTION);
    start_attempt(x);
}

static void send_request_head(struct exchange *x)
{
    if (x->request->view.kind == WEIR_REQUEST && has_filters(x))
        prepare_flow(x, WEIR_REQUEST_DIRECTION, HOOK_REQUEST_BODY, WEIR_FILTER_EDITS_REQUEST);
    bool end = relay_complete(&x->request_flow) && x->request->view.kind != WEIR_TUNNEL;
    x->progress = PROGRESS_SENT;
    x->request_flow.ended = end;
    x->active_ms = loop_now_ms(x->worker->loop);
    x->expects_continue = !end && hop_expects_continue(x->request);
    access_sent(x);
    weir_result rc = channel_head(&x->server, x->request, end ? WEIR_END : 0);
    if (rc == WEIR_REFUSED)
        channel_fail(&x->server, WEIR_REFUSED, true);
}

/* The filters are told of an attempt that failed; whether it may be repeated. */
static bool filters_let_repeat(struct exchange *x, weir_result why, bool repeats)
{
    struct filter_upstream_error error = {.why = why, .repeats = repeats};
    weir_answer answer = ask_hook(x, HOOK_UPSTREAM_ERROR, &error);
    if (answer == WEIR_CONTINUE || answer == WEIR_FORBID)
        return repeats && answer == WEIR_CONTINUE;
    answer_for_filter(x, answer);
    return false;
}

/* What the filters say of an address that is about to be reached. One that has failed judges no
 * more, so none is reached then. */
static weir_result judge_address(struct mark *mark, const struct address *address)
{
    struct exchange *x = CONTAINER(mark, struct exchange, mark);
    if (x->filters.record->behalf)
        x = x->filters.record->behalf;
    char text[ADDRESS_TEXT_BYTES];
    if (!filters_count(&x->filters, HOOK_ADDRESS) || x->filters.record->refusal != WEIR_OK)
        return x->filters.record->refusal;
    struct address to = address_destination(address);
    weir_address about = {.size = sizeof about,
                          .port = address_port(&to),
                          .text = string_of(address_format_host(&to, text))};
    weir_answer answer = filters_ask(x, HOOK_ADDRESS, &about);
    if (answer == WEIR_FAIL)
        x->filters.record->refusal = WEIR_INTERNAL;
    return answer == WEIR_DENY ? WEIR_DENIED : x->filters.record->refusal;
}

static void repeat_attempt(struct exchange *x, weir_result why)
{
    renew_server(x, why);
    filters_rewind(x, WEIR_REQUEST_DIRECTION);
    if (!follow_retarget(x))
        return;
    start_attempt(x);
    turn_mark(x->worker->turn, TURN_EXCHANGES, &x->mark); /* the dial may wait for us only */
}

/* Nothing was sent, so a filter may send it elsewhere. */
static void step_not_reached(struct exchange *x)
{
    weir_result error = x->attempt.error;
    filters_let_repeat(x, error, false);
    if (x->progress != PROGRESS_ACQUIRING || x->finished)
        return;
    if (x->filters.record->retarget.length && x->attempt.number < ATTEMPTS_MOST)
        repeat_attempt(x, WEIR_OK);
    else
        answer_failure(x, error);
}

static void step_acquiring(struct exchange *x)
{
    enum attempt_state state = attempt_step(&x->attempt, &x->target);
    if (state == ATTEMPT_FAILED) {
        step_not_reached(x);
        return;
    }
    if (state != ATTEMPT_READY)
        return;
    attempt_attach(&x->attempt, &x->server);
    x->progress = PROGRESS_CONNECTED;
}

static void step_connected(struct exchange *x)
{
    if (x->server.failed != WEIR_OK) {
        /* Nothing was sent; but to the end of a tunnel the connection itself is something. */
        x->server.unprocessed = x->request->view.kind != WEIR_TUNNEL;
        return;
    }
    if (!goes_on(x, run_head_hook(x, HOOK_UPSTREAM)))
        return;
    filters_rewind(x, WEIR_REQUEST_DIRECTION);
    if (!x->filters.record->retarget.length)
        send_request_head(x);
    else if (x->attempt.number < ATTEMPTS_MOST)
        repeat_attempt(x, WEIR_OK);
    else
        answer_failure(x, WEIR_INTERNAL);
}

/* What the client is told when nothing else can be tried. */
static weir_result failure_of(weir_result why)
{
    return why == WEIR_RESET || why == WEIR_REFUSED ? WEIR_CONNECTION_TERMINATED : why;
}

/* The server's leg died under an answer that has come in part or whole. What there is is passed on,
 * but a head that filters still have is not sent for a body that is known to be cut. */
static void step_answer_broke(struct exchange *x, weir_result why)
{
    if (!x->response_sent && !x->server.incoming_ended) {
        answer_failure(x, failure_of(why));
    } else if (x->response_sent && relay_drained(&x->response_flow)) {
        count_failed(x);
        finish(x, why);
    }
}

/* The server's leg died. What it delivered before is still passed on. */
static void step_server_failed(struct exchange *x)
{
    weir_result why = x->server.failed;
    bool sent = x->response_sent || x->server.head;
    bool may = !sent && attempt_may_repeat(&x->attempt, &x->server, x->request->view.method,
                                           x->server.sent_bytes);
    bool told = sent || x->progress == PROGRESS_ANSWERED;
    if (!told)
        may = filters_let_repeat(x, why, may);
    if (x->finished || (!told && x->progress == PROGRESS_ANSWERED))
        return; /* a filter answered */
    if (may)
        repeat_attempt(x, why);
    else if (sent)
        step_answer_broke(x, why);
    else
        answer_failure(x, failure_of(why));
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
    if (cause == WEIR_FILTER_TIMEOUT)
        goes_on(x, filters_pauses_over(x));
    else if (x->progress == PROGRESS_ANSWERED || x->response_sent)
        finish(x, cause);
    else
        answer_failure(x, cause);
}

static void step_request(struct exchange *x)
{
    if (x->progress == PROGRESS_BEGUN)
        step_begun(x);
    if (x->progress == PROGRESS_ROUTED)
        step_routed(x);
    if (x->progress == PROGRESS_ACQUIRING)
        step_acquiring(x);
    if (x->progress == PROGRESS_CONNECTED)
        step_connected(x);
}

/* --- the response, on its way to the client */

/* RFC 9110 10.1.1: a client that waits is not left waiting by a server that does not know how, or
 * by a filter that wants the body first. */
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
    while (x->server.interim && !x->finished) {
        struct head *interim = x->server.interim;
        x->filters.record->interim = interim;
        hop_response(interim, string_of(x->snapshot->via_name));
        bool go = goes_on(x, ask_hook(x, HOOK_INTERIM, &interim->view.status));
        x->filters.record->interim = NULL;
        if (!go)
            return;
        x->server.interim = interim->next;
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
           (most && x->client.connection && x->client.connection->exchanges >= most);
}

void exchange_invite_body(struct exchange *x)
{
    if (!hop_expects_continue(x->request))
        return;
    head_remove(x->request, (uint32_t)head_find(x->request, FIELD_EXPECT, 0));
    head_compact(x->request);
    x->continue_due = !x->client.received_bytes;
    turn_mark(x->worker->turn, TURN_EXCHANGES, &x->mark);
}

static void prepare_tunnel(struct exchange *x)
{
    x->tunnel = true;
    if (!filters_count(&x->filters, HOOK_TUNNEL))
        return;
    stages_clear(&x->request_flow);
    stages_extend(x, WEIR_REQUEST_DIRECTION, HOOK_TUNNEL, NULL);
    stages_extend(x, WEIR_RESPONSE_DIRECTION, HOOK_TUNNEL, NULL);
}

/* The answer to HEAD, or 304, tells of a body that the client would get changed. */
static void forget_length(struct exchange *x)
{
    if (x->response->view.content_length > 0 && !stages_may_have_body(x, WEIR_RESPONSE_DIRECTION) &&
        filters_have(x, WEIR_FILTER_EDITS_RESPONSE))
        exchange_set_length(x, WEIR_RESPONSE_DIRECTION, -1);
}

static void send_response_head(struct exchange *x)
{
    bool tunnel = x->response->view.kind == WEIR_TUNNEL;
    if (tunnel)
        prepare_tunnel(x);
    else if (has_filters(x))
        prepare_flow(x, WEIR_RESPONSE_DIRECTION, HOOK_RESPONSE_BODY, WEIR_FILTER_EDITS_RESPONSE);
    if (!tunnel)
        forget_length(x);
    bool end = !tunnel && relay_complete(&x->response_flow);
    x->response_sent = true;
    x->response_flow.ended = end;
    channel_head(&x->client, x->response, (end ? WEIR_END : 0) | (is_last(x) ? WEIR_LAST : 0));
}

static void take_response(struct exchange *x)
{
    x->response = x->server.head;
    access_answered(x);
    x->event_stream = head_is_event_stream(x->response);
    if (x->progress != PROGRESS_ANSWERED)
        hop_response(x->response, string_of(x->snapshot->via_name));
}

/* A server that says it was asked on the wrong connection is asked on another one. */
static bool ask_elsewhere(struct exchange *x)
{
    if (x->server.head->view.status != 421 || x->progress != PROGRESS_SENT ||
        !attempt_is_misdirected(&x->attempt, &x->server))
        return false;
    if (filters_let_repeat(x, WEIR_REFUSED, true))
        repeat_attempt(x, WEIR_CANCELLED);
    return x->progress != PROGRESS_SENT || x->finished;
}

static void step_response(struct exchange *x)
{
    if (x->response_sent || !channel_open(&x->client))
        return;
    pass_interim(x);
    if (!x->server.head || x->finished)
        return;
    TRACE();
    if (!x->response && ask_elsewhere(x))
        return;
    if (!x->response)
        take_response(x);
    if (goes_on(x, run_head_hook(x, HOOK_RESPONSE)))
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

/* Behind the last byte the filters see the trailers. */
static weir_answer pass_trailers(struct exchange *x, uint32_t direction)
{
    struct flow *flow = exchange_flow(x, direction);
    if (!flow->trailing)
        filters_rewind(x, direction);
    flow->trailing = true;
    weir_answer answer = run_hook(x, HOOK_TRAILERS, direction);
    if (answer == WEIR_CONTINUE)
        relay_pass_trailers(flow);
    return answer;
}

/* Through the filters as far as the head has come, and on to the sink when that may be sent to. */
static weir_answer step_flow(struct exchange *x, uint32_t direction, bool may_move, bool *moved)
{
    struct flow *flow = exchange_flow(x, direction);
    weir_answer answer = WEIR_CONTINUE;
    if (may_move)
        relay_return_credit(flow);
    if (flow->first)
        answer = stages_pump(x, direction, moved);
    if (flow->first && may_move && answer == WEIR_CONTINUE)
        answer = stages_keep_length(x, direction);
    if (!may_move || answer != WEIR_CONTINUE) {
        relay_wait(flow);
        return answer;
    }
    *moved |= relay_pump(flow);
    if (!relay_at_trailers(flow))
        return WEIR_CONTINUE;
    answer = pass_trailers(x, direction);
    *moved |= answer == WEIR_CONTINUE;
    return answer;
}

static bool at_rest(const struct flow *flow)
{
    return flow->ended ? !flow->sink->left && !flow->source->incoming.count
                       : !flow->source->connection && !flow->source->operations;
}

/* Something moved: more may, in the next turn, because the step's share was used up or because a
 * filter waits for what came. */
static void go_on_later(struct exchange *x)
{
    x->active_ms = loop_now_ms(x->worker->loop);
    if (relay_may_go_on(&x->request_flow) || relay_may_go_on(&x->response_flow) ||
        x->request_flow.first || x->response_flow.first)
        turn_mark(x->worker->turn, TURN_EXCHANGES, &x->mark);
}

/* What follows is a tunnel's once that is agreed, and then the filters see it; not before. */
static bool waits_for_tunnel(const struct exchange *x)
{
    return x->request->view.kind == WEIR_TUNNEL || x->request->view.protocol.length;
}

static void step_flows(struct exchange *x)
{
    bool moved = false;
    weir_answer answer = WEIR_CONTINUE;
    if (!at_rest(&x->request_flow)) {
        bool may_send = x->progress == PROGRESS_SENT && channel_open(&x->server) &&
                        (x->tunnel || !waits_for_tunnel(x));
        answer = step_flow(x, WEIR_REQUEST_DIRECTION, may_send, &moved);
    }
    if (!at_rest(&x->response_flow) && (answer == WEIR_CONTINUE || answer == WEIR_PAUSE))
        answer = step_flow(x, WEIR_RESPONSE_DIRECTION, x->response_sent && channel_open(&x->client),
                           &moved);
    note_blocked(x, x->client.incoming.count != 0);
    if (moved)
        go_on_later(x);
    if (x->filters.record->answer_waits && !x->server.owed)
        turn_mark(x->worker->turn, TURN_EXCHANGES, &x->mark);
    goes_on(x, answer);
}

/* A complete answer ends the exchange; a tunnel waits for both directions. */
static bool over(const struct exchange *x)
{
    return x->response_flow.ended && (x->request_flow.ended || !x->tunnel);
}

/* What came to pass between two steps. */
static void step_news(struct exchange *x)
{
    if (!x->opened)
        step_new(x);
    if (x->filters.record->owner && !x->finished)
        goes_on(x, filters_deliver_events(x));
    if (x->filters.record->answer_waits && !x->server.owed && !x->finished)
        goes_on(x, filters_tell_replier(x));
    if (x->finished)
        return;
    if (x->timed_out != WEIR_OK)
        step_timed_out(x);
    else if (x->client.incoming_error != WEIR_OK)
        step_request_error(x, x->client.incoming_error);
    else if (body_too_large(x))
        step_too_large(x);
}

static void exchange_step(struct mark *mark)
{
    struct exchange *x = CONTAINER(mark, struct exchange, mark);
    TRACE();
    if (x->finished)
        return;
    if (x->client.failed != WEIR_OK) {
        if (x->tunnel)
            step_flows(x); /* what it said before */
        if (!x->finished)  /* by a filter that saw that */
            finish(x, x->client.failed);
        return;
    }
    step_news(x);
    if (!x->finished)
        step_request(x);
    if (!x->finished)
        step_response(x);
    if (!x->finished)
        step_flows(x);
    if (x->finished)
        return;
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

static void leave_filters(struct exchange *x)
{
    if (x->opened)
        ask_hook(x, HOOK_LOG, NULL);
    filters_close(x);
    stages_clear(&x->request_flow);
    stages_clear(&x->response_flow);
}

static void count_bytes(const struct exchange *x)
{
    if (x->own)
        return;
    metric_add(&x->worker->metrics, METRIC_REQUEST_BYTES, (int64_t)x->client.received_bytes);
    metric_add(&x->worker->metrics, METRIC_RESPONSE_BYTES, (int64_t)x->client.sent_bytes);
}

/* `why`: WEIR_OK when everything was passed on; else both legs are aborted honestly. */
static void finish(struct exchange *x, weir_result why)
{
    TRACE();
    x->finished = true;
    access_end(x, why);
    count_bytes(x);
    /* A filter may have ended an answer of which more comes: the leg is not over then. */
    release_server(x, why == WEIR_OK && x->server.incoming_ended ? WEIR_OK : WEIR_CANCELLED);
    if (x->request->view.kind == WEIR_AUTHENTICATION)
        authentication_end(x);
    if (why == WEIR_OK)
        channel_close(&x->client);
    else
        channel_abort(&x->client, why);
    if (has_filters(x))
        leave_filters(x);
    wheel_clear(&x->deadline);
    turn_mark(x->worker->turn, TURN_DEAD, &x->dead);
}

static void exchange_free(struct mark *mark)
{
    struct exchange *x = CONTAINER(mark, struct exchange, dead);
    struct worker *worker = x->worker;
    turn_unmark(worker->turn, TURN_EXCHANGES, &x->mark);
    metric_add(&worker->metrics, x->own ? METRIC_SUBREQUESTS_OPEN : METRIC_EXCHANGES_OPEN, -1);
    buffer_release(x->filters.record->reply_body.owner);
    snapshot_drop(x->use);
    arena_deinit(&x->arena);
    block_free(x);
}

void exchange_start(void)
{
    connection_hooks.on_exchange = exchange_begin;
}
