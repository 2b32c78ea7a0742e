/* tests/unit/plugins/headers/headers_test.c - what becomes of heads, and what is no configuration
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
    fake_end();
    return 0;
}

static weir_answer request(const char *fields)
{
    weir_exchange *exchange = fake_request("a.example:81", "/p?q=1", fields);
    weir_answer answer = fake.filter->request(exchange);
    return answer == WEIR_CONTINUE ? fake.filter->route(exchange) : answer;
}

static void request_becomes(const char *fields, const char *expected)
{
    memset(fake.filter_state, 0, sizeof fake.filter_state);
    assert_int_equal(request(fields), WEIR_CONTINUE);
    assert_string_equal(fake_fields(WEIR_REQUEST_HEAD), expected);
}

static void made(const char *with)
{
    weir_result rc = fake_make(with);
    if (rc != WEIR_OK)
        fail_msg("%s", fake.mistakes);
}

/* --- edits */

static void nothing_to_do(void **state)
{
    made("{}");
    request_becomes("A: 1|X-Forwarded-For: x|Forwarded: for=x|",
                    "A: 1|X-Forwarded-For: x|Forwarded: for=x|");
    fake.filter->response(fake_response(200, "B: 2|"));
    assert_string_equal(fake_fields(WEIR_RESPONSE_HEAD), "B: 2|");
}

static void set_default_add_remove(void **state)
{
    made("request:\n"
         "  add: { X-Tag: [ one, two ], Via-X: three }\n"
         "  default: { Accept: text/html, User-Agent: weir }\n"
         "  set: { X-Env: test }\n"
         "  remove: [ x-debug, Cookie ]\n");
    request_becomes("X-Debug: 1|accept: a|X-Env: x|X-Tag: zero|x-env: y|COOKIE: a|cookie: b|",
                    "accept: a|X-Env: test|X-Tag: zero|User-Agent: weir|"
                    "X-Tag: one|X-Tag: two|Via-X: three|");
}

static void the_order_is_fixed(void **state)
{
    made("request:\n"
         "  add: { A: added }\n"
         "  default: { A: default, B: default }\n"
         "  set: { B: set }\n"
         "  rewrite: [ { name: B, find: x, replace: y } ]\n"
         "  remove: [ A ]\n");
    request_becomes("A: 1|B: x|", "B: set|A: default|A: added|");
}

static void responses(void **state)
{
    made("response:\n"
         "  set: { Strict-Transport-Security: max-age=1, X-Id: '{id}' }\n"
         "  remove: [ Server ]\n");
    fake_request("a", "/", "");
    assert_int_equal(fake.filter->response(fake_response(502, "Server: x|")), WEIR_CONTINUE);
    assert_string_equal(fake_fields(WEIR_RESPONSE_HEAD),
                        "Strict-Transport-Security: max-age=1|X-Id: 0-42|");
}

static void a_beginning_is_removed(void **state)
{
    made("request: { remove: [ 'x-debug-*', 'co*' ] }");
    request_becomes("X-Debug-: 1|X-Debug-A: 2|x-debug-a: 3|X-Debug: 4|Connection: x|Cookie: 5|"
                    "Content-Length: 0|Content-Type: t|",
                    "X-Debug: 4|Connection: x|Content-Length: 0|");
}

static void nothing_is_no_value(void **state)
{
    made("request: { set: { A: '', X-User: '{user}' }, add: { B: '{user}' }, "
         "default: { C: '{variable:none}' } }");
    request_becomes("A: 1|X-User: admin|D: 2|", "D: 2|");
}

/* --- placeholders */

static void placeholders(void **state)
{
    made("request: { set: { A: '{client} {client_port} {user} {host} {method} {path} {id} "
         "{scheme} {{x}} {variable:rule}{upstream}{server}{listener}' } }");
    weir_exchange *exchange = &fake.state.public;
    fake_set_user(exchange, WEIR_STRING("alice"));
    filter_set_variable(exchange, WEIR_STRING("rule"), WEIR_STRING("7"));
    fake_upstream("app");
    request_becomes("", "A: 192.0.2.1 1025 alice a.example:81 GET /p?q=1 0-42 http {x} 7app|");
}

static void values_that_do_not_fit_are_a_failure(void **state)
{
    static char large[VARIABLES_BYTES];
    made("request: { set: { A: '{variable:large}{variable:large}' } }");
    memset(large, 'x', sizeof large);
    assert_int_equal(
        filter_set_variable(&fake.state.public, WEIR_STRING("large"), (weir_string){large, 9000}),
        WEIR_OK);
    assert_int_equal(request("A: 1|"), WEIR_FAIL);
    assert_string_equal(fake_fields(WEIR_REQUEST_HEAD), "A: 1|");
}

/* What a filter put into a variable does not get on the wire as a line of its own. */
static void values_that_break_lines_are_a_failure(void **state)
{
    made("request: { set: { A: '{variable:bad}' } }");
    filter_set_variable(&fake.state.public, WEIR_STRING("bad"), WEIR_STRING("a\r\nX: b"));
    assert_int_equal(request("A: 1|"), WEIR_FAIL);
    assert_string_equal(fake_fields(WEIR_REQUEST_HEAD), "A: 1|");
}

/* --- rewriting */

static void texts_are_replaced(void **state)
{
    made("response: { rewrite: ["
         "{ name: Location, find: 'http://in', replace: 'https://out' },"
         "{ name: set-cookie, find: a, replace: '' } ] }");
    fake.filter->response(fake_response(
        302, "Location: http://in/http://in/x|Set-Cookie: a=1; a|B: a|Set-Cookie: b|"));
    assert_string_equal(fake_fields(WEIR_RESPONSE_HEAD),
                        "Location: https://out/https://out/x|set-cookie: =1;|B: a|"
                        "set-cookie: b|");
}

static void what_is_not_found_stays_as_it_is(void **state)
{
    made("response: { rewrite: [ { name: A, find: x, replace: y },"
         " { name: a, pattern: '^x', replace: y }, { name: none, find: x, replace: y } ] }");
    fake.filter->response(fake_response(200, "A: 1|B: x|a: 2|"));
    assert_string_equal(fake_fields(WEIR_RESPONSE_HEAD), "A: 1|B: x|a: 2|");
}

static void patterns_are_replaced(void **state)
{
    made("request: { rewrite: ["
         "{ name: A, pattern: '(\\w+)@(?<host>\\w+)(!)?', replace: '${host}.$1$3' },"
         "{ name: B, pattern: '(?i)^bearer .*$', replace: '' } ] }");
    request_becomes("A: x@y, z@w!|B: Bearer secret|", "A: y.x, w.z!|B: |");
}

static void a_pattern_that_takes_too_long_is_a_failure(void **state)
{
    char fields[256] = "A: ";
    made("request: { rewrite: [ { name: A, pattern: '^(a+)+$', replace: b } ] }");
    memset(fields + 3, 'a', 100);
    strcat(fields, "!|");
    assert_int_equal(request(fields), WEIR_FAIL);
}

static void too_many_of_one_name_are_a_failure(void **state)
{
    char fields[1024] = "";
    made("request: { rewrite: [ { name: A, find: 1, replace: 2 } ] }");
    for (int i = 0; i < 64; i++)
        strcat(fields, "A: 1|");
    assert_int_equal(request(fields), WEIR_CONTINUE);
    assert_non_null(strstr(fake_fields(WEIR_REQUEST_HEAD), "A: 2|A: 2|"));
    strcat(fields, "A: 1|");
    assert_int_equal(request(fields), WEIR_FAIL);
}

/* --- who the client was */

static void a_forward_proxy_adds_nothing(void **state)
{
    made("forwarded: {}");
    request_becomes("X-Forwarded-For: x|Forwarded: for=x|", "X-Forwarded-For: x|Forwarded: for=x|");
}

static void an_upstream_is_told(void **state)
{
    made("forwarded: {}");
    fake_upstream("app");
    request_becomes("Host: a.example:81|",
                    "Host: a.example:81|X-Forwarded-For: 192.0.2.1|X-Forwarded-Proto: http|"
                    "X-Forwarded-Host: a.example:81|"
                    "Forwarded: for=192.0.2.1;host=\"a.example:81\";proto=http|");
}

#define CLAIMS                                                                                     \
    "X-Forwarded-For: 198.51.100.1|X-Forwarded-Proto: https|X-Forwarded-Host: evil.example|"       \
    "x-forwarded-for: 198.51.100.2|Forwarded: for=198.51.100.1;proto=https|"

static void strangers_are_not_believed(void **state)
{
    made("forwarded: { x_forwarded: append, forwarded: append, trusted: [ 10.0.0.0/8, '::1' ] }");
    request_becomes(CLAIMS, "X-Forwarded-For: 192.0.2.1|X-Forwarded-Proto: http|"
                            "X-Forwarded-Host: a.example:81|"
                            "Forwarded: for=192.0.2.1;host=\"a.example:81\";proto=http|");
}

static void trusted_ones_are(void **state)
{
    made("forwarded: { x_forwarded: append, forwarded: append,"
         " trusted: [ 10.0.0.0/8, 192.0.2.0/24 ] }");
    request_becomes(CLAIMS, "X-Forwarded-For: 198.51.100.1, 198.51.100.2, 192.0.2.1|"
                            "X-Forwarded-Proto: https|X-Forwarded-Host: evil.example|"
                            "Forwarded: for=198.51.100.1;proto=https, "
                            "for=192.0.2.1;host=\"a.example:81\";proto=http|");
    request_becomes("X-Forwarded-For: |X-Forwarded-Proto: |Forwarded: |",
                    "X-Forwarded-For: 192.0.2.1|X-Forwarded-Proto: http|"
                    "Forwarded: for=192.0.2.1;host=\"a.example:81\";proto=http|"
                    "X-Forwarded-Host: a.example:81|");
}

static void replacing_believes_nobody(void **state)
{
    made("forwarded: { x_forwarded: replace, forwarded: strip, trusted: [ 192.0.2.1 ] }");
    request_becomes(CLAIMS, "X-Forwarded-For: 192.0.2.1|X-Forwarded-Proto: http|"
                            "X-Forwarded-Host: a.example:81|");
}

static void stripping_and_keeping(void **state)
{
    made("forwarded: { x_forwarded: strip, forwarded: keep }");
    request_becomes(CLAIMS "A: 1|", "Forwarded: for=198.51.100.1;proto=https|A: 1|");
}

static void addresses_of_ipv6_are_quoted(void **state)
{
    made("forwarded: { x_forwarded: append, forwarded: append, client_port: true }");
    fake_client("[2001:db8::1]:4711");
    request_becomes("", "X-Forwarded-For: 2001:db8::1|X-Forwarded-Proto: http|"
                        "X-Forwarded-Host: a.example:81|"
                        "Forwarded: for=\"[2001:db8::1]:4711\";host=\"a.example:81\";proto=http|");
    fake_client("192.0.2.7:4711");
    request_becomes("", "X-Forwarded-For: 192.0.2.7|X-Forwarded-Proto: http|"
                        "X-Forwarded-Host: a.example:81|"
                        "Forwarded: for=\"192.0.2.7:4711\";host=\"a.example:81\";proto=http|");
}

static void unix_clients(void **state)
{
    made("forwarded: { x_forwarded: append, forwarded: append, trusted: [ unix ] }");
    request_becomes("X-Forwarded-For: 198.51.100.1|",
                    "X-Forwarded-For: 192.0.2.1|X-Forwarded-Proto: http|"
                    "X-Forwarded-Host: a.example:81|"
                    "Forwarded: for=192.0.2.1;host=\"a.example:81\";proto=http|");
    fake_client("unix");
    request_becomes("X-Forwarded-For: 198.51.100.1|",
                    "X-Forwarded-For: 198.51.100.1, unknown|X-Forwarded-Proto: http|"
                    "X-Forwarded-Host: a.example:81|"
                    "Forwarded: for=unknown;host=\"a.example:81\";proto=http|");
}

static void a_repeated_attempt_adds_nothing_more(void **state)
{
    made("forwarded: { x_forwarded: append, forwarded: keep, trusted: [ 192.0.2.1 ] }");
    request_becomes("X-Forwarded-For: x|", "X-Forwarded-For: x, 192.0.2.1|X-Forwarded-Proto: http|"
                                           "X-Forwarded-Host: a.example:81|");
    assert_int_equal(fake.filter->route(&fake.state.public), WEIR_CONTINUE);
    assert_string_equal(fake_fields(WEIR_REQUEST_HEAD),
                        "X-Forwarded-For: x, 192.0.2.1|X-Forwarded-Proto: http|"
                        "X-Forwarded-Host: a.example:81|");
}

static void tunnels_are_left_alone(void **state)
{
    made("forwarded: { x_forwarded: append }");
    weir_exchange *exchange = fake_request("a.example:443", "", "A: 1|");
    fake.exchange.request->view.kind = WEIR_TUNNEL;
    assert_int_equal(fake.filter->route(exchange), WEIR_CONTINUE);
    assert_string_equal(fake_fields(WEIR_REQUEST_HEAD), "A: 1|");
}

/* --- what is no configuration */

static void mistaken(const char *with, const char *mistakes)
{
    fake.mistakes[0] = 0;
    assert_int_equal(fake_make(with), WEIR_INVALID);
    assert_string_equal(fake.mistakes, mistakes);
}

static void names_are_checked(void **state)
{
    mistaken("request: { set: { Host: a } }",
             "1: Host is weir's own: it follows from the message\n");
    mistaken("response:\n  remove: [ Content-Length ]\n  add: { transfer-encoding: chunked }\n",
             "2: Content-Length is weir's own: it follows from the message\n"
             "3: transfer-encoding is weir's own: it follows from the message\n");
    mistaken("request: { set: { 'A B': a } }", "1: \"A B\" is no name of a field\n");
    mistaken("request: { add: { ':path': a } }", "1: \":path\" is no name of a field\n");
    mistaken("request: { remove: [ '' ] }", "1: \"\" is no name of a field\n");
    mistaken("request: { remove: [ '*' ] }", "1: would remove every field\n");
    mistaken("request: { rewrite: [ { name: TE, find: a, replace: b } ] }",
             "1: TE is weir's own: it follows from the message\n");
}

static void values_are_checked(void **state)
{
    mistaken("request: { set: { A: 'x{y' } }", "1: has a { alone; {{ is a brace\n");
    mistaken("request: { set: { A: 'x}y' } }", "1: has a } alone; }} is a brace\n");
    mistaken("request: { set: { A: \"a\\nb\" } }", "1: has a control character\n");
    mistaken("request: { add: { A: [ x, '{Client}' ] } }",
             "1: {Client} is no placeholder; there are {client}, {client_port}, {user}, {host}, "
             "{method}, {path}, {scheme}, {id}, {listener}, {upstream}, {server}, "
             "{client_protocol}, {client_tls}, {client_cipher}, {client_tls_name}, "
             "{client_certificate}, {client_fingerprint}, {server_protocol}, {server_tls}, "
             "{server_cipher}, "
             "{variable:NAME}\n");
}

static void rewrites_are_checked(void **state)
{
    mistaken("request: { rewrite: [ { name: A, replace: b } ] }",
             "1: needs either find or pattern\n");
    mistaken("request: { rewrite: [ { name: A, find: a, pattern: a, replace: b } ] }",
             "1: needs either find or pattern\n");
    mistaken("request: { rewrite: [ { name: A, find: '', replace: b } ] }",
             "1: is empty: it is found everywhere\n");
    mistaken("request: { rewrite: [ { name: A, find: a, replace: \"\\n\" } ] }",
             "1: has a control character\n");
    mistaken("request: { rewrite: [ { name: A, pattern: 'a(b', replace: b } ] }",
             "1: is no pattern: missing closing parenthesis, behind 3 characters\n");
    mistaken("request: { rewrite: [ { name: A, pattern: 'a(b)', replace: $2 } ] }",
             "1: does not fit the pattern: unknown substring\n");
    mistaken("request: { rewrite: [ { name: A, pattern: 'a(b)', replace: '${1' } ] }",
             "1: does not fit the pattern: expected closing curly bracket in replacement string\n");
    made("request: { rewrite: [ { name: A, pattern: 'a(b)', replace: '$1$$' } ] }");
}

/* Each of them, with its line. */
static void networks_are_checked(void **state)
{
    const char *with =
        "forwarded:\n  trusted:\n    - 10.0.0.0/8\n    - nonsense\n    - 10.0.0.0/99\n";
    assert_int_equal(fake_make(with), WEIR_INVALID);
    assert_int_equal(strncmp(fake.mistakes, "4: ", 3), 0);
    assert_non_null(strstr(fake.mistakes, "\n5: "));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_to_do),
        TEST(set_default_add_remove),
        TEST(the_order_is_fixed),
        TEST(responses),
        TEST(a_beginning_is_removed),
        TEST(nothing_is_no_value),
        TEST(placeholders),
        TEST(values_that_do_not_fit_are_a_failure),
        TEST(values_that_break_lines_are_a_failure),
        TEST(texts_are_replaced),
        TEST(what_is_not_found_stays_as_it_is),
        TEST(patterns_are_replaced),
        TEST(a_pattern_that_takes_too_long_is_a_failure),
        TEST(too_many_of_one_name_are_a_failure),
        TEST(a_forward_proxy_adds_nothing),
        TEST(an_upstream_is_told),
        TEST(strangers_are_not_believed),
        TEST(trusted_ones_are),
        TEST(replacing_believes_nobody),
        TEST(stripping_and_keeping),
        TEST(addresses_of_ipv6_are_quoted),
        TEST(unix_clients),
        TEST(a_repeated_attempt_adds_nothing_more),
        TEST(tunnels_are_left_alone),
        TEST(names_are_checked),
        TEST(values_are_checked),
        TEST(rewrites_are_checked),
        TEST(networks_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
