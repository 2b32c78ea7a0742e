/* tests/unit/core/upstream/dial_test.c - the race of addresses: virtual time, a scripted net
 *
 * The resolver, connecting and the clock are this file's own; wheel, turn and dial are the real
 * ones. The wheel's tick makes delays up to 32 ms longer, never shorter. */
#include "core/upstream/dial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/io/dns.h"
#include "core/io/loop.h"
#include "core/io/tcp.h"

enum { CONNECTS_MOST = 64 };

struct dns_query {
    bool live;
    void (*on_answer)(void *user, const struct dns_answer *answer);
    void *user;
};

struct tcp_connect {
    bool live;
    struct address address;
    void (*on_connect)(void *user, struct carrier *carrier, int error);
    void *user;
};

static struct {
    uint64_t now_ms;
    struct worker worker;
    struct turn turn;
    struct wheel wheel;
    struct mark owner;
    int steps; /* of the owner */
    struct dns_query six, four;
    struct dns_answer six_cached, four_cached;
    bool six_known, four_known; /* answered from the cache */
    int resolved;
    struct tcp_connect connects[CONNECTS_MOST];
    int count;
    struct carrier carrier;
    int closed; /* carriers */
    struct dial *dial;
} net;

/* --- the net */

uint64_t loop_now_ms(struct loop *loop)
{
    return net.now_ms;
}

uint64_t loop_now_us(struct loop *loop)
{
    return net.now_ms * 1000;
}

struct dns_query *dns_resolve(struct dns *dns, weir_string host, int family,
                              struct dns_answer *answer,
                              void (*on_answer)(void *user, const struct dns_answer *answer),
                              void *user)
{
    bool six = family == AF_INET6;
    struct dns_query *query = six ? &net.six : &net.four;
    assert_true(string_equal(host, WEIR_STRING("server.example")));
    net.resolved++;
    if (six ? net.six_known : net.four_known) {
        *answer = six ? net.six_cached : net.four_cached;
        return NULL;
    }
    *query = (struct dns_query){true, on_answer, user};
    return query;
}

void dns_cancel(struct dns_query *query)
{
    assert_true(query->live);
    query->live = false;
}

struct tcp_connect *tcp_connect(struct loop *loop, const struct address *address,
                                void (*on_connect)(void *user, struct carrier *carrier, int error),
                                void *user)
{
    struct tcp_connect *connect = &net.connects[net.count++];
    assert_true(net.count <= CONNECTS_MOST);
    *connect = (struct tcp_connect){true, *address, on_connect, user};
    return connect;
}

void tcp_connect_cancel(struct tcp_connect *connect)
{
    assert_true(connect->live);
    connect->live = false;
}

static void close_carrier(struct carrier *carrier, uint32_t how)
{
    assert_ptr_equal(carrier, &net.carrier);
    assert_int_equal(how, CARRIER_CLOSE_NOW);
    net.closed++;
}

/* --- what happens in it */

static void step(struct mark *mark)
{
    net.steps++;
}

static void turn(void)
{
    wheel_advance(&net.wheel, net.now_ms);
    turn_run(&net.turn);
}

static void pass(uint64_t ms)
{
    for (uint64_t until = net.now_ms + ms; net.now_ms < until;) {
        net.now_ms++;
        turn();
    }
}

/* "::1 192.0.2.1": addresses, in this order. */
static struct dns_answer answer_of(const char *text)
{
    struct dns_answer answer = {.count = 0};
    while (*text) {
        size_t length = strcspn(text, " ");
        assert_true(answer.count < DNS_ADDRESSES_MOST);
        assert_true(address_from_literal((weir_string){text, length}, 0,
                                         &answer.addresses[answer.count++]));
        text += length + strspn(text + length, " ");
    }
    return answer;
}

static void answer(struct dns_query *query, const char *text)
{
    struct dns_answer found = answer_of(text);
    assert_true(query->live);
    query->live = false;
    query->on_answer(query->user, &found);
    turn();
}

static void cached(const char *six, const char *four)
{
    net.six_known = six != NULL;
    net.four_known = four != NULL;
    net.six_cached = answer_of(six ? six : "");
    net.four_cached = answer_of(four ? four : "");
}

static void connects(int index)
{
    struct tcp_connect *connect = &net.connects[index];
    assert_true(index < net.count && connect->live);
    connect->live = false;
    connect->on_connect(connect->user, &net.carrier, 0);
    turn();
}

static void fails(int index, int error)
{
    struct tcp_connect *connect = &net.connects[index];
    assert_true(index < net.count && connect->live);
    connect->live = false;
    connect->on_connect(connect->user, NULL, -error);
    turn();
}

static void start(const char *host)
{
    char *copy = memory_copy_string(string_of(host));
    net.dial = dial_start(&net.worker, string_of(copy), 443, 40000, &net.owner);
    memory_free(copy); /* the dial must not need it */
}

/* --- what is expected */

static void state_is(enum dial_state state)
{
    assert_int_equal(dial_state(net.dial), state);
}

/* The attempts so far, in order, and that nothing else is there. */
static void attempts_are(const char *text)
{
    struct dns_answer expected = answer_of(text);
    assert_int_equal(net.count, expected.count);
    for (uint32_t i = 0; i < expected.count; i++) {
        address_set_port(&expected.addresses[i], 443);
        assert_true(address_equal(&net.connects[i].address, &expected.addresses[i]));
    }
}

/* Judges the addresses, which must be these: those in `forbidden`, a set of indexes, are. */
static void judge(const char *text, uint32_t forbidden)
{
    const struct address *addresses;
    struct dns_answer expected = answer_of(text);
    state_is(DIAL_ADDRESSES);
    assert_int_equal(dial_addresses(net.dial, &addresses), expected.count);
    for (uint32_t i = 0; i < expected.count; i++) {
        address_set_port(&expected.addresses[i], 443);
        assert_true(address_equal(&addresses[i], &expected.addresses[i]));
        if (forbidden >> i & 1)
            dial_forbid(net.dial, i);
    }
    dial_go(net.dial);
}

static void taken(void)
{
    state_is(DIAL_CONNECTED);
    assert_ptr_equal(dial_take(net.dial), &net.carrier);
    net.dial = NULL;
}

static void failed(weir_result why)
{
    state_is(DIAL_FAILED);
    assert_int_equal(dial_error(net.dial), why);
    dial_cancel(net.dial);
    net.dial = NULL;
}

static void times_are(uint64_t resolve_ms, uint64_t connect_ms)
{
    struct dial_times times = dial_times(net.dial);
    assert_int_equal(times.resolve_us, resolve_ms * 1000);
    assert_int_equal(times.connect_us, connect_ms * 1000);
}

static int set_up(void **state)
{
    static const struct carrier_operations operations = {.close = close_carrier};
    memset(&net, 0, sizeof net);
    net.now_ms = 1000003;
    turn_init(&net.turn);
    wheel_init(&net.wheel, net.now_ms);
    mark_init(&net.owner, step);
    net.worker.turn = &net.turn;
    net.worker.wheel = &net.wheel;
    net.carrier.operations = &operations;
    return 0;
}

/* Whatever the test did: when the dial is gone nothing of it is left and nothing comes any more. */
static int tear_down(void **state)
{
    int steps = net.steps, count = net.count;
    if (net.dial)
        return -1;
    for (int i = 0; i < net.count; i++)
        if (net.connects[i].live)
            return -1;
    pass(60000);
    return net.six.live || net.four.live || net.steps != steps || net.count != count;
}

/* --- tests: resolving */

static void literal_needs_no_resolver(void **state)
{
    start("192.0.2.7");
    judge("192.0.2.7", 0);
    attempts_are("192.0.2.7");
    connects(0);
    taken();
    start("2001:db8::7");
    judge("2001:db8::7", 0);
    connects(1);
    taken();
    assert_int_equal(net.resolved, 0);
    assert_int_equal(net.steps, 2); /* once each, when connected */
}

static void cached_name_is_judged_at_once(void **state)
{
    cached("2001:db8::1", "192.0.2.1 192.0.2.2");
    start("server.example");
    judge("2001:db8::1 192.0.2.1 192.0.2.2", 0);
    assert_int_equal(net.steps, 0);
    attempts_are("2001:db8::1");
    connects(0);
    taken();
}

static void unknown_name_fails_at_once_when_cached(void **state)
{
    cached("", "");
    start("server.example");
    failed(WEIR_DNS_ERROR);
    assert_int_equal(net.steps, 0);
}

static void unknown_name_fails_with_the_last_answer(void **state)
{
    start("server.example");
    answer(&net.four, "");
    state_is(DIAL_WAITING);
    assert_int_equal(net.steps, 0);
    answer(&net.six, "");
    assert_int_equal(net.steps, 1);
    failed(WEIR_DNS_ERROR);
}

static void six_first_starts_without_four(void **state)
{
    start("server.example");
    answer(&net.six, "2001:db8::1 2001:db8::2");
    assert_int_equal(net.steps, 1);
    judge("2001:db8::1 2001:db8::2", 0);
    attempts_are("2001:db8::1");
    answer(&net.four, "192.0.2.1");
    assert_int_equal(net.steps, 2);
    judge("192.0.2.1", 0);
    attempts_are("2001:db8::1"); /* its turn is in 250 ms */
    pass(249);
    attempts_are("2001:db8::1");
    pass(1 + WHEEL_TICK_MS);
    attempts_are("2001:db8::1 192.0.2.1");
    fails(1, ECONNREFUSED);
    attempts_are("2001:db8::1 192.0.2.1 2001:db8::2");
    connects(2);
    taken();
}

static void four_waits_for_six(void **state)
{
    start("server.example");
    answer(&net.four, "192.0.2.1");
    pass(49);
    state_is(DIAL_WAITING);
    assert_int_equal(net.steps, 0);
    answer(&net.six, "2001:db8::1");
    judge("192.0.2.1 2001:db8::1", 0);
    attempts_are("2001:db8::1");
    connects(0);
    taken();
}

static void four_goes_when_there_is_no_six(void **state)
{
    start("server.example");
    answer(&net.four, "192.0.2.1");
    pass(10);
    answer(&net.six, "");
    judge("192.0.2.1", 0);
    attempts_are("192.0.2.1");
    connects(0);
    taken();
}

static void four_waits_no_longer_than_50_ms(void **state)
{
    start("server.example");
    answer(&net.four, "192.0.2.1 192.0.2.2");
    pass(49);
    state_is(DIAL_WAITING);
    pass(1 + WHEEL_TICK_MS);
    judge("192.0.2.1 192.0.2.2", 0);
    attempts_are("192.0.2.1");
    pass(20);
    answer(&net.six, "2001:db8::1");
    judge("2001:db8::1", 0);
    attempts_are("192.0.2.1");
    pass(250 + WHEEL_TICK_MS);
    attempts_are("192.0.2.1 2001:db8::1"); /* late, but before the second of IPv4 */
    connects(1);
    taken();
}

static void four_from_the_cache_waits_too(void **state)
{
    cached(NULL, "192.0.2.1");
    start("server.example");
    state_is(DIAL_WAITING);
    pass(50 + WHEEL_TICK_MS);
    assert_int_equal(net.steps, 1);
    judge("192.0.2.1", 0);
    connects(0);
    taken(); /* and the query for IPv6 is cancelled */
}

static void late_six_starts_at_once_when_nothing_runs(void **state)
{
    start("server.example");
    answer(&net.four, "192.0.2.1");
    pass(50 + WHEEL_TICK_MS);
    judge("192.0.2.1", 0);
    fails(0, ECONNREFUSED);
    state_is(DIAL_WAITING);
    pass(3000);
    answer(&net.six, "2001:db8::1");
    judge("2001:db8::1", 0);
    attempts_are("192.0.2.1 2001:db8::1");
    connects(1);
    taken();
}

static void second_family_arrives_while_the_first_is_judged(void **state)
{
    const struct address *addresses;
    start("server.example");
    answer(&net.six, "2001:db8::1 2001:db8::2");
    assert_int_equal(dial_addresses(net.dial, &addresses), 2);
    answer(&net.four, "192.0.2.1");
    judge("2001:db8::1 2001:db8::2", 1); /* the same two: indexes do not move */
    judge("192.0.2.1", 0);
    attempts_are("2001:db8::2");
    fails(0, ENETUNREACH);
    attempts_are("2001:db8::2 192.0.2.1");
    connects(1);
    taken();
}

/* --- tests: the race */

static void slow_six_loses_to_four(void **state)
{
    cached("2001:db8::1", "192.0.2.1");
    start("server.example");
    judge("2001:db8::1 192.0.2.1", 0);
    pass(249);
    attempts_are("2001:db8::1");
    pass(1 + WHEEL_TICK_MS);
    attempts_are("2001:db8::1 192.0.2.1");
    pass(20);
    connects(1);
    assert_false(net.connects[0].live);
    assert_int_equal(net.steps, 1);
    taken();
}

static void slow_six_may_still_win(void **state)
{
    cached("2001:db8::1", "192.0.2.1");
    start("server.example");
    judge("2001:db8::1 192.0.2.1", 0);
    pass(400);
    attempts_are("2001:db8::1 192.0.2.1");
    connects(0);
    assert_false(net.connects[1].live);
    taken();
}

static void failure_starts_the_next_at_once(void **state)
{
    cached("2001:db8::1", "192.0.2.1");
    start("server.example");
    judge("2001:db8::1 192.0.2.1", 0);
    fails(0, ENETUNREACH);
    attempts_are("2001:db8::1 192.0.2.1");
    assert_int_equal(net.steps, 0);
    connects(1);
    taken();
}

static void failure_starts_the_next_although_others_run(void **state)
{
    cached("2001:db8::1 2001:db8::2", "192.0.2.1");
    start("server.example");
    judge("2001:db8::1 2001:db8::2 192.0.2.1", 0);
    pass(250 + WHEEL_TICK_MS);
    attempts_are("2001:db8::1 192.0.2.1");
    fails(1, ECONNREFUSED);
    attempts_are("2001:db8::1 192.0.2.1 2001:db8::2");
    connects(2);
    taken();
}

static void delay_is_counted_from_the_last_attempt(void **state)
{
    cached("", "192.0.2.1 192.0.2.2 192.0.2.3");
    start("server.example");
    judge("192.0.2.1 192.0.2.2 192.0.2.3", 0);
    pass(200);
    fails(0, ECONNREFUSED);
    pass(249);
    attempts_are("192.0.2.1 192.0.2.2");
    pass(1 + WHEEL_TICK_MS);
    attempts_are("192.0.2.1 192.0.2.2 192.0.2.3");
    connects(2);
    taken();
}

static void families_take_turns(void **state)
{
    const char *order = "2001:db8::1 192.0.2.1 2001:db8::2 192.0.2.2 2001:db8::3 2001:db8::4";
    cached("2001:db8::1 2001:db8::2 2001:db8::3 2001:db8::4", "192.0.2.1 192.0.2.2");
    start("server.example");
    judge("2001:db8::1 2001:db8::2 2001:db8::3 2001:db8::4 192.0.2.1 192.0.2.2", 0);
    pass(5 * (250 + WHEEL_TICK_MS));
    attempts_are(order);
    connects(4);
    taken();
}

static void all_that_fit_are_tried(void **state)
{
    const char *six = "::1 ::2 ::3 ::4 ::5 ::6 ::7 ::8 ::9 ::a ::b ::c ::d ::e ::f ::10";
    const char *four = "10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5 10.0.0.6 10.0.0.7 10.0.0.8 "
                       "10.0.0.9 10.0.0.10 10.0.0.11 10.0.0.12 10.0.0.13 10.0.0.14 10.0.0.15 "
                       "10.0.0.16";
    const struct address *addresses;
    cached(six, four);
    start("server.example");
    assert_int_equal(dial_addresses(net.dial, &addresses), 32);
    dial_forbid(net.dial, 31);
    dial_go(net.dial);
    for (int i = 0; i < 31; i++)
        fails(i, ECONNREFUSED);
    assert_int_equal(net.count, 31);
    failed(WEIR_CONNECTION_REFUSED);
}

/* --- tests: how it fails */

static void fails_with(int first, int second, weir_result why)
{
    net.count = 0;
    cached("2001:db8::1", "192.0.2.1");
    start("server.example");
    judge("2001:db8::1 192.0.2.1", 0);
    fails(0, first);
    fails(1, second);
    failed(why);
}

static void most_telling_failure_is_reported(void **state)
{
    fails_with(ECONNREFUSED, ECONNREFUSED, WEIR_CONNECTION_REFUSED);
    fails_with(ENETUNREACH, ECONNREFUSED, WEIR_CONNECTION_REFUSED);
    fails_with(ECONNREFUSED, ETIMEDOUT, WEIR_CONNECTION_REFUSED);
    fails_with(ECONNRESET, EHOSTUNREACH, WEIR_CONNECTION_REFUSED);
    fails_with(EADDRNOTAVAIL, ETIMEDOUT, WEIR_CONNECTION_TIMEOUT);
    fails_with(ETIMEDOUT, EMFILE, WEIR_CONNECTION_TIMEOUT);
    fails_with(ENETUNREACH, EMFILE, WEIR_LIMIT_REACHED);
    fails_with(EADDRNOTAVAIL, EHOSTUNREACH, WEIR_UNROUTABLE);
    fails_with(EACCES, ENETUNREACH, WEIR_UNROUTABLE);
    assert_int_equal(net.steps, 9);
}

static void all_forbidden(void **state)
{
    cached("2001:db8::1", "192.0.2.1");
    start("server.example");
    judge("2001:db8::1 192.0.2.1", 3);
    failed(WEIR_ADDRESS_PROHIBITED);
    attempts_are("");
}

static void all_forbidden_waits_for_the_other_family(void **state)
{
    start("server.example");
    answer(&net.six, "2001:db8::1");
    judge("2001:db8::1", 1);
    state_is(DIAL_WAITING);
    answer(&net.four, "192.0.2.1");
    judge("192.0.2.1", 0);
    attempts_are("192.0.2.1");
    connects(0);
    taken();
}

static void forbidden_family_and_none_of_the_other(void **state)
{
    start("server.example");
    answer(&net.six, "2001:db8::1");
    judge("2001:db8::1", 1);
    answer(&net.four, "");
    failed(WEIR_ADDRESS_PROHIBITED);
}

static void some_forbidden_are_never_tried(void **state)
{
    cached("2001:db8::1 2001:db8::2", "192.0.2.1 192.0.2.2");
    start("server.example");
    judge("2001:db8::1 2001:db8::2 192.0.2.1 192.0.2.2", 1 | 8);
    fails(0, ENETUNREACH);
    fails(1, ENETUNREACH);
    attempts_are("2001:db8::2 192.0.2.1");
    failed(WEIR_UNROUTABLE);
}

/* --- tests: the deadline */

static void deadline_while_connecting(void **state)
{
    cached("2001:db8::1", "192.0.2.1");
    start("server.example");
    judge("2001:db8::1 192.0.2.1", 0);
    fails(0, ECONNREFUSED);
    pass(39999);
    state_is(DIAL_WAITING);
    pass(1 + WHEEL_TICK_MS);
    assert_int_equal(net.steps, 1);
    assert_false(net.connects[1].live);
    failed(WEIR_CONNECTION_TIMEOUT);
}

static void deadline_while_resolving(void **state)
{
    start("server.example");
    pass(40000 + WHEEL_TICK_MS);
    assert_false(net.six.live || net.four.live);
    assert_int_equal(net.steps, 1);
    failed(WEIR_DNS_ERROR);
}

static void deadline_while_only_the_resolver_is_slow(void **state)
{
    start("server.example");
    answer(&net.six, "2001:db8::1");
    judge("2001:db8::1", 0);
    fails(0, ECONNREFUSED);
    pass(40000 + WHEEL_TICK_MS);
    failed(WEIR_CONNECTION_REFUSED);
}

static void deadline_while_the_owner_judges(void **state)
{
    cached("", "192.0.2.1");
    start("server.example");
    state_is(DIAL_ADDRESSES);
    pass(40000 + WHEEL_TICK_MS);
    assert_int_equal(net.steps, 1);
    dial_forbid(net.dial, 0);
    dial_go(net.dial); /* too late: must change nothing */
    attempts_are("");
    failed(WEIR_CONNECTION_TIMEOUT);
}

static void no_limit_is_no_deadline(void **state)
{
    net.dial = dial_start(&net.worker, WEIR_STRING("192.0.2.1"), 443, 0, &net.owner);
    judge("192.0.2.1", 0);
    pass(200000);
    state_is(DIAL_WAITING);
    connects(0);
    taken();
}

/* --- tests: what happens while the owner judges, and cancelling */

static void connects_while_the_owner_judges(void **state)
{
    start("server.example");
    answer(&net.six, "2001:db8::1");
    judge("2001:db8::1", 0);
    answer(&net.four, "192.0.2.1");
    state_is(DIAL_ADDRESSES);
    connects(0);
    dial_go(net.dial); /* as an owner would that began to judge before */
    attempts_are("2001:db8::1");
    taken();
}

static void fails_while_the_owner_judges(void **state)
{
    start("server.example");
    answer(&net.six, "2001:db8::1 2001:db8::2");
    judge("2001:db8::1 2001:db8::2", 0);
    answer(&net.four, "192.0.2.1");
    fails(0, ECONNREFUSED); /* the race goes on with what is allowed already */
    attempts_are("2001:db8::1 2001:db8::2");
    fails(1, ECONNREFUSED);
    judge("192.0.2.1", 0);
    attempts_are("2001:db8::1 2001:db8::2 192.0.2.1");
    connects(2);
    taken();
}

static void cancel(void)
{
    int steps = net.steps;
    dial_cancel(net.dial);
    net.dial = NULL;
    pass(1000);
    assert_int_equal(net.steps, steps);
    for (int i = 0; i < net.count; i++)
        assert_false(net.connects[i].live);
    assert_false(net.six.live || net.four.live);
}

static void cancel_in_every_state(void **state)
{
    start("server.example"); /* resolving */
    cancel();
    start("server.example"); /* holding IPv4 back */
    answer(&net.four, "192.0.2.1");
    cancel();
    start("server.example"); /* to be judged */
    answer(&net.six, "2001:db8::1");
    state_is(DIAL_ADDRESSES);
    cancel();
    start("server.example"); /* connecting, the other family not known */
    answer(&net.six, "2001:db8::1");
    judge("2001:db8::1", 0);
    cancel();
    start("server.example"); /* two attempts, a third waits */
    answer(&net.six, "2001:db8::1 2001:db8::2");
    answer(&net.four, "192.0.2.1");
    judge("2001:db8::1 2001:db8::2", 0);
    judge("192.0.2.1", 0);
    pass(300);
    assert_int_equal(net.count, 3);
    cancel();
    start("server.example"); /* failed */
    answer(&net.six, "");
    answer(&net.four, "");
    cancel();
    assert_int_equal(net.closed, 0);
    start("192.0.2.1"); /* connected, not taken */
    judge("192.0.2.1", 0);
    connects(net.count - 1);
    state_is(DIAL_CONNECTED);
    cancel();
    assert_int_equal(net.closed, 1);
}

/* --- tests: times */

static void time_to_resolve_and_to_connect(void **state)
{
    start("server.example");
    pass(20);
    answer(&net.six, "2001:db8::1");
    pass(5);
    judge("2001:db8::1", 0);
    pass(10);
    answer(&net.four, "192.0.2.1");
    pass(30);
    connects(0);
    times_are(20, 45);
    taken();
}

static void no_time_to_resolve_an_address(void **state)
{
    start("192.0.2.7");
    judge("192.0.2.7", 0);
    pass(7);
    fails(0, ECONNREFUSED);
    times_are(0, 7);
    failed(WEIR_CONNECTION_REFUSED);
}

static void no_time_to_connect_to_what_is_unknown(void **state)
{
    start("server.example");
    pass(20);
    answer(&net.six, "");
    pass(4);
    answer(&net.four, "");
    times_are(24, 0);
    failed(WEIR_DNS_ERROR);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(literal_needs_no_resolver),
        TEST(cached_name_is_judged_at_once),
        TEST(unknown_name_fails_at_once_when_cached),
        TEST(unknown_name_fails_with_the_last_answer),
        TEST(six_first_starts_without_four),
        TEST(four_waits_for_six),
        TEST(four_goes_when_there_is_no_six),
        TEST(four_waits_no_longer_than_50_ms),
        TEST(four_from_the_cache_waits_too),
        TEST(late_six_starts_at_once_when_nothing_runs),
        TEST(second_family_arrives_while_the_first_is_judged),
        TEST(slow_six_loses_to_four),
        TEST(slow_six_may_still_win),
        TEST(failure_starts_the_next_at_once),
        TEST(failure_starts_the_next_although_others_run),
        TEST(delay_is_counted_from_the_last_attempt),
        TEST(families_take_turns),
        TEST(all_that_fit_are_tried),
        TEST(most_telling_failure_is_reported),
        TEST(all_forbidden),
        TEST(all_forbidden_waits_for_the_other_family),
        TEST(forbidden_family_and_none_of_the_other),
        TEST(some_forbidden_are_never_tried),
        TEST(deadline_while_connecting),
        TEST(deadline_while_resolving),
        TEST(deadline_while_only_the_resolver_is_slow),
        TEST(deadline_while_the_owner_judges),
        TEST(no_limit_is_no_deadline),
        TEST(connects_while_the_owner_judges),
        TEST(fails_while_the_owner_judges),
        TEST(cancel_in_every_state),
        TEST(time_to_resolve_and_to_connect),
        TEST(no_time_to_resolve_an_address),
        TEST(no_time_to_connect_to_what_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
