/* tests/sim/origin.c - random origins: read requests, check them, answer, fail at times */
#include "tests/sim/origin.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/list.h"
#include "core/base/memory.h"
#include "tests/sim/h2_origin.h"
#include "tests/sim/peer.h"

enum { IDLE_US_MOST = 2 * 1000 * 1000, THINK_US_MOST = 300 * 1000, TUNNEL_PORTS_FROM = 10000 };

/* One connection of an origin's. */
struct origin {
    struct peer peer;
    struct plan *coming; /* its request was written by weir, and not read yet */
    uint32_t served;
    uint32_t head_length; /* of the answer's head */
    bool finished;        /* said that it will send no more; waits for the other side's end */
};

static void forget(struct origin *origin)
{
    memory_free(origin);
    loop_hold(-1);
}

static void leave(struct origin *origin)
{
    peer_leave(&origin->peer);
    forget(origin);
}

static void reset(struct origin *origin)
{
    peer_reset(&origin->peer);
    forget(origin);
}

/* --- failing */

static bool head_is_out(const struct origin *origin)
{
    return origin->peer.writing && origin->peer.written >= origin->head_length;
}

/* Goes in the middle. Whether weir may send the request again depends on what it can know. */
static void go(struct origin *origin)
{
    struct plan *plan = origin->peer.plan;
    struct endpoint *weir = origin->peer.end->other;
    bool reused = origin->served, unread = origin->peer.written == weir->count;
    if (plan->fault == ORIGIN_RESETS)
        reset(origin);
    else
        leave(origin);
    /* A reset may have overtaken all that there was of an answer. */
    plan->attempt_repeatable = reused && account_idempotent(plan) &&
                               !plan->ways[REQUEST].received && unread && !weir->count;
}

/* Fails if that is the plan, and says how far weir may be excused. True: the origin has gone. */
static bool fail(struct origin *origin)
{
    struct plan *plan = origin->peer.plan;
    bool is_planned =
        plan->fault == ORIGIN_RESETS || plan->fault == ORIGIN_LEAVES || plan->fault == ORIGIN_HANGS;
    if (!is_planned || origin->peer.moved < plan->fault_at || origin->peer.hangs ||
        (plan->ways[RESPONSE].ended && !plan->tunnel))
        return false;
    plan->may_fail = true;
    if (plan->tunnel || head_is_out(origin))
        plan->may_break = true;
    if (plan->fault == ORIGIN_HANGS)
        peer_hang(&origin->peer);
    else
        go(origin);
    return plan->fault != ORIGIN_HANGS;
}

/* Weir gave up on the exchange: only because of a failure, or when it has its answer. */
static void on_lost(struct origin *origin)
{
    const struct plan *plan = origin->peer.plan;
    if (plan && !plan->may_fail && !plan->may_break &&
        (plan->tunnel || !plan->ways[RESPONSE].ended))
        violated(NO_SPURIOUS_FAILURE, plan->number, "weir left the origin");
    leave(origin);
}

/* --- the answer */

static void end_tunnel(struct origin *origin)
{
    struct plan *plan = origin->peer.plan;
    struct direction *out = &plan->ways[RESPONSE];
    if (!out->ended && writer_done(&origin->peer.writer) &&
        (!plan->waits[RESPONSE] || plan->ways[REQUEST].arrived)) {
        out->ended = true;
        endpoint_finish(origin->peer.end);
    }
    if (out->ended && plan->ways[REQUEST].arrived)
        leave(origin);
}

static void become_idle(struct origin *origin)
{
    origin->served++;
    origin->peer.plan = NULL;
    origin->peer.writing = false;
    origin->peer.moved = 0;
    reader_start(&origin->peer.reader);
    if (simulation.faults && dice_percent(&simulation.dice, 10))
        event_set(&origin->peer.act, dice_size(&simulation.dice, IDLE_US_MOST));
}

static void on_written(struct origin *origin)
{
    struct plan *plan = origin->peer.plan;
    if (plan->tunnel) {
        end_tunnel(origin);
        return;
    }
    plan->ways[RESPONSE].ended = plan->fault != ORIGIN_NONSENSE;
    if (plan->closes[RESPONSE] || plan->fault == ORIGIN_NONSENSE) {
        origin->finished = true;
        endpoint_finish(origin->peer.end);
    } else if (plan->ways[REQUEST].arrived) {
        become_idle(origin);
    }
}

static void write_some(struct origin *origin)
{
    origin->peer.plan->attempt_repeatable = false;
    if (!fail(origin) && peer_write(&origin->peer))
        on_written(origin);
}

static void start_answer(struct origin *origin)
{
    struct plan *plan = origin->peer.plan;
    struct writer *writer = &origin->peer.writer;
    if (plan->fault == ORIGIN_SILENT)
        plan->may_fail = true;
    if (origin->peer.writing || plan->fault == ORIGIN_SILENT)
        return;
    origin->peer.writing = true;
    writer_start(writer, plan, RESPONSE, true);
    if (plan->fault == ORIGIN_NONSENSE) {
        plan->may_fail = true;
        writer->text.length = 0;
        text_write(&writer->text, "220 is not what an HTTP server says\r\n\r\n");
        writer->complete = true;
    }
    if (sabotage(OWN_ANSWER, 5)) {
        struct plan other = *plan;
        other.number++;
        plan_head(&other, RESPONSE, &writer->text);
    }
    origin->head_length = writer->text.length;
    event_set(&origin->peer.act, dice_size(&simulation.dice, THINK_US_MOST));
}

/* --- the request */

/* The request reaches a connection that its origin closed while idle. It will not even be looked
 * at, and is to be sent again, unless that might do something twice. */
static void on_too_late(struct plan *plan)
{
    happened("too late for exchange", plan->number, 0);
    account_attempt(plan, true);
    if (!account_idempotent(plan) || plan->ways[REQUEST].delivery != BODY_NONE)
        plan->may_fail = true;
}

static const struct endpoint_events origin_events;

static void on_its_way(struct endpoint *end, const uint8_t *bytes, size_t count)
{
    static const char field[] = "X-Number: ";
    struct origin *origin = end->user;
    bool head =
        end->events == &origin_events && count > sizeof field && bytes[0] >= 'A' && bytes[0] <= 'Z';
    const char *at = head ? memmem(bytes, count, field, strlen(field)) : NULL;
    at = head && !at ? memmem(bytes, count, "x-number: ", strlen(field)) : at;
    if (!at)
        return;
    origin->coming = account_find(strtoull(at + strlen(field), NULL, 10));
    if (origin->finished && origin->coming)
        on_too_late(origin->coming);
}

/* True: the origin has gone. */
static bool on_head(struct origin *origin)
{
    struct reader *reader = &origin->peer.reader;
    char number[64];
    uint64_t length;
    text_field(&reader->line, "X-Number", number);
    struct plan *plan = account_find(strtoull(number, NULL, 10));
    const char *wrong = plan ? plan_check_head(plan, REQUEST, &reader->line) : "it has no number";
    if (wrong)
        violated(FIELDS_KEPT, plan ? plan->number : 0, "%s:\n%s", wrong, reader->line.bytes);
    if (origin->finished) { /* closed it while idle */
        reset(origin);
        return true;
    }
    uint64_t moved = origin->peer.moved;
    origin->coming = NULL;
    event_clear(&origin->peer.act);
    peer_begin(&origin->peer, plan);
    origin->peer.moved = moved;
    account_attempt(plan, origin->served);
    plan->ways[REQUEST].buffers += origin->peer.end->capacity;
    plan->ways[RESPONSE].buffers += origin->peer.end->other->capacity;
    enum delivery delivery = reader_delivery(reader, true, &length);
    reader_expect(reader, delivery, length);
    if (!plan->early)
        start_answer(origin);
    return fail(origin);
}

static void on_body(struct origin *origin, const uint8_t *body, size_t count)
{
    struct plan *plan = origin->peer.plan;
    plan->attempt_repeatable = false;
    account_receive(plan, REQUEST, body, count);
    if (plan->ways[REQUEST].received >= plan->early)
        start_answer(origin);
    peer_stall(&origin->peer);
}

/* Processes the request, but says nothing: weir cannot know. */
static bool lose_answer(struct origin *origin)
{
    struct plan *plan = origin->peer.plan;
    if (!plan->attempt_repeatable || !sabotage(NO_REPEAT_OF_PROCESSED, 100))
        return false;
    plan->attempt_repeatable = false;
    plan->may_fail = true;
    reset(origin);
    return true;
}

/* True: it has its answer already, and the next request may follow. */
static bool on_complete(struct origin *origin, size_t left)
{
    struct plan *plan = origin->peer.plan;
    struct direction *in = &plan->ways[REQUEST];
    bool answered = origin->peer.writing && writer_done(&origin->peer.writer) && !origin->finished;
    if (left && !answered)
        violated(BYTES_EXACT, plan->number, "%zu bytes follow the request", left);
    account_arrive(plan, REQUEST, in->delivery == BODY_CHUNKED ? &origin->peer.reader.line : NULL);
    if (answered)
        become_idle(origin);
    else if (!lose_answer(origin))
        start_answer(origin);
    return answered;
}

static void feed(struct origin *origin, const uint8_t *bytes, size_t left)
{
    const uint8_t *body;
    size_t count;
    for (;;) {
        switch (reader_next(&origin->peer.reader, &bytes, &left, &body, &count)) {
        case FOUND_NOTHING:
            return;
        case FOUND_HEAD:
            if (on_head(origin))
                return;
            break;
        case FOUND_BODY:
            on_body(origin, body, count);
            break;
        case FOUND_END:
            if (!on_complete(origin, left))
                return;
            break;
        case FOUND_NONSENSE:
            violated(BYTES_EXACT, origin->peer.plan ? origin->peer.plan->number : 0,
                     "the request's framing is broken");
        }
    }
}

static void on_readable(void *user)
{
    struct origin *origin = user;
    struct plan *plan = origin->peer.plan;
    const uint8_t *bytes;
    if (plan && fail(origin))
        return;
    ptrdiff_t count = peer_read(&origin->peer, &bytes);
    if (count > 0) {
        feed(origin, bytes, (size_t)count);
    } else if (count == READ_END && plan && plan->tunnel) {
        account_arrive(plan, REQUEST, NULL);
        end_tunnel(origin);
    } else if (count != READ_NOTHING) {
        on_lost(origin);
    }
}

static void on_writable(void *user)
{
    struct origin *origin = user;
    if (origin->peer.plan)
        write_some(origin);
}

/* --- connections */

static const struct endpoint_events origin_events = {
    .readable = on_readable,
    .writable = on_writable,
};

/* Goes on with the answer; or closes, having been idle for so long. */
static void fire_act(struct event *event)
{
    struct origin *origin = CONTAINER(event, struct origin, peer.act);
    if (origin->peer.plan) {
        write_some(origin);
        return;
    }
    happened("origin closes while idle", origin->peer.end->number, origin->served);
    origin->finished = true;
    endpoint_finish(origin->peer.end);
    if (origin->coming)
        on_too_late(origin->coming);
}

static void start_tunnel(struct origin *origin, struct plan *plan)
{
    struct peer *peer = &origin->peer;
    peer_begin(peer, plan);
    account_attempt(plan, false);
    plan->attempt_repeatable = simulation.filters; /* until it carries bytes: one may hold it up */
    plan->ways[REQUEST].buffers += peer->end->capacity;
    plan->ways[RESPONSE].buffers += peer->end->other->capacity;
    reader_expect(&peer->reader, BODY_UNTIL_CLOSE, 0);
    writer_start(&peer->writer, plan, RESPONSE, false);
    peer->writing = true;
    if (plan->fault != ORIGIN_SILENT)
        event_set(&peer->act, dice_size(&simulation.dice, THINK_US_MOST));
    else
        plan->may_fail = plan->may_break = true;
}

static void accept_connection(const struct address *address, struct endpoint *end)
{
    if (plan_host_at(address)->h2) {
        h2_origin_accept(plan_host_at(address), end);
        return;
    }
    struct origin *origin = memory_zeroed(sizeof *origin);
    loop_hold(1);
    peer_init(&origin->peer, RESPONSE, fire_act);
    origin->peer.end = end;
    end->events = &origin_events;
    end->user = origin;
    reader_start(&origin->peer.reader);
    happened("origin accepts", end->number, address_port(address));
    if (address_port(address) < TUNNEL_PORTS_FROM)
        return;
    struct plan *plan = account_find_tunnel(address_port(address));
    if (plan)
        start_tunnel(origin, plan);
    else
        reset(origin);
}

void origins_start(void)
{
    network_servers.reach = plan_reach;
    network_servers.accept = accept_connection;
    network_servers.on_its_way = on_its_way;
    network_servers.resolve = plan_resolve;
}
