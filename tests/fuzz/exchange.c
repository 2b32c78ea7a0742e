/* tests/fuzz/exchange.c - random events against the exchange's step: both legs keep their contract
 *
 * Everything of core above the network is the product's own; dialling, carriers, the clock and the
 * protocols are this file's. A protocol here parses nothing: the input says what its peers do, an
 * event at a time, and its operations check whatever core asks of it. Input: a byte of settings,
 * one for how the play ends, then events, each with the bytes that it takes.
 *
 * Aborts when credit is exceeded, a call comes after close or detach, a head or an end comes twice,
 * bytes are lost, doubled or out of order, a message that was cut looks complete, a request is
 * repeated that must not be, a filter is not closed as often as opened, the log lacks a line, an
 * exchange is left over or spins, or waits for ever although every limit has passed. */
#include "core/base/log.h"
#include "core/exchange/access_lines.h"
#include "core/exchange/exchange.h"
#include "core/upstream/pool.h"
#include "core/upstream/route.h"
#include "tests/fuzz/exchange_filters.h"
#include "tests/fuzz/exchange_protocol.h"
#include "tests/registry_of.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CLIENTS_MOST = 8, QUIET_TURNS = 64, ENDING_ROUNDS = 400 };

/* --- events: what a peer's bytes would have made a protocol do */

/* The `choice`th of the legs of that side that are alive and in use. */
static struct leg *choose_leg(bool server)
{
    uint32_t choice = take(), count = 0;
    struct leg *found[LEGS_MOST];
    for (uint32_t i = 0; i < play.leg_count; i++) {
        struct leg *leg = &play.legs[i];
        if (leg->channel && leg->server == server && !leg->failed && !leg->reset &&
            (!server || leg->sent_head))
            found[count++] = leg;
    }
    return count ? found[choice % count] : NULL;
}

static struct peer *choose_peer(bool server)
{
    uint32_t choice = take(), count = 0;
    struct peer *found[PEERS_MOST];
    for (uint32_t i = 0; i < play.peer_count; i++)
        if (!play.peers[i].closed && play.peers[i].server == server)
            found[count++] = &play.peers[i];
    if (!server && (!count || (choice % 2 && count < CLIENTS_MOST))) {
        if (play.peer_count > PEERS_MOST - STORIES_MOST * TRIES_MOST)
            return NULL;
        connection_open(&play.worker, new_carrier(), &http, WEIR_CLIENT_SIDE)->terms = &play.terms;
        return &play.peers[play.peer_count - 1];
    }
    return count ? found[choice / 2 % count] : NULL;
}

struct shape {
    const char *method, *scheme, *authority, *path, *protocol;
    uint32_t kind, flags;
    const char *name, *value; /* of a field */
};

static const struct shape shapes[] = {
    {"GET", "http", "a.test", "/", "", WEIR_REQUEST, WEIR_END, "Accept", "*"},
    {"POST", "http", "a.test", "/", "", WEIR_REQUEST, 0, "Accept", "*"},
    {"PUT", "http", "b.test:81", "/", "", WEIR_REQUEST, 0, "Accept", "*"},
    {"CONNECT", "", "a.test:443", "", "", WEIR_TUNNEL, 0, "Accept", "*"},
    {"GET", "http", "a.test", "/", "websocket", WEIR_REQUEST, 0, "Upgrade", "websocket"},
    {"GET", "", "", "/", "", WEIR_MALFORMED_REQUEST, WEIR_END, "Accept", "*"},
    {"POST", "http", "a.test", "/", "", WEIR_REQUEST, 0, "Expect", "100-continue"},
    {"OPTIONS", "http", "a.test", "*", "", WEIR_REQUEST, WEIR_END, "Max-Forwards", "0"},
    {"TRACE", "http", "a.test", "/", "", WEIR_REQUEST, 0, "Max-Forwards", "0"},
    {"GET", "", "a.test", "/", "", WEIR_REQUEST, WEIR_END, "Accept", "*"},
    {"GET", "http", "a.test", "/", "", WEIR_REQUEST, 0, "Via", "1.1 weir-test"},
    {"CONNECT", "", "a.test:25", "", "", WEIR_TUNNEL, 0, "Accept", "*"},
    {"DELETE", "http", "a.test", "/", "", WEIR_REQUEST, WEIR_END, "Connection", "X-Other"},
    {"GET", "https", "a.test", "/", "", WEIR_REQUEST, 0, "Accept", "*"},
};

static bool idempotent(const struct shape *shape)
{
    return strcmp(shape->method, "POST") != 0 && strcmp(shape->method, "CONNECT") != 0;
}

static void begin(struct peer *peer)
{
    const struct shape *shape = &shapes[take() % (sizeof shapes / sizeof *shapes)];
    uint32_t choice = take();
    if (!peer || play.story_count == STORIES_MOST)
        return;
    struct story *story = &play.stories[play.story_count++];
    struct leg *leg = new_leg(peer);
    char number = (char)(leg - play.legs);
    weir_field fields[] = {{WEIR_STRING("X-Leg"), {&number, 1}},
                           {string_of(shape->name), string_of(shape->value)}};
    weir_head head = {.size = sizeof head,
                      .kind = shape->kind,
                      .flags = shape->flags,
                      .version = WEIR_STRING("1.1"),
                      .method = string_of(shape->method),
                      .scheme = string_of(shape->scheme),
                      .authority = string_of(shape->authority),
                      .path = string_of(shape->path),
                      .protocol = string_of(shape->protocol),
                      .fields = fields,
                      .count = 2,
                      .error = shape->kind == WEIR_MALFORMED_REQUEST ? WEIR_MALFORMED : WEIR_OK,
                      .content_length = choice & 1 ? (int64_t)choice * 1000 : -1};
    story->client = leg;
    story->idempotent = idempotent(shape);
    story->upgrades = shape->protocol[0];
    story->plan = choice & 2 ? (enum filter_plan)(choice / 4 % 8) : PLAN_NOTHING;
    leg->story = story;
    leg->head = true;
    leg->ended = shape->flags & WEIR_END;
    join_channel(leg, api->begin(peer->connection, &head));
    api->grant(leg->channel, leg->credit);
}

static void answer(struct leg *leg, uint32_t choice)
{
    static const uint32_t statuses[] = {200, 100, 103, 204, 304, 500, 299, 101};
    if (!leg || leg->head)
        return;
    uint32_t status = statuses[choice % 8];
    if (status == 101 && !leg->story->upgrades)
        status = 299; /* no protocol takes that for an answer */
    bool tunnel = leg->peer->raw || status == 101;
    bool interim = status < 200 && !tunnel;
    deliver_head(leg, leg->peer->raw ? 200 : status, tunnel ? WEIR_TUNNEL : WEIR_REQUEST,
                 (choice & 8) && !tunnel && !interim ? WEIR_END : 0,
                 choice & 16 ? "text/event-stream" : NULL);
}

static void give_up(struct leg *leg, uint32_t choice)
{
    static const weir_result reasons[] = {WEIR_CONNECTION_TERMINATED, WEIR_RESET, WEIR_TRUNCATED,
                                          WEIR_SERVER_PROTOCOL_ERROR, WEIR_REFUSED};
    if (leg)
        fail(leg, reasons[choice / 2 % 5], (choice & 1) && leg->server && !leg->answered);
}

static void break_off(struct leg *leg)
{
    if (!may_deliver(leg) || leg->server)
        return;
    leg->broken = true;
    api->deliver_error(leg->channel, take() % 2 ? WEIR_MALFORMED : WEIR_REQUEST_TRUNCATED);
}

static void close_somebody(bool server)
{
    static const weir_result reasons[] = {WEIR_OK, WEIR_RESET, WEIR_CONNECTION_TERMINATED,
                                          WEIR_STOPPING};
    uint32_t choice = take();
    struct peer *peer = choose_peer(server);
    weir_result why = reasons[choice / 4 % 4];
    if (peer)
        close_peer(peer, choice % 4, peer->open_legs && why == WEIR_OK ? WEIR_RESET : why);
}

static void dial_event(uint32_t choice)
{
    static const weir_result errors[] = {WEIR_DNS_ERROR, WEIR_CONNECTION_REFUSED,
                                         WEIR_CONNECTION_TIMEOUT, WEIR_UNROUTABLE};
    struct dial *dial = play.dial_count ? play.dials[choice / 4 % play.dial_count] : NULL;
    if (!dial || dial->state != DIAL_WAITING)
        return;
    if (choice % 4 == 0)
        find_addresses(dial);
    else if (choice % 4 == 1)
        dial_fails(dial, errors[choice / 4 % 4]);
    else
        dial->state = DIAL_CONNECTED;
    turn_mark(&play.turn, TURN_EXCHANGES, dial->owner);
}

static void let_time_pass(uint64_t ms)
{
    play.now_ms += ms;
    wheel_advance(&play.wheel, play.now_ms);
}

/* Memory goes back at once, so that whoever still uses it is seen. */
static bool run_turn(void)
{
    hear_others();
    bool more = turn_run(&play.turn) || play.posted || play.works;
    for (uint32_t i = 0; i < play.leg_count; i++)
        must(!play.legs[i].paid_ahead || !play.legs[i].channel);
    close_carriers();
    buffer_pool_deinit();
    arena_pool_deinit();
    return more;
}

enum event {
    EVENT_TURN,
    EVENT_BEGIN,
    EVENT_CLIENT_DATA,
    EVENT_CLIENT_END,
    EVENT_ANSWER,
    EVENT_SERVER_DATA,
    EVENT_SERVER_END,
    EVENT_LEAVES,
    EVENT_DIAL,
    EVENT_TIME,
    EVENT_MOOD,
    EVENT_FAIL,
    EVENT_TRAILERS,
    EVENT_BREAK_OFF,
    EVENT_CLOSE,
    EVENT_DRAIN_OR_WAKE
};
enum { EVENTS = EVENT_DRAIN_OR_WAKE + 1 };

static void deliver_some(bool server)
{
    struct leg *leg = choose_leg(server);
    uint32_t choice = take();
    if (may_deliver(leg))
        deliver_data(leg, choice < 128 ? choice + 1 : (choice - 127) * 512, false);
}

static void deliver_end(bool server)
{
    struct leg *leg = choose_leg(server);
    if (may_deliver(leg))
        deliver_data(leg, take() * 4, true);
}

static void trail_off(bool server)
{
    struct leg *leg = choose_leg(server);
    if (may_deliver(leg))
        deliver_trailers(leg);
}

static void some_leave(bool server)
{
    struct leg *leg = choose_leg(server);
    uint32_t choice = take();
    if (leg)
        bytes_leave(leg, choice < 128 ? choice + 1 : UINT64_MAX);
}

/* Another thread has something for a filter that said its name once. */
static void wake_somebody(void)
{
    uint32_t choice = take();
    play.given++;
    asynchronous_host.post(play.wakes[choice % WAKES], choice / WAKES % 2, &play, drop);
}

static void happen(enum event event, bool side)
{
    switch (event) {
    case EVENT_TURN:
        run_turn();
        break;
    case EVENT_BEGIN:
        begin(choose_peer(false));
        break;
    case EVENT_CLIENT_DATA:
        deliver_some(false);
        break;
    case EVENT_CLIENT_END:
        deliver_end(false);
        break;
    case EVENT_ANSWER:
        answer(choose_leg(true), take());
        break;
    case EVENT_SERVER_DATA:
        deliver_some(true);
        break;
    case EVENT_SERVER_END:
        deliver_end(true);
        break;
    case EVENT_LEAVES:
        some_leave(side);
        break;
    case EVENT_DIAL:
        dial_event(take());
        break;
    case EVENT_TIME:
        let_time_pass(take() * 50);
        break;
    case EVENT_MOOD:
        play.mood = take();
        break;
    case EVENT_FAIL:
        give_up(choose_leg(side), take());
        break;
    case EVENT_TRAILERS:
        trail_off(side);
        break;
    case EVENT_BREAK_OFF:
        break_off(choose_leg(false));
        break;
    case EVENT_CLOSE:
        close_somebody(side);
        break;
    case EVENT_DRAIN_OR_WAKE:
        if (side)
            play.worker.draining = true;
        else
            wake_somebody();
        break;
    }
}

/* --- how a play ends */

static bool all_over(void)
{
    return !metric_read(&play.worker.metrics, METRIC_EXCHANGES_OPEN);
}

/* Nothing happens any more: sooner or later nothing is to be done. */
static void must_come_to_rest(void)
{
    uint32_t turns = 0;
    while (run_turn())
        must(++turns < QUIET_TURNS);
}

/* Everybody does what is still to be done. */
static void help(struct leg *leg)
{
    if (!leg->channel || leg->failed || leg->reset)
        return;
    bytes_leave(leg, UINT64_MAX);
    if (leg->server && leg->sent_head && !leg->head)
        answer(leg, 0);
    else if (may_deliver(leg))
        deliver_data(leg, 100, true);
}

static void connect_all(void)
{
    for (uint32_t i = 0; i < play.dial_count; i++) {
        struct dial *dial = play.dials[i];
        if (!dial || dial->state != DIAL_WAITING)
            continue;
        dial->state = DIAL_CONNECTED;
        turn_mark(&play.turn, TURN_EXCHANGES, dial->owner);
    }
}

static void end_well(void)
{
    play.mood = 0;
    for (uint32_t round = 0; !all_over(); round++) {
        must(round < ENDING_ROUNDS);
        connect_all();
        for (uint32_t i = 0; i < play.leg_count; i++)
            help(&play.legs[i]);
        let_time_pass(play.meddling ? 100 : 0); /* filters wait for it */
        run_turn();
    }
}

/* Everybody is silent: the time limits end it. */
static void end_in_silence(void)
{
    for (uint32_t i = 0; i < play.dial_count; i++)
        if (play.dials[i] && play.dials[i]->state == DIAL_WAITING) {
            dial_fails(play.dials[i], WEIR_CONNECTION_TIMEOUT);
            turn_mark(&play.turn, TURN_EXCHANGES, play.dials[i]->owner);
        }
    play.mood = MOOD_RESET_CLOSES;
    for (uint32_t round = 0; !all_over(); round++) {
        must(round < ENDING_ROUNDS);
        let_time_pass(1000);
        run_turn();
    }
}

/* Nobody is served: each server's connection is idle or closed. */
static void close_idle(void)
{
    pool_close_idle(play.worker.pool);
    must_come_to_rest();
    for (uint32_t i = 0; i < play.peer_count; i++)
        must(play.peers[i].closed || !play.peers[i].server);
}

static void close_all(void)
{
    for (uint32_t i = 0; i < play.peer_count; i++)
        if (!play.peers[i].closed)
            close_peer(&play.peers[i], WEIR_CLOSE_RESET, WEIR_RESET);
    must_come_to_rest();
}

static void must_be_clean(void)
{
    must(all_over());
    must(link_alone(&play.worker.connections));
    must(play.use.count == 1);
    for (uint32_t i = 0; i < play.story_count; i++)
        must(play.stories[i].over && play.stories[i].opens == play.stories[i].closes);
    for (uint32_t i = 0; i < play.dial_count; i++)
        must(!play.dials[i]);
    must(!play.open_meddlers && play.drops == play.given);
    must(!play.worker.owners->references.live && !play.worker.owners->tasks);
    access_lines_flush(play.worker.access_lines);
    must(play.lines == play.story_count);
}

/* --- one play */

static void take_lines(void *user, struct access_batch *batch)
{
    (void)user;
    play.lines += batch->lines;
    memory_free(batch);
}

static void unused(struct snapshot_use *use)
{
    (void)use;
    abort(); /* the worker itself is one that uses it */
}

static struct registry *plugins;
static char a_host[] = "a.test", *a_hosts[] = {a_host};
static struct route_config routes[] = {
    {.when.hosts = {a_hosts, 1}, .chain = &route_chain},
    {.group = &upstream, .chain = &route_chain},
};
static const struct route_index *route_index;

/* What holds for all plays. */
static const struct access_format *prepare(void)
{
    static struct arena arena;
    static uint64_t first_block[64];
    struct access_mistake mistake;
    log_set_level(LOG_ERROR);
    plugins = registry_of((const weir_protocol *const[]){&http, &raw}, 2);
    build_chains();
    exchange_start();
    arena_init(&arena, first_block, sizeof first_block);
    route_index = route_index_new(&(struct snapshot){.routes = routes, .route_count = 2}, &arena);
    return access_format_compile(WEIR_STRING("json"), &arena, &mistake);
}

static void set_stage(uint32_t settings)
{
    static const struct access_format *format;
    if (!format)
        format = prepare();
    play = (struct play){.now_ms = 1000000};
    play.snapshot = (struct snapshot){
        .registry = plugins,
        .access_log = {.on = true, .sample = 1, .compiled = format},
        .timeouts = {.connect = 40000,
                     .response_head = 5000,
                     .exchange_idle = 7000,
                     .tunnel_idle = 9000,
                     .body = settings & 1 ? 3000 : 0},
        .requests_per_connection = settings & 2 ? 2 : 0,
        .request_body_max = settings & 4 ? 5000 : 0,
        .body_rate_min = settings & 8 ? 1000 : 0,
        .fixed_upstream = settings & 16 ? &upstream : NULL,
        .upstreams = &upstream,
        .upstream_count = 1,
        .routes = routes,
        .route_count = settings & 64 ? 2 : 0,
        .route_index = settings & 64 ? route_index : NULL,
        .connect_ports = {&connect_ports, 1},
        .via_name = via_name,
    };
    turn_init(&play.turn);
    wheel_init(&play.wheel, play.now_ms);
    play.use = (struct snapshot_use){.snapshot = &play.snapshot, .count = 1, .on_unused = unused};
    play.meddling = settings & (32 | 64);
    play.terms = (struct connection_terms){.chain = settings & 32 ? &meddled_chain : &plain_chain,
                                           .use = &play.use};
    play.worker = (struct worker){.snapshot = &play.snapshot,
                                  .use = &play.use,
                                  .turn = &play.turn,
                                  .wheel = &play.wheel,
                                  .pool = pool_new()};
    link_init(&play.worker.connections);
    play.worker.access_lines = access_lines_new(&play.worker, take_lines, NULL);
    worker_current = &play.worker;
    owners_new(&play.worker);
}

static void clear_stage(void)
{
    owners_stop(&play.worker);
    owners_free(&play.worker);
    worker_current = NULL;
    pool_free(play.worker.pool);
    access_lines_free(play.worker.access_lines);
    buffer_pool_deinit();
    arena_pool_deinit();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    set_stage(data[0]);
    play.input = data + 2;
    play.left = size - 2;
    while (play.left) {
        uint32_t event = take();
        happen((enum event)(event % EVENTS), event >= 128);
    }
    if (data[1] % 3 == 0)
        end_well();
    else if (data[1] % 3 == 1)
        end_in_silence();
    must_come_to_rest();
    if (all_over())
        close_idle();
    close_all();
    must_be_clean();
    clear_stage();
    return 0;
}
