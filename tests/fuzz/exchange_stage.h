/* tests/fuzz/exchange_stage.h - where exchange.c plays: state, clock, carriers, dialling
 *
 * Included once. What touches the system in core/io, and core/upstream/dial.c, are replaced here.
 */
#ifndef TESTS_FUZZ_EXCHANGE_STAGE_H
#define TESTS_FUZZ_EXCHANGE_STAGE_H

#include <stdio.h>
#include <stdlib.h>

#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/connection/connection.h"
#include "core/io/loop.h"
#include "core/io/owner.h"
#include "core/io/work.h"
#include "core/upstream/dial.h"

#define must(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, __LINE__, #condition);             \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

enum {
    STORIES_MOST = 24,
    LEGS_MOST = 128,
    PEERS_MOST = 128,
    DIALS_MOST = 96,
    TRIES_MOST = 3,
    WAKES = 16
};

/* What a filter does instead of going on, and in which hook. */
enum filter_plan {
    PLAN_NOTHING,
    PLAN_RESPOND_REQUEST,
    PLAN_RESPOND_UPSTREAM,
    PLAN_RESPOND_RESPONSE,
    PLAN_FAIL_OPEN,
    PLAN_FAIL_REQUEST,
    PLAN_FAIL_UPSTREAM,
    PLAN_FAIL_RESPONSE
};

/* What the protocols do inside of core's calls, until the mood changes. */
enum mood {
    MOOD_REFUSE_HEAD = 1,
    MOOD_FAIL_IN_HEAD = 2,
    MOOD_FAIL_IN_DATA = 4,
    MOOD_LEAVES_AT_ONCE = 8,  /* bytes are gone when they are given */
    MOOD_ANSWER_IN_HEAD = 16, /* like a tunnel's end, which has nothing to wait for */
    MOOD_RESET_CLOSES = 32,   /* like h1, whose connection is its message */
    MOOD_CLOSE_CLOSES = 64,
    MOOD_SMALL_CREDIT = 128
};

/* One connection as its protocol sees it. */
struct peer {
    weir_connection *connection; /* NULL: gone */
    bool server, raw, closed;
    uint32_t open_legs;
};

/* One leg of one exchange as its protocol sees it. */
struct leg {
    struct peer *peer;
    weir_channel *channel; /* NULL: closed or detached */
    struct story *story;
    bool server;
    /* what it delivers */
    bool head, answered, ended, trailers, broken;
    bool failed, unprocessed, reused;
    weir_result why;
    uint64_t delivered, granted;
    bool paid_ahead; /* granted for bytes that had not left: only right before the end */
    /* what it is sent */
    bool sent_head, sent_end, sent_trailers, reset;
    uint64_t credit, position, left;
    const struct leg *source; /* of a response: NULL, weir's own */
    int64_t own_length;       /* of an answer that is weir's own */
    bool streams;             /* it is a filter's, and more of it comes than it was given */
};

/* What filters did to one direction of an exchange, beside what passes it unchanged. */
struct deeds {
    bool changed; /* bytes are others, or are not there */
    bool ended;   /* it ends although its source has not ended */
    bool loose;   /* bytes are paid back that did not leave on the other side */
    bool trailed;
};

/* One request, whoever takes part in it. */
struct story {
    struct leg *client, *server; /* server: the last try's */
    bool idempotent, over, upgrades;
    enum filter_plan plan;
    uint32_t attempts, opens, closes;
    struct deeds deeds[2]; /* by direction */
    bool stream_ended;     /* the filter that answers has said so */
};

struct fake_carrier {
    struct carrier carrier;
    struct fake_carrier *next_closing;
    bool closing;
};

struct dial {
    struct mark *owner;
    enum dial_state state;
    weir_result error;
    struct address addresses[3];
    uint32_t count, forbidden;
};

static struct play {
    const uint8_t *input;
    size_t left;
    uint64_t now_ms;
    uint32_t mood;
    struct worker worker;
    struct turn turn;
    struct wheel wheel;
    struct snapshot snapshot;
    struct snapshot_use use;
    struct connection_terms terms;
    struct story stories[STORIES_MOST];
    struct leg legs[LEGS_MOST];
    struct peer peers[PEERS_MOST];
    uint32_t story_count, leg_count, peer_count;
    struct fake_carrier *closing;
    struct dial *dials[DIALS_MOST]; /* NULL: over */
    uint32_t dial_count, lines;
    bool meddling;               /* there are filters that may do anything */
    uint32_t open_meddlers;      /* that are to be closed */
    weir_reference wakes[WAKES]; /* of filters that wait, or did */
    uint32_t wake_count;
    uint32_t given, drops; /* data for posts and work */
    struct work *works;
    void (*posted)(void *user);
    void *posted_user;
} play;

static const weir_protocol_host *const api = &connection_protocol_host;
static char upstream_name[] = "spare", upstream_server[] = "u.test:80", upstream_protocol[] = "h1",
            via_name[] = "weir-test";
static char *upstream_servers[] = {upstream_server};
static struct port_range connect_ports = {26, 65535};
static struct upstream_group upstream = {
    .name = upstream_name, .servers = upstream_servers, .count = 1, .protocol = upstream_protocol};

static uint32_t take(void)
{
    if (!play.left)
        return 0;
    play.left--;
    return *play.input++;
}

static bool in_mood(enum mood mood)
{
    return play.mood & mood;
}

/* --- the clock */

uint64_t loop_now_ms(struct loop *loop)
{
    (void)loop;
    return play.now_ms;
}

uint64_t loop_now_us(struct loop *loop)
{
    (void)loop;
    return play.now_ms * 1000;
}

uint64_t loop_wall_us(struct loop *loop)
{
    (void)loop;
    return play.now_ms * 1000;
}

/* --- other threads: what they would do is done between two turns */

void loop_post(struct loop *loop, void (*call)(void *user), void *user)
{
    (void)loop;
    must(!play.posted);
    play.posted = call;
    play.posted_user = user;
}

struct work {
    struct work *next;
    weir_result (*run)(void *data);
    void (*done)(void *data, weir_result result);
    void *data;
    bool cancelled;
};

struct work *work_start(struct loop *loop, weir_result (*run)(void *data),
                        void (*done)(void *data, weir_result result), void *data)
{
    struct work *work = memory_zeroed(sizeof *work);
    (void)loop;
    *work = (struct work){play.works, run, done, data, false};
    play.works = work;
    return work;
}

void work_cancel(struct work *work)
{
    work->cancelled = true;
}

static void end_works(void)
{
    while (play.works) {
        struct work work = *play.works;
        memory_free(play.works);
        play.works = work.next;
        work.done(work.data, work.cancelled ? WEIR_CANCELLED : work.run(work.data));
    }
}

static void hear_others(void)
{
    void (*posted)(void *user) = play.posted;
    play.posted = NULL;
    if (posted)
        posted(play.posted_user);
    end_works();
}

/* --- carriers: they only close, and say so later */

static void carrier_does_nothing(struct carrier *carrier)
{
    (void)carrier;
}

static void close_carrier(struct carrier *carrier, uint32_t how)
{
    struct fake_carrier *fake = CONTAINER(carrier, struct fake_carrier, carrier);
    must(how <= CARRIER_CLOSE_RESET);
    if (fake->closing)
        return;
    fake->closing = true;
    fake->next_closing = play.closing;
    play.closing = fake;
}

static const struct carrier_operations carrier_operations = {.open = carrier_does_nothing,
                                                             .close = close_carrier};

static struct carrier *new_carrier(void)
{
    struct fake_carrier *fake = memory_zeroed(sizeof *fake);
    fake->carrier.operations = &carrier_operations;
    address_from_literal(WEIR_STRING("192.0.2.1"), 80, &fake->carrier.facts.peer);
    address_from_literal(WEIR_STRING("192.0.2.99"), 3128, &fake->carrier.facts.local);
    return &fake->carrier;
}

static void close_carriers(void)
{
    while (play.closing) {
        struct fake_carrier *fake = play.closing;
        play.closing = fake->next_closing;
        if (fake->carrier.events)
            fake->carrier.events->closed(fake->carrier.user);
        memory_free(fake);
    }
}

/* --- dialling */

static void forget_dial(struct dial *dial)
{
    for (uint32_t i = 0; i < play.dial_count; i++)
        if (play.dials[i] == dial)
            play.dials[i] = NULL;
    memory_free(dial);
}

/* The last address is where the client reached weir: it is always forbidden. */
static void find_addresses(struct dial *dial)
{
    static const char *const literals[] = {"192.0.2.1", "192.0.2.2", "192.0.2.99"};
    uint32_t choice = take();
    dial->forbidden = 0;
    dial->count = choice % 2 + 1;
    for (uint32_t i = 0; i < dial->count; i++)
        address_from_literal(string_of(literals[(choice / 2 + i) % 3]), 3128, &dial->addresses[i]);
    dial->state = DIAL_ADDRESSES;
}

struct dial *dial_start(struct worker *worker, weir_string host, uint16_t port, uint32_t connect_ms,
                        struct mark *owner)
{
    struct dial *dial = memory_zeroed(sizeof *dial);
    must(worker == &play.worker && host.length && port && play.dial_count < DIALS_MOST);
    (void)connect_ms;
    dial->owner = owner;
    if (take() % 2)
        find_addresses(dial);
    play.dials[play.dial_count++] = dial;
    return dial;
}

void dial_secure(struct dial *of, struct tls_context *context, weir_string host,
                 const char *const *alpn, uint32_t handshake_ms)
{
}

enum dial_state dial_state(const struct dial *dial)
{
    return dial->state;
}

uint32_t dial_addresses(const struct dial *dial, const struct address **addresses)
{
    must(dial->state == DIAL_ADDRESSES);
    *addresses = dial->addresses;
    return dial->count;
}

void dial_forbid(struct dial *dial, uint32_t index)
{
    must(dial->state == DIAL_ADDRESSES && index < dial->count);
    dial->forbidden |= 1u << index;
}

static void dial_fails(struct dial *dial, weir_result error)
{
    dial->state = DIAL_FAILED;
    dial->error = error;
}

void dial_go(struct dial *dial)
{
    must(dial->state == DIAL_ADDRESSES);
    dial->state = DIAL_WAITING;
    if (dial->forbidden == (1u << dial->count) - 1)
        dial_fails(dial, WEIR_ADDRESS_PROHIBITED);
}

struct carrier *dial_take(struct dial *dial)
{
    must(dial->state == DIAL_CONNECTED);
    forget_dial(dial);
    return new_carrier();
}

weir_result dial_error(const struct dial *dial)
{
    must(dial->state == DIAL_FAILED);
    return dial->error;
}

struct dial_times dial_times(const struct dial *dial)
{
    must(dial->state == DIAL_FAILED || dial->state == DIAL_CONNECTED);
    return (struct dial_times){1, 2};
}

bool dial_forbade(const struct dial *dial)
{
    return dial->forbidden != 0;
}

void dial_hand_over(struct dial *dial, struct mark *owner)
{
    dial->owner = owner;
}

void dial_cancel(struct dial *dial)
{
    forget_dial(dial);
}

#endif
