/* tests/unit/plugins/acl/acl_test.c - which requests and addresses are denied, and wrong rules */
#include "tests/unit/plugins/fake_filter_host.h"

extern const weir_plugin weir_plugin_entry;

static int set_up(void **state)
{
    fake_load(&weir_plugin_entry);
    return 0;
}

static int tear_down(void **state)
{
    fake_end();
    return 0;
}

static void made(const char *with)
{
    if (fake_make(with) != WEIR_OK)
        fail_msg("%s", fake.mistakes);
}

static weir_answer ask(const char *method, const char *authority, const char *path)
{
    memset(fake.filter_state, 0, sizeof fake.filter_state);
    fake.exchange.target.group = NULL;
    weir_exchange *exchange = fake_request(authority, path, "");
    struct head *head = fake.exchange.request;
    head->view.method = string_of(method);
    if (!*path)
        head->view.kind = WEIR_TUNNEL;
    return fake.filter->request(exchange);
}

static void denies(const char *authority, const char *path)
{
    assert_int_equal(ask("GET", authority, path), WEIR_DENY);
}

static void allows(const char *authority, const char *path)
{
    assert_int_equal(ask("GET", authority, path), WEIR_CONTINUE);
}

static weir_answer at(const char *address)
{
    weir_address about = {.size = sizeof about, .port = 80, .text = string_of(address)};
    return fake.filter->address(&fake.state.public, &about);
}

/* --- conditions */

static void the_first_rule_that_fits(void **state)
{
    made("rules:\n"
         "- allow: { host: a.example, port: 81 }\n"
         "- deny: { host: a.example }\n"
         "- allow: { host: '*.example' }\n"
         "otherwise: deny\n");
    allows("a.example:81", "/");
    denies("a.example:82", "/");
    denies("a.example", "/");
    allows("b.example", "/");
    denies("example", "/");
    denies("xexample", "/");
    denies("", "/");
    made("otherwise: allow\n");
    allows("a.example", "/");
    made("rules: [ deny: {} ]\notherwise: allow\n");
    denies("a.example", "/");
}

static void hosts_cannot_be_spelt_otherwise(void **state)
{
    made("rules: [ deny: { host: [ A.Example, '*.b.example.', '::1', '[2001:DB8::1]', 192.0.2.1 ] "
         "} ]\n"
         "otherwise: allow\n");
    static const char *const denied[] = {
        "a.example",   "A.EXAMPLE:80",      "a.example.",         "x@a.example",
        "%61.example", "x.b.example",       "X.Y.B.Example.:1",   "[::1]:80",
        "[0:0:0::1]",  "[2001:db8:0:0::1]", "[::ffff:192.0.2.1]", "192.0.2.1.:8080"};
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
        denies(denied[i], "/");
        assert_int_equal(ask("CONNECT", denied[i], ""), WEIR_DENY);
    }
    allows("b.example", "/");
    allows("aa.example", "/");
}

/* Nobody resolves such a name to what it looks like. */
static void an_encoded_host_is_not_allowed(void **state)
{
    made("rules: [ allow: { host: a.example } ]\notherwise: deny\n");
    allows("a.example.", "/");
    denies("%61.example", "/");
}

static void ports(void **state)
{
    made("rules: [ allow: { port: [ 80, 8000-8999 ] } ]\notherwise: deny\n");
    allows("a.example", "/");
    allows("a.example:8000", "/");
    allows("a.example:8999", "/");
    denies("a.example:9000", "/");
    denies("a.example:443", "/");
    assert_int_equal(ask("CONNECT", "a.example:8443", ""), WEIR_CONTINUE);
}

static void methods(void **state)
{
    made("rules: [ deny: { method: [ POST, CONNECT ] } ]\notherwise: allow\n");
    assert_int_equal(ask("POST", "a.example", "/"), WEIR_DENY);
    assert_int_equal(ask("post", "a.example", "/"), WEIR_DENY);
    assert_int_equal(ask("CONNECT", "a.example:443", ""), WEIR_DENY);
    assert_int_equal(ask("PUT", "a.example", "/"), WEIR_CONTINUE);
    made("rules: [ allow: { method: GET } ]\notherwise: deny\n");
    assert_int_equal(ask("GET", "a.example", "/"), WEIR_CONTINUE);
    assert_int_equal(ask("get", "a.example", "/"), WEIR_DENY);
}

static void denied_paths_in_either_reading(void **state)
{
    made("rules: [ deny: { path: [ /x/*, /y ] } ]\notherwise: allow\n");
    static const char *const denied[] = {"/x/",       "/x/1",      "/y",        "/y?z",
                                         "/%78/1",    "/a/../y",   "//y",       "/x%2f1",
                                         "/%2579",    "/y;v=1",    "/y%00.gif", "\\y",
                                         "/a\\..\\y", "/x/../y/a", "/./x/a",    "/a/%2e%2e/x/"};
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
        if (i != 11) /* no path begins so */
            denies("a.example", denied[i]);
    allows("a.example", "/x");
    allows("a.example", "/Y");
    allows("a.example", "/y/");
    allows("a.example", "/?/x/1");
    assert_int_equal(ask("CONNECT", "a.example:443", ""), WEIR_CONTINUE);
}

static void allowed_paths_in_both_readings(void **state)
{
    made("rules: [ allow: { path: /x/* } ]\notherwise: deny\n");
    allows("a.example", "/x/1?q");
    allows("a.example", "/%78/1");
    allows("a.example", "/x/a;v=1");
    denies("a.example", "/x/../y");
    denies("a.example", "/x/%2e%2e/y");
    denies("a.example", "/x/%252e%252e/y");
    denies("a.example", "/x/..;/y");
    denies("a.example", "/y/../x/");
    denies("a.example", "/x%2f1");
    assert_int_equal(ask("CONNECT", "a.example:443", ""), WEIR_DENY);
}

static void a_long_path(void **state)
{
    static char path[9001];
    made("rules: [ deny: { path: /x/* } ]\notherwise: allow\n");
    memset(path, 'a', sizeof path - 1);
    path[0] = '/';
    allows("a.example", path);
    memcpy(path + sizeof path - 10, "/%2e%2e/x", 9);
    allows("a.example", path);
    memcpy(path + sizeof path - 10, "/../x/abc", 9);
    denies("a.example", path);
}

static void clients_and_users(void **state)
{
    made("rules:\n"
         "- deny: { user: [ bob ] }\n"
         "- allow: { client: [ 192.0.2.0/24 ] }\n"
         "- allow: { client: 2001:db8::/32, user: '*' }\n"
         "otherwise: deny\n");
    allows("a.example", "/"); /* 192.0.2.1 */
    fake_client("198.51.100.1:1");
    denies("a.example", "/");
    fake_client("[::ffff:192.0.2.7]:1");
    allows("a.example", "/");
    fake_client("[2001:db8::1]:1");
    denies("a.example", "/");
    notes_set_user(&fake.exchange, WEIR_STRING("ann"));
    allows("a.example", "/");
    fake_client("unix");
    denies("a.example", "/");
    fake_client("192.0.2.1:1");
    notes_set_user(&fake.exchange, WEIR_STRING("bob"));
    denies("a.example", "/");
}

/* --- addresses */

static void addresses_wait(void **state)
{
    made("rules:\n"
         "- allow: { host: a.example, address: 10.1.0.0/16 }\n"
         "- deny: { address: [ private, loopback ] }\n"
         "- deny: { host: b.example }\n"
         "otherwise: allow\n");
    allows("a.example", "/");
    assert_int_equal(at("10.1.2.3"), WEIR_CONTINUE);
    assert_int_equal(at("10.2.2.3"), WEIR_DENY);
    assert_int_equal(at("127.0.0.1"), WEIR_DENY);
    assert_int_equal(at("64:ff9b::a02:203"), WEIR_DENY); /* NAT64 of 10.2.2.3 */
    assert_int_equal(at("64:ff9b::a01:203"), WEIR_DENY); /* who is allowed is not so */
    assert_int_equal(at("203.0.113.1"), WEIR_CONTINUE);
    allows("c.example", "/");
    assert_int_equal(at("10.1.2.3"), WEIR_DENY);
    denies("b.example", "/"); /* whatever its address */
}

static void what_no_address_can_change_is_said_at_once(void **state)
{
    made("rules:\n"
         "- deny: { address: private }\n"
         "- allow: { host: a.example }\n"
         "otherwise: deny\n");
    denies("b.example", "/");
    allows("a.example", "/");
    assert_int_equal(at("10.0.0.1"), WEIR_DENY);
    assert_int_equal(at("203.0.113.1"), WEIR_CONTINUE);
}

static void an_address_nobody_asked_about(void **state)
{
    made("otherwise: allow\n");
    memset(fake.filter_state, 0, sizeof fake.filter_state);
    assert_int_equal(at("203.0.113.1"), WEIR_DENY);
}

static void servers_of_upstreams_have_no_address(void **state)
{
    made("rules: [ allow: { address: private } ]\notherwise: deny\n");
    allows("a.example", "/");
    assert_int_equal(fake.filter->route(&fake.state.public), WEIR_CONTINUE);
    fake_upstream("app");
    assert_int_equal(fake.filter->route(&fake.state.public), WEIR_DENY);
    assert_int_equal(fake.filter->upstream(&fake.state.public), WEIR_DENY);
    made("rules: [ deny: { address: private } ]\notherwise: allow\n");
    allows("a.example", "/");
    fake_upstream("app");
    assert_int_equal(fake.filter->upstream(&fake.state.public), WEIR_CONTINUE);
}

static void rules_with_addresses_beyond_64(void **state)
{
    static char with[65536] = "rules:\n";
    char *end = with + strlen(with);
    for (int i = 0; i < 512; i++)
        end += sprintf(end, "- deny: { address: 10.%d.%d.0/24 }\n", i / 256, i % 256);
    strcpy(end, "otherwise: allow\n");
    made(with);
    allows("a.example", "/");
    assert_int_equal(at("10.0.63.1"), WEIR_DENY);
    assert_int_equal(at("10.1.255.1"), WEIR_DENY);
    assert_int_equal(at("10.2.0.1"), WEIR_CONTINUE);
    strcpy(end, "- deny: { address: 192.0.2.1 }\notherwise: allow\n");
    assert_int_equal(fake_make(with), WEIR_INVALID);
    assert_string_equal(fake.mistakes, "514: there may be 512 rules with addresses\n");
}

/* --- wrong rules */

static void mistakes(void **state)
{
    assert_int_equal(fake_make("rules:\n"
                               "- {}\n"
                               "- { allow: {}, deny: {} }\n"
                               "- deny: { host: a.example:80 }\n"
                               "- deny: { host: '*example' }\n"
                               "- deny: { host: 'a*.example' }\n"
                               "- deny: { host: u@a.example }\n"
                               "- deny: { host: '1::2::3' }\n"
                               "- deny: { port: 0 }\n"
                               "- deny: { port: [ 80, 9-8 ] }\n"
                               "- deny: { port: 65536 }\n"
                               "- deny: { path: x }\n"
                               "- deny: { path: /*/x }\n"
                               "- deny: { path: /a/../x* }\n"
                               "- deny: { path: /%61 }\n"
                               "otherwise: deny\n"),
                     WEIR_INVALID);
    static const char *const expected[] = {
        "2: a rule is one of allow and deny\n",
        "3: a rule is one of allow and deny\n",
        "4: write NAME, *.NAME or an address, without a port\n",
        "5: write NAME",
        "6: write NAME",
        "7: write NAME",
        "8: write NAME",
        "9: write a port from 1 to 65535, or FIRST-LAST\n",
        "10: write a port",
        "11: write a port",
        "12: a path begins with / and has no * but at its end\n",
        "13: a path begins",
        "14: paths are compared in a plain form; write \"/x*\"\n",
        "15: paths are compared in a plain form; write \"/a\"\n",
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (!strstr(fake.mistakes, expected[i]))
            fail_msg("no %s in %s", expected[i], fake.mistakes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_rule_that_fits),
        TEST(hosts_cannot_be_spelt_otherwise),
        TEST(an_encoded_host_is_not_allowed),
        TEST(ports),
        TEST(methods),
        TEST(denied_paths_in_either_reading),
        TEST(allowed_paths_in_both_readings),
        TEST(a_long_path),
        TEST(clients_and_users),
        TEST(addresses_wait),
        TEST(what_no_address_can_change_is_said_at_once),
        TEST(an_address_nobody_asked_about),
        TEST(servers_of_upstreams_have_no_address),
        TEST(rules_with_addresses_beyond_64),
        TEST(mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
