/* tests/unit/core/exchange/filters_test.c - which hook of which filter runs, in which order */
#include "core/exchange/filters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/log.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/exchange/exchange.h"
#include "core/exchange/filter_host.h"

static _Alignas(8) uint8_t first_block[4096];
static struct exchange exchange;
static struct worker worker;
static struct snapshot_use use_of_snapshot;
static char visits[256];      /* what ran: the filter's letter and its hook's */
static const char *answering; /* the visit that answers something else than "go on" */
static weir_answer answer;
static uint32_t respond_status; /* respond() with it before answering; 0: not */

static weir_result respond(uint32_t status)
{
    weir_reply reply = {.size = sizeof reply, .status = status};
    return exchange_filter_host.respond(&exchange.filters.record->states[0][0].public, &reply);
}

static weir_answer visit(char filter, char hook, weir_exchange *public)
{
    char name[] = {filter, hook, 0};
    assert_ptr_equal(CONTAINER(public, struct filter_state, public)->exchange, &exchange);
    assert_true(strlen(visits) < sizeof visits - 3);
    strcat(visits, name);
    strcat(visits, " ");
    if (!answering || strcmp(answering, name) != 0)
        return WEIR_CONTINUE;
    if (respond_status)
        assert_int_equal(respond(respond_status), WEIR_OK);
    return answer;
}

#define FILTER(letter)                                                                             \
    static weir_answer letter##_open(weir_exchange *x)                                             \
    {                                                                                              \
        return visit(#letter[0], 'o', x);                                                          \
    }                                                                                              \
    static weir_answer letter##_request(weir_exchange *x)                                          \
    {                                                                                              \
        return visit(#letter[0], 'q', x);                                                          \
    }                                                                                              \
    static weir_answer letter##_upstream(weir_exchange *x)                                         \
    {                                                                                              \
        return visit(#letter[0], 'u', x);                                                          \
    }                                                                                              \
    static weir_answer letter##_response(weir_exchange *x)                                         \
    {                                                                                              \
        return visit(#letter[0], 's', x);                                                          \
    }                                                                                              \
    static void letter##_close(weir_exchange *x)                                                   \
    {                                                                                              \
        visit(#letter[0], 'c', x);                                                                 \
    }                                                                                              \
    static const weir_filter letter = {.size = sizeof letter,                                      \
                                       .name = #letter,                                            \
                                       .open = letter##_open,                                      \
                                       .request = letter##_request,                                \
                                       .upstream = letter##_upstream,                              \
                                       .response = letter##_response,                              \
                                       .close = letter##_close}

FILTER(a);
FILTER(b);
FILTER(c);

static struct filter_chain chain;
static struct filter_use uses[CHAIN_FILTERS_MOST];

static void add_use(uint32_t index, const weir_filter *filter)
{
    uses[index] = (struct filter_use){.filter = filter, .plugin = "test", .index = index};
}

static void build_uses(uint32_t count)
{
    const struct filter_use *list[CHAIN_FILTERS_MOST];
    for (uint32_t i = 0; i < count; i++)
        list[i] = &uses[i];
    filter_chain_build(&chain, list, count);
}

static void make_states(void)
{
    const char *before = answering;
    answering = NULL;
    filters_open(&exchange, 0);
    answering = before;
    visits[0] = 0;
}

static int set_up(void **state)
{
    memset(&exchange, 0, sizeof exchange);
    arena_init(&exchange.arena, first_block, sizeof first_block);
    memset(&worker, 0, sizeof worker);
    exchange.worker = &worker;
    exchange.use = &use_of_snapshot;
    filters_init(&exchange.filters, &chain);
    exchange.request = head_new(&exchange.arena);
    visits[0] = 0;
    answering = NULL;
    answer = WEIR_CONTINUE;
    respond_status = 0;
    log_set_level(LOG_ERROR);
    return 0;
}

static int tear_down(void **state)
{
    arena_deinit(&exchange.arena);
    arena_pool_deinit();
    return 0;
}

static void build(const weir_filter *first, const weir_filter *second, const weir_filter *third)
{
    add_use(0, first);
    add_use(1, second);
    add_use(2, third);
    build_uses(third ? 3 : second ? 2 : first ? 1 : 0);
}

static uint32_t direction_of(enum filter_hook hook)
{
    return hook == HOOK_RESPONSE ? WEIR_RESPONSE_DIRECTION : WEIR_REQUEST_DIRECTION;
}

static void run(enum filter_hook hook, weir_answer expected, const char *expected_visits)
{
    if (!exchange.opened)
        make_states();
    visits[0] = 0;
    filters_rewind(&exchange, direction_of(hook));
    assert_int_equal(filters_run(&exchange, hook, direction_of(hook), NULL), expected);
    assert_string_equal(visits, expected_visits);
}

static void opened(weir_answer expected, const char *expected_visits)
{
    visits[0] = 0;
    assert_int_equal(filters_open(&exchange, 0), expected);
    assert_string_equal(visits, expected_visits);
}

static void closed(const char *expected_visits)
{
    visits[0] = 0;
    filters_close(&exchange);
    assert_string_equal(visits, expected_visits);
}

static void forwards_on_requests_backwards_on_responses(void **state)
{
    build(&a, &b, &c);
    opened(WEIR_CONTINUE, "ao bo co ");
    run(HOOK_REQUEST, WEIR_CONTINUE, "aq bq cq ");
    run(HOOK_UPSTREAM, WEIR_CONTINUE, "au bu cu ");
    run(HOOK_RESPONSE, WEIR_CONTINUE, "cs bs as ");
    closed("cc bc ac ");
}

static void no_filters(void **state)
{
    build(NULL, NULL, NULL);
    opened(WEIR_CONTINUE, "");
    for (int hook = 0; hook < HOOKS; hook++) {
        assert_int_equal(chain.counts[hook], 0);
        assert_int_equal(filters_count(&exchange.filters, (enum filter_hook)hook), 0);
    }
    run(HOOK_REQUEST, WEIR_CONTINUE, "");
    run(HOOK_RESPONSE, WEIR_CONTINUE, "");
    closed("");
}

static bool c_has(enum filter_hook hook)
{
    return hook == HOOK_OPEN || hook == HOOK_UPSTREAM || hook == HOOK_CLOSE;
}

static void a_hook_that_is_not_there_is_in_no_list(void **state)
{
    static const weir_filter only_request = {.size = sizeof only_request, .request = a_request};
    static const weir_filter only_response = {.size = sizeof only_response, .response = b_response};
    build(&only_request, &c, &only_response);
    for (int hook = 0; hook < HOOKS; hook++)
        assert_int_equal(chain.counts[hook], hook == HOOK_REQUEST || hook == HOOK_RESPONSE ? 2
                                             : c_has((enum filter_hook)hook)               ? 1
                                                                                           : 0);
    opened(WEIR_CONTINUE, "co ");
    run(HOOK_REQUEST, WEIR_CONTINUE, "aq cq ");
    run(HOOK_UPSTREAM, WEIR_CONTINUE, "cu ");
    run(HOOK_RESPONSE, WEIR_CONTINUE, "bs cs ");
    closed("cc ");
}

static void as_many_as_there_may_be(void **state)
{
    for (uint32_t i = 0; i < CHAIN_FILTERS_MOST; i++)
        add_use(i, i ? &b : &a);
    add_use(CHAIN_FILTERS_MOST - 1, &c);
    build_uses(CHAIN_FILTERS_MOST);
    make_states();
    assert_int_equal(chain.counts[HOOK_REQUEST], CHAIN_FILTERS_MOST);
    filters_run(&exchange, HOOK_REQUEST, WEIR_REQUEST_DIRECTION, NULL);
    assert_int_equal(strlen(visits), 3 * CHAIN_FILTERS_MOST);
    assert_memory_equal(visits, "aq bq ", 6);
    visits[0] = 0;
    filters_run(&exchange, HOOK_RESPONSE, WEIR_RESPONSE_DIRECTION, NULL);
    assert_memory_equal(visits, "cs bs ", 6);
}

static void an_answer_ends_the_run(void **state)
{
    build(&a, &b, &c);
    answering = "bq";
    answer = WEIR_DONE;
    respond_status = 403;
    run(HOOK_REQUEST, WEIR_DONE, "aq bq ");
    assert_int_equal(exchange.filters.record->reply->view.status, 403);
}

static void each_filter_is_opened_and_closed(void **state)
{
    build(&a, &b, &c);
    answering = "ao";
    answer = WEIR_FAIL;
    opened(WEIR_FAIL, "ao bo co ");
    closed("cc bc ac ");
}

static void the_first_answer_of_open_counts(void **state)
{
    build(&a, &b, &c);
    answering = "bo";
    answer = WEIR_DONE;
    respond_status = 403;
    opened(WEIR_DONE, "ao bo co ");
    assert_ptr_equal(exchange.filters.record->replier->use->filter, &b);
}

static void what_was_not_opened_is_not_closed(void **state)
{
    build(&a, &b, &c);
    closed("");
}

static void a_failure_ends_the_run(void **state)
{
    static const weir_answer failures[] = {WEIR_FAIL, -5, 2, 100};
    build(&a, &b, &c);
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        make_states();
        answering = "bs";
        answer = failures[i];
        run(HOOK_RESPONSE, WEIR_FAIL, "cs bs ");
        assert_null(exchange.filters.record->reply);
    }
}

static void to_respond_without_an_answer_is_a_failure(void **state)
{
    build(&a, &b, &c);
    answering = "aq";
    answer = WEIR_DONE;
    run(HOOK_REQUEST, WEIR_FAIL, "aq ");
}

static void respond_takes_one_final_answer(void **state)
{
    static const uint32_t wrong[] = {0, 100, 101, 199, 600, 1000};
    build(&a, NULL, NULL);
    make_states();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(respond(wrong[i]), WEIR_INVALID);
    exchange.response_sent = true;
    assert_int_equal(respond(200), WEIR_WRONG_PHASE);
    exchange.response_sent = false;
    assert_null(exchange.filters.record->reply);
    assert_int_equal(respond(200), WEIR_OK);
    assert_int_equal(respond(599), WEIR_ALREADY);
    assert_int_equal(exchange.filters.record->reply->view.status, 200);
    tear_down(state);
    set_up(state);
    make_states();
    assert_int_equal(respond(599), WEIR_OK);
    assert_int_equal(exchange.filters.record->reply->view.status, 599);
}

/* Of the filter's strings there are copies, of its body's buffer a reference. */
static void what_a_filter_gives_outlives_the_hook(void **state)
{
    char name[] = "Content-Type", value[] = "text/html";
    weir_buffer *buffer = buffer_new(4);
    weir_field fields[] = {{WEIR_STRING("Via"), WEIR_STRING("x")},
                           {string_of(name), string_of(value)}};
    weir_reply reply = {.size = sizeof reply,
                        .status = 200,
                        .fields = fields,
                        .count = 2,
                        .body = {buffer->bytes, 4, buffer}};
    build(&a, NULL, NULL);
    make_states();
    assert_int_equal(
        exchange_filter_host.respond(&exchange.filters.record->states[0][0].public, &reply),
        WEIR_OK);
    memset(name, 'x', sizeof name);
    memset(value, 'x', sizeof value);
    assert_int_equal(exchange.filters.record->reply->count, 2);
    assert_true(
        string_equal(exchange.filters.record->reply->fields[1].name, WEIR_STRING("Content-Type")));
    assert_true(
        string_equal(exchange.filters.record->reply->fields[1].value, WEIR_STRING("text/html")));
    assert_int_equal(buffer->references, 2);
    assert_ptr_equal(exchange.filters.record->reply_body.bytes, buffer->bytes);
    buffer_release(exchange.filters.record->reply_body.owner);
    buffer_release(buffer);
}

static void heads_as_they_are_now(void **state)
{
    build(&a, NULL, NULL);
    make_states();
    weir_exchange *public = &exchange.filters.record->states[0][0].public;
    exchange.request = head_new(&exchange.arena);
    assert_ptr_equal(exchange_filter_host.request_head(public), &exchange.request->view);
    assert_null(exchange_filter_host.response_head(public));
    exchange.response = head_new(&exchange.arena);
    assert_ptr_equal(exchange_filter_host.response_head(public), &exchange.response->view);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(forwards_on_requests_backwards_on_responses),
        TEST(no_filters),
        TEST(a_hook_that_is_not_there_is_in_no_list),
        TEST(as_many_as_there_may_be),
        TEST(an_answer_ends_the_run),
        TEST(each_filter_is_opened_and_closed),
        TEST(the_first_answer_of_open_counts),
        TEST(what_was_not_opened_is_not_closed),
        TEST(a_failure_ends_the_run),
        TEST(to_respond_without_an_answer_is_a_failure),
        TEST(respond_takes_one_final_answer),
        TEST(what_a_filter_gives_outlives_the_hook),
        TEST(heads_as_they_are_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
