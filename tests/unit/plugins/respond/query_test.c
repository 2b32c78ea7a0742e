/* tests/unit/plugins/respond/query_test.c - what a request may say of its answer */
#include "plugins/respond/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct wanted limits = {599, 1000, 50};

static void says(const char *path, uint64_t status, uint64_t size, uint64_t delay_ms)
{
    struct wanted wanted = {200, 7, 8};
    assert_true(query_read((weir_string){path, strlen(path)}, limits, &wanted));
    assert_int_equal(wanted.status, status);
    assert_int_equal(wanted.size, size);
    assert_int_equal(wanted.delay_ms, delay_ms);
}

static void is_wrong(const char *path)
{
    struct wanted wanted = {200, 7, 8};
    assert_false(query_read((weir_string){path, strlen(path)}, limits, &wanted));
}

static void what_is_said(void **state)
{
    says("", 200, 7, 8);
    says("/", 200, 7, 8);
    says("/size=1", 200, 7, 8);
    says("/?", 200, 7, 8);
    says("/?size=1000&status=599&delay=50", 599, 1000, 50);
    says("/?a&size=1&&b=c=d&size=0002&", 200, 2, 8);
    says("/?Size=1&sizes=x", 200, 7, 8);
}

static void what_is_wrong(void **state)
{
    is_wrong("/?size=1001");
    is_wrong("/?size=99999999999999999999999999");
    is_wrong("/?size=");
    is_wrong("/?size");
    is_wrong("/?size=-1");
    is_wrong("/?size=1KiB");
    is_wrong("/?status=199");
    is_wrong("/?status=600");
    is_wrong("/?delay=51");
    is_wrong("/?delay=1&delay=x&size=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said),
        cmocka_unit_test(what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
