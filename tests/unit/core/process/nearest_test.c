/* tests/unit/core/process/nearest_test.c - which known word a mistyped one is taken for */
#include "core/process/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"

static const char *const known[] = {"workers",        "listen", "upstream", "log",
                                    "fixed_upstream", "limits", "timeouts", "warning"};

static const char *find(const char *word)
{
    struct nearest nearest = nearest_to(string_of(word));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        nearest_consider(&nearest, known[i]);
    return nearest.best;
}

static void test_one_mistake(void **state)
{
    assert_string_equal(find("worker"), "workers");   /* left out */
    assert_string_equal(find("workerss"), "workers"); /* too many */
    assert_string_equal(find("wurkers"), "workers");  /* another */
    assert_string_equal(find("wrokers"), "workers");  /* swapped */
    assert_string_equal(find("lgo"), "log");          /* swapped counts once */
    assert_string_equal(find("WORKERS"), "workers");  /* letter case is no mistake */
    assert_string_equal(find("fixed-upstream"), "fixed_upstream");
    assert_string_equal(find("warn"), "warning"); /* its beginning */
}

static void test_the_closest_wins(void **state)
{
    assert_string_equal(find("listens"), "listen");
    assert_string_equal(find("limit"), "limits");
    assert_string_equal(find("upstreams"), "upstream");
}

static void test_far_away_is_nothing(void **state)
{
    const char *const words[] = {
        "", "a", "lo", "xyz", "zzzzzzzzzzzz", "listener_addresses_of_all", "certificate", "hosts"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (find(words[i]))
            fail_msg("\"%s\" is taken for \"%s\"", words[i], find(words[i]));
}

static void test_long_words_are_not_compared(void **state)
{
    char word[200];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = 0;
    assert_null(find(word));
    struct nearest nearest = nearest_to(string_of("listen"));
    nearest_consider(&nearest, word);
    assert_null(nearest.best);
}

static void test_hint(void **state)
{
    char hint[NEAREST_HINT_BYTES];
    struct nearest nearest = nearest_to(string_of("listn"));
    assert_string_equal(nearest_hint(&nearest, hint), "");
    nearest_consider(&nearest, "listen");
    assert_string_equal(nearest_hint(&nearest, hint), "; did you mean \"listen\"?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_mistake),
        cmocka_unit_test(test_the_closest_wins),
        cmocka_unit_test(test_far_away_is_nothing),
        cmocka_unit_test(test_long_words_are_not_compared),
        cmocka_unit_test(test_hint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
