/* tests/sim/client.c - random clients: send requests, check the answers, fail at times */
#include "tests/sim/client.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/list.h"
#include "core/base/memory.h"
#include "tests/sim/answer.h"
#include "tests/sim/h2_client.h"
#include "tests/sim/peer.h"

enum {
    EXCHANGE_US_MOST = 300 * 1000 * 1000, /* more than all of weir's time limits together */
    IDLE_US_MOST = 500 * 1000
};

struct client {
    struct peer peer;
    struct event too_long;
    struct address address;
    uint32_t connections; /* so far: each has a port of its own */
    struct answer answer;
    bool until_close;  /* it lasts until the end of the connection */
    bool last;         /* it says that the connection ends after it */
    struct plan *next; /* its request was sent, or begun, behind this one's */
};

static struct {
    struct loop *loop;
    struct address proxy;
    struct client *all;
    uint32_t count;
    bool last_has_begun; /* weir drains then */
    void (*on_last)(void *user);
    void *user;
} clients;

static void finish(struct client *client);

/* --- for clients of either protocol */

struct plan *clients_next(void)
{
    struct plan *plan = clients.last_has_begun ? NULL : account_next();
    if (!plan && !clients.last_has_begun) {
        clients.last_has_begun = true;
        clients.on_last(clients.user);
    }
    return plan;
}

bool clients_are_served(void)
{
    return !clients.last_has_begun;
}

struct endpoint *clients_connect(const struct address *from, const struct endpoint_events *events,
                                 void *user)
{
    return network_connect(clients.loop, &clients.proxy, from, events, user);
}

void clients_address(struct address *address, uint32_t number)
{
    address->v4.sin_family = AF_INET;
    address->v4.sin_addr.s_addr = htonl(0xc0000200 + number); /* 192.0.2.0 */
}

/* --- the request */

/* The request's direction of a tunnel ends; what the connection is for may be over then. */
static void end_tunnel(struct client *client)
{
    struct plan *plan = client->peer.plan;
    struct direction *out = &plan->ways[REQUEST];
    if (!out->ended && writer_done(&client->peer.writer) &&
        (!plan->waits[REQUEST] || plan->ways[RESPONSE].arrived)) {
        out->ended = true;
        endpoint_finish(client->peer.end);
    }
    if (out->ended && plan->ways[RESPONSE].arrived)
        finish(client);
}

static void start_request(struct client *client, struct plan *plan)
{
    struct peer *peer = &client->peer;
    happened("client begins exchange", plan->number, peer->end->number);
    account_begin(plan, false);
    plan->ways[REQUEST].buffers += peer->end->other->capacity;
    plan->ways[RESPONSE].buffers += peer->end->capacity;
    writer_start(&peer->writer, plan, REQUEST, true);
    peer->writing = true;
    peer->writer.held = plan->tunnel && !plan->eager;
    peer->end->impatient = !plan->tunnel; /* until the request is out: it may be refused */
}

/* Does not wait for the answer before it sends the next request. */
static void pipeline(struct client *client)
{
    const struct plan *plan = client->peer.plan, *next = account_peek();
    if (client->next || !next || next->tunnel || client->peer.hangs || plan->closes[REQUEST] ||
        !dice_percent(&simulation.dice, 20))
        return;
    client->next = account_next();
    start_request(client, client->next);
    event_set(&client->peer.act, endpoint_pause_us(client->peer.end));
}

static void on_written(struct client *client)
{
    struct plan *plan = client->peer.writer.plan;
    client->peer.end->impatient = false;
    if (plan->tunnel) {
        end_tunnel(client);
        return;
    }
    plan->ways[REQUEST].ended = true;
    if (plan->half_closes)
        endpoint_finish(client->peer.end);
    else
        pipeline(client);
}

static void excuse(struct plan *plan)
{
    if (plan)
        plan->may_fail = plan->may_break = true;
}

/* The request behind this one's is not sent again: weir may have begun with it. */
static void drop_next(struct client *client)
{
    excuse(client->next);
    client->next = NULL;
}

/* Fails if that is the plan. True: nobody is there any more to see how it ends. */
static bool fail(struct client *client)
{
    struct plan *plan = client->peer.plan;
    bool is_planned =
        plan->fault == CLIENT_RESETS || plan->fault == CLIENT_LEAVES || plan->fault == CLIENT_HANGS;
    if (!is_planned || client->peer.moved < plan->fault_at || client->peer.hangs)
        return false;
    excuse(plan);
    excuse(client->next);
    if (plan->fault == CLIENT_HANGS) {
        peer_hang(&client->peer);
        return false;
    }
    if (plan->fault == CLIENT_RESETS)
        peer_reset(&client->peer);
    else
        peer_leave(&client->peer);
    drop_next(client);
    finish(client);
    return true;
}

static void write_some(struct client *client)
{
    struct peer *peer = &client->peer;
    if (fail(client) || writer_done(&peer->writer))
        return;
    if (peer_write(peer))
        on_written(client);
}

/* --- the answer */

static void on_head(struct client *client)
{
    struct plan *plan = client->peer.plan;
    struct reader *reader = &client->peer.reader;
    char connection[64];
    uint64_t length;
    text_field(&reader->line, "Connection", connection);
    client->last = !strncasecmp(connection, "close", 5);
    client->answer = answer_judge(plan, &reader->line);
    uint32_t status = client->answer.status;
    enum delivery delivery = reader_delivery(reader, false, &length);
    if ((!strcmp(plan->method, "HEAD") && status != 408) || status == 204 || status == 304)
        delivery = BODY_NONE;
    if (plan->tunnel && status == 200)
        delivery = BODY_UNTIL_CLOSE;
    client->until_close = delivery == BODY_UNTIL_CLOSE;
    reader_expect(reader, delivery, length);
    if (plan->tunnel && status == 200 && client->peer.writer.held) {
        client->peer.writer.held = false;
        event_set(&client->peer.act, 0);
    }
}

static void on_body(struct client *client, const uint8_t *body, size_t count)
{
    if (!client->answer.from_origin)
        return;
    account_receive(client->peer.plan, RESPONSE, body, count);
    peer_stall(&client->peer);
}

/* Everything of the answer is here. */
static void on_complete(struct client *client, size_t left)
{
    struct plan *plan = client->peer.plan;
    struct direction *in = &plan->ways[RESPONSE];
    bool eager = plan->eager && client->peer.writer.direction->sent; /* taken for a request */
    if (left && !eager && !client->next)
        violated(OWN_ANSWER, plan->number, "%zu bytes follow the answer", left);
    if (client->answer.from_origin)
        account_arrive(plan, RESPONSE,
                       in->delivery == BODY_CHUNKED ? &client->peer.reader.line : NULL);
    if (client->peer.hangs)
        drop_next(client);
    if (client->last || client->until_close || plan->closes[REQUEST] || plan->tunnel ||
        plan->half_closes || client->peer.hangs || !plan->ways[REQUEST].ended)
        peer_leave(&client->peer);
    finish(client);
}

static void feed(struct client *client, const uint8_t *bytes, size_t left)
{
    const uint8_t *body;
    size_t count;
    for (;;) {
        switch (reader_next(&client->peer.reader, &bytes, &left, &body, &count)) {
        case FOUND_NOTHING:
            return;
        case FOUND_HEAD:
            on_head(client);
            break;
        case FOUND_BODY:
            on_body(client, body, count);
            break;
        case FOUND_END:
            on_complete(client, left);
            if (!client->peer.plan || !client->peer.end)
                return;
            break;
        case FOUND_NONSENSE:
            violated(BYTES_EXACT, client->peer.plan->number, "the answer's framing is broken");
        }
    }
}

/* The connection ended in the middle of the exchange. */
static void on_lost(struct client *client, bool clean)
{
    struct plan *plan = client->peer.plan;
    if (clean && plan->tunnel && client->answer.from_origin) {
        account_arrive(plan, RESPONSE, NULL);
        end_tunnel(client);
        return;
    }
    if (clean && client->until_close) {
        on_complete(client, 0);
        return;
    }
    if (!plan->may_break)
        violated(plan->may_fail ? FAILURE_ANSWERED : NO_SPURIOUS_FAILURE, plan->number,
                 "the answer %s %s", client->answer.status ? "broke off with" : "is missing:",
                 clean ? "the end of the connection" : "a reset");
    peer_leave(&client->peer);
    drop_next(client);
    finish(client);
}

static void on_idle_lost(struct client *client, ptrdiff_t count)
{
    if (count > 0)
        violated(OWN_ANSWER, 0, "%td bytes that no request asked for", count);
    peer_leave(&client->peer);
    event_set(&client->peer.act, 0);
}

static void on_readable(void *user)
{
    struct client *client = user;
    const uint8_t *bytes;
    if (client->peer.plan && fail(client))
        return;
    ptrdiff_t count = peer_read(&client->peer, &bytes);
    if (count == READ_NOTHING)
        return;
    if (!client->peer.plan)
        on_idle_lost(client, count);
    else if (count > 0)
        feed(client, bytes, (size_t)count);
    else
        on_lost(client, count == READ_END);
}

static void on_writable(void *user)
{
    struct client *client = user;
    if (client->peer.plan)
        write_some(client);
}

/* --- one exchange after another */

static const struct endpoint_events client_events = {
    .readable = on_readable,
    .writable = on_writable,
};

static void connect_to_proxy(struct client *client)
{
    address_set_port(&client->address, (uint16_t)(1024 + client->connections++ % 60000));
    client->peer.end = clients_connect(&client->address, &client_events, client);
    happened("client connects", client->peer.end->number, client->peer.plan->number);
}

static void await_answer(struct client *client, struct plan *plan)
{
    peer_begin(&client->peer, plan);
    reader_start(&client->peer.reader);
    client->answer = (struct answer){0};
    client->until_close = client->last = false;
    event_set(&client->too_long, EXCHANGE_US_MOST);
}

static void begin(struct client *client, struct plan *plan)
{
    struct peer *peer = &client->peer;
    await_answer(client, plan);
    if (!peer->end)
        connect_to_proxy(client);
    start_request(client, plan);
    if (sabotage(EVERY_EXCHANGE_ENDS, 5))
        peer->end->lost = plan->may_fail = plan->may_break = true;
    write_some(client);
}

static void finish(struct client *client)
{
    struct peer *peer = &client->peer;
    happened("client ends exchange", peer->plan->number, client->answer.status);
    peer->plan->over = true;
    if (peer->plan->tunnel && peer->end)
        peer_leave(peer);
    peer->plan = NULL;
    event_clear(&client->too_long);
    event_clear(&peer->resume);
    if (peer->end)
        endpoint_pause(peer->end, false);
    if (peer->end && client->next) {
        await_answer(client, client->next);
        client->next = NULL;
        peer->writing = true;
    } else {
        peer->writing = false;
        event_set(&peer->act, dice_size(&simulation.dice, IDLE_US_MOST));
    }
}

/* There is nothing more to ask for. */
static void retire(struct client *client)
{
    if (client->peer.end)
        peer_leave(&client->peer);
}

void clients_excuse_unread(void)
{
    h2_clients_excuse_unread();
    for (uint32_t i = 0; i < clients.count; i++) {
        struct client *client = &clients.all[i];
        const struct peer *peer = &client->peer;
        if (peer->plan && peer->end && peer->written == peer->end->other->count)
            excuse(peer->plan);
        excuse(client->next);
    }
}

static void fire_act(struct event *event)
{
    struct client *client = CONTAINER(event, struct client, peer.act);
    struct plan *plan = client->next; /* once more: the connection ended before its turn came */
    if (client->peer.plan) {
        write_some(client);
        return;
    }
    client->next = NULL;
    if (!clients.last_has_begun && (plan || (plan = clients_next()))) /* else nobody listens */
        begin(client, plan);
    else
        retire(client);
}

static void fire_too_long(struct event *event)
{
    struct client *client = CONTAINER(event, struct client, too_long);
    violated(EVERY_EXCHANGE_ENDS, client->peer.plan->number, "it has not after %d s",
             EXCHANGE_US_MOST / 1000 / 1000);
}

static void start(struct client *client, uint32_t number)
{
    clients_address(&client->address, number);
    peer_init(&client->peer, REQUEST, fire_act);
    event_init(&client->too_long, fire_too_long);
    event_set(&client->peer.act, dice_size(&simulation.dice, IDLE_US_MOST));
}

void clients_start(struct loop *loop, const struct address *proxy, uint32_t count,
                   void (*on_last)(void *user), void *user)
{
    uint32_t h2 = !simulation.h2[REQUEST] ? 0 : simulation.h1[REQUEST] ? count / 2 : count;
    clients.loop = loop;
    clients.proxy = *proxy;
    clients.count = count - h2;
    clients.all = memory_zeroed((clients.count + 1) * sizeof *clients.all);
    clients.last_has_begun = false;
    clients.on_last = on_last;
    clients.user = user;
    for (uint32_t i = 0; i < clients.count; i++)
        start(&clients.all[i], i);
    h2_clients_start(clients.count, h2);
}

void clients_free(void)
{
    h2_clients_free();
    memory_free(clients.all);
}
