/* tests/unit/core/host/subrequest_test.c - a plugin's own request: what is refused, what is asked
 * for, and what its plugin is told
 *
 * Brings its own exchanges, which only note how they begin: each test plays what one does. */
#include "core/host/subrequest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/exchange/exchange.h"
#include "core/io/loop.h"
#include "core/io/work.h"

enum { EXCHANGES_MOST = SUBREQUESTS_OWNER_MOST + 1 };

static struct exchange exchanges[EXCHANGES_MOST];
static uint32_t begun;
static char wanted[64]; /* where the last one is to go */
static int64_t length;
static uint64_t now_ms;

static struct turn turn;
static struct wheel wheel;
static struct worker worker;
static struct snapshot snapshot;
static struct snapshot_use use;
static struct owner owner;

/* --- what is not there */

uint64_t loop_now_ms(struct loop *loop)
{
    (void)loop;
    return now_ms;
}

uint64_t loop_wall_us(struct loop *loop)
{
    return loop_now_ms(loop) * 1000;
}

void loop_post(struct loop *loop, void (*call)(void *user), void *user)
{
    (void)loop, (void)call, (void)user;
    fail();
}

struct work *work_start(struct loop *loop, weir_result (*run)(void *data),
                        void (*done)(void *data, weir_result result), void *data)
{
    (void)loop, (void)run, (void)done, (void)data;
    fail();
    return NULL;
}

void work_cancel(struct work *work)
{
    (void)work;
    fail();
}

static void step_nothing(struct mark *mark)
{
    (void)mark;
}

struct exchange *exchange_begin_own(struct worker *of, struct snapshot_use *under,
                                    struct exchange *behalf, const weir_head *head, weir_string to)
{
    struct exchange *x = &exchanges[begun++];
    assert_ptr_equal(of, &worker);
    assert_ptr_equal(under, &use);
    assert_null(behalf);
    assert_true(begun <= EXCHANGES_MOST && to.length < sizeof wanted);
    memset(x, 0, sizeof *x);
    arena_init(&x->arena, NULL, 0);
    mark_init(&x->mark, step_nothing);
    channel_init(&x->client, &turn, &x->mark, &x->arena);
    x->request = head_copy(&x->arena, head);
    memcpy(wanted, to.bytes, to.length);
    wanted[to.length] = 0;
    return x;
}

void exchange_set_length(struct exchange *x, uint32_t direction, int64_t bytes)
{
    (void)x;
    assert_int_equal(direction, WEIR_REQUEST_DIRECTION);
    length = bytes;
}

void exchange_invite_body(struct exchange *x)
{
    (void)x;
    fail();
}

/* --- a worker */

static void on_event(struct owner *of)
{
    (void)of;
}

static int set_up(void **state)
{
    static char name[] = "app", server[] = "127.0.0.1:9000", *servers[] = {server};
    static struct upstream_group group = {.name = name, .servers = servers, .count = 1};
    (void)state;
    turn_init(&turn);
    wheel_init(&wheel, now_ms = 1000);
    worker = (struct worker){.turn = &turn, .wheel = &wheel};
    snapshot = (struct snapshot){.upstreams = &group, .upstream_count = 1};
    use = (struct snapshot_use){.snapshot = &snapshot, .count = 1};
    worker_current = &worker;
    owners_new(&worker);
    subrequests_new(&worker);
    owner_init(&owner, &worker, &use, on_event);
    begun = 0;
    length = -1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    owner_end(&owner);
    owners_stop(&worker);
    subrequests_free(&worker);
    assert_int_equal(worker.owners->tasks, 0);
    owners_free(&worker);
    for (uint32_t i = 0; i < begun; i++) {
        slice_queue_deinit(&exchanges[i].client.incoming);
        arena_deinit(&exchanges[i].arena);
    }
    buffer_pool_deinit();
    arena_pool_deinit();
    return 0;
}

static weir_result ask(const weir_fetch *fetch, weir_reference *name)
{
    return subrequest_begin(&owner, owner_reference(&owner, 0), fetch, 7, name);
}

static weir_fetch fetch_of(const char *url)
{
    return (weir_fetch){.size = sizeof(weir_fetch), .url = string_of(url)};
}

static struct channel *begin(const weir_fetch *fetch, weir_reference *name)
{
    assert_int_equal(ask(fetch, name), WEIR_OK);
    return &exchanges[begun - 1].client;
}

static struct channel *begin_usual(void)
{
    weir_fetch fetch = fetch_of("http://a.test/");
    return begin(&fetch, NULL);
}

/* --- what the exchange does */

static void send_head(struct channel *client, uint32_t status, weir_result error, uint32_t flags)
{
    weir_head head = {.size = sizeof head, .kind = WEIR_REQUEST, .status = status, .error = error};
    assert_int_equal(client->operations->head(&client->public, &head, flags), WEIR_OK);
}

static void send_data(struct channel *client, const char *text, uint32_t flags)
{
    weir_slice slice = {(const uint8_t *)text, strlen(text), NULL};
    client->credit -= slice.length;
    client->operations->data(&client->public, &slice, 1, flags);
}

static void close_leg(struct channel *client)
{
    client->operations->close(&client->public);
}

/* The one event there is. */
static struct task *the_event(weir_result result)
{
    struct task *task = owner_next_event(&owner);
    assert_non_null(task);
    assert_int_equal(task->event.kind, WEIR_EVENT_FETCH);
    assert_int_equal(task->event.tag, 7);
    assert_int_equal(task->event.result, result);
    return task;
}

static void ends_with(struct channel *client, weir_result result)
{
    close_leg(client);
    struct task *task = the_event(result);
    assert_null(task->event.head);
    assert_int_equal(task->event.body.length, 0);
    owner_event_done(task);
    assert_int_equal(metric_read(&worker.metrics, METRIC_SUBREQUESTS_FAILED), 1);
}

/* --- what is refused */

static void refuses(const weir_fetch *fetch, weir_result why)
{
    weir_reference name = {0};
    assert_int_equal(ask(fetch, &name), why);
    assert_int_equal(begun, 0);
    assert_int_equal(name.value, 0);
    assert_int_equal(worker.owners->tasks, 0);
}

static void urls(void **state)
{
    static const char *const wrong[] = {
        "",           "/path",         "http:/a/",        "http://",         "http:///",
        "ftp://a/",   "http://a b/",   "http://a/b c",    "http://a/\r\nX:", "http://a/#f",
        "http://a?q", "https://",      "http://a:99999/", "http://u@a/",     "http://a\r\n/",
        "//a/",       "http://a/\x7f", "http://a/\xc3",   "http://a/\t",     "http://[::1/",
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        weir_fetch fetch = fetch_of(wrong[i]);
        refuses(&fetch, WEIR_INVALID);
    }
    weir_fetch nul = {.size = sizeof nul, .url = WEIR_STRING("http://a/\0b")};
    refuses(&nul, WEIR_INVALID);
}

static void methods(void **state)
{
    static const weir_string wrong[] = {WEIR_STRING("CONNECT"), WEIR_STRING("GE T"),
                                        WEIR_STRING("GET\r\n"), WEIR_STRING("GET\0"),
                                        WEIR_STRING("G\xc3T"),  WEIR_STRING(" ")};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        weir_fetch fetch = fetch_of("http://a.test/");
        fetch.method = wrong[i];
        refuses(&fetch, WEIR_INVALID);
    }
}

#define FIELD(name, value)                                                                         \
    {                                                                                              \
        {name, sizeof(name) - 1},                                                                  \
        {                                                                                          \
            value, sizeof(value) - 1                                                               \
        }                                                                                          \
    }

static void fields(void **state)
{
    static const weir_field wrong[] = {
        FIELD("", "1"),
        FIELD("X A", "1"),
        FIELD("X:", "1"),
        FIELD("X\r\nY", "1"),
        FIELD("X\n", "1"),
        FIELD("X\0", "1"),
        FIELD("X\xc3", "1"),
        FIELD("X", "a\rb"),
        FIELD("X", "a\nb"),
        FIELD("X", "a\r\nY: b"),
        FIELD("X", "a\0b"),
        FIELD("X", "\x01"),
        FIELD("X", "\x7f"),
        FIELD("Host", "b.test"),
        FIELD("hOST", "b.test"),
        FIELD("Connection", "x"),
        FIELD("Keep-Alive", "1"),
        FIELD("Proxy-Connection", "close"),
        FIELD("TE", "trailers"),
        FIELD("Trailer", "X"),
        FIELD("Transfer-Encoding", "chunked"),
        FIELD("Upgrade", "h2c"),
        FIELD("Expect", "100-continue"),
        FIELD("Content-Length", "0"),
        FIELD("HTTP2-Settings", "AAMAAABkAAQCAAAAAAIAAAAA"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        weir_field list[] = {FIELD("X-Good", "yes"), wrong[i]};
        weir_fetch fetch = fetch_of("http://a.test/");
        fetch.fields = list;
        fetch.count = 2;
        refuses(&fetch, WEIR_INVALID);
    }
}

static void too_much(void **state)
{
    static char long_text[65536];
    static weir_field many[257];
    (void)state;
    memset(long_text, 'a', sizeof long_text);
    for (size_t i = 0; i < 257; i++)
        many[i] = (weir_field)FIELD("X", "1");
    weir_fetch fetch = fetch_of("http://a.test/");
    fetch.fields = many;
    fetch.count = 257;
    refuses(&fetch, WEIR_TOO_MUCH);
    many[0].value = (weir_string){long_text, sizeof long_text};
    fetch.count = 1;
    refuses(&fetch, WEIR_TOO_MUCH);
    fetch.count = 0;
    fetch.body = (weir_string){long_text, (1 << 20) + 1};
    refuses(&fetch, WEIR_TOO_MUCH);
}

static void an_upstream_that_is_not_there(void **state)
{
    (void)state;
    weir_fetch fetch = fetch_of("/");
    fetch.upstream = WEIR_STRING("other");
    refuses(&fetch, WEIR_NOT_FOUND);
}

static void nothing_new_of_what_is_not_in_force(void **state)
{
    (void)state;
    weir_fetch fetch = fetch_of("http://a.test/");
    use.retired = true;
    refuses(&fetch, WEIR_STOPPING);
    use.retired = false;
    subrequests_stop(&worker);
    refuses(&fetch, WEIR_STOPPING);
}

static void so_many_at_once(void **state)
{
    (void)state;
    weir_fetch fetch = fetch_of("http://a.test/");
    struct channel *first = begin_usual();
    for (int i = 1; i < SUBREQUESTS_OWNER_MOST; i++)
        begin_usual();
    assert_int_equal(ask(&fetch, NULL), WEIR_TOO_MUCH);
    close_leg(first);
    owner_event_done(owner_next_event(&owner));
    assert_int_equal(ask(&fetch, NULL), WEIR_OK);
}

/* --- what is asked for */

static void what_the_exchange_gets(void **state)
{
    (void)state;
    weir_fetch fetch = fetch_of("HTTP://a.test:81/p?q=1");
    fetch.method = WEIR_STRING("PUT");
    fetch.fields = &(weir_field)FIELD("X-A", "one\ttwo \xc3");
    fetch.count = 1;
    struct channel *client = begin(&fetch, NULL);
    const weir_head *head = &exchanges[0].request->view;
    assert_string_equal(wanted, "a.test:81");
    assert_true(string_equal(head->method, WEIR_STRING("PUT")));
    assert_true(string_equal(head->scheme, WEIR_STRING("http")));
    assert_true(string_equal(head->authority, WEIR_STRING("a.test:81")));
    assert_true(string_equal(head->path, WEIR_STRING("/p?q=1")));
    assert_int_equal(head->count, 1);
    assert_true(string_equal(head->fields[0].value, WEIR_STRING("one\ttwo \xc3")));
    assert_int_equal(head->flags, WEIR_END);
    assert_int_equal(client->credit, WEIR_CREDIT);
}

static void where_it_goes(void **state)
{
    static const struct {
        const char *url, *upstream, *to, *authority, *path;
    } table[] = {
        {"http://a.test", "", "a.test:80", "a.test", "/"},
        {"http://a.test:/", "", "a.test:80", "a.test:", "/"},
        {"http://[::1]:8/x", "", "[::1]:8", "[::1]:8", "/x"},
        {"/x", "app", "app", "app", "/x"},
        {"http://b.test/x", "app", "app", "b.test", "/x"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        weir_fetch fetch = fetch_of(table[i].url);
        fetch.upstream = string_of(table[i].upstream);
        begin(&fetch, NULL);
        const weir_head *head = &exchanges[begun - 1].request->view;
        assert_string_equal(wanted, table[i].to);
        assert_true(string_equal(head->authority, string_of(table[i].authority)));
        assert_true(string_equal(head->path, string_of(table[i].path)));
        assert_true(string_equal(head->method, WEIR_STRING("GET")));
    }
}

static void a_body_comes_with_its_length(void **state)
{
    (void)state;
    weir_fetch fetch = fetch_of("http://a.test/");
    fetch.body = WEIR_STRING("hello");
    struct channel *client = begin(&fetch, NULL);
    assert_int_equal(length, 5);
    assert_int_equal(client->incoming.bytes, 5);
    assert_true(client->incoming_ended);
    assert_int_equal(exchanges[0].request->view.flags, 0);
}

/* --- what the plugin is told */

static void an_answer(void **state)
{
    (void)state;
    struct channel *client = begin_usual();
    send_head(client, 404, WEIR_OK, 0);
    send_data(client, "hel", 0);
    assert_int_equal(client->credit, WEIR_CREDIT); /* it has been taken */
    send_data(client, "lo", WEIR_END);
    assert_null(owner_next_event(&owner));
    close_leg(client);
    struct task *task = the_event(WEIR_OK);
    assert_int_equal(task->event.head->status, 404);
    assert_true(string_equal(task->event.body, WEIR_STRING("hello")));
    assert_int_equal(task->event.flags, 0);
    owner_event_done(task);
    assert_int_equal(metric_read(&worker.metrics, METRIC_SUBREQUESTS_FAILED), 0);
}

static void an_answer_without_a_body(void **state)
{
    (void)state;
    struct channel *client = begin_usual();
    send_head(client, 204, WEIR_OK, WEIR_END);
    close_leg(client);
    struct task *task = the_event(WEIR_OK);
    assert_int_equal(task->event.head->status, 204);
    assert_int_equal(task->event.body.length, 0);
    owner_event_done(task);
}

static void an_answer_ends_with_its_trailers(void **state)
{
    (void)state;
    struct channel *client = begin_usual();
    send_head(client, 200, WEIR_OK, 0);
    client->operations->trailers(&client->public, NULL, 0);
    close_leg(client);
    owner_event_done(the_event(WEIR_OK));
}

static void a_long_answer_is_cut(void **state)
{
    (void)state;
    weir_fetch fetch = fetch_of("http://a.test/");
    fetch.body_most = 4;
    struct channel *client = begin(&fetch, NULL);
    send_head(client, 200, WEIR_OK, 0);
    send_data(client, "hello", 0);
    assert_int_equal(client->failed, WEIR_CANCELLED); /* the exchange is to end */
    close_leg(client);
    struct task *task = the_event(WEIR_OK);
    assert_int_equal(task->event.flags, WEIR_TRUNCATED_DATA);
    assert_true(string_equal(task->event.body, WEIR_STRING("hell")));
    owner_event_done(task);
}

static void what_weir_would_answer_is_no_answer(void **state)
{
    (void)state;
    struct channel *client = begin_usual();
    send_head(client, 502, WEIR_CONNECTION_REFUSED, 0);
    assert_int_equal(client->failed, WEIR_CONNECTION_REFUSED);
    ends_with(client, WEIR_CONNECTION_REFUSED);
}

static void an_answer_that_breaks_off_is_none(void **state)
{
    (void)state;
    struct channel *client = begin_usual();
    send_head(client, 200, WEIR_OK, 0);
    send_data(client, "hel", 0);
    client->operations->reset(&client->public, WEIR_TRUNCATED);
    ends_with(client, WEIR_TRUNCATED);
}

static void no_end_is_no_answer(void **state)
{
    (void)state;
    struct channel *client = begin_usual();
    send_head(client, 200, WEIR_OK, 0);
    ends_with(client, WEIR_INTERNAL);
}

static void it_takes_too_long(void **state)
{
    (void)state;
    weir_fetch fetch = fetch_of("http://a.test/");
    fetch.timeout_ms = 500;
    struct channel *client = begin(&fetch, NULL);
    wheel_advance(&wheel, now_ms += 400);
    assert_int_equal(client->failed, WEIR_OK);
    wheel_advance(&wheel, now_ms += 300);
    assert_int_equal(client->failed, WEIR_RESPONSE_TIMEOUT);
    ends_with(client, WEIR_RESPONSE_TIMEOUT);
}

static void weir_stops(void **state)
{
    (void)state;
    struct channel *client = begin_usual();
    subrequests_stop(&worker);
    assert_int_equal(client->failed, WEIR_STOPPING);
    ends_with(client, WEIR_STOPPING);
}

/* --- nobody wants it any more */

static void nothing_comes_of_what_is_cancelled(void **state)
{
    weir_reference name;
    (void)state;
    weir_fetch fetch = fetch_of("http://a.test/");
    struct channel *client = begin(&fetch, &name);
    assert_int_equal(task_cancel(name), WEIR_OK);
    assert_int_equal(task_cancel(name), WEIR_GONE);
    assert_true(client->detached && client->failed == WEIR_CANCELLED);
    wheel_advance(&wheel, now_ms += 60000);
    assert_null(owner_next_event(&owner));
}

static void an_owner_that_ends_takes_all_with_it(void **state)
{
    (void)state;
    struct channel *first = begin_usual(), *second = begin_usual();
    send_head(second, 200, WEIR_OK, WEIR_END);
    close_leg(second);
    owner_end(&owner);
    assert_true(first->detached);
    assert_int_equal(worker.owners->tasks, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(urls),
        TEST(methods),
        TEST(fields),
        TEST(too_much),
        TEST(an_upstream_that_is_not_there),
        TEST(nothing_new_of_what_is_not_in_force),
        TEST(so_many_at_once),
        TEST(what_the_exchange_gets),
        TEST(where_it_goes),
        TEST(a_body_comes_with_its_length),
        TEST(an_answer),
        TEST(an_answer_without_a_body),
        TEST(an_answer_ends_with_its_trailers),
        TEST(a_long_answer_is_cut),
        TEST(what_weir_would_answer_is_no_answer),
        TEST(an_answer_that_breaks_off_is_none),
        TEST(no_end_is_no_answer),
        TEST(it_takes_too_long),
        TEST(weir_stops),
        TEST(nothing_comes_of_what_is_cancelled),
        TEST(an_owner_that_ends_takes_all_with_it),
    };
    return cmocka_run_group_tests_name("subrequest", tests, NULL, NULL);
}
