/* tests/unit/core/upstream/attempt_test.c - tries: kept or dialled, judged, repeated or not
 *
 * Dialling, judging and opening connections are this file's own; the pool has what the test puts
 * there. */
#include "core/upstream/attempt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/io/loop.h"
#include "core/upstream/access.h"
#include "core/upstream/pool.h"

static const weir_protocol protocol = {.size = sizeof protocol, .name = "h1"};
static struct worker worker;
static struct snapshot snapshot;
static struct mark owner;
static struct target target;
static struct connection kept, opened, *in_pool;
static struct carrier carrier, kept_carrier;
static struct address reached, addresses[3]; /* port 1: a denied one; 2: one of weir's own */
static struct {
    int started, gone_on, cancelled, adopted, judged;
    unsigned forbidden; /* a bit for each address */
    enum dial_state state;
    weir_result error;
} dial;
static struct dial *const the_dial = (struct dial *)&dial;

/* --- dial, pool, connection */

struct dial *dial_start(struct worker *of, weir_string host, uint16_t port, uint32_t limit_ms,
                        struct mark *mark)
{
    assert_ptr_equal(of, &worker);
    assert_true(string_equal(host, WEIR_STRING("a.example")));
    assert_int_equal(port, 8080);
    assert_int_equal(limit_ms, 4000);
    assert_ptr_equal(mark, &owner);
    dial.started++;
    dial.state = DIAL_WAITING;
    return the_dial;
}

void dial_secure(struct dial *of, struct tls_context *context, weir_string host,
                 const char *const *alpn, uint32_t handshake_ms)
{
}

enum dial_state dial_state(const struct dial *which)
{
    assert_ptr_equal(which, the_dial);
    return dial.state;
}

uint32_t dial_addresses(const struct dial *which, const struct address **list)
{
    assert_int_equal(dial.state, DIAL_ADDRESSES);
    *list = addresses;
    return 3;
}

void dial_forbid(struct dial *which, uint32_t index)
{
    dial.forbidden |= 1u << index;
}

weir_result access_judge_again(const struct snapshot *of, const struct address *address)
{
    assert_ptr_equal(of, &snapshot);
    return address_port(address) == 1 ? WEIR_ADDRESS_PROHIBITED : WEIR_OK;
}

weir_result access_judge(const struct snapshot *of, const struct address *where,
                         const struct address *address)
{
    assert_ptr_equal(of, &snapshot);
    assert_ptr_equal(where, &reached);
    dial.judged++;
    return address_port(address) == 2 ? WEIR_LOOP : access_judge_again(of, address);
}

void dial_go(struct dial *which)
{
    assert_int_equal(dial.state, DIAL_ADDRESSES);
    if (++dial.gone_on % 2 == 0) /* two lists of addresses */
        dial.state = DIAL_WAITING;
}

struct carrier *dial_take(struct dial *which)
{
    assert_int_equal(dial.state, DIAL_CONNECTED);
    return &carrier;
}

weir_result dial_error(const struct dial *which)
{
    assert_int_equal(dial.state, DIAL_FAILED);
    return dial.error;
}

struct dial_times dial_times(const struct dial *which)
{
    assert_true(dial.state == DIAL_CONNECTED || dial.state == DIAL_FAILED);
    return (struct dial_times){.resolve_us = 11, .connect_us = 22};
}

bool dial_forbade(const struct dial *which)
{
    return dial.forbidden != 0;
}

void dial_hand_over(struct dial *which, struct mark *to)
{
    fail_msg("nobody else waits");
}

void dial_cancel(struct dial *which)
{
    assert_ptr_equal(which, the_dial);
    dial.cancelled++;
}

struct connection *pool_take(struct pool *pool, const struct target *where)
{
    struct connection *taken = in_pool;
    assert_ptr_equal(where, &target);
    in_pool = NULL;
    return taken;
}

/* Nothing is shared here: shared_test.c is about that. */
struct connection *pool_take_busy(struct pool *pool, const struct target *where,
                                  const struct connection *but)
{
    return NULL;
}

bool pool_may_share(const struct pool *pool, const struct target *where, uint64_t now_ms)
{
    return false;
}

void pool_offer(struct connection *connection)
{
    fail_msg("it cannot be shared");
}

void pool_line_join(struct pool *pool, const struct target *where, struct pool_place *place)
{
    fail_msg("there is no line");
}

bool pool_line_may_dial(const struct pool_place *place)
{
    return false;
}

struct pool_place *pool_line_next(const struct pool_place *place)
{
    return NULL;
}

void pool_line_leave(struct pool_place *place)
{
}

void pool_line_tell(const struct pool_place *place)
{
}

uint64_t loop_now_ms(struct loop *loop)
{
    return 0;
}

void pool_adopt(struct pool *pool, const struct target *where, struct connection *connection)
{
    assert_ptr_equal(where, &target);
    assert_ptr_equal(connection, &opened);
    dial.adopted++;
}

struct connection *connection_open(struct worker *of, struct carrier *on,
                                   const weir_protocol *speaks, uint32_t side)
{
    assert_ptr_equal(on, &carrier);
    assert_ptr_equal(speaks, &protocol);
    assert_int_equal(side, WEIR_SERVER_SIDE);
    return &opened;
}

void connection_attach(struct connection *connection, struct channel *channel)
{
    fail_msg("no exchange is attached here");
}

void pool_put(struct pool *pool, struct connection *connection)
{
    assert_null(in_pool);
    in_pool = connection;
}

static struct upstream_group group;
static struct attempt attempt;
static unsigned owner_judged;

/* Nothing at port 3 for this owner. */
static weir_result owner_judges(struct mark *of, const struct address *address)
{
    assert_ptr_equal(of, &owner);
    owner_judged++;
    return address_port(address) == 3 ? WEIR_DENIED : WEIR_OK;
}

static int set_up(void **state)
{
    worker = (struct worker){0};
    snapshot.timeouts.connect = 4000;
    target =
        (struct target){.protocols = {&protocol}, .host = WEIR_STRING("a.example"), .port = 8080};
    in_pool = NULL;
    kept.carrier = &kept_carrier;
    dial.started = dial.gone_on = dial.cancelled = dial.adopted = dial.judged = 0;
    dial.forbidden = owner_judged = 0;
    for (int i = 0; i < 3; i++)
        addresses[i] = (struct address){.v4 = {.sin_family = AF_INET}};
    kept_carrier.facts.peer = addresses[0];
    attempt = (struct attempt){0};
    attempt_init(&attempt, &worker, &snapshot, &reached, owner_judges, &owner);
    return 0;
}

static void start(void)
{
    attempt_start(&attempt);
    attempt_step(&attempt, &target);
}

static uint64_t counted(enum metric metric)
{
    return metric_read(&worker.metrics, metric);
}

/* --- reaching the target */

static void a_kept_connection_is_ready_at_once(void **state)
{
    in_pool = &kept;
    start();
    assert_int_equal(attempt_step(&attempt, &target), ATTEMPT_READY);
    assert_ptr_equal(attempt.connection, &kept);
    assert_int_equal(attempt.times.connect_us, 0);
    assert_true(attempt.reused);
    assert_int_equal(attempt.number, 1);
    assert_int_equal(dial.started, 0);
    assert_int_equal(dial.judged, 0); /* not as if it were dialled: only what may have changed */
    assert_int_equal(counted(METRIC_SERVER_CONNECTIONS_REUSED), 1);
    attempt_cancel(&attempt); /* there is nothing to give up */
    assert_int_equal(dial.cancelled, 0);
}

static void otherwise_it_is_dialled(void **state)
{
    start();
    assert_int_equal(attempt_step(&attempt, &target), ATTEMPT_WAITING);
    dial.state = DIAL_ADDRESSES;
    assert_int_equal(attempt_step(&attempt, &target), ATTEMPT_WAITING);
    assert_int_equal(dial.gone_on, 2);
    assert_int_equal(attempt.times.resolve_us, 0);
    dial.state = DIAL_CONNECTED;
    assert_int_equal(attempt_step(&attempt, &target), ATTEMPT_READY);
    assert_ptr_equal(attempt.connection, &opened);
    assert_false(attempt.reused);
    assert_int_equal(attempt.times.resolve_us, 11);
    assert_int_equal(attempt.times.connect_us, 22);
    assert_int_equal(dial.adopted, 1);
    assert_int_equal(attempt_step(&attempt, &target), ATTEMPT_READY); /* stays so */
    assert_int_equal(dial.adopted, 1);
    assert_int_equal(counted(METRIC_SERVER_CONNECTIONS_REUSED), 0);
    attempt_cancel(&attempt);
    assert_int_equal(dial.cancelled, 0); /* the dial is gone */
}

static void a_dial_that_fails(void **state)
{
    start();
    dial.state = DIAL_FAILED;
    dial.error = WEIR_UNROUTABLE;
    assert_int_equal(attempt_step(&attempt, &target), ATTEMPT_FAILED);
    assert_int_equal(attempt.error, WEIR_UNROUTABLE);
    assert_int_equal(attempt.times.connect_us, 22);
    assert_null(attempt.connection);
    assert_int_equal(dial.cancelled, 1); /* let go */
    assert_int_equal(attempt_step(&attempt, &target), ATTEMPT_FAILED);
    attempt_cancel(&attempt);
    assert_int_equal(dial.cancelled, 1);
}

static void given_up_while_waiting(void **state)
{
    start();
    attempt_cancel(&attempt);
    attempt_cancel(&attempt);
    assert_int_equal(dial.cancelled, 1);
}

/* --- judging */

static void every_address_is_judged(void **state)
{
    address_set_port(&addresses[0], 1);
    address_set_port(&addresses[2], 2);
    start();
    dial.state = DIAL_ADDRESSES;
    assert_int_equal(attempt_step(&attempt, &target), ATTEMPT_WAITING);
    assert_int_equal(dial.forbidden, 5);
    assert_int_equal(dial.judged, 6); /* both lists */
}

static void the_answer_says_what_was_forbidden(void **state)
{
    address_set_port(&addresses[0], 2);
    start();
    dial.state = DIAL_ADDRESSES;
    attempt_step(&attempt, &target);
    dial.state = DIAL_FAILED;
    dial.error = WEIR_ADDRESS_PROHIBITED;
    assert_int_equal(attempt_step(&attempt, &target), ATTEMPT_FAILED);
    assert_int_equal(attempt.error, WEIR_LOOP);
    set_up(state);
    address_set_port(&addresses[2], 1);
    start();
    dial.state = DIAL_ADDRESSES;
    attempt_step(&attempt, &target);
    dial.state = DIAL_FAILED; /* others were tried: what was forbidden says more */
    dial.error = WEIR_CONNECTION_REFUSED;
    assert_int_equal(attempt_step(&attempt, &target), ATTEMPT_FAILED);
    assert_int_equal(attempt.error, WEIR_ADDRESS_PROHIBITED);
}

static void a_kept_connection_is_judged_too(void **state)
{
    in_pool = &kept;
    address_set_port(&kept_carrier.facts.peer, 1);
    start();
    assert_int_equal(attempt_step(&attempt, &target), ATTEMPT_WAITING);
    assert_null(attempt.connection);
    assert_ptr_equal(in_pool, &kept); /* others may use it */
    assert_int_equal(dial.started, 1);
    assert_int_equal(counted(METRIC_SERVER_CONNECTIONS_REUSED), 0);
    dial.state = DIAL_FAILED;
    dial.error = WEIR_CONNECTION_REFUSED;
    assert_int_equal(attempt_step(&attempt, &target), ATTEMPT_FAILED);
    assert_int_equal(attempt.error, WEIR_ADDRESS_PROHIBITED);
    start(); /* what was forbidden of one try says nothing of the next */
    dial.state = DIAL_FAILED;
    assert_int_equal(attempt_step(&attempt, &target), ATTEMPT_FAILED);
    assert_int_equal(attempt.error, WEIR_CONNECTION_REFUSED);
}

static void the_owner_judges_what_weir_allows(void **state)
{
    address_set_port(&addresses[0], 1);
    address_set_port(&addresses[1], 3);
    start();
    dial.state = DIAL_ADDRESSES;
    assert_int_equal(attempt_step(&attempt, &target), ATTEMPT_WAITING);
    assert_int_equal(dial.forbidden, 3);
    assert_int_equal(owner_judged, 4); /* two of each list: not the first */
    dial.state = DIAL_FAILED;
    assert_int_equal(attempt_step(&attempt, &target), ATTEMPT_FAILED);
    assert_int_equal(attempt.error, WEIR_DENIED);
    set_up(state);
    in_pool = &kept;
    address_set_port(&kept_carrier.facts.peer, 3);
    start();
    assert_null(attempt.connection);
    assert_ptr_equal(in_pool, &kept);
}

static void the_operators_servers_are_not_judged(void **state)
{
    target.group = &group;
    address_set_port(&addresses[0], 1);
    start();
    dial.state = DIAL_ADDRESSES;
    attempt_step(&attempt, &target);
    assert_int_equal(dial.forbidden, 0);
    assert_int_equal(owner_judged, 0);
    attempt_cancel(&attempt);
    set_up(state);
    target.group = &group;
    in_pool = &kept;
    address_set_port(&kept_carrier.facts.peer, 1);
    start();
    assert_int_equal(attempt_step(&attempt, &target), ATTEMPT_READY);
}

/* --- once more */

/* A second kept connection may be as dead as the first. */
static void a_repeated_try_is_dialled(void **state)
{
    in_pool = &kept;
    start();
    in_pool = &kept;
    attempt.times.connect_us = 5;
    start();
    assert_int_equal(attempt.times.connect_us, 0);
    assert_int_equal(attempt.number, 2);
    assert_false(attempt.reused);
    assert_int_equal(attempt.state, ATTEMPT_WAITING);
    assert_int_equal(dial.started, 1);
    assert_ptr_equal(in_pool, &kept);
    assert_int_equal(counted(METRIC_ATTEMPTS_REPEATED), 1);
}

/* --- repeating: every combination, against the rule in words */

static const char *const methods[] = {"GET",  "HEAD",  "PUT",     "DELETE", "OPTIONS", "TRACE",
                                      "POST", "PATCH", "CONNECT", "get",    "GETX",    ""};
enum { IDEMPOTENT = 6 }; /* so many of them, from the front */

static const weir_result failures[] = {
    WEIR_CONNECTION_TERMINATED, WEIR_TRUNCATED,        WEIR_RESET,     WEIR_REFUSED,
    WEIR_SERVER_PROTOCOL_ERROR, WEIR_RESPONSE_TIMEOUT, WEIR_CANCELLED, WEIR_OK,
};

struct
try {
    size_t method, failure;
    bool reused, unprocessed, answered;
    uint64_t body_bytes;
    uint32_t number;
};

static bool may(const struct try *try)
{
    struct attempt tried = {.number = try->number, .reused = try->reused};
    struct channel server = {.failed = failures[try->failure],
                             .unprocessed = try->unprocessed,
                             .answered = try->answered};
    return attempt_may_repeat(&tried, &server, string_of(methods[try->method]), try->body_bytes);
}

static bool must(const struct try *try)
{
    if (try->answered || try->body_bytes > 0 || try->number > 2)
        return false; /* the client may have seen it, the body is gone, or it is enough */
    bool died_unused = try->reused && failures[try->failure] == WEIR_CONNECTION_TERMINATED;
    return try->unprocessed || (died_unused && try->method < IDEMPOTENT);
}

static void the_whole_table(void **state)
{
    int yes = 0, all = 0;
    for (size_t method = 0; method < sizeof methods / sizeof *methods; method++)
        for (size_t failure = 0; failure < sizeof failures / sizeof *failures; failure++)
            for (unsigned bits = 0; bits < 16; bits++)
                for (uint32_t number = 1; number <= 4; number++) {
                    struct try try = {.method = method,
                                      .failure = failure,
                                      .reused = bits & 1,
                                      .unprocessed = bits & 2,
                                      .answered = bits & 4,
                                      .body_bytes = bits & 8 ? 1 : 0,
                                      .number = number};
                    assert_int_equal(may(&try), must(&try));
                    yes += must(&try);
                    all++;
                }
    assert_int_equal(all, 12 * 8 * 16 * 4);
    /* Unprocessed: 2 of reused, 2 tries; else reused, terminated and idempotent. */
    assert_int_equal(yes, 12 * 8 * 2 * 2 + IDEMPOTENT * 2);
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_kept_connection_is_ready_at_once),
        TEST(otherwise_it_is_dialled),
        TEST(a_dial_that_fails),
        TEST(given_up_while_waiting),
        TEST(every_address_is_judged),
        TEST(the_answer_says_what_was_forbidden),
        TEST(a_kept_connection_is_judged_too),
        TEST(the_owner_judges_what_weir_allows),
        TEST(the_operators_servers_are_not_judged),
        TEST(a_repeated_try_is_dialled),
        TEST(the_whole_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
