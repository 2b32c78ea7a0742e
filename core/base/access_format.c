/* core/base/access_format.c - the access log's formats: a text becomes parts, a record a line
 *
 * Every format is a template; that of JSON only has other values in it. Each part knows how much
 * room those behind it need at least, so a value that is too long is cut and the line stays whole.
 */
#include "core/base/access_format.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#include "core/base/escape.h"
#include "core/base/string.h"

/* What a part writes. From TEXT on: any length, escaped, cut where the room ends. */
enum kind {
    LITERAL,
    TIME,
    LOCAL_TIME,
    ID,
    STATUS,
    NUMBER,
    MILLISECONDS,
    FLAG,
    TEXT,
    OF_REQUEST, /* a text of the request's head */
    TARGET,
    REQUEST_LINE,
    BY,
    REQUEST_FIELD,
    RESPONSE_FIELD
};

#define AT(member) offsetof(struct access_record, member)

static const struct name {
    const char *name;
    enum kind kind;
    uint32_t offset; /* in the record, of OF_REQUEST in the head */
} names[] = {
    {"client", TEXT, AT(client)},
    {"user", TEXT, AT(user)},
    {"time", TIME, 0},
    {"local_time", LOCAL_TIME, 0},
    {"id", ID, 0},
    {"worker", NUMBER, AT(worker)},
    {"method", OF_REQUEST, offsetof(weir_head, method)},
    {"target", TARGET, 0},
    {"scheme", OF_REQUEST, offsetof(weir_head, scheme)},
    {"authority", OF_REQUEST, offsetof(weir_head, authority)},
    {"path", OF_REQUEST, offsetof(weir_head, path)},
    {"version", OF_REQUEST, offsetof(weir_head, version)},
    {"request_line", REQUEST_LINE, 0},
    {"status", STATUS, 0},
    {"request_bytes", NUMBER, AT(request_bytes)},
    {"response_bytes", NUMBER, AT(response_bytes)},
    {"dns_ms", MILLISECONDS, AT(dns_us)},
    {"connect_ms", MILLISECONDS, AT(connect_us)},
    {"first_byte_ms", MILLISECONDS, AT(first_byte_us)},
    {"total_ms", MILLISECONDS, AT(total_us)},
    {"server", TEXT, AT(server)},
    {"by", BY, 0},
    {"why", TEXT, AT(why)},
    {"attempts", NUMBER, AT(attempts)},
    {"reused", FLAG, AT(reused)},
};
enum { NAMES = sizeof names / sizeof *names };

#define COMMON "{client} - {user} [{local_time}] \"{request_line}\" {status} {response_bytes}"

static const struct {
    const char *name;
    weir_string text;
    bool json;
} known_formats[] = {
    {"common", WEIR_STRING(COMMON), false},
    {"combined", WEIR_STRING(COMMON " \"{request:Referer}\" \"{request:User-Agent}\""), false},
    {"json",
     WEIR_STRING("{{\"time\":{time},\"id\":{id},\"worker\":{worker},\"client\":{client},"
                 "\"user\":{user},\"method\":{method},\"target\":{target},"
                 "\"authority\":{authority},\"version\":{version},\"status\":{status},"
                 "\"request_bytes\":{request_bytes},\"response_bytes\":{response_bytes},"
                 "\"dns_ms\":{dns_ms},\"connect_ms\":{connect_ms},"
                 "\"first_byte_ms\":{first_byte_ms},\"total_ms\":{total_ms},"
                 "\"server\":{server},\"by\":{by},\"why\":{why},\"attempts\":{attempts},"
                 "\"reused\":{reused},\"referer\":{request:Referer},"
                 "\"user_agent\":{request:User-Agent}}}"),
     true},
};
enum { FORMATS = sizeof known_formats / sizeof *known_formats };

enum {
    PARTS_MOST = 128,
    VALUE_BYTES = 48 /* what any value takes at least, or a number at most */
};
_Static_assert(ACCESS_FORMAT_BYTES + PARTS_MOST * VALUE_BYTES < ACCESS_LINE_BYTES, "a cut line");

struct part {
    enum kind kind;
    enum escape_style style;
    uint32_t offset;
    weir_string text; /* a literal's; the name of a head's field */
    uint32_t behind;  /* bytes that the parts behind it take at least */
};

struct access_format {
    uint32_t count;
    struct part parts[];
};

/* --- compiling */

struct compiler {
    struct arena *arena;
    struct access_mistake *mistake;
    weir_string rest;
    bool json, quoted; /* quoted: an odd number of quotes so far */
    uint32_t count, fields;
    struct part parts[PARTS_MOST];
};

static bool wrong(struct compiler *compiler, weir_string part, const char *what)
{
    *compiler->mistake = (struct access_mistake){.what = what, .part = part};
    return false;
}

static void add_part(struct compiler *compiler, enum kind kind, uint32_t offset, weir_string text)
{
    enum escape_style style = compiler->quoted ? ESCAPE_QUOTED : ESCAPE_BARE;
    compiler->parts[compiler->count++] = (struct part){
        .kind = kind,
        .style = compiler->json ? ESCAPE_JSON : style,
        .offset = offset,
        .text = text.length ? arena_copy(compiler->arena, text) : text,
    };
}

static weir_string take(struct compiler *compiler, size_t length)
{
    weir_string taken = {compiler->rest.bytes, length};
    compiler->rest.bytes += length;
    compiler->rest.length -= length;
    return taken;
}

/* Up to the next brace. */
static bool compile_text(struct compiler *compiler)
{
    size_t length = 0;
    while (length < compiler->rest.length && compiler->rest.bytes[length] != '{' &&
           compiler->rest.bytes[length] != '}') {
        compiler->quoted ^= compiler->rest.bytes[length] == '"';
        length++;
    }
    weir_string text = take(compiler, length);
    if (!escape_not_needed(text))
        return wrong(compiler, text, "has a control character, or is not UTF-8");
    add_part(compiler, LITERAL, 0, text);
    return true;
}

static bool is_token(weir_string text)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < text.length; i++) {
        char c = character_lower(text.bytes[i]);
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && (!c || !strchr(others, c)))
            return false;
    }
    return text.length > 0;
}

static bool is_secret(weir_string name)
{
    return string_equal_nocase(name, WEIR_STRING("Authorization")) ||
           string_equal_nocase(name, WEIR_STRING("Proxy-Authorization"));
}

static bool begins(weir_string text, weir_string start)
{
    return text.length >= start.length && !memcmp(text.bytes, start.bytes, start.length);
}

static bool compile_head_field(struct compiler *compiler, weir_string name, size_t prefix,
                               enum kind kind)
{
    weir_string of_head = {name.bytes + prefix, name.length - prefix};
    if (!is_token(of_head))
        return wrong(compiler, name, "does not name a field that a head can have");
    if (is_secret(of_head))
        return wrong(compiler, name, "is a secret; {user} is who it belongs to");
    add_part(compiler, kind, 0, of_head);
    return true;
}

static bool compile_name(struct compiler *compiler, weir_string name)
{
    static const weir_string request = WEIR_STRING("request:"), response = WEIR_STRING("response:");
    if (begins(name, request))
        return compile_head_field(compiler, name, request.length, REQUEST_FIELD);
    if (begins(name, response))
        return compile_head_field(compiler, name, response.length, RESPONSE_FIELD);
    for (uint32_t i = 0; i < NAMES; i++)
        if (string_equal(name, string_of(names[i].name))) {
            add_part(compiler, names[i].kind, names[i].offset, (weir_string){"", 0});
            return true;
        }
    wrong(compiler, name, "is not a field of the access log");
    compiler->mistake->meant = ACCESS_MEANT_FIELD;
    return false;
}

/* {{ and }} are braces; else { begins a field. */
static bool compile_brace(struct compiler *compiler)
{
    weir_string rest = compiler->rest;
    char brace = rest.bytes[0];
    if (rest.length > 1 && rest.bytes[1] == brace) {
        add_part(compiler, LITERAL, 0, (weir_string){rest.bytes, 1});
        take(compiler, 2);
        return true;
    }
    if (brace == '}')
        return wrong(compiler, rest, "begins with } that closes nothing; }} is a brace");
    const char *end = memchr(rest.bytes, '}', rest.length);
    if (!end)
        return wrong(compiler, rest, "begins with { that nothing closes; {{ is a brace");
    weir_string all = take(compiler, (size_t)(end - rest.bytes) + 1);
    compiler->fields++;
    return compile_name(compiler, (weir_string){all.bytes + 1, all.length - 2});
}

static bool compile_template(struct compiler *compiler)
{
    weir_string all = compiler->rest;
    while (compiler->rest.length) {
        bool brace = compiler->rest.bytes[0] == '{' || compiler->rest.bytes[0] == '}';
        if (compiler->count == PARTS_MOST)
            return wrong(compiler, all, "has more than 128 parts");
        if (!(brace ? compile_brace(compiler) : compile_text(compiler)))
            return false;
    }
    if (compiler->fields)
        return true;
    wrong(compiler, all, "is neither common, combined, json nor a text with {fields}");
    compiler->mistake->meant = ACCESS_MEANT_FORMAT;
    return false;
}

static const struct access_format *finish(const struct compiler *compiler)
{
    struct access_format *format =
        arena_allocate(compiler->arena, sizeof *format + compiler->count * sizeof *format->parts);
    uint32_t behind = 0;
    format->count = compiler->count;
    memcpy(format->parts, compiler->parts, compiler->count * sizeof *format->parts);
    for (uint32_t i = format->count; i > 0; i--) {
        struct part *part = &format->parts[i - 1];
        part->behind = behind;
        behind += part->kind == LITERAL ? (uint32_t)part->text.length : VALUE_BYTES;
    }
    return format;
}

const struct access_format *access_format_compile(weir_string text, struct arena *arena,
                                                  struct access_mistake *mistake)
{
    struct compiler compiler = {.arena = arena, .mistake = mistake, .rest = text};
    for (size_t i = 0; i < FORMATS; i++)
        if (string_equal(text, string_of(known_formats[i].name))) {
            compiler.rest = known_formats[i].text;
            compiler.json = known_formats[i].json;
        }
    if (text.length > ACCESS_FORMAT_BYTES) {
        wrong(&compiler, text, "is longer than 4096 bytes");
        return NULL;
    }
    return compile_template(&compiler) ? finish(&compiler) : NULL;
}

const char *access_known_word(enum access_meant meant, uint32_t index)
{
    if (meant == ACCESS_MEANT_FIELD)
        return index < NAMES ? names[index].name : NULL;
    return meant == ACCESS_MEANT_FORMAT && index < FORMATS ? known_formats[index].name : NULL;
}

/* --- numbers and times: short, so there is always room for them */

struct line {
    char *at;
    const char *end, *value_end; /* of the whole but its line end, and of the value being written */
    enum escape_style style;
    bool cut;
};

static void put_digits(struct line *line, uint64_t number, int digits)
{
    for (int i = digits; i > 0; i--, number /= 10)
        line->at[i - 1] = (char)('0' + number % 10);
    line->at += digits;
}

static void put_number(struct line *line, uint64_t number)
{
    int digits = 1;
    for (uint64_t left = number; left >= 10; left /= 10)
        digits++;
    put_digits(line, number, digits);
}

static void put_plain(struct line *line, weir_string text)
{
    memcpy(line->at, text.bytes, text.length);
    line->at += text.length;
}

static void put_missing(struct line *line)
{
    put_plain(line, line->style == ESCAPE_JSON ? WEIR_STRING("null") : WEIR_STRING("-"));
}

static void put_quote(struct line *line)
{
    if (line->style == ESCAPE_JSON)
        *line->at++ = '"';
}

static void put_status(struct line *line, const weir_head *response)
{
    if (response)
        put_number(line, response->status);
    else
        put_missing(line);
}

static void put_flag(struct line *line, bool flag)
{
    put_plain(line, flag ? WEIR_STRING("true") : WEIR_STRING("false"));
}

static void put_milliseconds(struct line *line, uint64_t microseconds)
{
    if (!microseconds) {
        put_missing(line);
        return;
    }
    put_number(line, microseconds / 1000);
    *line->at++ = '.';
    put_digits(line, microseconds % 1000, 3);
}

static void put_day(struct line *line, struct access_day *day, int64_t number, bool local)
{
    if (!day->length || day->number != number) {
        time_t second = (time_t)number * 86400;
        struct tm tm = {0};
        gmtime_r(&second, &tm);
        day->number = number;
        day->length = (uint32_t)(local ? strftime(day->text, sizeof day->text, "%d/%b/%Y:", &tm)
                                       : strftime(day->text, sizeof day->text, "%Y-%m-%dT", &tm));
    }
    put_plain(line, (weir_string){day->text, day->length});
}

static void put_hours(struct line *line, int64_t second)
{
    uint64_t of_day = (uint64_t)second % 86400;
    put_digits(line, of_day / 3600, 2);
    *line->at++ = ':';
    put_digits(line, of_day / 60 % 60, 2);
    *line->at++ = ':';
    put_digits(line, of_day % 60, 2);
}

/* RFC 3339. */
static void put_time(struct line *line, uint64_t time_us, struct access_clock *clock)
{
    int64_t second = (int64_t)(time_us / 1000000);
    put_quote(line);
    put_day(line, &clock->utc, second / 86400, false);
    put_hours(line, second);
    *line->at++ = '.';
    put_digits(line, time_us % 1000000, 6);
    *line->at++ = 'Z';
    put_quote(line);
}

/* Zones change their offset at full quarters of an hour. */
static int64_t local_offset(struct access_clock *clock, int64_t second)
{
    if (!clock->local.length || clock->quarter != second / 900) {
        time_t now = (time_t)second;
        struct tm tm = {0};
        localtime_r(&now, &tm);
        clock->quarter = second / 900;
        clock->offset = tm.tm_gmtoff;
    }
    return clock->offset;
}

/* As the common log format has it: 10/Oct/2000:13:55:36 -0700. */
static void put_local_time(struct line *line, uint64_t time_us, struct access_clock *clock)
{
    int64_t utc = (int64_t)(time_us / 1000000), offset = local_offset(clock, utc);
    int64_t local = utc + offset > 0 ? utc + offset : 0;
    uint64_t minutes = (uint64_t)(offset < 0 ? -offset : offset) / 60;
    put_quote(line);
    put_day(line, &clock->local, local / 86400, true);
    put_hours(line, local);
    *line->at++ = ' ';
    *line->at++ = offset < 0 ? '-' : '+';
    put_digits(line, minutes / 60 * 100 + minutes % 60, 4);
    put_quote(line);
}

static void put_id(struct line *line, const struct access_record *record)
{
    put_quote(line);
    put_number(line, record->worker);
    *line->at++ = '-';
    put_number(line, record->number);
    put_quote(line);
}

/* --- values of any length */

static void put(struct line *line, weir_string text)
{
    if (text.length && !line->cut)
        line->cut = !escape_put(&line->at, line->value_end, text, line->style);
}

/* As it was sent: absolute, CONNECT's an authority, one to a fixed upstream a path. */
static void put_target(struct line *line, const weir_head *head)
{
    bool absolute = head->scheme.length > 0;
    if (absolute) {
        put(line, head->scheme);
        put(line, WEIR_STRING("://"));
    }
    if (absolute || !head->path.length)
        put(line, head->authority);
    put(line, head->path);
}

static void put_request_line(struct line *line, const weir_head *head)
{
    if (!head->method.length)
        return;
    put(line, head->method);
    put(line, WEIR_STRING(" "));
    put_target(line, head);
    put(line, WEIR_STRING(" HTTP/"));
    put(line, head->version);
}

/* All of that name, as one list. */
static void put_head_field(struct line *line, const weir_head *head, weir_string name)
{
    bool found = false;
    for (uint32_t i = 0; head && i < head->count; i++) {
        if (!string_equal_nocase(head->fields[i].name, name))
            continue;
        if (found)
            put(line, WEIR_STRING(", "));
        put(line, head->fields[i].value);
        found = true;
    }
}

static void put_by(struct line *line, const struct access_record *record)
{
    switch (record->by) {
    case ACCESS_BY_NOBODY:
        return;
    case ACCESS_BY_SERVER:
        put(line, WEIR_STRING("server"));
        return;
    case ACCESS_BY_WEIR:
        put(line, WEIR_STRING("weir"));
        return;
    case ACCESS_BY_FILTER:
        put(line, WEIR_STRING("filter:"));
        put(line, record->filter);
        return;
    }
}

static weir_string string_at(const void *object, uint32_t offset)
{
    return *(const weir_string *)(const void *)((const char *)object + offset);
}

static void put_text(struct line *line, const struct part *part, const struct access_record *record)
{
    switch (part->kind) {
    case OF_REQUEST:
        put(line, string_at(record->request, part->offset));
        return;
    case TARGET:
        put_target(line, record->request);
        return;
    case REQUEST_LINE:
        put_request_line(line, record->request);
        return;
    case BY:
        put_by(line, record);
        return;
    case REQUEST_FIELD:
        put_head_field(line, record->request, part->text);
        return;
    case RESPONSE_FIELD:
        put_head_field(line, record->response, part->text);
        return;
    default:
        put(line, string_at(record, part->offset));
        return;
    }
}

/* Cuts it where the room ends that the parts behind it and what marks the cut leave. */
static void put_value(struct line *line, const struct part *part,
                      const struct access_record *record)
{
    static const weir_string mark = WEIR_STRING("[cut]");
    char *begin = line->at;
    line->value_end = line->end - part->behind - mark.length - 2; /* the quotes */
    line->cut = false;
    put_quote(line);
    char *first = line->at;
    put_text(line, part, record);
    if (line->cut)
        put_plain(line, mark);
    put_quote(line);
    if (line->at - first > (line->style == ESCAPE_JSON))
        return;
    line->at = begin;
    put_missing(line);
}

/* --- rendering */

static uint64_t number_at(const struct access_record *record, uint32_t offset)
{
    return *(const uint64_t *)(const void *)((const char *)record + offset);
}

static void put_part(struct line *line, const struct part *part, const struct access_record *record,
                     struct access_clock *clock)
{
    switch (part->kind) {
    case LITERAL:
        put_plain(line, part->text);
        return;
    case TIME:
        put_time(line, record->time_us, clock);
        return;
    case LOCAL_TIME:
        put_local_time(line, record->time_us, clock);
        return;
    case ID:
        put_id(line, record);
        return;
    case STATUS:
        put_status(line, record->response);
        return;
    case NUMBER:
        put_number(line, number_at(record, part->offset));
        return;
    case MILLISECONDS:
        put_milliseconds(line, number_at(record, part->offset));
        return;
    case FLAG:
        put_flag(line, *((const bool *)record + part->offset));
        return;
    default:
        put_value(line, part, record);
        return;
    }
}

size_t access_format_render(const struct access_format *format, const struct access_record *record,
                            struct access_clock *clock, char *line)
{
    struct line writing = {.at = line, .end = line + ACCESS_LINE_BYTES - 1};
    for (uint32_t i = 0; i < format->count; i++) {
        writing.style = format->parts[i].style;
        put_part(&writing, &format->parts[i], record, clock);
    }
    *writing.at++ = '\n';
    return (size_t)(writing.at - line);
}
