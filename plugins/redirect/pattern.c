/* plugins/redirect/pattern.c - one regular expression, and matching it in bounded time */
#include "plugins/redirect/pattern.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_BYTES = 160, HEAP_KIB = 1024, NAME_BYTES = 33 };

static pcre2_code *refuse(pcre2_code *pattern, char *why, const char *text)
{
    snprintf(why, WHY_BYTES, "%s", text);
    pattern_free(pattern);
    return NULL;
}

static pcre2_code *compile(weir_string text, char *why)
{
    int error;
    size_t offset;
    PCRE2_UCHAR reason[120];
    pcre2_code *pattern =
        pcre2_compile((PCRE2_SPTR)text.bytes, text.length,
                      PCRE2_ANCHORED | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_NEVER_BACKSLASH_C,
                      &error, &offset, NULL);
    if (pattern)
        return pattern;
    pcre2_get_error_message(error, reason, sizeof reason);
    snprintf(why, WHY_BYTES, "%s, at character %zu", (const char *)reason, offset + 1);
    return NULL;
}

/* A path begins with a slash, so what begins with another letter is forgotten. */
static bool begins_like_a_path(weir_string text)
{
    char beginning[PATTERN_BEGINNING];
    return !pattern_beginning(text, beginning) || beginning[0] == '/';
}

pcre2_code *pattern_compile(weir_string text, char *why)
{
    uint32_t groups = 0;
    if (!text.length)
        return refuse(NULL, why, "the pattern is empty");
    pcre2_code *pattern = compile(text, why);
    if (!pattern)
        return NULL;
    pcre2_pattern_info(pattern, PCRE2_INFO_CAPTURECOUNT, &groups);
    if (groups > PATTERN_GROUPS)
        return refuse(pattern, why,
                      "more than 31 groups; (?:...) is a group that captures nothing");
    if (!begins_like_a_path(text))
        return refuse(pattern, why,
                      "a pattern is matched from the beginning of the path: let it "
                      "begin with / or, to search, with .*");
    pcre2_jit_compile(pattern, PCRE2_JIT_COMPLETE); /* without it matching is only slower */
    return pattern;
}

void pattern_free(pcre2_code *pattern)
{
    pcre2_code_free(pattern);
}

size_t pattern_bytes(const pcre2_code *pattern)
{
    size_t code = 0, machine_code = 0;
    pcre2_pattern_info(pattern, PCRE2_INFO_SIZE, &code);
    pcre2_pattern_info(pattern, PCRE2_INFO_JITSIZE, &machine_code);
    return code + machine_code;
}

int pattern_group(const pcre2_code *pattern, weir_string name)
{
    char text[NAME_BYTES];
    uint32_t groups = 0;
    if (!name.length || name.length >= sizeof text)
        return -1;
    memcpy(text, name.bytes, name.length);
    text[name.length] = 0;
    pcre2_pattern_info(pattern, PCRE2_INFO_CAPTURECOUNT, &groups);
    unsigned long digits = strtoul(text, NULL, 10);
    if (strspn(text, "0123456789") == name.length)
        return digits <= groups ? (int)digits : -1;
    int number = pcre2_substring_number_from_name(pattern, (PCRE2_SPTR)text);
    return number > 0 ? number : -1;
}

/* --- beginnings */

/* Behind the class that begins at `at`. */
static size_t skip_class(weir_string text, size_t at)
{
    const char *bytes = text.bytes;
    at += 1 + (at + 1 < text.length && bytes[at + 1] == '^');
    at += at < text.length && bytes[at] == ']';
    for (; at < text.length && bytes[at] != ']'; at++) {
        bool named = bytes[at] == '[' && at + 1 < text.length && bytes[at + 1] == ':';
        const char *end = named ? memmem(bytes + at, text.length - at, ":]", 2) : NULL;
        if (end)
            at = (size_t)(end - bytes) + 1;
        else if (bytes[at] == '\\')
            at++;
    }
    return at + 1;
}

/* Has an alternative that is in no group. Comments and \Q...\E would have to be taken apart: what
 * may hold one is taken for it. */
static bool has_alternatives(weir_string text)
{
    int depth = 0;
    if (memchr(text.bytes, '#', text.length) || memmem(text.bytes, text.length, "\\Q", 2) ||
        memmem(text.bytes, text.length, "\\E", 2))
        return true;
    for (size_t at = 0; at < text.length;) {
        char c = text.bytes[at];
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (c == '|' && !depth)
            return true;
        at = c == '[' ? skip_class(text, at) : at + 1 + (c == '\\');
    }
    return false;
}

/* The literal byte that begins at *at, which moves behind it; -1: there is none. */
static int literal(weir_string text, size_t *at)
{
    char c = text.bytes[*at];
    if (c == '\\') {
        if (*at + 1 == text.length || isalnum((uint8_t)text.bytes[*at + 1]))
            return -1;
        *at += 2;
        return (uint8_t)text.bytes[*at - 1];
    }
    if (!c || strchr("^$.[]()|?*+{}", c))
        return -1;
    *at += 1;
    return (uint8_t)c;
}

static bool may_be_absent(weir_string text, size_t at)
{
    return at < text.length && strchr("?*{", text.bytes[at]) && text.bytes[at];
}

size_t pattern_beginning(weir_string text, char *to)
{
    size_t length = 0, at = text.length && text.bytes[0] == '^';
    if (!text.length || has_alternatives(text))
        return 0;
    while (at < text.length && length < PATTERN_BEGINNING) {
        int byte = literal(text, &at);
        if (byte < 0 || may_be_absent(text, at))
            break;
        to[length++] = (char)byte;
        if (at < text.length && text.bytes[at] == '+')
            break;
    }
    return length;
}

/* --- matching */

void matcher_init(struct matcher *matcher)
{
    matcher->data = pcre2_match_data_create(PATTERN_GROUPS + 1, NULL);
    matcher->context = pcre2_match_context_create(NULL);
    if (!matcher->data || !matcher->context)
        abort();
    pcre2_set_match_limit(matcher->context, PATTERN_STEPS);
    pcre2_set_depth_limit(matcher->context, PATTERN_STEPS);
    pcre2_set_heap_limit(matcher->context, HEAP_KIB);
}

void matcher_deinit(struct matcher *matcher)
{
    pcre2_match_data_free(matcher->data);
    pcre2_match_context_free(matcher->context);
}

enum pattern_answer pattern_match(const pcre2_code *pattern, struct matcher *matcher,
                                  weir_string path, const size_t **groups)
{
    int count = pcre2_match(pattern, (PCRE2_SPTR)path.bytes, path.length, 0, 0, matcher->data,
                            matcher->context);
    *groups = pcre2_get_ovector_pointer(matcher->data);
    if (count == PCRE2_ERROR_NOMATCH)
        return PATTERN_MISSES;
    return count > 0 ? PATTERN_MATCHES : PATTERN_OVER_LIMIT;
}
