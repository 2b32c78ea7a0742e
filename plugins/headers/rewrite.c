/* plugins/headers/rewrite.c - puts something else into values where a text or a pattern is found */
#include "plugins/headers/rewrite.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
    STEPS_MOST = 100000,   /* that matching one value may take */
    HEAP_KIBIBYTES = 1024, /* likewise */
    REASON_BYTES = 128
};

struct rewrite {
    char *find;          /* NULL: the pattern */
    pcre2_code *pattern; /* never changed once made: all workers use it */
    pcre2_match_context *limits;
    char *replace;
    size_t find_length, replace_length;
};

/* --- making */

static pcre2_code *compile(const weir_section *section)
{
    weir_string text = headers_configuration->text(section);
    int error;
    PCRE2_SIZE offset;
    pcre2_code *pattern = pcre2_compile((PCRE2_SPTR)text.bytes, text.length,
                                        PCRE2_NEVER_BACKSLASH_C, &error, &offset, NULL);
    if (!pattern) {
        char reason[REASON_BYTES];
        pcre2_get_error_message(error, (PCRE2_UCHAR *)reason, sizeof reason);
        headers_mistake(section, "is no pattern: %s, behind %zu characters", reason, offset);
    }
    return pattern;
}

static pcre2_match_context *make_limits(void)
{
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    if (!limits)
        abort();
    pcre2_set_match_limit(limits, STEPS_MOST);
    pcre2_set_heap_limit(limits, HEAP_KIBIBYTES);
    return limits;
}

/* The pattern, or nothing: matches an empty text, and has the pattern's groups. NULL: there is no
 * such pattern. */
static pcre2_code *compile_or_nothing(weir_string text)
{
    int error;
    PCRE2_SIZE offset;
    char *both = headers_allocate(text.length + 8, 1);
    int length = snprintf(both, text.length + 8, "(?:%.*s\n)|", (int)text.length, text.bytes);
    pcre2_code *pattern = pcre2_compile((PCRE2_SPTR)both, (PCRE2_SIZE)length,
                                        PCRE2_NEVER_BACKSLASH_C, &error, &offset, NULL);
    free(both);
    return pattern;
}

/* PCRE2 says what is wrong with a replacement only when it replaces something. */
static weir_result try_replacement(const struct rewrite *rewrite, weir_string pattern,
                                   const weir_section *section)
{
    char to[256], reason[REASON_BYTES];
    PCRE2_SIZE length = sizeof to;
    pcre2_code *trial = compile_or_nothing(pattern);
    if (!trial)
        return WEIR_OK;
    int rc = pcre2_substitute(trial, (PCRE2_SPTR) "", 0, 0, PCRE2_SUBSTITUTE_UNSET_EMPTY, NULL,
                              rewrite->limits, (PCRE2_SPTR)rewrite->replace,
                              rewrite->replace_length, (PCRE2_UCHAR *)to, &length);
    pcre2_code_free(trial);
    if (rc >= 0 || rc == PCRE2_ERROR_NOMEMORY)
        return WEIR_OK;
    pcre2_get_error_message(rc, (PCRE2_UCHAR *)reason, sizeof reason);
    return headers_mistake(section, "does not fit the pattern: %s", reason);
}

static weir_result set_what(struct rewrite *rewrite, const weir_section *section)
{
    const weir_section *find = headers_configuration->find(section, "find");
    const weir_section *pattern = headers_configuration->find(section, "pattern");
    if (!find == !pattern)
        return headers_mistake(section, "needs either find or pattern");
    if (pattern) {
        rewrite->pattern = compile(pattern);
        rewrite->limits = make_limits();
        return rewrite->pattern ? WEIR_OK : WEIR_INVALID;
    }
    weir_string text = headers_configuration->text(find);
    if (!text.length)
        return headers_mistake(find, "is empty: it is found everywhere");
    rewrite->find = headers_copy(text);
    rewrite->find_length = text.length;
    return WEIR_OK;
}

static bool has_control(weir_string text)
{
    for (size_t i = 0; i < text.length; i++)
        if (((unsigned char)text.bytes[i] < 0x20 && text.bytes[i] != '\t') || text.bytes[i] == 0x7f)
            return true;
    return false;
}

static weir_result set_replacement(struct rewrite *rewrite, const weir_section *section)
{
    const weir_section *replace = headers_configuration->find(section, "replace");
    const weir_section *pattern = headers_configuration->find(section, "pattern");
    weir_string text = headers_configuration->text(replace);
    if (has_control(text))
        return headers_mistake(replace, "has a control character");
    rewrite->replace = headers_copy(text);
    rewrite->replace_length = text.length;
    if (!pattern)
        return WEIR_OK;
    return try_replacement(rewrite, headers_configuration->text(pattern), replace);
}

struct rewrite *rewrite_make(const weir_section *section)
{
    struct rewrite *rewrite = headers_allocate(1, sizeof *rewrite);
    if (set_what(rewrite, section) == WEIR_OK && set_replacement(rewrite, section) == WEIR_OK)
        return rewrite;
    rewrite_free(rewrite);
    return NULL;
}

void rewrite_free(struct rewrite *rewrite)
{
    if (!rewrite)
        return;
    free(rewrite->find);
    free(rewrite->replace);
    pcre2_code_free(rewrite->pattern);
    pcre2_match_context_free(rewrite->limits);
    free(rewrite);
}

/* --- rewriting */

static weir_result replace_pattern(const struct rewrite *rewrite, weir_string value, char *to,
                                   size_t *length)
{
    PCRE2_SIZE room = *length;
    uint32_t options = PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_UNSET_EMPTY;
    int rc = pcre2_substitute(rewrite->pattern, (PCRE2_SPTR)value.bytes, value.length, 0, options,
                              NULL, rewrite->limits, (PCRE2_SPTR)rewrite->replace,
                              rewrite->replace_length, (PCRE2_UCHAR *)to, &room);
    if (rc < 0)
        return WEIR_TOO_MUCH;
    *length = room;
    return rc > 0;
}

static bool put(char *to, size_t room, size_t *length, const char *bytes, size_t count)
{
    if (count > room - *length)
        return false;
    if (count)
        memcpy(to + *length, bytes, count);
    *length += count;
    return true;
}

static weir_result replace_text(const struct rewrite *rewrite, weir_string value, char *to,
                                size_t *length)
{
    const char *at = value.bytes, *end = at + value.length, *found;
    size_t room = *length, made = 0;
    while ((found = memmem(at, (size_t)(end - at), rewrite->find, rewrite->find_length))) {
        if (!put(to, room, &made, at, (size_t)(found - at)) ||
            !put(to, room, &made, rewrite->replace, rewrite->replace_length))
            return WEIR_TOO_MUCH;
        at = found + rewrite->find_length;
    }
    if (at == value.bytes)
        return 0;
    if (!put(to, room, &made, at, (size_t)(end - at)))
        return WEIR_TOO_MUCH;
    *length = made;
    return 1;
}

weir_result rewrite_apply(const struct rewrite *rewrite, weir_string value, char *to,
                          size_t *length)
{
    if (rewrite->pattern)
        return replace_pattern(rewrite, value, to, length);
    return replace_text(rewrite, value, to, length);
}
