/* core/base/access_render.c - a record becomes a line of the access log
 *
 * Each part knows how much room those behind it need at least, so a value that is too long is cut
 * and the line keeps its shape. Whatever is not a text has its room for certain. */
#include <string.h>
#include <time.h>

#include "core/base/access_parts.h"
#include "core/base/string.h"

/* --- literal text */

static char *put_literal(char *at, weir_string text)
{
    for (size_t i = 0; i < text.length; i += ACCESS_PADDING)
        memcpy(at + i, text.bytes + i, ACCESS_PADDING);
    return at + text.length;
}

/* Where the text is known when this is compiled: a few instructions. */
static inline char *put_word(char *at, weir_string text)
{
    memcpy(at, text.bytes, text.length);
    return at + text.length;
}

static char *put_missing(char *at, enum escape_style style)
{
    if (style == ESCAPE_JSON)
        return put_word(at, WEIR_STRING("null"));
    *at = '-';
    return at + 1;
}

static char *put_quote(char *at, enum escape_style style)
{
    *at = '"';
    return at + (style == ESCAPE_JSON);
}

/* --- numbers */

static char *put_two(char *at, uint32_t number) /* 0 to 99 */
{
    at[0] = (char)('0' + number / 10);
    at[1] = (char)('0' + number % 10);
    return at + 2;
}

static char *put_three(char *at, uint32_t number) /* 0 to 999 */
{
    *at = (char)('0' + number / 100);
    return put_two(at + 1, number % 100);
}

static char *put_milliseconds(char *at, uint64_t microseconds, enum escape_style style)
{
    if (!microseconds)
        return put_missing(at, style);
    at = string_put_number(at, microseconds / 1000);
    *at = '.';
    return put_three(at + 1, (uint32_t)(microseconds % 1000));
}

static char *put_status(char *at, const weir_head *response, enum escape_style style)
{
    return response ? string_put_number(at, response->status) : put_missing(at, style);
}

static char *put_flag(char *at, bool flag)
{
    return flag ? put_word(at, WEIR_STRING("true")) : put_word(at, WEIR_STRING("false"));
}

static char *put_id(char *at, const struct access_record *record, enum escape_style style)
{
    at = string_put_number(put_quote(at, style), record->worker);
    *at = '-';
    return put_quote(string_put_number(at + 1, record->number), style);
}

/* --- times */

static char *put_day(char *at, struct access_day *day, int64_t number, bool local)
{
    if (!day->length || day->number != number) {
        time_t second = (time_t)number * 86400;
        struct tm tm = {0};
        gmtime_r(&second, &tm);
        day->number = number;
        day->length = (uint32_t)(local ? strftime(day->text, sizeof day->text, "%d/%b/%Y:", &tm)
                                       : strftime(day->text, sizeof day->text, "%Y-%m-%dT", &tm));
    }
    return put_literal(at, (weir_string){day->text, day->length});
}

static char *put_hours(char *at, uint64_t second)
{
    uint32_t of_day = (uint32_t)(second % 86400);
    at = put_two(at, of_day / 3600);
    *at = ':';
    at = put_two(at + 1, of_day / 60 % 60);
    *at = ':';
    return put_two(at + 1, of_day % 60);
}

/* RFC 3339. */
static char *put_time(char *at, uint64_t time_us, struct access_clock *clock,
                      enum escape_style style)
{
    uint64_t second = time_us / 1000000;
    uint32_t part = (uint32_t)(time_us % 1000000);
    at = put_day(put_quote(at, style), &clock->utc, (int64_t)(second / 86400), false);
    at = put_hours(at, second);
    *at = '.';
    at = put_three(put_three(at + 1, part / 1000), part % 1000);
    *at = 'Z';
    return put_quote(at + 1, style);
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
static char *put_local_time(char *at, uint64_t time_us, struct access_clock *clock,
                            enum escape_style style)
{
    int64_t utc = (int64_t)(time_us / 1000000), offset = local_offset(clock, utc);
    int64_t local = utc + offset > 0 ? utc + offset : 0;
    uint32_t minutes = (uint32_t)(offset < 0 ? -offset : offset) / 60;
    at = put_day(put_quote(at, style), &clock->local, local / 86400, true);
    at = put_hours(at, (uint64_t)local);
    at[0] = ' ';
    at[1] = offset < 0 ? '-' : '+';
    at = put_two(put_two(at + 2, minutes / 60), minutes % 60);
    return put_quote(at, style);
}

/* --- texts of any length */

/* Where values may go, and how. */
struct room {
    const char *end;
    enum escape_style style;
    bool cut;
};

static char *put(struct room *room, char *at, weir_string piece)
{
    char *behind = escape_copy(at, room->end, piece, room->style);
    if (behind)
        return behind;
    if (!room->cut && !escape_put(&at, room->end, piece, room->style)) {
        room->cut = true;
        room->end = at; /* nothing fits any more */
    }
    return at;
}

/* As it was sent: absolute, CONNECT's an authority, one to a fixed upstream a path. */
static char *put_target(struct room *room, char *at, const weir_head *head)
{
    bool absolute = head->scheme.length > 0;
    if (absolute)
        at = put(room, put(room, at, head->scheme), WEIR_STRING("://"));
    if (absolute || !head->path.length)
        at = put(room, at, head->authority);
    return put(room, at, head->path);
}

static char *put_request_line(struct room *room, char *at, const weir_head *head)
{
    if (!head->method.length)
        return at;
    at = put(room, put(room, at, head->method), WEIR_STRING(" "));
    at = put_target(room, at, head);
    bool named = head->version.length && memchr(head->version.bytes, '/', head->version.length);
    at = put(room, at, named ? WEIR_STRING(" ") : WEIR_STRING(" HTTP/"));
    return put(room, at, head->version);
}

/* All of that name, as one list. */
static char *put_head_field(struct room *room, char *at, const weir_head *head, weir_string name)
{
    bool found = false;
    for (uint32_t i = 0; head && i < head->count; i++) {
        const weir_string *other = &head->fields[i].name;
        if (other->length != name.length || !string_equal_nocase(*other, name))
            continue;
        if (found)
            at = put(room, at, WEIR_STRING(", "));
        at = put(room, at, head->fields[i].value);
        found = true;
    }
    return at;
}

static char *put_variable(struct room *room, char *at, const struct access_record *record,
                          weir_string name)
{
    const struct variable *variable =
        record->variables ? variable_find(record->variables, name) : NULL;
    return variable ? put(room, at, variable->value) : at;
}

static char *put_by(struct room *room, char *at, const struct access_record *record)
{
    switch (record->by) {
    case ACCESS_BY_NOBODY:
        break;
    case ACCESS_BY_SERVER:
        return put(room, at, WEIR_STRING("server"));
    case ACCESS_BY_WEIR:
        return put(room, at, WEIR_STRING("weir"));
    case ACCESS_BY_FILTER:
        return put(room, put(room, at, WEIR_STRING("filter:")), record->filter);
    }
    return at;
}

static weir_string string_at(const void *object, uint32_t offset)
{
    return *(const weir_string *)(const void *)((const char *)object + offset);
}

static char *put_text(struct room *room, char *at, const struct access_part *part,
                      const struct access_record *record)
{
    switch (part->kind) {
    case ACCESS_OF_REQUEST:
        return put(room, at, string_at(record->request, part->offset));
    case ACCESS_TARGET:
        return put_target(room, at, record->request);
    case ACCESS_REQUEST_LINE:
        return put_request_line(room, at, record->request);
    case ACCESS_BY:
        return put_by(room, at, record);
    case ACCESS_REQUEST_FIELD:
        return put_head_field(room, at, record->request, part->name);
    case ACCESS_RESPONSE_FIELD:
        return put_head_field(room, at, record->response, part->name);
    case ACCESS_VARIABLE:
        return put_variable(room, at, record, part->name);
    default:
        return put(room, at, string_at(record, part->offset));
    }
}

/* `end` is where the room of the whole line ends. */
static char *put_value(char *at, const struct access_part *part, const struct access_record *record,
                       const char *end)
{
    static const weir_string mark = WEIR_STRING("[cut]");
    struct room room = {.style = part->style};
    room.end = end - part->behind - mark.length - 2; /* the quotes */
    char *first = put_quote(at, part->style);
    char *last = put_text(&room, first, part, record);
    if (room.cut)
        last = put_word(last, mark);
    return last == first ? put_missing(at, part->style) : put_quote(last, part->style);
}

/* --- the whole */

static uint64_t number_at(const struct access_record *record, uint32_t offset)
{
    return *(const uint64_t *)(const void *)((const char *)record + offset);
}

static char *put_part(char *at, const struct access_part *part, const struct access_record *record,
                      struct access_clock *clock, const char *end)
{
    at = put_literal(at, part->before);
    switch (part->kind) {
    case ACCESS_TIME:
        return put_time(at, record->time_us, clock, part->style);
    case ACCESS_LOCAL_TIME:
        return put_local_time(at, record->time_us, clock, part->style);
    case ACCESS_ID:
        return put_id(at, record, part->style);
    case ACCESS_STATUS:
        return put_status(at, record->response, part->style);
    case ACCESS_NUMBER:
        return string_put_number(at, number_at(record, part->offset));
    case ACCESS_MILLISECONDS:
        return put_milliseconds(at, number_at(record, part->offset), part->style);
    case ACCESS_FLAG:
        return put_flag(at, *((const bool *)record + part->offset));
    default:
        return put_value(at, part, record, end);
    }
}

size_t access_format_render(const struct access_format *format, const struct access_record *record,
                            struct access_clock *clock, char *line)
{
    const char *end = line + ACCESS_LINE_BYTES - ACCESS_PADDING; /* and the line end is in there */
    char *at = line;
    for (uint32_t i = 0; i < format->count; i++)
        at = put_part(at, &format->parts[i], record, clock, end);
    at = put_literal(at, format->last);
    *at++ = '\n';
    return (size_t)(at - line);
}
