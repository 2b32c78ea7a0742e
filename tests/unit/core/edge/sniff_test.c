/* tests/unit/core/edge/sniff_test.c - whose are a connection's first bytes? */
#include "core/edge/sniff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool was_told_the_end;

/* Claims what begins with these bytes. */
static int32_t begins_with(const char *magic, const uint8_t *bytes, size_t count, uint32_t end)
{
    size_t length = strlen(magic), compared = count < length ? count : length;
    was_told_the_end = end != 0;
    if (memcmp(bytes, magic, compared) != 0)
        return WEIR_SNIFF_NO;
    if (count >= length)
        return WEIR_SNIFF_YES;
    return end ? WEIR_SNIFF_NO : WEIR_SNIFF_MORE;
}

static int32_t sniff_one(const uint8_t *bytes, size_t count, uint32_t end)
{
    return begins_with("one", bytes, count, end);
}

static int32_t sniff_only(const uint8_t *bytes, size_t count, uint32_t end)
{
    return begins_with("only", bytes, count, end);
}

static int32_t sniff_undecided(const uint8_t *bytes, size_t count, uint32_t end)
{
    was_told_the_end = end != 0;
    return WEIR_SNIFF_MORE;
}

#define PROTOCOL(name_, sniff_)                                                                    \
    static const weir_connection_operations name_##_operations = {                                 \
        .size = sizeof name_##_operations, .sniff = sniff_};                                       \
    static const weir_protocol name_ = {.size = sizeof name_,                                      \
                                        .name = #name_,                                            \
                                        .connection = &name_##_operations,                         \
                                        .client = &channels}

static const weir_channel_operations channels = {.size = sizeof channels};
PROTOCOL(one, sniff_one);
PROTOCOL(only, sniff_only);
PROTOCOL(without_sniff, NULL);
PROTOCOL(undecided, sniff_undecided);

static const weir_protocol *protocols[4];

static void choose_from(const weir_protocol *const *list)
{
    uint32_t count = 0;
    while ((protocols[count] = list[count]))
        count++;
}
#define CHOOSE_FROM(...) choose_from((const weir_protocol *const[]){__VA_ARGS__, NULL})

static int set_up(void **state)
{
    CHOOSE_FROM(&without_sniff, &one, &only);
    return 0;
}

static void decided(const char *bytes, bool end, const weir_protocol *expected)
{
    const weir_protocol *protocol = NULL;
    assert_true(sniff(protocols, (const uint8_t *)bytes, strlen(bytes), end, &protocol));
    assert_ptr_equal(protocol, expected);
}

static void undecided_yet(const char *bytes)
{
    const weir_protocol *protocol;
    assert_false(sniff(protocols, (const uint8_t *)bytes, strlen(bytes), false, &protocol));
    assert_false(was_told_the_end);
}

static void whoever_claims_it_has_it(void **state)
{
    decided("one", false, &one);
    decided("one more", false, &one);
    decided("only", false, &only);
    decided("only", true, &only);
}

static void waits_while_somebody_might(void **state)
{
    undecided_yet("");
    undecided_yet("o");
    undecided_yet("on");
    undecided_yet("onl");
}

static void the_first_takes_what_nobody_claims(void **state)
{
    decided("x", false, &one);
    decided("onx", false, &one);
    decided("", true, &one); /* no more will come */
    decided("onl", true, &one);
}

static void their_order_decides(void **state)
{
    CHOOSE_FROM(&only, &one);
    decided("x", false, &only);
    CHOOSE_FROM(&undecided, &one);
    decided("one", false, &one); /* a claim counts at once */
}

/* Whoever cannot decide by 256 bytes does not get the connection to itself for ever. */
static void it_ends_some_time(void **state)
{
    char bytes[257];
    memset(bytes, 'x', sizeof bytes);
    CHOOSE_FROM(&undecided);
    bytes[255] = 0;
    undecided_yet(bytes);
    bytes[255] = 'x';
    bytes[256] = 0;
    decided(bytes, false, &undecided);
    assert_true(was_told_the_end);
}

static void nobody_is_there(void **state)
{
    CHOOSE_FROM(&without_sniff);
    decided("one", false, NULL);
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(whoever_claims_it_has_it),
        TEST(waits_while_somebody_might),
        TEST(the_first_takes_what_nobody_claims),
        TEST(their_order_decides),
        TEST(it_ends_some_time),
        TEST(nobody_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
