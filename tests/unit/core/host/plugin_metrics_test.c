/* tests/unit/core/host/plugin_metrics_test.c - definitions, series, and sums over workers
 *
 * Definitions live until exit: each test has names of its own. */
#include "core/host/plugin_metrics.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "core/base/worker.h"

#define HOST (&metrics_host)

static struct worker worker;
static char logged[256];

static void take_log(const weir_host *host, uint32_t level, weir_string line)
{
    (void)host;
    assert_int_equal(level, WEIR_LOG_ERROR);
    snprintf(logged, sizeof logged, "%.*s", (int)line.length, line.bytes);
}

static const weir_host plugin = {.size = sizeof plugin, .log = take_log};

static const char *const two_labels[] = {"host", "code"};

static weir_result define(const char *name, uint32_t kind, const char *const *labels,
                          uint32_t count, uint32_t most, uint32_t *id)
{
    weir_metric metric = {.size = sizeof metric,
                          .kind = kind,
                          .name = name,
                          .help = "What \\ is\ncounted.",
                          .labels = labels,
                          .label_count = count,
                          .series_most = most};
    logged[0] = 0;
    return HOST->define(&plugin, &metric, id);
}

static void add(uint32_t id, int64_t value, const char *host, const char *code)
{
    weir_string values[] = {string_of(host), string_of(code)};
    HOST->add(id, value, values);
}

static bool shown(const char *expected)
{
    struct text text = {0};
    plugin_metrics_write(&text);
    text_add(&text, (weir_string){"", 1});
    bool found = strstr(text.bytes, expected) != NULL;
    text_deinit(&text);
    return found;
}

static int set_up(void **state)
{
    (void)state;
    worker_current = &worker;
    return 0;
}

static void a_metric_is_shown_from_the_start(void **state)
{
    uint32_t id;
    (void)state;
    assert_int_equal(define("plain_total", WEIR_COUNTER, NULL, 0, 0, &id), WEIR_OK);
    assert_true(shown("# HELP weir_plugin_plain_total What \\\\ is\\ncounted.\n"
                      "# TYPE weir_plugin_plain_total counter\n"
                      "weir_plugin_plain_total 0\n"));
    HOST->add(id, 5, NULL);
    HOST->add(id, 2, NULL);
    HOST->add(id, -1, NULL);
    assert_true(shown("\nweir_plugin_plain_total 7\n"));
}

static void one_with_labels_is_shown_when_something_was_counted(void **state)
{
    uint32_t id;
    (void)state;
    assert_int_equal(define("labelled", WEIR_COUNTER, two_labels, 2, 0, &id), WEIR_OK);
    assert_false(shown("weir_plugin_labelled"));
    add(id, 1, "a", "b");
    assert_true(shown("# TYPE weir_plugin_labelled counter\n"
                      "weir_plugin_labelled{host=\"a\",code=\"b\"} 1\n"));
}

static void a_gauge_goes_down_too(void **state)
{
    uint32_t id;
    (void)state;
    assert_int_equal(define("gauge", WEIR_GAUGE, NULL, 0, 0, &id), WEIR_OK);
    HOST->add(id, 5, NULL);
    HOST->add(id, -8, NULL);
    assert_true(shown("# TYPE weir_plugin_gauge gauge\nweir_plugin_gauge -3\n"));
}

static void the_same_again_goes_on_counting(void **state)
{
    uint32_t id, again, other;
    (void)state;
    assert_int_equal(define("again", WEIR_COUNTER, two_labels, 2, 0, &id), WEIR_OK);
    add(id, 1, "a", "b");
    assert_int_equal(define("again", WEIR_COUNTER, two_labels, 2, 0, &again), WEIR_OK);
    assert_int_equal(id, again);
    assert_int_equal(define("another", WEIR_COUNTER, two_labels, 2, 0, &other), WEIR_OK);
    assert_int_not_equal(id, other);
    add(again, 1, "a", "b");
    assert_true(shown("\nweir_plugin_again{host=\"a\",code=\"b\"} 2\n"));
    assert_int_equal(define("again", WEIR_GAUGE, two_labels, 2, 0, &again), WEIR_INVALID);
    assert_non_null(strstr(logged, "the metric again is defined already"));
    assert_int_equal(define("again", WEIR_COUNTER, two_labels, 1, 0, &again), WEIR_INVALID);
    assert_int_equal(define("again", WEIR_COUNTER, two_labels + 1, 1, 0, &again), WEIR_INVALID);
}

static void wrong_definitions_are_refused(void **state)
{
    static const char *const reserved[] = {"__name"}, *const twice[] = {"a", "a"},
                             *const wrong[] = {"a-b"};
    static const char *const names[] = {"", "1a", "a-b", "a b", "\xc3\xa4", "a\nb"};
    uint32_t id;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(define(names[i], WEIR_COUNTER, NULL, 0, 0, &id), WEIR_INVALID);
    assert_int_equal(define(NULL, WEIR_COUNTER, NULL, 0, 0, &id), WEIR_INVALID);
    assert_int_equal(define("wrong", 2, NULL, 0, 0, &id), WEIR_INVALID);
    assert_int_equal(define("wrong", WEIR_COUNTER, reserved, 1, 0, &id), WEIR_INVALID);
    assert_int_equal(define("wrong", WEIR_COUNTER, twice, 2, 0, &id), WEIR_INVALID);
    assert_int_equal(define("wrong", WEIR_COUNTER, wrong, 1, 0, &id), WEIR_INVALID);
    assert_int_equal(define("wrong", WEIR_COUNTER, two_labels, 9, 0, &id), WEIR_INVALID);
    assert_int_equal(define("wrong", WEIR_COUNTER, NULL, 0, 100001, &id), WEIR_INVALID);
    assert_false(shown("wrong"));
    HOST->add(UINT32_MAX, 1, NULL);
    HOST->add(1023, 1, NULL);
}

static void values_cannot_end_their_line(void **state)
{
    uint32_t id;
    char longest[300];
    (void)state;
    define("escaped", WEIR_COUNTER, two_labels, 2, 0, &id);
    add(id, 1, "a\"} 7\nb", "\\");
    add(id, 2, "a\xff", "\xc3\xa4");
    assert_true(shown("\nweir_plugin_escaped{host=\"a\\\\x22} 7\\\\x0ab\",code=\"\\\\x5c\"} 1\n"));
    assert_true(shown("\nweir_plugin_escaped{host=\"a\\\\xff\",code=\"\xc3\xa4\"} 2\n"));
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    add(id, 1, longest, longest);
    longest[200] = 'y'; /* beyond what counts */
    add(id, 1, longest, longest);
    longest[128] = 0;
    add(id, 1, longest, longest);
    assert_true(shown("x\"} 3\n"));
}

static void values_keep_to_their_labels(void **state)
{
    uint32_t id;
    (void)state;
    define("apart", WEIR_COUNTER, two_labels, 2, 0, &id);
    add(id, 1, "ab", "c");
    add(id, 2, "a", "bc");
    add(id, 4, "", "abc");
    assert_true(shown("{host=\"ab\",code=\"c\"} 1\n"));
    assert_true(shown("{host=\"a\",code=\"bc\"} 2\n"));
    assert_true(shown("{host=\"\",code=\"abc\"} 4\n"));
}

static void further_series_are_others(void **state)
{
    static struct worker second = {.index = 1};
    uint32_t id;
    char name[16];
    (void)state;
    define("capped", WEIR_COUNTER, two_labels, 2, 10, &id);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "%d", i);
        add(id, 1, name, "x");
    }
    worker_current = &second;
    add(id, 1, "3", "x");
    add(id, 1, "77", "x");
    add(id, 1, "9", "x");
    assert_true(shown("weir_plugin_capped{host=\"3\",code=\"x\"} 2\n"));
    assert_true(shown("weir_plugin_capped{host=\"9\",code=\"x\"} 2\n"));
    assert_false(shown("weir_plugin_capped{host=\"10\",code=\"x\"}"));
    assert_true(shown("weir_plugin_capped{host=\"other\",code=\"other\"} 91\n"));
}

/* --- workers */

enum { THREADS = 8, STEPS_EACH = 30000, SERIES = 40, CAP = 30 };

static uint32_t shared_id;
static atomic_bool over;

static void *count(void *user)
{
    struct worker own = {.index = 10 + *(uint32_t *)user};
    char name[16];
    worker_current = &own;
    for (uint32_t i = 0; i < STEPS_EACH; i++) {
        snprintf(name, sizeof name, "%u", (i + own.index) % SERIES);
        add(shared_id, 1, name, "shared");
    }
    return NULL;
}

static int64_t sum_shown(uint32_t *series)
{
    struct text text = {0};
    int64_t sum = 0;
    *series = 0;
    plugin_metrics_write(&text);
    text_add(&text, (weir_string){"", 1});
    for (char *at = text.bytes; (at = strstr(at, "\nweir_plugin_shared{")); at++, ++*series)
        sum += strtoll(strchr(at, '}') + 1, NULL, 10);
    text_deinit(&text);
    return sum;
}

static void *read_again_and_again(void *user)
{
    uint32_t series;
    (void)user;
    for (int64_t before = 0; !atomic_load(&over);) {
        int64_t sum = sum_shown(&series);
        assert_true(sum >= before);
        before = sum;
    }
    return NULL;
}

static void sums_over_workers_are_exact(void **state)
{
    pthread_t threads[THREADS], reader;
    uint32_t numbers[THREADS], series;
    (void)state;
    define("shared", WEIR_COUNTER, two_labels, 2, CAP, &shared_id);
    pthread_create(&reader, NULL, read_again_and_again, NULL);
    for (uint32_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, count, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&over, true);
    pthread_join(reader, NULL);
    assert_int_equal(sum_shown(&series), THREADS * STEPS_EACH);
    assert_int_equal(series, CAP + 1);
}

static void other_threads_count_nothing(void **state)
{
    uint32_t id;
    (void)state;
    define("elsewhere", WEIR_COUNTER, NULL, 0, 0, &id);
    worker_current = NULL;
    HOST->add(id, 1, NULL);
    assert_true(shown("weir_plugin_elsewhere 0\n"));
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_metric_is_shown_from_the_start),
        TEST(a_gauge_goes_down_too),
        TEST(one_with_labels_is_shown_when_something_was_counted),
        TEST(the_same_again_goes_on_counting),
        TEST(wrong_definitions_are_refused),
        TEST(values_cannot_end_their_line),
        TEST(values_keep_to_their_labels),
        TEST(further_series_are_others),
        TEST(sums_over_workers_are_exact),
        TEST(other_threads_count_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
