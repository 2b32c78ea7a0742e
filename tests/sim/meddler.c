/* tests/sim/meddler.c - filters that do at random what filters may do, and change no byte
 *
 * They pause and go on by a timer, hold bytes and emit them later, pass on copies in pieces, want
 * bodies whole, leave, refuse and fail. What they do to an exchange follows from the seed, its
 * number and what came before. */
#include "tests/sim/meddler.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/string.h"
#include "core/exchange/exchange.h"
#include "core/exchange/filter_host.h"
#include "core/host/asynchronous.h"
#include "tests/held.h"
#include "tests/sim/account.h"

enum { DICE = 0x4d4d, PAUSES_MOST = 3, WAIT_MS_MOST = 2000, BODIES_MOST = 2 << 20, MASK = 0x5a };

struct meddling {
    struct dice dice;
    struct held held[2];
    struct plan *plan;
    uint32_t pauses;
    bool paused[2], settled;
};

static int64_t opened, holding;

static struct meddling *of(weir_exchange *exchange)
{
    return exchange->state;
}

static bool masks(const weir_exchange *exchange)
{
    return exchange->instance != NULL;
}

/* --- about the exchange */

static void saw(weir_exchange *exchange, const char *what, uint64_t value)
{
    const struct plan *plan = of(exchange)->plan;
    happened(what, plan ? plan->number : 0, value);
}

static struct plan *plan_of(weir_exchange *exchange)
{
    const weir_head *head = exchange_filter_host.request_head(exchange);
    weir_string number;
    uint64_t value;
    if (head->kind == WEIR_TUNNEL) {
        const char *colon = memrchr(head->authority.bytes, ':', head->authority.length);
        return account_find_tunnel((uint16_t)strtoul(colon + 1, NULL, 10));
    }
    if (exchange_filter_host.field(exchange, WEIR_REQUEST_HEAD, WEIR_STRING("X-Number"), 0,
                                   &number) != WEIR_OK ||
        !string_to_number(number, UINT32_MAX, &value))
        return NULL;
    return account_find(value);
}

bool meddler_buffers(uint64_t number)
{
    return number % 8 == 0;
}

static weir_answer on_open(weir_exchange *exchange)
{
    struct meddling *own = of(exchange);
    own->plan = plan_of(exchange);
    own->dice = dice_of(simulation.seed + (own->plan ? own->plan->number : 0), DICE);
    opened++;
    return WEIR_CONTINUE;
}

static void on_close(weir_exchange *exchange)
{
    for (uint32_t direction = 0; direction < 2; direction++) {
        holding -= of(exchange)->held[direction].bytes != NULL;
        held_forget(&of(exchange)->held[direction]);
    }
    opened--;
}

/* --- timers */

static void wait_some(weir_exchange *exchange, uint32_t direction)
{
    uint32_t ms = (uint32_t)dice_size(&of(exchange)->dice, WAIT_MS_MOST);
    weir_reference owner = exchange_filter_host.reference(exchange);
    if (asynchronous_host.timer(owner, ms, direction, NULL) != WEIR_OK)
        violated(NOTHING_LEFT, 0, "a filter gets no timer");
}

static weir_answer pause(weir_exchange *exchange, uint32_t direction)
{
    struct meddling *own = of(exchange);
    if (own->pauses == PAUSES_MOST)
        return WEIR_CONTINUE;
    own->pauses++;
    own->paused[direction] = true;
    wait_some(exchange, direction);
    return WEIR_PAUSE;
}

/* --- bytes */

static void must_emit(weir_exchange *exchange, weir_result rc)
{
    if (rc != WEIR_OK)
        violated(CREDIT, of(exchange)->plan ? of(exchange)->plan->number : 0,
                 "a filter may not emit what it has credit for: %d", rc);
}

static void let_go(weir_exchange *exchange, uint32_t direction)
{
    struct held *held = &of(exchange)->held[direction];
    must_emit(exchange, held_let_go(exchange, direction, held));
    holding -= held->bytes == NULL;
}

static weir_answer hold(weir_exchange *exchange, const weir_data *data)
{
    struct held *held = &of(exchange)->held[data->direction];
    holding += held->bytes == NULL;
    if (!held->waits)
        wait_some(exchange, data->direction);
    held->waits = true;
    held->held += data->bytes;
    held_keep(held, data);
    return WEIR_HOLD;
}

static weir_answer take(weir_exchange *exchange, const weir_data *data, uint8_t mask)
{
    uint64_t first = dice_below(&of(exchange)->dice, data->bytes + 1);
    must_emit(exchange, held_pass_copy(exchange, data, first, mask));
    return WEIR_TAKE;
}

static bool holds(const struct meddling *own)
{
    return own->held[0].bytes || own->held[1].bytes;
}

static weir_answer on_bytes(weir_exchange *exchange, const weir_data *data)
{
    struct meddling *own = of(exchange);
    saw(exchange, "filter sees bytes", data->bytes);
    if (masks(exchange))
        return take(exchange, data, MASK);
    if (own->held[data->direction].bytes)
        return hold(exchange, data);
    uint64_t choice = dice_below(&own->dice, 100);
    if (choice < 12)
        return take(exchange, data, 0);
    if (choice < 24)
        return hold(exchange, data);
    if (choice < 34)
        return pause(exchange, data->direction);
    if (choice < 35 && !holds(own) && !own->paused[0] && !own->paused[1])
        return WEIR_DETACH;
    return WEIR_CONTINUE;
}

static weir_answer on_whole(weir_exchange *exchange, const weir_data *data)
{
    saw(exchange, "filter sees the whole", data->bytes);
    if (!data->bytes || dice_percent(&of(exchange)->dice, 50))
        return pause(exchange, data->direction);
    return take(exchange, data, 0);
}

/* --- heads */

static bool may_settle(const weir_exchange *exchange, uint32_t per_thousand)
{
    struct meddling *own = exchange->state;
    return simulation.faults && !masks(exchange) && own->plan && !own->plan->may_fail &&
           dice_below(&own->dice, 1000) < per_thousand;
}

/* An end that is as good as a server's failure: the client knows that it may come. */
static weir_answer settle(weir_exchange *exchange)
{
    struct meddling *own = of(exchange);
    weir_reply reply = {
        .size = sizeof reply, .status = 502, .body = {(const uint8_t *)"no", 2, NULL}};
    own->plan->may_fail = true;
    own->settled = true;
    if (exchange_filter_host.respond(exchange, &reply) != WEIR_OK)
        violated(NOTHING_LEFT, own->plan->number, "a filter may not respond");
    return WEIR_DONE;
}

static weir_answer on_head(weir_exchange *exchange, uint32_t direction)
{
    saw(exchange, "filter sees a head", direction);
    struct meddling *own = of(exchange);
    if (masks(exchange))
        return WEIR_CONTINUE;
    if (may_settle(exchange, 4))
        return settle(exchange);
    return dice_percent(&own->dice, 8) ? pause(exchange, direction) : WEIR_CONTINUE;
}

static weir_answer maybe_buffer(weir_exchange *exchange, uint32_t direction)
{
    const struct plan *plan = of(exchange)->plan;
    weir_answer answer = on_head(exchange, direction);
    bool whole = plan && meddler_buffers(plan->number) && plan->fault == FAULT_NONE &&
                 plan->early == UINT32_MAX && !masks(exchange);
    return answer == WEIR_CONTINUE && whole && dice_percent(&of(exchange)->dice, 50) ? WEIR_BUFFER
                                                                                     : answer;
}

static weir_answer on_request(weir_exchange *exchange)
{
    return maybe_buffer(exchange, WEIR_REQUEST_DIRECTION);
}

static weir_answer on_response(weir_exchange *exchange)
{
    return maybe_buffer(exchange, WEIR_RESPONSE_DIRECTION);
}

static weir_answer on_way(weir_exchange *exchange)
{
    return on_head(exchange, WEIR_REQUEST_DIRECTION);
}

static weir_answer on_trailers(weir_exchange *exchange, uint32_t direction)
{
    return masks(exchange) || !dice_percent(&of(exchange)->dice, 20) ? WEIR_CONTINUE
                                                                     : pause(exchange, direction);
}

/* --- what they wait for */

static weir_answer on_event(weir_exchange *exchange, const weir_event *event)
{
    struct meddling *own = of(exchange);
    bool credit = event->kind == WEIR_EVENT_CREDIT;
    uint32_t direction = credit ? event->direction : event->tag;
    saw(exchange, "filter has an event", event->kind);
    if (event->kind == WEIR_EVENT_PAUSE_LIMIT)
        violated(EVERY_EXCHANGE_ENDS, 0, "a filter's timer is late");
    if (own->paused[direction] && !credit) {
        exchange_filter_host.resume(exchange, direction);
        own->paused[direction] = false;
    } else if (own->held[direction].bytes && !masks(exchange)) {
        let_go(exchange, direction);
    }
    return WEIR_CONTINUE;
}

void meddler_uses(const struct filter_use **uses)
{
    static weir_filter filter = {.size = sizeof filter,
                                 .name = "meddler",
                                 .state_size = sizeof(struct meddling),
                                 .open = on_open,
                                 .request = on_request,
                                 .route = on_way,
                                 .upstream = on_way,
                                 .response = on_response,
                                 .request_body = on_bytes,
                                 .response_body = on_bytes,
                                 .tunnel = on_bytes,
                                 .body_full = on_whole,
                                 .trailers = on_trailers,
                                 .event = on_event,
                                 .close = on_close};
    static const struct filter_use mask = {.filter = &filter,
                                           .plugin = "meddler",
                                           .instance = &filter},
                                   free_hand = {.filter = &filter,
                                                .plugin = "meddler",
                                                .buffer_limit = BODIES_MOST};
    filter.flags = simulation.seed % 2 ? WEIR_FILTER_EDITS_REQUEST | WEIR_FILTER_EDITS_RESPONSE : 0;
    uses[0] = uses[3] = &mask;
    uses[1] = uses[2] = &free_hand;
    opened = holding = 0;
}

void meddler_check(void)
{
    if (opened || holding)
        violated(NOTHING_LEFT, 0, "filters have %" PRId64 " exchanges open, hold bytes of %" PRId64,
                 opened, holding);
}
