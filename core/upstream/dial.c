/* core/upstream/dial.c - from host and port to a carrier: resolve, have judged, race addresses
 *
 * Every event ends in advance(), which looks at all that is known and does what is due: ask the
 * owner to judge, start the next attempt, or give up. Addresses are kept in the order in which they
 * came; those of one batch are judged together, and what comes meanwhile is the next batch. */
#include "core/upstream/dial.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/base/block.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/io/dns.h"
#include "core/io/loop.h"
#include "core/io/tcp.h"
#include "core/io/tls.h"

enum {
    RESOLUTION_DELAY_MS = 50, /* RFC 8305 8 */
    ATTEMPT_DELAY_MS = 250,
    ADDRESSES_MOST = 2 * DNS_ADDRESSES_MOST
};
static_assert(ADDRESSES_MOST <= 32, "sets of addresses are bits of a uint32_t");

enum { SIX, FOUR, FAMILIES };

struct lookup {
    struct dial *dial;
    struct dns_query *query; /* NULL: answered, or never asked */
};

struct racer {
    struct link link;
    struct dial *dial;
    struct tcp_connect *connect;
};

/* What goes on top of TCP. */
struct security {
    struct tls_context *context; /* the dial's reference; NULL: nothing */
    struct tls_handshake *handshake;
    char *host;
    const char *alpn[DIAL_ALPN_MOST + 1];
    uint32_t limit_ms;
};

struct dial {
    struct worker *worker;
    struct mark *owner;
    enum dial_state state;
    weir_result error; /* the most telling so far, 0: none */
    struct lookup lookups[FAMILIES];
    struct link racers; /* attempts in flight */
    struct wheel_entry deadline;
    struct wheel_entry pace; /* first for the resolution delay, then for the attempt delay */
    bool pacing;             /* it runs */
    bool six_next;
    bool forbidden; /* at least one address was */
    uint16_t port;
    uint32_t count, judged, batch;  /* addresses known, judged before, and to be judged now */
    uint32_t six, allowed, untried; /* sets: IPv6; allowed of the batch; allowed and waiting */
    uint64_t begun_us, resolved_us, ended_us; /* 0: not yet */
    struct security security;
    struct carrier *carrier;
    struct address addresses[ADDRESSES_MOST];
};
static_assert(sizeof(struct dial) <= BLOCK_BYTES, "it lives as long as a block");

/* --- how it ends */

static weir_result result_of(int error)
{
    switch (-error) {
    case ECONNREFUSED:
    case ECONNRESET:
        return WEIR_CONNECTION_REFUSED;
    case ETIMEDOUT:
        return WEIR_CONNECTION_TIMEOUT;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        return WEIR_LIMIT_REACHED;
    default: /* ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL, EACCES ... */
        return WEIR_UNROUTABLE;
    }
}

/* Whoever answered says more than whoever did not, and that more than the lack of a way there. */
static int telling(weir_result result)
{
    switch (result) {
    case WEIR_CONNECTION_REFUSED:
        return 4;
    case WEIR_CONNECTION_TIMEOUT:
        return 3;
    case WEIR_LIMIT_REACHED:
        return 2;
    case WEIR_UNROUTABLE:
        return 1;
    default:
        return 0;
    }
}

static void stop(struct dial *dial)
{
    wheel_clear(&dial->deadline);
    wheel_clear(&dial->pace);
    for (int family = 0; family < FAMILIES; family++)
        if (dial->lookups[family].query)
            dns_cancel(dial->lookups[family].query);
    while (!link_alone(&dial->racers)) {
        struct racer *racer = CONTAINER(dial->racers.next, struct racer, link);
        tcp_connect_cancel(racer->connect);
        link_remove(&racer->link);
        memory_free(racer);
    }
}

static void stop_for_good(struct dial *dial)
{
    stop(dial);
    dial->lookups[SIX].query = dial->lookups[FOUR].query = NULL;
}

static void end(struct dial *dial, enum dial_state state)
{
    stop_for_good(dial);
    dial->ended_us = loop_now_us(dial->worker->loop);
    dial->state = state;
}

static void fail(struct dial *dial)
{
    if (!dial->error)
        dial->error = dial->forbidden ? WEIR_ADDRESS_PROHIBITED : WEIR_DNS_ERROR;
    end(dial, DIAL_FAILED);
}

/* --- the race */

static void on_connect(void *user, struct carrier *carrier, int error);

/* The families take turns while both have addresses left. */
static uint32_t next_address(const struct dial *dial)
{
    uint32_t turn = dial->untried & (dial->six_next ? dial->six : ~dial->six);
    return (uint32_t)__builtin_ctz(turn ? turn : dial->untried);
}

static void start_next(struct dial *dial)
{
    uint32_t index = next_address(dial);
    struct racer *racer = memory_allocate(sizeof *racer);
    dial->untried &= ~(1u << index);
    dial->six_next = !(dial->six >> index & 1);
    racer->dial = dial;
    link_insert(&dial->racers, &racer->link);
    racer->connect = tcp_connect(dial->worker->loop, &dial->addresses[index], on_connect, racer);
    dial->pacing = true;
    wheel_set(dial->worker->wheel, &dial->pace, loop_now_ms(dial->worker->loop) + ATTEMPT_DELAY_MS);
}

/* IPv4 alone waits a little for IPv6. */
static bool holding_back(const struct dial *dial)
{
    return dial->pacing && dial->lookups[SIX].query;
}

static bool exhausted(const struct dial *dial)
{
    return dial->judged == dial->count && !dial->untried && link_alone(&dial->racers) &&
           !dial->lookups[SIX].query && !dial->lookups[FOUR].query;
}

static void begin_batch(struct dial *dial)
{
    dial->state = DIAL_ADDRESSES;
    dial->batch = dial->count - dial->judged;
    dial->allowed = (uint32_t)((1ull << dial->count) - (1ull << dial->judged));
}

static void advance(struct dial *dial)
{
    if (dial->state == DIAL_WAITING && dial->judged < dial->count && !holding_back(dial))
        begin_batch(dial);
    if (dial->untried && (!dial->pacing || link_alone(&dial->racers)))
        start_next(dial);
    else if (exhausted(dial))
        fail(dial);
}

/* --- events: they end here and mark the owner when it has something to do */

static void advance_and_mark(struct dial *dial)
{
    enum dial_state before = dial->state;
    if (before == DIAL_WAITING || before == DIAL_ADDRESSES)
        advance(dial);
    if (dial->state != before)
        turn_mark(dial->worker->turn, TURN_EXCHANGES, dial->owner);
}

static void win(struct dial *dial, struct carrier *carrier)
{
    dial->carrier = carrier;
    end(dial, DIAL_CONNECTED);
    turn_mark(dial->worker->turn, TURN_EXCHANGES, dial->owner);
}

static void on_secured(void *user, struct carrier *carrier, weir_result why)
{
    struct dial *dial = user;
    dial->security.handshake = NULL;
    if (carrier) {
        win(dial, carrier);
        return;
    }
    dial->error = why;
    fail(dial);
    turn_mark(dial->worker->turn, TURN_EXCHANGES, dial->owner);
}

/* The race is won; whatever else is known of addresses does not matter any more. */
static void secure(struct dial *dial, struct carrier *carrier)
{
    const struct security *security = &dial->security;
    stop_for_good(dial);
    dial->state = DIAL_WAITING;
    dial->security.handshake = builtin_tls->start(&(struct tls_start){
        .worker = dial->worker,
        .below = carrier,
        .context = security->context,
        .limit_ms = security->limit_ms,
        .host = {security->host, strlen(security->host)},
        .port = dial->port,
        .alpn = security->alpn,
        .done = on_secured,
        .user = dial,
    });
}

static void on_connect(void *user, struct carrier *carrier, int error)
{
    struct racer *racer = user;
    struct dial *dial = racer->dial;
    link_remove(&racer->link);
    memory_free(racer);
    if (carrier && dial->security.context) {
        secure(dial, carrier);
        return;
    }
    if (carrier) {
        win(dial, carrier);
        return;
    }
    if (telling(result_of(error)) > telling(dial->error))
        dial->error = result_of(error);
    dial->pacing = false; /* the next one does not wait */
    advance_and_mark(dial);
}

static void on_pace(struct wheel_entry *entry)
{
    struct dial *dial = CONTAINER(entry, struct dial, pace);
    dial->pacing = false;
    advance_and_mark(dial);
}

static void on_deadline(struct wheel_entry *entry)
{
    struct dial *dial = CONTAINER(entry, struct dial, deadline);
    if (!link_alone(&dial->racers) || dial->untried || dial->judged < dial->count)
        dial->error = WEIR_CONNECTION_TIMEOUT;
    fail(dial);
    turn_mark(dial->worker->turn, TURN_EXCHANGES, dial->owner);
}

static void learn(struct dial *dial, const struct dns_answer *answer)
{
    if (answer->count && !dial->resolved_us)
        dial->resolved_us = loop_now_us(dial->worker->loop);
    for (uint32_t i = 0; i < answer->count; i++) {
        struct address *address = &dial->addresses[dial->count];
        *address = answer->addresses[i];
        address_set_port(address, dial->port);
        if (address->any.sa_family == AF_INET6)
            dial->six |= 1u << dial->count;
        dial->count++;
    }
    if (answer->count && dial->lookups[SIX].query) {
        dial->pacing = true;
        wheel_set(dial->worker->wheel, &dial->pace,
                  loop_now_ms(dial->worker->loop) + RESOLUTION_DELAY_MS);
    }
}

static void on_answer(void *user, const struct dns_answer *answer)
{
    struct lookup *lookup = user;
    lookup->query = NULL;
    learn(lookup->dial, answer);
    advance_and_mark(lookup->dial);
}

/* --- what the owner calls */

static void resolve(struct dial *dial, weir_string host)
{
    static const int families[FAMILIES] = {[SIX] = AF_INET6, [FOUR] = AF_INET};
    for (int family = 0; family < FAMILIES; family++) {
        struct lookup *lookup = &dial->lookups[family];
        struct dns_answer answer;
        lookup->dial = dial;
        lookup->query =
            dns_resolve(dial->worker->dns, host, families[family], &answer, on_answer, lookup);
        if (!lookup->query)
            learn(dial, &answer);
    }
}

struct dial *dial_start(struct worker *worker, weir_string host, uint16_t port, uint32_t connect_ms,
                        struct mark *owner)
{
    struct dial *dial = block_new();
    struct dns_answer literal = {.count = 1};
    TRACE();
    memset(dial, 0, sizeof *dial);
    dial->worker = worker;
    dial->owner = owner;
    dial->port = port;
    dial->six_next = true;
    dial->begun_us = loop_now_us(worker->loop);
    link_init(&dial->racers);
    wheel_entry_init(&dial->deadline, on_deadline);
    wheel_entry_init(&dial->pace, on_pace);
    if (connect_ms)
        wheel_set(worker->wheel, &dial->deadline, loop_now_ms(worker->loop) + connect_ms);
    if (address_from_literal(host, port, &literal.addresses[0])) {
        dial->resolved_us = dial->begun_us;
        learn(dial, &literal);
    } else {
        resolve(dial, host);
    }
    advance(dial);
    return dial;
}

void dial_secure(struct dial *dial, struct tls_context *context, weir_string host,
                 const char *const *alpn, uint32_t handshake_ms)
{
    struct security *security = &dial->security;
    security->context = builtin_tls->context_take(context);
    security->host = memory_copy_string(host);
    security->limit_ms = handshake_ms;
    for (int i = 0; i < DIAL_ALPN_MOST && alpn[i]; i++)
        security->alpn[i] = alpn[i];
}

static void dial_free(struct dial *dial)
{
    builtin_tls->context_drop(dial->security.context);
    memory_free(dial->security.host);
    block_free(dial);
}

enum dial_state dial_state(const struct dial *dial)
{
    return dial->state;
}

uint32_t dial_addresses(const struct dial *dial, const struct address **addresses)
{
    *addresses = &dial->addresses[dial->judged];
    return dial->batch;
}

void dial_forbid(struct dial *dial, uint32_t index)
{
    assert(index < dial->batch);
    dial->allowed &= ~(1u << (dial->judged + index));
    dial->forbidden = true;
}

void dial_go(struct dial *dial)
{
    TRACE();
    if (dial->state != DIAL_ADDRESSES)
        return; /* it connected or failed while the owner was judging */
    dial->state = DIAL_WAITING;
    dial->judged += dial->batch;
    dial->batch = 0;
    dial->untried |= dial->allowed;
    dial->allowed = 0;
    advance(dial);
}

struct carrier *dial_take(struct dial *dial)
{
    struct carrier *carrier = dial->carrier;
    TRACE();
    assert(dial->state == DIAL_CONNECTED);
    dial_free(dial);
    return carrier;
}

weir_result dial_error(const struct dial *dial)
{
    return dial->error;
}

bool dial_forbade(const struct dial *dial)
{
    return dial->forbidden;
}

void dial_hand_over(struct dial *dial, struct mark *owner)
{
    dial->owner = owner;
}

struct dial_times dial_times(const struct dial *dial)
{
    if (!dial->resolved_us)
        return (struct dial_times){.resolve_us = dial->ended_us - dial->begun_us};
    return (struct dial_times){
        .resolve_us = dial->resolved_us - dial->begun_us,
        .connect_us = dial->ended_us - dial->resolved_us,
    };
}

void dial_cancel(struct dial *dial)
{
    stop(dial);
    if (dial->security.handshake)
        builtin_tls->cancel(dial->security.handshake);
    if (dial->carrier)
        carrier_close(dial->carrier, CARRIER_CLOSE_NOW);
    dial_free(dial);
}
