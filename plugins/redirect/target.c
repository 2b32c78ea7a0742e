/* plugins/redirect/target.c - where a rule leads to, and the Location that comes of it */
#include "plugins/redirect/target.h"

#include <ctype.h>
#include <string.h>

#include "plugins/redirect/path.h"

/* A capture in a compiled target: one of these, then its group plus 1. No text holds them. */
enum {
    ANYWHERE = 1,
    IN_HOST = 2,   /* the rule's own domain follows */
    AFTER_HOST = 3 /* the host ends before it, unless it is empty */
};

/* --- compiling */

struct compiler {
    weir_string text;
    const pcre2_code *pattern;
    char *to; /* of at most 3 * TARGET_MOST */
    size_t length;
    size_t host, host_end; /* where in `text`; 0, 0: a path */
};

/* The end of "$1", "${name}" that begins at `at`, and what is named; 0: it is none. */
static size_t capture_end(weir_string text, size_t at, weir_string *name)
{
    const char *from = text.bytes + at + 1, *end = text.bytes + text.length;
    if (from < end && isdigit((uint8_t)*from)) {
        *name = (weir_string){from, 1};
        return at + 2;
    }
    const char *close = from < end && *from == '{' ? memchr(from, '}', (size_t)(end - from)) : NULL;
    if (!close)
        return 0;
    *name = (weir_string){from + 1, (size_t)(close - from) - 1};
    return (size_t)(close + 1 - text.bytes);
}

/* A dot of the rule's own between there and the end of the host. */
static bool dot_follows(const struct compiler *compiler, size_t at)
{
    weir_string ignored;
    while (at < compiler->host_end) {
        size_t end =
            compiler->text.bytes[at] == '$' ? capture_end(compiler->text, at, &ignored) : 0;
        if (!end && compiler->text.bytes[at] == '.')
            return true;
        at = end ? end : at + 1;
    }
    return false;
}

static const char *compile_capture(struct compiler *compiler, size_t *at)
{
    weir_string name;
    size_t start = *at, end = capture_end(compiler->text, *at, &name);
    if (!end)
        return "\"$\" begins $1, ${1} or ${name}; write $$ for a dollar sign";
    int group = compiler->pattern ? pattern_group(compiler->pattern, name) : -1;
    if (group < 0)
        return "the pattern has no such group";
    bool in_host = start >= compiler->host && start < compiler->host_end;
    bool dot = in_host && dot_follows(compiler, end);
    if (in_host && !dot && start == compiler->host)
        return "the host would be the client's choice";
    compiler->to[compiler->length++] = in_host ? (dot ? IN_HOST : AFTER_HOST) : ANYWHERE;
    compiler->to[compiler->length++] = (char)(group + 1);
    *at = end;
    return NULL;
}

static const char *compile_literal(struct compiler *compiler, size_t *at)
{
    char c = compiler->text.bytes[*at];
    bool beyond = (uint8_t)c >= 0x80;
    if ((uint8_t)c <= 0x20 || c == 0x7f || c == '\\')
        return "a target holds no blanks, backslashes and control characters";
    if (beyond && *at >= compiler->host && *at < compiler->host_end)
        return "write the host in its xn-- form";
    if (beyond)
        compiler->length += path_pass_on((weir_string){&c, 1}, compiler->to + compiler->length);
    else
        compiler->to[compiler->length++] = c;
    *at += 1;
    return NULL;
}

static const char *compile_text(struct compiler *compiler)
{
    const char *wrong = NULL;
    for (size_t at = 0; !wrong && at < compiler->text.length;) {
        const char *next = compiler->text.bytes + at;
        bool dollar = *next == '$', two = at + 1 < compiler->text.length && next[1] == '$';
        at += dollar && two;
        wrong = dollar && !two ? compile_capture(compiler, &at) : compile_literal(compiler, &at);
    }
    return wrong;
}

static bool is_scheme(weir_string text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalpha((uint8_t)text.bytes[i]) && (!i || !isdigit((uint8_t)text.bytes[i])))
            return false;
    return length > 0;
}

/* Where its host is, if it has one. */
static const char *find_host(struct compiler *compiler)
{
    weir_string text = compiler->text;
    if (!text.length)
        return "the target is empty";
    if (text.length > TARGET_MOST)
        return "the target is longer than 4096 bytes";
    if (text.bytes[0] == '/')
        return text.length > 1 && text.bytes[1] == '/' ? "write the scheme in front of //" : NULL;
    const char *colon = memmem(text.bytes, text.length, "://", 3);
    if (!colon || !is_scheme(text, (size_t)(colon - text.bytes)))
        return "a target begins with a slash, or with a scheme like https://";
    compiler->host = compiler->host_end = (size_t)(colon - text.bytes) + 3;
    while (compiler->host_end < text.length && !strchr("/?#", text.bytes[compiler->host_end]))
        compiler->host_end++;
    return compiler->host == compiler->host_end ? "the target has no host" : NULL;
}

static uint16_t place_of(const char *bytes, size_t length, char c)
{
    const char *found = memchr(bytes, c, length);
    return (uint16_t)(found ? (size_t)(found - bytes) : length);
}

const char *target_compile(weir_string text, const pcre2_code *pattern, struct pool *pool,
                           struct target *target)
{
    char compiled[3 * TARGET_MOST];
    struct compiler compiler = {.text = text, .pattern = pattern, .to = compiled};
    const char *wrong = find_host(&compiler);
    if (!wrong)
        wrong = compile_text(&compiler);
    if (wrong)
        return wrong;
    target->length = (uint16_t)compiler.length;
    target->fragment = place_of(compiled, compiler.length, '#');
    target->query = place_of(compiled, target->fragment, '?');
    target->is_path = !compiler.host;
    target->offset = pool_add(pool, compiled, compiler.length);
    return NULL;
}

/* --- writing */

struct writer {
    char *to;
    size_t length;
    bool failed;
};

static void put(struct writer *writer, weir_string text)
{
    writer->failed |= text.length > LOCATION_MOST - writer->length;
    if (writer->failed || !text.length)
        return;
    memcpy(writer->to + writer->length, text.bytes, text.length);
    writer->length += text.length;
}

/* What came from a client. */
static void put_passed(struct writer *writer, weir_string text)
{
    char piece[3 * 256];
    while (text.length && !writer->failed) {
        size_t length = text.length < 256 ? text.length : 256;
        put(writer, (weir_string){piece, path_pass_on((weir_string){text.bytes, length}, piece)});
        text.bytes += length;
        text.length -= length;
    }
}

static weir_string capture(const struct target_source *source, size_t group)
{
    size_t start = source->groups[2 * group], end = source->groups[2 * group + 1];
    if (start == PCRE2_UNSET || start >= end) /* \K may turn them around */
        return (weir_string){"", 0};
    if (!source->path_is_normal) {
        start = path_raw_offset(source->path, start);
        end = path_raw_offset(source->path, end);
    }
    /* a slash that was only tried may be beyond the path */
    end = end < source->path.length ? end : source->path.length;
    return (weir_string){source->path.bytes + start, end > start ? end - start : 0};
}

static bool is_label(weir_string value)
{
    for (size_t i = 0; i < value.length; i++)
        if (!isalnum((uint8_t)value.bytes[i]) && value.bytes[i] != '-' && value.bytes[i] != '_')
            return false;
    return value.length > 0;
}

static void put_capture(struct writer *writer, const struct target_source *source, const char *at)
{
    weir_string value = capture(source, (size_t)(uint8_t)at[1] - 1);
    if (at[0] == IN_HOST)
        writer->failed |= !is_label(value);
    if (at[0] == AFTER_HOST)
        writer->failed |= value.length && value.bytes[0] != '/';
    put_passed(writer, value);
}

/* Of a compiled target. */
static void put_part(struct writer *writer, const struct target_source *source, const char *bytes,
                     size_t length)
{
    if (!source->groups) {
        put(writer, (weir_string){bytes, length});
        return;
    }
    for (size_t at = 0, start = 0; at < length; start = at) {
        while (at < length && (uint8_t)bytes[at] > AFTER_HOST)
            at++;
        put(writer, (weir_string){bytes + start, at - start});
        if (at < length) {
            put_capture(writer, source, bytes + at);
            at += 2;
        }
    }
}

static void put_tail(struct writer *writer, weir_string tail)
{
    if (!tail.length || writer->failed)
        return;
    bool ends = writer->to[writer->length - 1] == '/', begins = tail.bytes[0] == '/';
    if (ends && begins)
        writer->length--;
    else if (!ends && !begins)
        put(writer, WEIR_STRING("/"));
    put_passed(writer, tail);
}

/* "//host" and "/\host" would lead to that host. Backslashes are never written. */
static void keep_one_slash(struct writer *writer)
{
    size_t slashes = 0;
    while (slashes < writer->length && writer->to[slashes] == '/')
        slashes++;
    if (slashes < 2)
        return;
    writer->length -= slashes - 1;
    memmove(writer->to + 1, writer->to + slashes, writer->length - 1);
}

static void put_query(struct writer *writer, const struct target *target, const char *bytes,
                      const struct target_source *source)
{
    size_t own = (size_t)target->fragment - target->query;
    bool kept = source->query.length && target->query_policy != QUERY_DROP &&
                (target->query_policy == QUERY_KEEP || !own);
    put_part(writer, source, bytes + target->query, own);
    if (!kept)
        return;
    if (own != 1) /* "?" alone needs no more */
        put(writer, own ? WEIR_STRING("&") : WEIR_STRING("?"));
    put_passed(writer, source->query);
}

size_t target_write(const struct target *target, const struct pool *pool,
                    const struct target_source *source, char *location)
{
    const char *bytes = pool->bytes + target->offset;
    struct writer writer = {.to = location};
    put_part(&writer, source, bytes, target->query);
    put_tail(&writer, source->tail);
    if (target->is_path && !writer.failed)
        keep_one_slash(&writer);
    put_query(&writer, target, bytes, source);
    put_part(&writer, source, bytes + target->fragment, (size_t)target->length - target->fragment);
    return writer.failed ? 0 : writer.length;
}
