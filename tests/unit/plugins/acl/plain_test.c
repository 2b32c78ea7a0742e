/* tests/unit/plugins/acl/plain_test.c - hosts and paths in the forms in which they are compared */
#include "plugins/acl/plain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static weir_string string(const char *text)
{
    return (weir_string){text, strlen(text)};
}

static void host_is(const char *authority, const char *expected, uint32_t port)
{
    char host[HOST_BYTES];
    size_t length = plain_host(string(authority), host);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(host, expected, length);
    assert_int_equal(plain_port(string(authority)), port);
}

static void hosts(void **state)
{
    host_is("a.example", "a.example", 0);
    host_is("A.Example.:80", "a.example", 80);
    host_is("a.example..", "a.example", 0);
    host_is("user:secret@a.example:81", "a.example", 81);
    host_is("a@b@a.example", "a.example", 0);
    host_is("%61.ex%2541mple:8", "a.example", 8);
    host_is("192.0.2.1.:1", "192.0.2.1", 1);
    host_is("[::1]:443", "::1", 443);
    host_is("[0:0::0:1]", "::1", 0);
    host_is("[2001:DB8::A]", "2001:db8::a", 0);
    host_is("[::ffff:192.0.2.1]:80", "192.0.2.1", 80);
    host_is("[::FFFF:c000:201]", "192.0.2.1", 0);
    host_is("[nonsense]:80", "nonsense", 80);
    host_is("[::1", "[::1", 0);
    host_is("", "", 0);
    host_is(":80", "", 80);
    host_is("a:", "a", 0);
    host_is("a:8x", "a", 0);
    host_is("a:65536", "a", 0);
    host_is("a:99999999999999999999", "a", 0);
}

static void a_host_that_is_no_name(void **state)
{
    char authority[HOST_BYTES + 8], host[HOST_BYTES];
    memset(authority, 'a', sizeof authority);
    assert_int_equal(plain_host((weir_string){authority, HOST_BYTES - 1}, host), HOST_BYTES - 1);
    assert_int_equal(plain_host((weir_string){authority, HOST_BYTES}, host), 0);
}

static void path_is(const char *path, const char *decoded, const char *resolved)
{
    char made[64];
    size_t length = plain_decoded(string(path), made);
    assert_int_equal(length, strlen(decoded));
    assert_memory_equal(made, decoded, length);
    length = plain_resolved(string(path), made);
    made[length] = 0;
    assert_string_equal(made, resolved);
}

static void paths(void **state)
{
    path_is("/", "/", "/");
    path_is("/a/b", "/a/b", "/a/b");
    path_is("/a/?b=/../c", "/a/", "/a/");
    path_is("/%61/%2e%2E/x", "/a/../x", "/x");
    path_is("/a%2fb%5Cc", "/a%2fb%5Cc", "/a/b/c");
    path_is("/%2561", "/%61", "/a");
    path_is("/%25%36%31", "/%61", "/a");
    path_is("/%%36%31", "/%61", "/a");
    path_is("//a///b//", "//a///b//", "/a/b/");
    path_is("/a/./b/.", "/a/./b/.", "/a/b/");
    path_is("/a/b/..", "/a/b/..", "/a/");
    path_is("/../../a", "/../../a", "/a");
    path_is("/a;v=1/b;x", "/a;v=1/b;x", "/a/b");
    path_is("/a/..;/b", "/a/..;/b", "/b");
    path_is("/a\\b", "/a\\b", "/a/b");
    path_is("/a%", "/a%", "/a%");
    path_is("/a%4", "/a%4", "/a%4");
    path_is("/%zz", "/%zz", "/%zz");
    path_is("*", "*", "*");
    path_is("", "", "");
}

static void a_path_ends_at_nul(void **state)
{
    char made[16];
    assert_int_equal(plain_resolved(WEIR_STRING("/deny%00/x"), made), 5);
    assert_memory_equal(made, "/deny", 5);
    assert_int_equal(plain_resolved(WEIR_STRING("%00"), made), 0);
}

/* What takes long only if each pass decoded one layer. */
static void many_layers(void **state)
{
    static char path[60001], made[sizeof path];
    path[0] = '/';
    path[1] = '%';
    for (size_t i = 2; i + 1 < sizeof path; i += 2)
        memcpy(path + i, "25", 2);
    assert_int_equal(plain_resolved((weir_string){path, sizeof path - 1}, made), 2);
    assert_memory_equal(made, "/%", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts),       cmocka_unit_test(a_host_that_is_no_name),
        cmocka_unit_test(paths),       cmocka_unit_test(a_path_ends_at_nul),
        cmocka_unit_test(many_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
