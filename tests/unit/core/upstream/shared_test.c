/* tests/unit/core/upstream/shared_test.c - connections that many share: one dial, waiting, ends
 *
 * Attempts, pool and connections are the product's; the protocols, carriers and dials are this
 * file's. A user stands for an exchange: its step drives its attempt, and attaches its channel. */
#include "core/upstream/attempt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/io/loop.h"
#include "core/upstream/habit.h"

enum { USERS = 40 };

/* What a connection's protocol knows. */
struct session {
    uint32_t most, running; /* exchanges */
    bool dead;
    bool silent; /* how many the server takes it has not said */
};

struct user {
    struct mark mark;
    struct attempt attempt;
    struct channel channel;
    struct arena arena;
    _Alignas(8) uint8_t first_block[64];
    struct target target;
    unsigned forbidden; /* a bit for each last byte of an address */
    int asked;          /* about addresses */
    bool active, served, failed;
};

struct dial {
    struct mark *owner;
    enum dial_state state;
    weir_result error;
    bool forbidden, judged;
    struct address address;
};

struct line {
    struct carrier carrier;
    struct tls_facts tls;
    struct line *next;
    bool closing;
};

static struct user users[USERS];
static struct worker worker;
static struct snapshot snapshot;
static struct turn turn;
static struct wheel wheel;
static struct address reached;
static struct dial *dials[USERS * 4];
static int dial_count, started;
static struct line *lines;
static uint64_t now_ms;
static uint32_t most;  /* of the next connection */
static bool is_silent; /* likewise */
static bool agrees;    /* the next carrier: on "mux" */
static uint32_t at_address;

uint64_t loop_now_ms(struct loop *loop)
{
    return now_ms;
}

/* --- carriers */

static void carrier_opens(struct carrier *carrier)
{
}

static void carrier_closes(struct carrier *carrier, uint32_t how)
{
    CONTAINER(carrier, struct line, carrier)->closing = true;
}

static const struct carrier_operations carrier_operations = {.open = carrier_opens,
                                                             .close = carrier_closes};

static struct carrier *new_carrier(const struct address *peer)
{
    struct line *line = memory_zeroed(sizeof *line);
    line->carrier.operations = &carrier_operations;
    line->carrier.facts.peer = *peer;
    line->carrier.facts.tls = &line->tls;
    if (agrees)
        line->tls.alpn = WEIR_STRING("mux");
    line->next = lines;
    lines = line;
    return &line->carrier;
}

/* The loop tells of what was closed. */
static void close_carriers(void)
{
    for (struct line **at = &lines; *at;) {
        struct line *line = *at;
        if (!line->closing) {
            at = &line->next;
            continue;
        }
        *at = line->next;
        if (line->carrier.events)
            line->carrier.events->closed(line->carrier.user);
        memory_free(line);
    }
}

/* --- dials */

struct dial *dial_start(struct worker *of, weir_string host, uint16_t port, uint32_t limit_ms,
                        struct mark *owner)
{
    struct dial *dial = memory_zeroed(sizeof *dial);
    dial->owner = owner;
    dial->state = DIAL_ADDRESSES;
    dial->address.v4.sin_family = AF_INET;
    dial->address.v4.sin_port = htons(443);
    dial->address.v4.sin_addr.s_addr = htonl(0xc0000200 + at_address);
    assert_true(dial_count < USERS * 4);
    dials[dial_count++] = dial;
    started++;
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
    *addresses = &dial->address;
    return 1;
}

void dial_forbid(struct dial *dial, uint32_t index)
{
    dial->forbidden = true;
}

void dial_go(struct dial *dial)
{
    dial->state = dial->forbidden ? DIAL_FAILED : DIAL_WAITING;
    dial->error = WEIR_ADDRESS_PROHIBITED;
}

static void forget_dial(struct dial *dial)
{
    for (int i = 0; i < dial_count; i++)
        if (dials[i] == dial) {
            dials[i] = dials[--dial_count];
            memory_free(dial);
            return;
        }
    fail_msg("it is gone already");
}

struct carrier *dial_take(struct dial *dial)
{
    assert_int_equal(dial->state, DIAL_CONNECTED);
    struct carrier *carrier = new_carrier(&dial->address);
    forget_dial(dial);
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
    return (struct dial_times){0};
}

void dial_cancel(struct dial *dial)
{
    forget_dial(dial);
}

/* --- protocols */

static struct session *session_of(const weir_connection *connection)
{
    return connection->state;
}

static void opens(weir_connection *connection)
{
    session_of(connection)->most = most;
    session_of(connection)->silent = is_silent;
}

static void closes(weir_connection *connection)
{
}

static size_t attaches(weir_channel *channel)
{
    struct session *session = session_of(channel->connection);
    assert_true(session->running < session->most && !session->dead);
    assert_true(!session->silent || !session->running);
    session->running++;
    return WEIR_CREDIT;
}

static void resets(weir_channel *channel, weir_result why)
{
}

static void grants(weir_channel *channel, size_t bytes)
{
}

static void lets_go(weir_channel *channel)
{
    session_of(channel->connection)->running--;
}

static uint32_t spare_of(const weir_connection *connection)
{
    const struct session *session = session_of(connection);
    if (session->silent && session->most)
        return WEIR_SPARE_LATER;
    return session->running < session->most ? session->most - session->running : 0;
}

static const weir_connection_operations connection_operations = {
    .size = sizeof connection_operations,
    .connection_state_size = sizeof(struct session),
    .open = opens,
    .close = closes,
};
static const weir_channel_operations channel_operations = {.size = sizeof channel_operations,
                                                           .attach = attaches,
                                                           .reset = resets,
                                                           .grant = grants,
                                                           .close = lets_go,
                                                           .spare = spare_of};
static const weir_protocol mux = {.size = sizeof mux,
                                  .name = "mux",
                                  .alpn = "mux",
                                  .flags = WEIR_PROTOCOL_SHARES,
                                  .connection = &connection_operations,
                                  .server = &channel_operations};
static const weir_protocol one = {.size = sizeof one,
                                  .name = "one",
                                  .connection = &connection_operations,
                                  .server = &channel_operations};

/* --- users */

static void step(struct mark *mark)
{
    struct user *user = CONTAINER(mark, struct user, mark);
    if (!user->active || user->served || user->failed)
        return;
    enum attempt_state state = attempt_step(&user->attempt, &user->target);
    user->failed = state == ATTEMPT_FAILED;
    if (state != ATTEMPT_READY)
        return;
    struct connection *connection = user->attempt.connection;
    assert_false(connection->closing);
    if (!(connection->protocol->flags & WEIR_PROTOCOL_SHARES))
        assert_int_equal(session_of(&connection->public)->running, 0);
    attempt_attach(&user->attempt, &user->channel);
    user->served = true;
}

static unsigned last_byte(const struct address *address)
{
    return ntohl(address->v4.sin_addr.s_addr) & 0xff;
}

static weir_result judge(struct mark *mark, const struct address *address)
{
    struct user *user = CONTAINER(mark, struct user, mark);
    user->asked++;
    return user->forbidden >> last_byte(address) & 1 ? WEIR_DENIED : WEIR_OK;
}

static void renew_channel(struct user *user)
{
    channel_init(&user->channel, &turn, &user->mark, &user->arena);
    user->served = user->failed = false;
}

static void try(struct user *user)
{
    renew_channel(user);
    attempt_start(&user->attempt);
    turn_mark(&turn, TURN_EXCHANGES, &user->mark);
}

static struct user *begin(int index)
{
    struct user *user = &users[index];
    user->active = true;
    user->asked = 0;
    memset(&user->attempt, 0, sizeof user->attempt);
    attempt_init(&user->attempt, &worker, &snapshot, &reached, judge, &user->mark);
    try(user);
    return user;
}

/* As an exchange does it. */
static void release(struct user *user)
{
    struct connection *connection = user->channel.connection;
    attempt_cancel(&user->attempt);
    channel_close(&user->channel);
    if (connection)
        pool_put(worker.pool, connection);
}

static void end(struct user *user)
{
    release(user);
    user->active = false;
}

static void again(struct user *user)
{
    release(user);
    try(user);
}

/* Until nothing is marked. */
static void run(void)
{
    while (turn_run(&turn))
        ;
    close_carriers();
}

static void run_after(struct user *begun)
{
    (void)begun;
    run();
}

static struct dial *newest(void)
{
    assert_true(dial_count > 0);
    return dials[dial_count - 1];
}

static void settle(struct dial *dial, enum dial_state state, weir_result error)
{
    dial->state = state;
    dial->error = error;
    turn_mark(&turn, TURN_EXCHANGES, dial->owner);
}

static void connects(struct dial *dial)
{
    settle(dial, DIAL_CONNECTED, WEIR_OK);
    run();
}

static void refused(struct dial *dial)
{
    settle(dial, DIAL_FAILED, WEIR_CONNECTION_REFUSED);
    run();
}

static void begin_all(int count)
{
    for (int i = 0; i < count; i++)
        begin(i);
    run();
}

static struct connection *connection_of(const struct user *user)
{
    assert_true(user->served);
    return user->channel.connection;
}

static void dies(struct connection *connection)
{
    connection_close(connection, CARRIER_CLOSE_NOW, WEIR_RESET);
    session_of(&connection->public)->dead = true;
}

/* The server says how many it takes. */
static void says(struct connection *connection, uint32_t count)
{
    session_of(&connection->public)->silent = false;
    session_of(&connection->public)->most = count;
    connection_protocol_host.spare_changed(&connection->public);
}

static int set_up(void **state)
{
    memset(&worker, 0, sizeof worker);
    memset(users, 0, sizeof users);
    turn_init(&turn);
    wheel_init(&wheel, 0);
    link_init(&worker.connections);
    worker.snapshot = &snapshot;
    worker.turn = &turn;
    worker.wheel = &wheel;
    worker.pool = pool_new();
    dial_count = started = 0;
    now_ms = 1000;
    most = 100;
    agrees = is_silent = false;
    at_address = 1;
    for (int i = 0; i < USERS; i++) {
        mark_init(&users[i].mark, step);
        arena_init(&users[i].arena, users[i].first_block, sizeof users[i].first_block);
        users[i].target =
            (struct target){.protocols = {&mux}, .host = WEIR_STRING("a.example"), .port = 443};
    }
    return 0;
}

static int tear_down(void **state)
{
    for (int i = 0; i < USERS; i++) {
        if (users[i].active)
            end(&users[i]);
        arena_deinit(&users[i].arena);
    }
    run();
    assert_int_equal(dial_count, 0);
    for (struct line *line = lines; line; line = line->next)
        if (!line->closing)
            connection_close(line->carrier.user, CARRIER_CLOSE_NOW, WEIR_OK);
    close_carriers();
    pool_free(worker.pool);
    return 0;
}

/* --- sharing */

static void one_dial_serves_all_who_wait(void **state)
{
    begin_all(3);
    assert_int_equal(started, 1);
    connects(newest());
    for (int i = 1; i < 3; i++) {
        assert_ptr_equal(connection_of(&users[i]), connection_of(&users[0]));
        assert_true(users[i].attempt.reused);
    }
    assert_false(users[0].attempt.reused);
    run_after(begin(3)); /* and who comes later */
    assert_ptr_equal(connection_of(&users[3]), connection_of(&users[0]));
    assert_int_equal(started, 1);
}

static void other_targets_have_their_own(void **state)
{
    users[1].target.port = 444;
    users[2].target.host = WEIR_STRING("b.example");
    users[3].target.tls = (struct tls_context *)&users;
    users[4].target.protocols[1] = &one;
    begin_all(5);
    assert_int_equal(started, 5);
}

static void a_full_connection_is_not_the_last(void **state)
{
    most = 2;
    begin_all(5);
    connects(newest());
    assert_true(users[0].served && users[1].served && !users[2].served);
    assert_int_equal(started, 2); /* one for all that are left */
    connects(newest());
    assert_ptr_not_equal(connection_of(&users[2]), connection_of(&users[0]));
    assert_ptr_equal(connection_of(&users[3]), connection_of(&users[2]));
    assert_int_equal(started, 3);
    end(&users[0]); /* there is a place, and it goes to who does not dial itself */
    run();
    assert_false(users[4].served);
    run_after(begin(5));
    assert_ptr_equal(connection_of(&users[5]), connection_of(&users[1]));
    run_after(begin(6));
    assert_false(users[6].served);
    end(&users[1]);
    run();
    assert_true(users[6].served);
    assert_int_equal(dial_count, 1); /* for users[4] */
}

static void what_serves_nobody_is_kept(void **state)
{
    begin_all(2);
    connects(newest());
    struct connection *connection = connection_of(&users[0]);
    end(&users[0]);
    end(&users[1]);
    run();
    assert_false(connection->closing);
    run_after(begin(2));
    assert_ptr_equal(connection_of(&users[2]), connection);
}

/* --- failures and giving up */

static void all_who_wait_fail_alike(void **state)
{
    begin_all(4);
    refused(newest());
    for (int i = 0; i < 4; i++) {
        assert_true(users[i].failed);
        assert_int_equal(users[i].attempt.error, WEIR_CONNECTION_REFUSED);
    }
    assert_int_equal(started, 1);
    again(&users[1]);
    again(&users[2]);
    run();
    assert_int_equal(started, 2); /* together again */
}

static void what_one_must_not_reach_others_may(void **state)
{
    users[0].forbidden = 1u << 1;
    begin_all(3);
    assert_true(users[0].failed);
    assert_int_equal(users[0].attempt.error, WEIR_DENIED);
    assert_int_equal(started, 2);
    connects(newest());
    assert_ptr_equal(connection_of(&users[1]), connection_of(&users[2]));
}

static void who_waited_is_asked_too(void **state)
{
    users[1].forbidden = 1u << 1;
    begin_all(3);
    at_address = 2;
    connects(newest());
    assert_int_equal(users[0].asked, 1); /* when it was dialled, and not again */
    assert_int_equal(users[2].asked, 1);
    assert_true(users[0].served && users[2].served && !users[1].served);
    assert_int_equal(started, 2); /* its own */
    connects(newest());
    assert_int_equal(last_byte(&connection_of(&users[1])->carrier->facts.peer), 2);
}

static void the_one_that_dials_leaves(void **state)
{
    begin_all(3);
    end(&users[0]);
    run();
    assert_int_equal(started, 1); /* nothing of the dial is lost */
    connects(newest());
    assert_ptr_equal(connection_of(&users[1]), connection_of(&users[2]));
    assert_int_equal(users[1].asked, 1); /* others were asked about the address before */
}

static void who_inherits_may_not_have_it(void **state)
{
    users[1].forbidden = 1u << 1;
    begin_all(3);
    end(&users[0]);
    run();
    at_address = 2;
    connects(newest());
    assert_true(users[2].served && !users[1].served);
    connects(newest());
    assert_ptr_not_equal(connection_of(&users[1]), connection_of(&users[2]));
}

static void who_inherits_what_was_forbidden_dials_anew(void **state)
{
    begin_all(2);
    newest()->forbidden = true; /* one of several addresses */
    end(&users[0]);
    run();
    refused(newest());
    assert_false(users[1].failed);
    assert_int_equal(started, 2);
    refused(newest());
    assert_true(users[1].failed);
}

static void one_of_those_who_wait_leaves(void **state)
{
    begin_all(4);
    end(&users[2]);
    end(&users[3]);
    run();
    connects(newest());
    assert_true(users[0].served && users[1].served);
    assert_int_equal(started, 1);
}

static void all_leave(void **state)
{
    begin_all(3);
    for (int i = 0; i < 3; i++)
        end(&users[i]);
    run();
    assert_int_equal(dial_count, 0);
}

/* --- what is spoken is not known before */

static void may_be_either(void)
{
    for (int i = 0; i < USERS; i++)
        users[i].target.protocols[1] = &one;
}

static void it_turns_out_to_be_shared(void **state)
{
    may_be_either();
    agrees = true;
    begin_all(3);
    assert_int_equal(started, 1);
    connects(newest());
    assert_ptr_equal(connection_of(&users[2])->protocol, &mux);
    assert_ptr_equal(connection_of(&users[2]), connection_of(&users[0]));
}

static void it_turns_out_not_to_be(void **state)
{
    may_be_either();
    most = 1;
    begin_all(4);
    assert_int_equal(started, 1);
    connects(newest());
    assert_true(users[0].served);
    assert_ptr_equal(connection_of(&users[0])->protocol, &one);
    assert_int_equal(started, 4); /* each its own, at once */
    begin(4);
    begin(5);
    run();
    assert_int_equal(started, 6); /* that is known from now on */
    now_ms += HABIT_MS;
    begin(6);
    begin(7);
    run();
    assert_int_equal(started, 7); /* not for ever */
}

static void a_single_protocol_needs_no_agreement(void **state)
{
    most = 1;
    for (int i = 0; i < 3; i++)
        users[i].target.protocols[0] = &one;
    begin_all(3);
    assert_int_equal(started, 3);
    for (int i = 0; i < 3; i++)
        connects(dials[0]);
    assert_true(users[0].served && users[1].served && users[2].served);
}

/* --- ends */

static void one_that_drains_serves_its_own_to_the_end(void **state)
{
    begin_all(2);
    connects(newest());
    struct connection *connection = connection_of(&users[0]);
    session_of(&connection->public)->most = 0;
    run_after(begin(2));
    assert_false(users[2].served);
    assert_int_equal(started, 2);
    end(&users[0]);
    assert_false(connection->closing);
    end(&users[1]);
    assert_true(connection->closing);
    run();
    connects(newest());
    assert_true(users[2].served);
}

/* Silent for too long, says its protocol when it is asked. */
static void an_idle_one_that_has_none_to_spare_is_closed(void **state)
{
    begin_all(1);
    connects(newest());
    struct connection *connection = connection_of(&users[0]);
    end(&users[0]);
    session_of(&connection->public)->most = 0;
    begin(1);
    turn_run(&turn);
    assert_true(connection->closing);
    assert_int_equal(started, 2);
}

static void all_on_one_that_dies_share_the_next(void **state)
{
    begin_all(4);
    connects(newest());
    dies(connection_of(&users[0]));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(users[i].channel.failed, WEIR_RESET);
        again(&users[i]);
    }
    run();
    assert_int_equal(started, 2);
    connects(newest());
    for (int i = 0; i < 4; i++)
        assert_ptr_equal(connection_of(&users[i]), connection_of(&users[0]));
}

static void who_was_turned_away_goes_elsewhere(void **state)
{
    begin_all(2);
    connects(newest());
    struct connection *first = connection_of(&users[0]);
    again(&users[1]); /* its exchange alone was refused */
    run();
    assert_false(users[1].served);
    assert_int_equal(started, 2);
    connects(newest());
    assert_ptr_not_equal(connection_of(&users[1]), first);
    again(&users[0]); /* to the other one, which serves somebody */
    run();
    assert_ptr_equal(connection_of(&users[0]), connection_of(&users[1]));
    assert_int_equal(started, 2);
}

static void a_misdirected_one_is_alone(void **state)
{
    begin_all(3);
    connects(newest());
    assert_false(attempt_is_misdirected(&users[0].attempt, &users[0].channel)); /* it was fresh */
    assert_true(attempt_is_misdirected(&users[1].attempt, &users[1].channel));
    again(&users[1]);
    begin(3);
    run();
    assert_true(users[3].served && !users[1].served);
    assert_int_equal(started, 2);
    connects(newest());
    assert_ptr_not_equal(connection_of(&users[1]), connection_of(&users[0]));
    assert_false(users[1].attempt.reused);
    users[2].channel.sent_bytes = 1; /* a body was begun */
    assert_false(attempt_is_misdirected(&users[2].attempt, &users[2].channel));
}

/* --- servers that have not said how many they take */

static void who_wants_more_waits_for_what_the_server_says(void **state)
{
    is_silent = true;
    begin_all(5);
    connects(newest());
    assert_true(users[0].served && !users[1].served);
    assert_int_equal(started, 1);
    says(connection_of(&users[0]), 3);
    run();
    assert_ptr_equal(connection_of(&users[2]), connection_of(&users[0]));
    assert_false(users[3].served);
    assert_int_equal(started, 2); /* for those it does not take */
    connects(newest());
    assert_true(users[3].served && !users[4].served);
    run_after(begin(5)); /* in line as well */
    assert_int_equal(started, 2);
    says(connection_of(&users[3]), 100);
    run();
    assert_ptr_equal(connection_of(&users[5]), connection_of(&users[3]));
}

static void one_that_never_says_dies(void **state)
{
    is_silent = true;
    begin_all(2);
    connects(newest());
    dies(connection_of(&users[0]));
    run();
    assert_int_equal(started, 2);
}

static void one_that_is_not_needed_before_it_says(void **state)
{
    is_silent = true;
    begin_all(3);
    connects(newest());
    struct connection *connection = connection_of(&users[0]);
    end(&users[0]);
    run();
    assert_ptr_equal(connection_of(&users[1]), connection);
    assert_false(users[2].served);
    end(&users[1]);
    end(&users[2]);
    says(connection, 4); /* idle */
    run_after(begin(3));
    assert_ptr_equal(connection_of(&users[3]), connection);
    assert_int_equal(started, 1);
}

/* --- anything, in any order */

static uint64_t seed;

static uint32_t dice(uint32_t sides)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % sides;
}

static bool has_dial(const struct user *user)
{
    for (int i = 0; i < dial_count; i++)
        if (dials[i] == user->attempt.dial)
            return true;
    return false;
}

/* Nobody waits for nothing, and nobody in line for one place while there is another. */
static void nobody_is_forgotten(void)
{
    for (int i = 0; i < USERS; i++) {
        const struct user *user = &users[i];
        if (!user->active || user->served || user->failed)
            continue;
        bool leads = user->attempt.dial != NULL;
        assert_true(!leads || has_dial(user));
        bool first = pool_line_may_dial(&user->attempt.place);
        assert_true(leads || (user->attempt.place.origin && !first));
    }
}

static void an_event(void)
{
    struct user *user = &users[dice(USERS)];
    uint32_t what = dice(12);
    most = dice(4) ? 1 + dice(6) : 1;
    agrees = dice(2);
    is_silent = dice(3) == 0;
    at_address = 1 + dice(3);
    if (!user->active && what < 6) {
        user->forbidden = dice(4) ? 0 : 1u << (1 + dice(3));
        user->target.protocols[0] = dice(3) ? &mux : &one;
        user->target.protocols[1] = user->target.protocols[0] == &mux && dice(2) ? &one : NULL;
        if (user->target.protocols[0] == &one)
            agrees = false;
        begin((int)(user - users));
    } else if (user->active && what < 3) {
        end(user);
    } else if (user->active && (user->served || user->failed) && what < 5) {
        if (user->served && dice(2))
            attempt_is_misdirected(&user->attempt, &user->channel);
        user->attempt.number > 3 ? end(user) : again(user);
    } else if (user->served && user->channel.connection && what < 7) {
        session_of(&user->channel.connection->public)->most = 0;
        says(user->channel.connection, 0);
    } else if (user->served && user->channel.connection && dice(2)) {
        says(user->channel.connection, 1 + dice(6));
    } else if (user->served && user->channel.connection && what < 8) {
        dies(user->channel.connection);
    } else if (dial_count) {
        struct dial *dial = dials[dice((uint32_t)dial_count)];
        if (dial->state == DIAL_WAITING)
            settle(dial, dice(3) ? DIAL_CONNECTED : DIAL_FAILED, WEIR_UNROUTABLE);
    }
    now_ms += dice(100) ? 0 : HABIT_MS;
}

static void random_events_leave_nobody_waiting(void **state)
{
    int served = 0, reused = 0;
    for (seed = 1; seed < 400; seed++) {
        uint64_t kept = seed;
        for (int i = 0; i < 400; i++) {
            an_event();
            if (dice(3))
                continue;
            run();
            nobody_is_forgotten();
        }
        for (int i = 0; i < USERS; i++) {
            served += users[i].served;
            reused += users[i].served && users[i].attempt.reused;
        }
        tear_down(state);
        seed = kept;
        set_up(state);
    }
    assert_true(served > 1000 && reused > 500);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_dial_serves_all_who_wait),
        TEST(other_targets_have_their_own),
        TEST(a_full_connection_is_not_the_last),
        TEST(what_serves_nobody_is_kept),
        TEST(all_who_wait_fail_alike),
        TEST(what_one_must_not_reach_others_may),
        TEST(who_waited_is_asked_too),
        TEST(the_one_that_dials_leaves),
        TEST(who_inherits_may_not_have_it),
        TEST(who_inherits_what_was_forbidden_dials_anew),
        TEST(one_of_those_who_wait_leaves),
        TEST(all_leave),
        TEST(it_turns_out_to_be_shared),
        TEST(it_turns_out_not_to_be),
        TEST(a_single_protocol_needs_no_agreement),
        TEST(one_that_drains_serves_its_own_to_the_end),
        TEST(an_idle_one_that_has_none_to_spare_is_closed),
        TEST(all_on_one_that_dies_share_the_next),
        TEST(who_was_turned_away_goes_elsewhere),
        TEST(a_misdirected_one_is_alone),
        TEST(who_wants_more_waits_for_what_the_server_says),
        TEST(one_that_never_says_dies),
        TEST(one_that_is_not_needed_before_it_says),
        TEST(random_events_leave_nobody_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
