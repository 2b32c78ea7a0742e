/* codecs/h1/write.c - heads and chunks to bytes
 *
 * Fields that still stand one behind the other as "name: value CR LF", as they came, are copied as
 * one run. */
#include "codecs/h1/write.h"

#include <stdio.h>
#include <string.h>

static uint8_t *put(uint8_t *at, const char *bytes, size_t length)
{
    if (length)
        memcpy(at, bytes, length);
    return at + length;
}

static uint8_t *put_string(uint8_t *at, weir_string string)
{
    return put(at, string.bytes, string.length);
}

static size_t size_of(const weir_head *head, const struct h1_framing_lines *lines)
{
    size_t size =
        head->method.length + head->path.length + head->authority.length + head->reason.length + 64;
    for (uint32_t i = 0; i < head->count; i++)
        size += head->fields[i].name.length + head->fields[i].value.length + 4;
    size += lines->connection ? strlen(lines->connection) : 0;
    size += lines->upgrade.length + lines->handshake.length + 64;
    size += lines->length ? strlen(lines->length) : 0;
    return size;
}

static bool as_it_came(const weir_field *field)
{
    const char *after = field->name.bytes + field->name.length;
    return field->value.bytes == after + 2 && after[0] == ':' && after[1] == ' ';
}

/* Whether the next field's line begins right behind this one's. */
static bool adjoins(const weir_field *field, const weir_field *next)
{
    const char *end = field->value.bytes + field->value.length;
    return next->name.bytes == end + 2 && end[0] == '\r' && end[1] == '\n' && as_it_came(next);
}

static uint8_t *put_fields(uint8_t *at, const weir_field *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count;) {
        const weir_field *first = &fields[i], *last = first;
        if (as_it_came(first)) {
            while (last + 1 < fields + count && adjoins(last, last + 1))
                last++;
            const char *end = last->value.bytes + last->value.length;
            at = put(at, first->name.bytes, (size_t)(end - first->name.bytes));
        } else {
            at = put_string(at, first->name);
            at = put(at, ": ", 2);
            at = put_string(at, first->value);
        }
        at = put(at, "\r\n", 2);
        i += (uint32_t)(last - first) + 1;
    }
    return at;
}

static uint8_t *put_rest(uint8_t *at, const weir_head *head, const struct h1_framing_lines *lines)
{
    at = put_fields(at, head->fields, head->count);
    if (lines->length)
        at = put(at, lines->length, strlen(lines->length));
    at = put_string(at, lines->handshake);
    if (lines->upgrade.length) {
        at = put(at, "Connection: Upgrade\r\nUpgrade: ", 30);
        at = put_string(at, lines->upgrade);
        at = put(at, "\r\n", 2);
    }
    if (lines->connection)
        at = put(at, lines->connection, strlen(lines->connection));
    return put(at, "\r\n", 2);
}

void h1_write_request(const weir_host *host, struct output *output, const weir_head *head,
                      const struct h1_framing_lines *lines)
{
    uint8_t *start = output_reserve(host, output, size_of(head, lines)), *at = start;
    WEIR_TRACE(host);
    at = put_string(at, head->method);
    *at++ = ' ';
    at = put_string(at, head->path);
    at = put(at, " HTTP/1.1\r\n", 11);
    at = put_rest(at, head, lines);
    output_commit(host, output, (size_t)(at - start));
}

void h1_write_response(const weir_host *host, struct output *output, const weir_head *head,
                       const struct h1_framing_lines *lines)
{
    uint8_t *start = output_reserve(host, output, size_of(head, lines)), *at = start;
    WEIR_TRACE(host);
    at = put(at, "HTTP/1.1 ", 9);
    *at++ = (uint8_t)('0' + head->status / 100);
    *at++ = (uint8_t)('0' + head->status / 10 % 10);
    *at++ = (uint8_t)('0' + head->status % 10);
    *at++ = ' '; /* RFC 9112 4: the space stays when there is no reason */
    at = put_string(at, head->reason);
    at = put(at, "\r\n", 2);
    at = put_rest(at, head, lines);
    output_commit(host, output, (size_t)(at - start));
}

void h1_write_chunk_size(const weir_host *host, struct output *output, uint64_t bytes)
{
    uint8_t *at = output_reserve(host, output, 24);
    int length = snprintf((char *)at, 24, "%llx\r\n", (unsigned long long)bytes);
    output_commit(host, output, (size_t)length);
}

void h1_write_trailers(const weir_host *host, struct output *output, const weir_field *fields,
                       uint32_t count)
{
    size_t size = 2;
    for (uint32_t i = 0; i < count; i++)
        size += fields[i].name.length + fields[i].value.length + 4;
    uint8_t *start = output_reserve(host, output, size), *at = start;
    at = put_fields(at, fields, count);
    at = put(at, "\r\n", 2);
    output_commit(host, output, (size_t)(at - start));
}
