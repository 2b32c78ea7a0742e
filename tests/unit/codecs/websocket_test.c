/* tests/unit/codecs/websocket_test.c - RFC 6455's example, and keys that differ */
#include "codecs/websocket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void the_example_of_the_rfc(void **state)
{
    char accept[WEBSOCKET_ACCEPT_BYTES];
    websocket_accept("dGhlIHNhbXBsZSBub25jZQ==", accept);
    assert_memory_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", sizeof accept);
}

static void keys_differ_and_are_keys(void **state)
{
    char first[WEBSOCKET_KEY_BYTES], second[WEBSOCKET_KEY_BYTES];
    websocket_make_key(first);
    websocket_make_key(second);
    assert_memory_not_equal(first, second, sizeof first);
    assert_memory_equal(first + WEBSOCKET_KEY_BYTES - 2, "==", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_rfc),
        cmocka_unit_test(keys_differ_and_are_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
