/* tests/sim/h2_client.c - random clients that speak HTTP/2: several exchanges on each connection */
#include "tests/sim/h2_client.h"

#include <string.h>

#include "core/base/list.h"
#include "core/base/memory.h"
#include "tests/sim/account.h"
#include "tests/sim/answer.h"
#include "tests/sim/client.h"
#include "tests/sim/mux.h"

enum {
    SLOTS_MOST = 8,
    EXCHANGE_US_MOST = 300 * 1000 * 1000, /* more than all of weir's time limits together */
    IDLE_US_MOST = 500 * 1000,
    AGAIN_US = 100 * 1000
};

/* One exchange after another. */
struct slot {
    struct h2_client *client;
    struct mux_stream *stream; /* NULL: none, or it is over */
    struct plan *plan;         /* NULL: idle */
    struct plan *again;        /* weir did not process it */
    struct answer answer;
    struct event act; /* to begin the next one */
    struct event too_long;
};

struct h2_client {
    struct mux mux; /* `end`: NULL: not connected */
    struct address address;
    uint32_t connections, slot_count;
    struct slot slots[SLOTS_MOST];
};

static struct {
    struct h2_client *all;
    uint32_t count;
} clients;

static bool is_idle(const struct h2_client *client)
{
    for (uint32_t i = 0; i < client->slot_count; i++)
        if (client->slots[i].plan)
            return false;
    return true;
}

/* What of a tunnel has not arrived yet may be lost with the client's connection. */
static void finish(struct slot *slot)
{
    if (slot->plan->tunnel && !slot->plan->ways[REQUEST].arrived)
        slot->plan->may_fail = slot->plan->may_break = true;
    happened("client ends exchange", slot->plan->number, slot->answer.status);
    if (slot->stream)
        slot->stream->plan = NULL;
    slot->plan->over = !slot->again;
    slot->stream = NULL;
    slot->plan = NULL;
    event_clear(&slot->too_long);
    event_set(&slot->act, dice_size(&simulation.dice, IDLE_US_MOST));
}

/* --- failing */

/* Nobody is there any more to see how it ends. */
static void give_up(struct slot *slot)
{
    slot->plan->may_fail = slot->plan->may_break = true;
    finish(slot);
}

static void excuse_all(struct h2_client *client)
{
    for (uint32_t i = 0; i < client->slot_count; i++)
        if (client->slots[i].plan)
            client->slots[i].plan->may_fail = client->slots[i].plan->may_break = true;
}

static void give_up_all(struct h2_client *client)
{
    for (uint32_t i = 0; i < client->slot_count; i++)
        if (client->slots[i].plan)
            give_up(&client->slots[i]);
}

static void leave(struct h2_client *client, bool reset)
{
    mux_close(&client->mux, reset);
    mux_deinit(&client->mux);
}

static void reset_stream(struct slot *slot)
{
    static const uint32_t codes[] = {NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_INTERNAL_ERROR,
                                     NGHTTP2_REFUSED_STREAM, NGHTTP2_FLOW_CONTROL_ERROR};
    uint32_t code = codes[dice_below(&simulation.dice, 5)];
    happened("client resets stream", slot->plan->number, code);
    mux_reset_stream(slot->stream, code);
    give_up(slot);
}

/* One exchange, or the whole connection. True: that has gone. */
static bool fail(struct slot *slot)
{
    struct h2_client *client = slot->client;
    struct plan *plan = slot->plan;
    bool is_planned =
        plan->fault == CLIENT_RESETS || plan->fault == CLIENT_LEAVES || plan->fault == CLIENT_HANGS;
    if (!is_planned || slot->stream->moved < plan->fault_at || slot->stream->has_hung)
        return false;
    plan->may_fail = plan->may_break = true;
    if (plan->fault == CLIENT_HANGS) {
        mux_hang(slot->stream);
        return false;
    }
    bool unread = mux_passed(&client->mux) < client->mux.ended_at; /* of what is over */
    if (unread || dice_percent(&simulation.dice, 70)) {
        reset_stream(slot);
        return false;
    }
    give_up_all(client);
    leave(client, plan->fault == CLIENT_RESETS);
    return true;
}

static bool before(struct mux *mux)
{
    struct h2_client *client = CONTAINER(mux, struct h2_client, mux);
    for (uint32_t i = 0; i < client->slot_count; i++)
        if (client->slots[i].stream && fail(&client->slots[i]))
            return true;
    return false;
}

/* --- the answer */

static bool is_complete(const struct slot *slot)
{
    const struct plan *plan = slot->plan;
    return plan->tunnel && slot->answer.from_origin && plan->ways[REQUEST].ended &&
           plan->ways[RESPONSE].arrived;
}

/* It did not know yet how many weir lets it have at a time. */
static bool was_early(const struct mux_stream *stream)
{
    return stream->head_to <= stream->mux->settled_at;
}

/* Weir says that it did nothing with the request, which is sent again. */
static bool is_unprocessed(struct slot *slot, uint32_t code)
{
    struct plan *plan = slot->plan;
    if (code != NGHTTP2_REFUSED_STREAM || slot->answer.status ||
        (!slot->client->mux.goes_away && !was_early(slot->stream)))
        return false;
    if (plan->attempts)
        violated(NO_REPEAT_OF_PROCESSED, plan->number, "weir says that it is not processed");
    slot->again = plan;
    return true;
}

static void on_closed(struct mux_stream *stream, uint32_t code)
{
    struct slot *slot = stream->user;
    struct plan *plan = stream->plan;
    if (!plan)
        return;
    if (!is_complete(slot) && !is_unprocessed(slot, code) && !plan->may_break)
        violated(plan->may_fail ? FAILURE_ANSWERED : NO_SPURIOUS_FAILURE, plan->number,
                 "the answer %s code %u",
                 slot->answer.status ? "broke off with" : "is missing:", code);
    finish(slot);
}

static void on_head(struct mux_stream *stream)
{
    struct slot *slot = stream->user;
    if (!stream->plan)
        return;
    if (!strncmp(stream->in.bytes, "HTTP/1.1 502", 12) && sabotage(FAILURE_ANSWERED, 1000)) {
        on_closed(stream, NGHTTP2_INTERNAL_ERROR); /* instead */
        return;
    }
    slot->answer = answer_judge(stream->plan, &stream->in);
    if (slot->answer.from_origin)
        stream->held = false;
    mux_go_on(stream);
}

static void on_body(struct mux_stream *stream, const uint8_t *bytes, size_t count)
{
    const struct slot *slot = stream->user;
    if (!slot->answer.from_origin)
        return;
    account_receive(stream->plan, RESPONSE, bytes, count);
    mux_stall(stream);
}

/* Everything of the answer is here; a tunnel's other direction may go on. */
static void on_end(struct mux_stream *stream)
{
    struct slot *slot = stream->user;
    struct plan *plan = stream->plan;
    if (slot->answer.from_origin)
        account_arrive(plan, RESPONSE, plan->tunnel ? NULL : &stream->in);
    mux_go_on(stream);
    if (plan->tunnel && slot->answer.from_origin && !plan->ways[REQUEST].ended)
        return;
    if (!plan->ways[REQUEST].ended)
        mux_reset_stream(stream, NGHTTP2_NO_ERROR);
    if (!plan->tunnel || !slot->answer.from_origin)
        finish(slot);
}

static void on_lost(struct mux *mux, bool clean)
{
    struct h2_client *client = CONTAINER(mux, struct h2_client, mux);
    for (uint32_t i = 0; i < client->slot_count; i++) {
        struct slot *slot = &client->slots[i];
        if (slot->plan && !slot->plan->may_break)
            violated(NO_SPURIOUS_FAILURE, slot->plan->number, "the connection %s",
                     clean ? "ended" : "was reset");
    }
    give_up_all(client);
    leave(client, false);
}

/* --- one exchange after another */

static const struct mux_events client_events = {
    .before = before,
    .head = on_head,
    .body = on_body,
    .end = on_end,
    .closed = on_closed,
    .lost = on_lost,
};

static void connect_to_proxy(struct h2_client *client)
{
    address_set_port(&client->address, (uint16_t)(1024 + client->connections++ % 60000));
    mux_init(&client->mux, clients_connect(&client->address, NULL, NULL), REQUEST, &client_events);
    happened("client connects", client->mux.end->number, 2);
}

static void begin(struct slot *slot, struct plan *plan)
{
    struct mux *mux = &slot->client->mux;
    slot->plan = plan;
    slot->again = NULL;
    slot->answer = (struct answer){0};
    account_begin(plan, true);
    plan->ways[REQUEST].buffers += mux->end->other->capacity + ENDPOINT_BYTES_MOST / 2;
    plan->ways[RESPONSE].buffers += mux->end->capacity;
    slot->stream = mux_request(mux, plan);
    slot->stream->user = slot;
    slot->stream->held = plan->tunnel && !plan->eager;
    happened("client begins exchange", plan->number, mux->end->number);
    event_set(&slot->too_long, EXCHANGE_US_MOST);
    if (sabotage(EVERY_EXCHANGE_ENDS, 5))
        mux->end->lost = true;
    if (mux->end->lost)
        excuse_all(slot->client);
    mux_pump(mux);
}

/* Sometimes the exchange that comes next has another connection. Nothing is lost that was sent. */
static void leave_if_idle(struct h2_client *client, uint32_t percent)
{
    const struct mux *mux = &client->mux;
    if (!mux->end || !is_idle(client) || !mux_is_quiet(mux) || mux->end->count ||
        !dice_percent(&simulation.dice, percent))
        return;
    if (dice_percent(&simulation.dice, 50))
        mux_go_away(&client->mux, 0);
    leave(client, false);
}

static void fire_act(struct event *event)
{
    struct slot *slot = CONTAINER(event, struct slot, act);
    struct h2_client *client = slot->client;
    bool serves = clients_are_served();
    leave_if_idle(client, !serves || client->mux.goes_away ? 100 : 10);
    if (serves && client->mux.end && client->mux.goes_away) { /* when the others are over */
        event_set(&slot->act, AGAIN_US);
        return;
    }
    struct plan *plan = !serves ? NULL : slot->again ? slot->again : clients_next();
    if (!plan) {
        leave_if_idle(client, 100);
        if (client->mux.end)
            event_set(&slot->act, AGAIN_US);
        return;
    }
    if (!client->mux.end)
        connect_to_proxy(client);
    begin(slot, plan);
}

static void fire_too_long(struct event *event)
{
    struct slot *slot = CONTAINER(event, struct slot, too_long);
    violated(EVERY_EXCHANGE_ENDS, slot->plan->number, "it has not after %d s",
             EXCHANGE_US_MOST / 1000 / 1000);
}

/* What weir has not read anything of it need not process, nor say so. */
void h2_clients_excuse_unread(void)
{
    for (uint32_t i = 0; i < clients.count; i++)
        for (uint32_t j = 0; j < clients.all[i].slot_count; j++) {
            struct slot *slot = &clients.all[i].slots[j];
            if (slot->plan && !slot->plan->attempts && !slot->answer.status)
                slot->plan->may_fail = slot->plan->may_break = true;
        }
}

static void start(struct h2_client *client, uint32_t number, uint32_t slots)
{
    clients_address(&client->address, number);
    client->slot_count = slots;
    for (uint32_t i = 0; i < slots; i++) {
        struct slot *slot = &client->slots[i];
        slot->client = client;
        event_init(&slot->act, fire_act);
        event_init(&slot->too_long, fire_too_long);
        event_set(&slot->act, dice_size(&simulation.dice, IDLE_US_MOST));
    }
}

void h2_clients_start(uint32_t first, uint32_t count)
{
    clients.all = memory_zeroed((count + 1) * sizeof *clients.all);
    clients.count = 0;
    for (uint32_t slots; count; count -= slots) {
        slots = 1 + (uint32_t)dice_below(&simulation.dice, count < SLOTS_MOST ? count : SLOTS_MOST);
        start(&clients.all[clients.count], first + clients.count, slots);
        clients.count++;
    }
}

void h2_clients_free(void)
{
    memory_free(clients.all);
}
