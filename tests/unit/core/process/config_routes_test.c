/* tests/unit/core/process/config_routes_test.c - which route requests take, and wrong ones */
#include "core/process/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "core/base/text.h"
#include "core/upstream/route.h"

static struct options options;
static struct config_errors errors;
static struct snapshot *snapshot;

static int clean(void **state)
{
    snapshot_free(snapshot);
    snapshot = NULL;
    config_errors_deinit(&errors);
    return 0;
}

static void read_right(const char *text)
{
    clean(NULL);
    snapshot = config_read(string_of(text), &options, &errors);
    if (!snapshot)
        fail_msg("\"%s\": %s", text, errors.kept ? errors.list[0].text : "no snapshot");
}

enum { NONE = -1 };

static void takes(int route, const char *method, const char *authority, const char *path)
{
    struct target target = {0};
    bool tunnel = !strcmp(method, "CONNECT");
    weir_head head = {.size = sizeof head,
                      .kind = tunnel ? WEIR_TUNNEL : WEIR_REQUEST,
                      .method = string_of(method),
                      .authority = string_of(authority),
                      .path = string_of(path)};
    route_pick(snapshot, &head, 0, &target);
    int taken = target.route ? (int)(target.route - snapshot->routes) : NONE;
    if (taken != route)
        fail_msg("%s %s%s takes %d, not %d", method, authority, path, taken, route);
}

static void test_hosts(void **state)
{
    read_right("routes:\n"
               "  - { when: { host: a.example }, to: direct }\n"
               "  - { when: { host: [ '*.example', '[::1]', B.test ] }, to: direct }\n"
               "  - { when: { host: '*.a.example' }, to: direct }\n");
    takes(0, "GET", "a.example", "/");
    takes(0, "GET", "A.Example:99", "/");
    takes(0, "GET", "a.example.", "/");
    takes(1, "GET", "b.example", "/");
    takes(1, "GET", "x.a.example", "/"); /* the first that fits, not the narrowest */
    takes(1, "GET", "[::1]:80", "/");
    takes(1, "GET", "b.TEST", "/");
    takes(NONE, "GET", "example", "/");
    takes(NONE, "GET", ".example", "/");
    takes(NONE, "GET", "aexample", "/");
    takes(NONE, "GET", "c.test", "/");
    takes(NONE, "GET", "", "/");
    takes(NONE, "GET", "a b", "/");
}

static void test_paths_methods_and_ports(void **state)
{
    read_right("routes:\n"
               "  - { when: { path: /api/* }, to: direct }\n"
               "  - { when: { path: [ /one, /two ], method: [ GET, HEAD ] }, to: direct }\n"
               "  - { when: { port: [ 443, 8000-8999 ] }, to: direct }\n"
               "  - { when: { host: a.test, method: CONNECT }, to: direct }\n"
               "  - { when: { host: last.test, port: 80 }, to: direct }\n");
    takes(0, "PUT", "a.test:443", "/api/");
    takes(0, "GET", "a.test", "/api/x?y");
    takes(NONE, "GET", "a.test", "/api");
    takes(NONE, "GET", "a.test", "/API/");
    takes(1, "GET", "a.test", "/one?/api/");
    takes(1, "HEAD", "a.test", "/two");
    takes(NONE, "POST", "a.test", "/two");
    takes(NONE, "GET", "a.test", "/two/");
    takes(2, "GET", "a.test:8999", "/");
    takes(2, "CONNECT", "a.test:443", "");
    takes(3, "CONNECT", "a.test:444", "");
    takes(NONE, "CONNECT", "b.test:444", "");
    takes(4, "GET", "last.test", "/");
    takes(NONE, "GET", "last.test:81", "/");
}

static void test_many_routes(void **state)
{
    enum { ROUTES = 1000 };
    struct text text = {0};
    text_add(&text, WEIR_STRING("routes:\n"));
    for (int i = 0; i < ROUTES; i++)
        text_format(&text, "  - { when: { host: [ h%d.test, '*.w%d.test' ] }, to: direct }\n", i,
                    i);
    text_add(&text, WEIR_STRING("\0"));
    read_right(text.bytes);
    text_deinit(&text);
    for (int i = 0; i < ROUTES; i += 37) {
        char host[32], below[32];
        snprintf(host, sizeof host, "h%d.test", i);
        snprintf(below, sizeof below, "x.w%d.test", i);
        takes(i, "GET", host, "/");
        takes(i, "GET", below, "/");
    }
    takes(NONE, "GET", "h1000.test", "/");
}

static void test_groups(void **state)
{
    read_right("upstream: { app: { servers: [ a:1 ] }, b: { servers: [ b:1 ] } }\n"
               "fixed_upstream: b\n"
               "routes: [ { name: one, when: { host: a.test }, to: app }, { to: direct } ]\n");
    assert_ptr_equal(snapshot->routes[0].group, &snapshot->upstreams[0]);
    assert_string_equal(snapshot->routes[0].name, "one");
    assert_null(snapshot->routes[1].group);
    assert_non_null(snapshot->routes[0].chain);
    weir_head tunnel = {.size = sizeof tunnel,
                        .kind = WEIR_TUNNEL,
                        .method = WEIR_STRING("CONNECT"),
                        .authority = WEIR_STRING("a.test:443")};
    struct target target = {0};
    assert_int_equal(route_pick(snapshot, &tunnel, 0, &target), WEIR_DENIED);
}

static void wrong(const char *text, uint32_t line, uint32_t column, const char *says)
{
    clean(NULL);
    snapshot = config_read(string_of(text), &options, &errors);
    assert_null(snapshot);
    assert_int_equal(errors.count, 1);
    if (strcmp(errors.list[0].text, says) != 0)
        fail_msg("%s", errors.list[0].text);
    assert_int_equal(errors.list[0].line, line);
    assert_int_equal(errors.list[0].column, column);
}

static void test_mistakes(void **state)
{
    wrong("routes: [ { when: {} } ]", 1, 11, "routes[0]: \"to\" is missing");
    wrong("routes: [ { to: app } ]", 1, 17, "routes[0].to: there is no upstream \"app\"");
    wrong("upstream: { apple: { servers: [ a:1 ] } }\nroutes: [ { to: appel } ]", 2, 17,
          "routes[0].to: there is no upstream \"appel\"; did you mean \"apple\"?");
    wrong("upstream: { direct: { servers: [ a:1 ] } }\nfixed_upstream: direct", 1, 13,
          "upstream.direct: is the word for no group in routes; use another name");
    wrong("routes: [ { when: { host: 'a*' }, to: direct } ]", 1, 27,
          "routes[0].when.host: \"a*\" may have a * at its beginning only, as in *.example");
    wrong("routes: [ { when: { host: 'a:80' }, to: direct } ]", 1, 27,
          "routes[0].when.host: \"a:80\" has a port; leave it out, or write it as the route's "
          "port");
    wrong("routes: [ { when: { path: api }, to: direct } ]", 1, 27,
          "routes[0].when.path: \"api\" is not a path such as /index.html or /api/*");
    wrong("routes: [ { when: { path: [ /a*b ] }, to: direct } ]", 1, 29,
          "routes[0].when.path[0]: \"/a*b\" may have a * at its end only");
    wrong("routes: [ { when: { method: 'G T' }, to: direct } ]", 1, 29,
          "routes[0].when.method: \"G T\" is not a method such as GET");
    wrong("routes: [ { to: direct, filters: [ { with: {} } ] } ]", 1, 36,
          "routes[0].filters[0]: \"use\" is missing");
}

#define TEST(name) cmocka_unit_test_teardown(name, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_hosts),       TEST(test_paths_methods_and_ports),
        TEST(test_many_routes), TEST(test_groups),
        TEST(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
