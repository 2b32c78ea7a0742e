/* tests/unit/core/upstream/route_test.c - where requests go, and which go nowhere */
#include "core/upstream/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "tests/registry_of.h"

static const weir_channel_operations channels = {.size = sizeof channels};
static const weir_protocol h1 = {.size = sizeof h1, .name = "h1", .server = &channels};
static const weir_protocol raw = {.size = sizeof raw, .name = "raw", .server = &channels};
static const weir_protocol for_clients = {
    .size = sizeof for_clients, .name = "h1", .client = &channels};
static struct port_range usual_ports[] = {{1, 24}, {26, 65535}};
static struct snapshot forward = {.connect_ports = {usual_ports, 2}}, reverse;

static char one[] = "one.example:8080", two[] = "two.example", three[] = "[::1]:8081";
static char *servers[] = {one, two, three};
static char protocol_h1[] = "h1";
static const struct upstream_group group = {
    .servers = servers, .count = 3, .protocol = protocol_h1};
static struct upstream_group raw_group;

static int set_up(void **state)
{
    static const weir_protocol *const both[] = {&h1, &raw};
    *state = registry_of(both, 2);
    forward.registry = reverse.registry = *state;
    reverse.fixed_upstream = &group;
    return 0;
}

static int tear_down(void **state)
{
    registry_free(*state);
    return 0;
}

static const struct upstream_group unset;

static weir_head request(const char *scheme, const char *authority)
{
    return (weir_head){.size = sizeof(weir_head),
                       .kind = WEIR_REQUEST,
                       .method = WEIR_STRING("GET"),
                       .scheme = string_of(scheme),
                       .authority = string_of(authority),
                       .path = WEIR_STRING("/")};
}

static weir_head tunnel(const char *authority)
{
    weir_head head = request("", authority);
    head.kind = WEIR_TUNNEL;
    head.method = WEIR_STRING("CONNECT");
    return head;
}

static void goes_to(const struct snapshot *snapshot, weir_head head, uint32_t turn,
                    const char *protocol, const char *host, uint16_t port)
{
    struct target target = {.group = &unset};
    assert_int_equal(route_pick(snapshot, &head, turn, &target), WEIR_OK);
    assert_ptr_equal(target.group, snapshot->fixed_upstream);
    assert_string_equal(target.protocols[0]->name, protocol);
    assert_true(string_equal(target.host, string_of(host)));
    assert_int_equal(target.port, port);
}

static void goes_nowhere(const struct snapshot *snapshot, weir_head head, weir_result cause)
{
    struct target target = {0};
    assert_int_equal(route_pick(snapshot, &head, 0, &target), cause);
}

static void requests_go_to_their_target(void **state)
{
    goes_to(&forward, request("http", "a.example"), 0, "h1", "a.example", 80);
    goes_to(&forward, request("http", "a.example:8080"), 5, "h1", "a.example", 8080);
    goes_to(&forward, request("http", "a.example:"), 0, "h1", "a.example", 80);
    goes_to(&forward, request("http", "[2001:db8::1]:81"), 0, "h1", "2001:db8::1", 81);
    goes_to(&forward, request("http", "[::1]"), 0, "h1", "::1", 80);
    goes_to(&forward, request("http", "a.example:25"), 0, "h1", "a.example", 25);
}

static void requests_that_go_nowhere(void **state)
{
    goes_nowhere(&forward, request("", "a.example"), WEIR_NOT_A_PROXY_REQUEST);
    goes_nowhere(&forward, request("", ""), WEIR_NOT_A_PROXY_REQUEST);
    goes_nowhere(&forward, request("ftp", "a.example"), WEIR_NOT_IMPLEMENTED);
    goes_to(&forward, request("https", "a.example"), 0, "h1", "a.example", 443);
    goes_nowhere(&forward, request("ftp", "a.example"), WEIR_NOT_IMPLEMENTED);
    goes_nowhere(&forward, request("http", ""), WEIR_MALFORMED);
    goes_nowhere(&forward, request("http", "user@a.example"), WEIR_MALFORMED);
    goes_nowhere(&forward, request("http", "a.example:0"), WEIR_MALFORMED);
    goes_nowhere(&forward, request("http", "a.example:65536"), WEIR_MALFORMED);
    goes_nowhere(&forward, request("http", "::1:80"), WEIR_MALFORMED);
}

static void tunnels_go_to_their_end(void **state)
{
    goes_to(&forward, tunnel("a.example:443"), 0, "raw", "a.example", 443);
    goes_to(&forward, tunnel("[::1]:1"), 0, "raw", "::1", 1);
    goes_nowhere(&forward, tunnel("a.example"), WEIR_MALFORMED); /* there is no usual port */
    goes_nowhere(&forward, tunnel("a.example:"), WEIR_MALFORMED);
    goes_nowhere(&forward, tunnel("a.example:443/x"), WEIR_MALFORMED);
    goes_nowhere(&forward, tunnel("http://a.example:443"), WEIR_MALFORMED);
    goes_nowhere(&forward, tunnel(""), WEIR_MALFORMED);
    goes_nowhere(&forward, tunnel("a.example:25"), WEIR_DENIED); /* no mail through here */
}

static void tunnels_to_some_ports_only(void **state)
{
    struct port_range ranges[] = {{443, 443}, {8000, 8100}, {25, 25}};
    struct snapshot narrow = {.registry = *state, .connect_ports = {ranges, 3}};
    static const uint16_t good[] = {443, 8000, 8050, 8100, 25}, bad[] = {442, 444, 7999, 8101, 1};
    char authority[32];
    for (size_t i = 0; i < 5; i++) {
        snprintf(authority, sizeof authority, "a:%u", good[i]);
        goes_to(&narrow, tunnel(authority), 0, "raw", "a", good[i]);
        snprintf(authority, sizeof authority, "a:%u", bad[i]);
        goes_nowhere(&narrow, tunnel(authority), WEIR_DENIED);
    }
    goes_nowhere(&narrow, tunnel("a.example"), WEIR_MALFORMED);
    goes_to(&narrow, request("http", "a.example:81"), 0, "h1", "a.example", 81); /* no tunnel */
}

static void a_fixed_upstream_takes_everything(void **state)
{
    goes_to(&reverse, request("", "a.example"), 0, "h1", "one.example", 8080);
    goes_to(&reverse, request("http", "a.example:99"), 1, "h1", "two.example", 80);
    goes_to(&reverse, request("https", "a.example"), 2, "h1", "::1", 8081);
    goes_to(&reverse, request("", ""), 3, "h1", "one.example", 8080);
    goes_to(&reverse, request("", "a b"), UINT32_MAX, "h1", "one.example", 8080);
    goes_nowhere(&reverse, tunnel("a.example:443"), WEIR_DENIED);
}

static void an_upstream_has_its_protocol(void **state)
{
    struct snapshot snapshot = {.registry = *state, .fixed_upstream = &raw_group};
    raw_group = group;
    static char protocol[] = "raw";
    raw_group.protocol = protocol;
    goes_to(&snapshot, request("", "a.example"), 0, "raw", "one.example", 8080);
}

static void speaks(const struct target *target, const char *first, const char *second,
                   const struct tls_client_settings *tls)
{
    assert_string_equal(target->protocols[0]->name, first);
    assert_int_equal(target->protocols[1] != NULL, second != NULL);
    if (second)
        assert_string_equal(target->protocols[1]->name, second);
    assert_ptr_equal(target->tls, tls ? tls->context : NULL);
}

static void over_tls_the_server_chooses(void **state)
{
    static const weir_protocol h2 = {.size = sizeof h2, .name = "h2", .server = &channels};
    static const weir_protocol *const all[] = {&h1, &h2, &raw};
    struct registry *registry = registry_of(all, 3);
    static char places[2];
    struct tls_client_settings usual = {.context = (struct tls_context *)&places[0]},
                               own = {.context = (struct tls_context *)&places[1]};
    struct snapshot snapshot = {.registry = registry, .server_tls = usual};
    struct target target;
    weir_head secure = request("https", "a.example"), plain = request("http", "a.example");
    weir_head switches = secure;
    switches.protocol = WEIR_STRING("websocket");
    (void)state;
    route_pick(&snapshot, &secure, 0, &target);
    speaks(&target, "h2", "h1", &usual);
    route_pick(&snapshot, &plain, 0, &target);
    speaks(&target, "h1", NULL, NULL);
    route_pick(&snapshot, &switches, 0, &target);
    speaks(&target, "h1", NULL, &usual);
    assert_int_equal(route_named(&snapshot, &secure, WEIR_STRING("b.example:1"), 0, &target), 0);
    speaks(&target, "h2", "h1", &usual);
    raw_group = group;
    raw_group.tls = own;
    snapshot.fixed_upstream = &raw_group;
    route_pick(&snapshot, &secure, 0, &target);
    speaks(&target, "h1", NULL, &own);
    raw_group.protocol = NULL;
    route_pick(&snapshot, &plain, 0, &target);
    speaks(&target, "h2", "h1", &own);
    registry_free(registry);
}

static void protocols_that_no_plugin_has_go_nowhere(void **state)
{
    static const weir_protocol *const one_sided[] = {&for_clients};
    struct registry *registry = registry_of(one_sided, 1);
    struct snapshot snapshot = {.registry = registry, .connect_ports = {usual_ports, 2}};
    goes_nowhere(&snapshot, request("http", "a.example"), WEIR_NOT_IMPLEMENTED);
    goes_nowhere(&snapshot, tunnel("a.example:443"), WEIR_NOT_IMPLEMENTED);
    snapshot.fixed_upstream = &group;
    goes_nowhere(&snapshot, request("http", "a.example"), WEIR_NOT_IMPLEMENTED);
    registry_free(registry);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_go_to_their_target),       TEST(requests_that_go_nowhere),
        TEST(tunnels_go_to_their_end),           TEST(tunnels_to_some_ports_only),
        TEST(a_fixed_upstream_takes_everything), TEST(an_upstream_has_its_protocol),
        TEST(over_tls_the_server_chooses),       TEST(protocols_that_no_plugin_has_go_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
