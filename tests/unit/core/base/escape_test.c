/* tests/unit/core/base/escape_test.c - every byte and many characters in each style, and no room */
#include "core/base/escape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"

enum { ROOM = 256 };

static void becomes(enum escape_style style, weir_string value, const char *expected)
{
    char text[ROOM], *at = text;
    assert_true(escape_put(&at, text + ROOM, value, style));
    *at = 0;
    assert_string_equal(text, expected);
}

static void plain_text_stays(void **state)
{
    static const char text[] = "!#$%&'()*+,-./0123456789:;<=>?@ABCXYZ[]^_`abcxyz{|}~";
    for (int style = ESCAPE_QUOTED; style <= ESCAPE_JSON; style++) {
        becomes((enum escape_style)style, WEIR_STRING(text), text);
        becomes((enum escape_style)style, WEIR_STRING(""), "");
    }
    becomes(ESCAPE_QUOTED, WEIR_STRING(" a  b "), " a  b ");
    becomes(ESCAPE_JSON, WEIR_STRING(" a  b "), " a  b ");
    becomes(ESCAPE_BARE, WEIR_STRING(" a  b "), "\\x20a\\x20\\x20b\\x20");
}

/* What must become of a byte that stands alone, said in the plainest way. */
static void expect_byte(unsigned byte, enum escape_style style, char *text)
{
    bool special = byte < 0x20 || byte >= 0x7f || byte == '"' || byte == '\\';
    if (!special && !(byte == ' ' && style == ESCAPE_BARE))
        sprintf(text, "%c", (char)byte);
    else if (style != ESCAPE_JSON)
        sprintf(text, "\\x%02x", byte);
    else if (byte == '"' || byte == '\\')
        sprintf(text, "\\%c", (char)byte);
    else
        sprintf(text, "\\u%04x", byte);
}

/* At each place of words of eight bytes, so that the quick way and the slow one say the same. */
static void every_byte_everywhere(void **state)
{
    for (unsigned byte = 0; byte < 256; byte++)
        for (int style = ESCAPE_QUOTED; style <= ESCAPE_JSON; style++)
            for (size_t place = 0; place < 20; place++) {
                char value[21] = "aaaaaaaaaaaaaaaaaaaa", escaped[8], expected[64];
                value[place] = (char)byte;
                expect_byte(byte, (enum escape_style)style, escaped);
                snprintf(expected, sizeof expected, "%.*s%s%.*s", (int)place, value, escaped,
                         (int)(19 - place), "aaaaaaaaaaaaaaaaaaaa");
                becomes((enum escape_style)style, (weir_string){value, 20}, expected);
            }
}

static void characters_beyond_ascii(void **state)
{
    static const char *const kept[] = {"\xc3\xa9",     "\xc2\xa0",         "\xdf\xbf",
                                       "\xe0\xa0\x80", "\xe2\x82\xac",     "\xed\x9f\xbf",
                                       "\xee\x80\x80", "\xef\xbf\xbd",     "\xf0\x90\x80\x80",
                                       "\xe2\x80\xa7", "\xf4\x8f\xbf\xbf", "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        for (int style = ESCAPE_QUOTED; style <= ESCAPE_JSON; style++)
            becomes((enum escape_style)style, string_of(kept[i]), kept[i]);
}

static void controls_beyond_ascii(void **state)
{
    becomes(ESCAPE_QUOTED, WEIR_STRING("\xc2\x85"), "\\xc2\\x85");
    becomes(ESCAPE_JSON, WEIR_STRING("\xc2\x85"), "\\u0085");
    becomes(ESCAPE_JSON, WEIR_STRING("\xc2\x80\xc2\x9f"), "\\u0080\\u009f");
    becomes(ESCAPE_BARE, WEIR_STRING("\xe2\x80\xa8"), "\\xe2\\x80\\xa8");
    becomes(ESCAPE_JSON, WEIR_STRING("\xe2\x80\xa8\xe2\x80\xae"), "\\u2028\\u202e");
    becomes(ESCAPE_JSON, WEIR_STRING("\xe2\x81\xa6\xe2\x81\xa9"), "\\u2066\\u2069");
}

static void what_is_no_utf8(void **state)
{
    becomes(ESCAPE_QUOTED, WEIR_STRING("\xc0\xaf"), "\\xc0\\xaf");          /* overlong */
    becomes(ESCAPE_QUOTED, WEIR_STRING("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf"); /* overlong */
    becomes(ESCAPE_QUOTED, WEIR_STRING("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf");
    becomes(ESCAPE_QUOTED, WEIR_STRING("\xed\xa0\x80"), "\\xed\\xa0\\x80"); /* a surrogate */
    becomes(ESCAPE_QUOTED, WEIR_STRING("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
    becomes(ESCAPE_QUOTED, WEIR_STRING("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
    becomes(ESCAPE_JSON, WEIR_STRING("\xe2\x82"), "\\u00e2\\u0082"); /* cut off */
    becomes(ESCAPE_JSON, WEIR_STRING("\xe2\x82x"), "\\u00e2\\u0082x");
    becomes(ESCAPE_JSON, WEIR_STRING("\xc3\xc3\xa9"), "\\u00c3\xc3\xa9");
}

/* In memory of exactly that size, so that a byte too many is seen. */
static size_t put_into(size_t room, weir_string value, enum escape_style style, bool *whole)
{
    char *text = malloc(room + 1), *at = text;
    *whole = escape_put(&at, text + room, value, style);
    size_t length = (size_t)(at - text);
    free(text);
    return length;
}

static void what_does_not_fit_is_cut_between_characters(void **state)
{
    static const struct {
        const char *value;
        enum escape_style style;
        size_t lengths[14]; /* in so much room */
    } cases[] = {
        {"abcdefghi", ESCAPE_QUOTED, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
        {"a\"b", ESCAPE_QUOTED, {0, 1, 1, 1, 1, 5, 6}},
        {"a\"b", ESCAPE_JSON, {0, 1, 1, 3, 4}},
        {"\n\n", ESCAPE_JSON, {0, 0, 0, 0, 0, 0, 6, 6, 6, 6, 6, 6, 12}},
        {"\xe2\x82\xacx", ESCAPE_BARE, {0, 0, 0, 3, 4}},
        {"\xc2\x85", ESCAPE_BARE, {0, 0, 0, 0, 0, 0, 0, 0, 8}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool whole = false;
        for (size_t room = 0; !whole; room++) {
            size_t length = put_into(room, string_of(cases[i].value), cases[i].style, &whole);
            assert_int_equal(length, cases[i].lengths[room]);
            assert_true(room < 13);
        }
    }
}

static void text_that_needs_no_escape(void **state)
{
    assert_true(escape_not_needed(WEIR_STRING("")));
    assert_true(escape_not_needed(WEIR_STRING("\"a\" \\ b\t{} \xe2\x82\xac")));
    assert_false(escape_not_needed(WEIR_STRING("a\nb")));
    assert_false(escape_not_needed(WEIR_STRING("a\rb")));
    assert_false(escape_not_needed(WEIR_STRING("a\0b")));
    assert_false(escape_not_needed(WEIR_STRING("\x7f")));
    assert_false(escape_not_needed(WEIR_STRING("\xc2\x85")));
    assert_false(escape_not_needed(WEIR_STRING("\xe2\x80\xa9")));
    assert_false(escape_not_needed(WEIR_STRING("a\xff")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_stays),
        cmocka_unit_test(every_byte_everywhere),
        cmocka_unit_test(characters_beyond_ascii),
        cmocka_unit_test(controls_beyond_ascii),
        cmocka_unit_test(what_is_no_utf8),
        cmocka_unit_test(what_does_not_fit_is_cut_between_characters),
        cmocka_unit_test(text_that_needs_no_escape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
