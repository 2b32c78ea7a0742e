/* plugins/redirect/path.c - how paths, queries and hosts are compared, and how they are passed on
 */
#include "plugins/redirect/path.h"

#include <string.h>

enum { UNRESERVED = 1, PLAIN = 2, SAFE = 4 };

/* UNRESERVED, PLAIN: as it is in the normal form; SAFE: as it is in a Location. A sanctioned
 * character is all three but for gen-delims and sub-delims, and what clients send although no URI
 * holds it, like "[" and "|", is only safe. */
static uint8_t class_of(uint8_t byte)
{
    if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
        (byte >= '0' && byte <= '9') || (byte && strchr("-._~", byte)))
        return UNRESERVED | PLAIN | SAFE;
    if (byte && strchr("!$&'()*+,;=:@/?", byte))
        return PLAIN | SAFE;
    return byte > 0x20 && byte < 0x7f && !strchr("\"<>\\#", byte) ? SAFE : 0;
}

static uint8_t classes[256];

__attribute__((constructor)) static void fill_classes(void)
{
    for (int byte = 0; byte < 256; byte++)
        classes[byte] = class_of((uint8_t)byte);
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t put_percent(uint8_t byte, char *to)
{
    to[0] = '%';
    to[1] = "0123456789ABCDEF"[byte >> 4];
    to[2] = "0123456789ABCDEF"[byte & 15];
    return 3;
}

/* The normal form of what begins at *at: one byte or three. Moves *at behind it. */
static size_t step(weir_string raw, size_t *at, char *to)
{
    const char *bytes = raw.bytes + *at;
    uint8_t byte = (uint8_t)*bytes;
    bool encoded =
        byte == '%' && raw.length - *at >= 3 && digit(bytes[1]) >= 0 && digit(bytes[2]) >= 0;
    if (encoded)
        byte = (uint8_t)(digit(bytes[1]) << 4 | digit(bytes[2]));
    *at += encoded ? 3 : 1;
    if (!(classes[byte] & (encoded ? UNRESERVED : PLAIN)))
        return put_percent(byte, to);
    *to = (char)byte;
    return 1;
}

bool path_is_normal(weir_string raw)
{
    uint8_t all = PLAIN;
    for (size_t i = 0; i < raw.length; i++)
        all &= classes[(uint8_t)raw.bytes[i]];
    return all != 0;
}

size_t path_normalize(weir_string raw, char *to)
{
    size_t length = 0;
    for (size_t at = 0; at < raw.length;)
        length += step(raw, &at, to + length);
    return length;
}

bool path_equal(weir_string raw, weir_string normal)
{
    size_t length = 0;
    char piece[3];
    for (size_t at = 0; at < raw.length;) {
        size_t made = step(raw, &at, piece);
        if (made > normal.length - length || memcmp(piece, normal.bytes + length, made) != 0)
            return false;
        length += made;
    }
    return length == normal.length;
}

size_t path_raw_offset(weir_string raw, size_t normal_offset)
{
    size_t length = 0, at = 0;
    char piece[3];
    while (length < normal_offset && at < raw.length)
        length += step(raw, &at, piece);
    return at;
}

size_t path_pass_on(weir_string raw, char *to)
{
    size_t length = 0;
    for (size_t i = 0; i < raw.length; i++) {
        if (classes[(uint8_t)raw.bytes[i]] & SAFE)
            to[length++] = raw.bytes[i];
        else
            length += put_percent((uint8_t)raw.bytes[i], to + length);
    }
    return length;
}

/* Without the port, which an address in brackets may be followed by too. */
static size_t host_length(weir_string authority)
{
    const char *end = authority.bytes + authority.length;
    const char *start = authority.length && authority.bytes[0] == '['
                            ? memchr(authority.bytes, ']', authority.length)
                            : authority.bytes;
    const char *colon = start ? memchr(start, ':', (size_t)(end - start)) : NULL;
    return colon ? (size_t)(colon - authority.bytes) : authority.length;
}

size_t path_host(weir_string authority, char *to)
{
    size_t length = authority.length ? host_length(authority) : 0;
    if (length && authority.bytes[length - 1] == '.')
        length--;
    if (length > HOST_MOST)
        return 0;
    for (size_t i = 0; i < length; i++) {
        char c = authority.bytes[i];
        to[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    return length;
}
