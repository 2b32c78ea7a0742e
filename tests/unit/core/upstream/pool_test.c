/* tests/unit/core/upstream/pool_test.c - which connection is taken again, which is closed
 *
 * Connections are real, on carriers that only count; the protocol is this file's. */
#include "core/upstream/pool.h"

#include "core/io/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"

enum { CARRIERS = 5000 };

static struct {
    struct carrier carrier;
    bool closing;
    uint32_t how;
} carriers[CARRIERS];
static int carrier_count;
static struct worker worker;
static struct snapshot snapshot;
static struct turn turn;
static struct wheel wheel;
static struct pool *pool;
static uint32_t spare; /* what the protocol says of every connection */

/* The time stands still; in place of the loop's. */
uint64_t loop_now_ms(struct loop *loop)
{
    (void)loop;
    return 0;
}

/* --- carrier and protocol */

static void carrier_opens(struct carrier *carrier)
{
    (void)carrier;
}

static void carrier_closes(struct carrier *carrier, uint32_t how)
{
    int index = carrier->facts.peer.v4.sin_port;
    carriers[index].closing = true;
    carriers[index].how = how;
}

static const struct carrier_operations carrier_operations = {.open = carrier_opens,
                                                             .close = carrier_closes};

static void connection_event(weir_connection *connection)
{
    (void)connection;
}

static uint32_t says_spare(const weir_connection *connection)
{
    return spare;
}

static const weir_connection_operations connection_operations = {
    .size = sizeof connection_operations,
    .connection_state_size = 8,
    .open = connection_event,
    .close = connection_event,
};
static const weir_channel_operations channel_operations = {.size = sizeof channel_operations,
                                                           .spare = says_spare};
static const weir_protocol one = {.size = sizeof one,
                                  .name = "one",
                                  .connection = &connection_operations,
                                  .server = &channel_operations};
static const weir_protocol two = {.size = sizeof two,
                                  .name = "two",
                                  .connection = &connection_operations,
                                  .server = &channel_operations};

/* --- what happens */

static struct target target(const char *host, uint16_t port)
{
    return (struct target){.protocols = {&one}, .host = string_of(host), .port = port};
}

static struct connection *connect_to(const struct target *where)
{
    struct carrier *carrier = &carriers[carrier_count].carrier;
    assert_true(carrier_count < CARRIERS);
    memset(&carriers[carrier_count], 0, sizeof *carriers);
    carrier->operations = &carrier_operations;
    carrier->facts.peer.v4.sin_port = (in_port_t)carrier_count++;
    struct connection *connection =
        connection_open(&worker, carrier, where->protocols[0], WEIR_SERVER_SIDE);
    pool_adopt(pool, where, connection);
    return connection;
}

static bool is_closing(const struct connection *connection)
{
    return carriers[connection->carrier->facts.peer.v4.sin_port].closing;
}

/* The loop tells of the carriers that were closed: their connections go. */
static void closed(void)
{
    for (int i = 0; i < carrier_count; i++)
        if (carriers[i].closing && carriers[i].carrier.user) {
            carriers[i].carrier.events->closed(carriers[i].carrier.user);
            carriers[i].carrier.user = NULL;
        }
}

static void dies(struct connection *connection)
{
    connection_close(connection, CARRIER_CLOSE_NOW, WEIR_RESET);
    closed();
}

static int set_up(void **state)
{
    memset(&worker, 0, sizeof worker);
    carrier_count = 0;
    spare = 1;
    turn_init(&turn);
    wheel_init(&wheel, 0);
    link_init(&worker.connections);
    worker.snapshot = &snapshot;
    worker.turn = &turn;
    worker.wheel = &wheel;
    pool = pool_new();
    return 0;
}

static int tear_down(void **state)
{
    for (int i = 0; i < carrier_count; i++)
        if (carriers[i].carrier.user)
            connection_close(carriers[i].carrier.user, CARRIER_CLOSE_NOW, WEIR_OK);
    closed();
    pool_free(pool);
    return 0;
}

/* --- tests */

static void nothing_there(void **state)
{
    struct target where = target("a.example", 80);
    assert_null(pool_take(pool, &where));
    struct connection *connection = connect_to(&where);
    assert_null(pool_take(pool, &where)); /* it serves somebody */
    pool_put(pool, connection);
    assert_ptr_equal(pool_take(pool, &where), connection);
    assert_null(pool_take(pool, &where)); /* once */
}

static void the_last_one_used_comes_first(void **state)
{
    struct target where = target("a.example", 80);
    struct connection *first = connect_to(&where), *second = connect_to(&where),
                      *third = connect_to(&where);
    pool_put(pool, second);
    pool_put(pool, first);
    pool_put(pool, third);
    assert_ptr_equal(pool_take(pool, &where), third);
    assert_ptr_equal(pool_take(pool, &where), first);
    pool_put(pool, third);
    assert_ptr_equal(pool_take(pool, &where), third);
    assert_ptr_equal(pool_take(pool, &where), second);
    assert_null(pool_take(pool, &where));
}

static void what_differs_is_not_shared(void **state)
{
    struct target where = target("a.example", 80), other = where;
    pool_put(pool, connect_to(&where));
    other.port = 81;
    assert_null(pool_take(pool, &other));
    other = where;
    other.protocols[0] = &two;
    assert_null(pool_take(pool, &other));
    other = target("b.example", 80);
    assert_null(pool_take(pool, &other));
    other = target("a.exampl", 80);
    assert_null(pool_take(pool, &other));
    other = target("", 80);
    assert_null(pool_take(pool, &other));
    other = target("A.Example", 80); /* the same host */
    assert_non_null(pool_take(pool, &other));
}

static void the_name_is_copied(void **state)
{
    char host[] = "A.example";
    struct target where = target(host, 80), same = target("a.EXAMPLE", 80);
    pool_put(pool, connect_to(&where));
    memset(host, 'x', sizeof host);
    assert_non_null(pool_take(pool, &same));
}

static void a_dead_one_is_forgotten(void **state)
{
    struct target where = target("a.example", 80);
    struct connection *first = connect_to(&where), *second = connect_to(&where);
    pool_put(pool, first);
    pool_put(pool, second);
    dies(second); /* idle */
    assert_ptr_equal(pool_take(pool, &where), first);
    dies(first); /* taken: the origin goes with it */
    assert_null(pool_take(pool, &where));
    struct connection *third = connect_to(&where);
    pool_put(pool, third);
    assert_ptr_equal(pool_take(pool, &where), third);
}

static void a_closing_one_is_not_put_back(void **state)
{
    struct target where = target("a.example", 80);
    struct connection *connection = connect_to(&where);
    connection_close(connection, CARRIER_CLOSE_RESET, WEIR_RESET);
    pool_put(pool, connection);
    assert_null(pool_take(pool, &where));
}

static void one_that_can_serve_no_more_is_closed(void **state)
{
    struct target where = target("a.example", 80);
    struct connection *connection = connect_to(&where);
    spare = 0;
    pool_put(pool, connection);
    assert_true(is_closing(connection));
    assert_null(pool_take(pool, &where));
}

static void nothing_is_kept_while_draining(void **state)
{
    struct target where = target("a.example", 80);
    struct connection *connection = connect_to(&where);
    worker.draining = true;
    pool_put(pool, connection);
    assert_true(is_closing(connection));
}

static void idle_ones_are_closed_others_not(void **state)
{
    char host[24];
    struct connection *idle[40], *busy[40];
    for (int i = 0; i < 40; i++) {
        snprintf(host, sizeof host, "host-%d", i % 20);
        struct target where = target(host, 80);
        idle[i] = connect_to(&where);
        busy[i] = connect_to(&where);
        pool_put(pool, idle[i]);
    }
    pool_close_idle(pool);
    for (int i = 0; i < 40; i++) {
        assert_true(is_closing(idle[i]));
        assert_false(is_closing(busy[i]));
        snprintf(host, sizeof host, "host-%d", i % 20);
        struct target where = target(host, 80);
        assert_null(pool_take(pool, &where));
    }
    closed();
    for (int i = 0; i < 40; i++)
        pool_put(pool, busy[i]);
    struct target where = target("host-3", 80);
    assert_non_null(pool_take(pool, &where));
}

/* More origins than buckets, so that some share one; each is found, in any order they go. */
static void many_origins(void **state)
{
    enum { MANY = 3000 };
    static struct connection *all[MANY];
    char host[24];
    for (int i = 0; i < MANY; i++) {
        snprintf(host, sizeof host, "host-%d", i);
        struct target where = target(host, (uint16_t)(80 + i % 3));
        all[i] = connect_to(&where);
        pool_put(pool, all[i]);
    }
    for (int i = 0; i < MANY; i += 2)
        dies(all[i * 7 % MANY]);
    for (int i = 0; i < MANY; i++) {
        snprintf(host, sizeof host, "host-%d", i);
        struct target where = target(host, (uint16_t)(80 + i % 3));
        struct connection *taken = pool_take(pool, &where);
        if (taken)
            assert_ptr_equal(taken, all[i]);
        else
            assert_null(carriers[i].carrier.user);
    }
}

static void not_more_than_so_many_idle(void **state)
{
    enum { IDLE_MOST = 4096 };
    static struct connection *all[IDLE_MOST + 1];
    struct target where = target("a.example", 80);
    for (int i = 0; i <= IDLE_MOST; i++)
        all[i] = connect_to(&where);
    for (int i = 0; i < IDLE_MOST; i++)
        pool_put(pool, all[i]);
    assert_false(is_closing(all[IDLE_MOST - 1]));
    pool_put(pool, all[IDLE_MOST]);
    assert_false(is_closing(all[IDLE_MOST]));
    assert_true(is_closing(all[0])); /* the one that was idle for longest */
    closed();
    dies(all[1]); /* makes room for one */
    struct connection *more = connect_to(&where), *most = connect_to(&where);
    pool_put(pool, more);
    assert_false(is_closing(all[2]));
    pool_put(pool, most);
    assert_true(is_closing(all[2]));
    assert_false(is_closing(more) || is_closing(most));
}

/* Each of 100 clients has its server; idle they are all kept, although the share is 10. */
static void clients_without_a_server_keep_idle_ones(void **state)
{
    enum { CLIENTS = 100 };
    struct target where = target("a.example", 80);
    struct connection *all[CLIENTS];
    pool_start(10);
    metric_add(&worker.metrics, METRIC_CLIENT_CONNECTIONS_OPEN, CLIENTS);
    for (int i = 0; i < CLIENTS; i++)
        all[i] = connect_to(&where);
    for (int i = 0; i < CLIENTS; i++)
        pool_put(pool, all[i]);
    for (int i = 0; i < CLIENTS; i++)
        assert_false(is_closing(all[i]));
    metric_add(&worker.metrics, METRIC_CLIENT_CONNECTIONS_OPEN, 1 - CLIENTS);
    connect_to(&where); /* one of those that left keeps nothing from this client */
    assert_true(is_closing(all[0]));
    assert_false(is_closing(all[1]));
    struct connection *other = pool_take(pool, &where);
    pool_put(pool, other);
    assert_true(is_closing(all[1]));
    assert_false(is_closing(all[2]) || is_closing(other));
    pool_start(UINT32_MAX);
}

/* However many connections one origin has, those of others go no more often. */
static void every_origin_makes_room(void **state)
{
    struct target where[4] = {target("a.example", 80), target("b.example", 80),
                              target("c.example", 80), target("d.example", 80)};
    struct connection *idle[8];
    pool_start(8);
    for (int i = 0; i < 8; i++) {
        idle[i] = connect_to(&where[i < 5 ? 0 : i - 4]);
        pool_put(pool, idle[i]);
    }
    for (int i = 0; i < 4; i++)
        pool_put(pool, connect_to(&where[0]));
    int gone = 0;
    for (int i = 5; i < 8; i++)
        gone += is_closing(idle[i]);
    assert_int_equal(gone, 3);
    assert_int_equal(is_closing(idle[0]) + gone, 4);
    pool_start(UINT32_MAX);
}

static void none_is_kept_where_there_is_no_room(void **state)
{
    struct target where = target("a.example", 80);
    struct connection *connection = connect_to(&where);
    pool_start(0);
    pool_put(pool, connection);
    assert_true(is_closing(connection));
    pool_start(UINT32_MAX);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_there),
        TEST(the_last_one_used_comes_first),
        TEST(what_differs_is_not_shared),
        TEST(the_name_is_copied),
        TEST(a_dead_one_is_forgotten),
        TEST(a_closing_one_is_not_put_back),
        TEST(one_that_can_serve_no_more_is_closed),
        TEST(nothing_is_kept_while_draining),
        TEST(idle_ones_are_closed_others_not),
        TEST(many_origins),
        TEST(not_more_than_so_many_idle),
        TEST(clients_without_a_server_keep_idle_ones),
        TEST(every_origin_makes_room),
        TEST(none_is_kept_where_there_is_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
