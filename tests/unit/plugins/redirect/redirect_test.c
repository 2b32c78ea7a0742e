/* tests/unit/plugins/redirect/redirect_test.c - the filter answers what meets a rule, and only that
 */
#include "tests/unit/plugins/fake_filter_host.h"

extern const weir_plugin weir_plugin_entry;

static int set_up(void **state)
{
    fake_load(&weir_plugin_entry);
    return 0;
}

static int tear_down(void **state)
{
    if (fake.state.public.worker_state)
        fake.filter->life->worker_free(fake.instance, fake.state.public.worker_state);
    fake_end();
    return 0;
}

static void made(const char *with)
{
    if (fake_make(with) != WEIR_OK)
        fail_msg("%s", fake.mistakes);
    assert_int_equal(
        fake.filter->life->worker_make(fake.instance, NULL, &fake.state.public.worker_state),
        WEIR_OK);
}

static void passes(const char *authority, const char *path)
{
    assert_int_equal(fake.filter->request(fake_request(authority, path, "")), WEIR_CONTINUE);
    assert_int_equal(fake.responded, 0);
}

static void is_answered(const char *authority, const char *path, uint32_t status,
                        const char *fields)
{
    fake.responded = 0;
    fake.reply_fields[0] = 0;
    assert_int_equal(fake.filter->request(fake_request(authority, path, "")), WEIR_DONE);
    assert_int_equal(fake.responded, status);
    assert_string_equal(fake.reply_fields, fields);
}

static void test_what_meets_a_rule_is_answered(void **state)
{
    made("rules:\n"
         "  - { path: /old, to: /new }\n"
         "  - { kind: prefix, host: a.example, path: /p, to: https://b.example/q, status: 308 }\n"
         "  - { path: /gone, status: 410 }\n");
    passes("a.example", "/");
    is_answered("a.example", "/old", 301, "Content-Type: text/plain|Location: /new|");
    is_answered("A.example:81", "/p/x?y", 308,
                "Content-Type: text/plain|Location: https://b.example/q/x?y|");
    is_answered("b.example", "/gone", 410, "Content-Type: text/plain|");
    fake.responded = 0;
    passes("b.example", "/p/x");
}

static void test_tunnels_pass(void **state)
{
    made("rules: [ { kind: regex, path: .*, to: / } ]");
    weir_exchange *exchange = fake_request("a.example:443", "", "");
    fake.exchange.request->view.kind = WEIR_TUNNEL;
    assert_int_equal(fake.filter->request(exchange), WEIR_CONTINUE);
    is_answered("a.example", "/x", 301, "Content-Type: text/plain|Location: /|");
}

static void test_an_answer_that_is_refused_is_a_fault(void **state)
{
    made("rules: [ { path: /a, to: /b } ]");
    fake.responded = 500; /* somebody answered before */
    assert_int_equal(fake.filter->request(fake_request("a", "/a", "")), WEIR_FAIL);
}

static void test_mistakes_refuse(void **state)
{
    assert_true(fake_make("rules:\n  - { path: /a, to: /b }\n  - { path: a, to: /b }\n") < 0);
    assert_string_equal(fake.mistakes, "3: a path begins with a slash\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_meets_a_rule_is_answered),
        TEST(test_tunnels_pass),
        TEST(test_an_answer_that_is_refused_is_a_fault),
        TEST(test_mistakes_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
