/* tests/unit/core/plugins/loader_test.c - plugins of tests/plugins, with hosts that lack something
 */
#include "core/plugins/loader.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "core/plugins/registry.h"

static char mistake[PLUGIN_MISTAKE_BYTES];
static struct registry *registry;

static const void *query_all(const weir_host *host, const char *name)
{
    return strstr(name, "teapot") ? NULL : host;
}

static const void *query_nothing(const weir_host *host, const char *name)
{
    return NULL;
}

static weir_host host = {.size = sizeof host,
                         .abi_major = WEIR_ABI_MAJOR,
                         .abi_minor = WEIR_ABI_MINOR,
                         .version = "9.9.9",
                         .query = query_all};

static int set_up(void **state)
{
    static const char *bases[] = {"", "relative", "/nowhere", "/tmp", NULL};
    host.query = query_all;
    host.abi_minor = WEIR_ABI_MINOR;
    mistake[0] = 0;
    loader_start(&host, bases);
    registry = registry_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    registry_free(registry);
    loader_end();
    return 0;
}

/* build/VARIANT/tests/plugins/NAME.so, from this program's own place. */
static const char *path_of(const char *name)
{
    static char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path / 2);
    assert_true(length > 0);
    path[length] = 0;
    char *tests = strstr(path, "/tests/unit/");
    snprintf(tests, sizeof path / 2, "/tests/plugins/%s.so", name);
    return path;
}

static void is_refused(const char *name, const char *why)
{
    char expected[PLUGIN_MISTAKE_BYTES * 2];
    snprintf(expected, sizeof expected, "%s: %s", path_of(name), why);
    assert_false(registry_load(registry, path_of(name), mistake));
    assert_string_equal(mistake, expected);
}

static void a_host_without_filters_is_told_so(void **state)
{
    host.query = query_nothing;
    is_refused("plain", "refused: needs interface weir.filter/0, which this weir 9.9.9 does not "
                        "have; use a weir that has it");
    is_refused("optional", "refused: its load() failed (-4); see what it says in the log");
    host.query = query_all;
    assert_true(registry_load(registry, path_of("optional"), mistake));
    assert_true(registry_load(registry, path_of("plain"), mistake));
}

static void a_newer_host_takes_what_an_older_refused(void **state)
{
    host.abi_minor = 8;
    is_refused("needs_minor", "refused: needs weir ABI 0.9 or later, this is weir 9.9.9 with ABI "
                              "0.8; upgrade weir");
    host.abi_minor = 9;
    assert_true(registry_load(registry, path_of("needs_minor"), mistake));
}

static void tables_are_of_full_size(void **state)
{
    assert_true(registry_load(registry, path_of("newer_minor"), mistake));
    const struct plugin_filter *found = registry_filter(registry, "newer_minor");
    assert_non_null(found);
    assert_int_equal(found->filter.size, sizeof(weir_filter));
    assert_null(found->filter.request);
    assert_string_equal(found->plugin->name, "test.newer_minor");
}

static void configurations_share_what_is_the_same(void **state)
{
    struct registry *next = registry_new(NULL);
    assert_true(registry_load(registry, path_of("plain"), mistake));
    assert_true(registry_load(next, path_of("plain"), mistake));
    const struct plugin_filter *filter = registry_filter(registry, "plain");
    assert_ptr_equal(filter, registry_filter(next, "plain"));
    assert_int_equal(filter->plugin->references, 2);
    registry_free(next);
    assert_int_equal(filter->plugin->references, 1);
}

static void what_nobody_uses_is_there_again(void **state)
{
    assert_true(registry_load(registry, path_of("plain"), mistake));
    const struct plugin *plugin = registry_filter(registry, "plain")->plugin;
    registry_free(registry);
    registry = registry_new(NULL);
    assert_null(registry_filter(registry, "plain"));
    assert_true(registry_load(registry, path_of("plain"), mistake));
    assert_ptr_equal(registry_filter(registry, "plain")->plugin, plugin);
}

static void filters_are_found_by_name_in_the_directory(void **state)
{
    char directory[PATH_MAX];
    snprintf(directory, sizeof directory, "%s", path_of("plain"));
    *strrchr(directory, '/') = 0;
    struct registry *named = registry_new(directory);
    const struct plugin_filter *filter = registry_need_filter(named, "plain", mistake);
    assert_non_null(filter);
    assert_ptr_equal(registry_need_filter(named, "plain", mistake), filter);
    assert_null(registry_need_filter(named, "nothing", mistake));
    assert_non_null(strstr(mistake, "there is no filter \"nothing\", and no "));
    assert_null(registry_need_filter(named, "../plugins/plain", mistake));
    assert_string_equal(mistake, "there is no filter \"../plugins/plain\"");
    assert_null(registry_need_filter(named, "optional", mistake));
    assert_non_null(strstr(mistake, "although"));
    registry_free(named);
}

static void names_and_paths_differ(void **state)
{
    assert_true(loader_is_name("acme"));
    assert_true(loader_is_name("so"));
    assert_false(loader_is_name("acme.so"));
    assert_false(loader_is_name("./acme"));
    char *path = loader_find("acme", "/usr/lib/weir/plugins");
    assert_string_equal(path, "/usr/lib/weir/plugins/acme.so");
    memory_free(path);
    path = loader_find("acme.so", "/usr/lib/weir/plugins");
    assert_string_equal(path, "acme.so");
    memory_free(path);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_host_without_filters_is_told_so),
        TEST(a_newer_host_takes_what_an_older_refused),
        TEST(tables_are_of_full_size),
        TEST(configurations_share_what_is_the_same),
        TEST(what_nobody_uses_is_there_again),
        TEST(filters_are_found_by_name_in_the_directory),
        TEST(names_and_paths_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
