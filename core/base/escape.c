/* core/base/escape.c - anybody's bytes as a value within a line of text or of JSON */
#include "core/base/escape.h"

#include <stdint.h>
#include <string.h>

#define EVERY_BYTE(b) (0x0101010101010101u * (uint64_t)(b))

/* None of the eight bytes is a control, a quote, a backslash, DEL or beyond ASCII; nor below
 * `least`. What is not fine sets the highest bit of its byte, as may what is above it then. */
static inline bool all_plain(uint64_t word, uint64_t least)
{
    const uint64_t ones = EVERY_BYTE(1);
    uint64_t not_fine = word | (word + ones) | (word - least) | ((word ^ EVERY_BYTE('"')) - ones) |
                        ((word ^ EVERY_BYTE('\\')) - ones);
    return !(not_fine & EVERY_BYTE(0x80));
}

static inline uint64_t least_of(enum escape_style style)
{
    return style == ESCAPE_BARE ? EVERY_BYTE(0x21) : EVERY_BYTE(0x20);
}

/* The same for one byte. A bit for each of ASCII. */
static bool plain(uint8_t byte, enum escape_style style)
{
    static const uint64_t low[] = {
        [ESCAPE_QUOTED] = 0xfffffffb00000000, /* not C0 and not the quote */
        [ESCAPE_BARE] = 0xfffffffa00000000,   /* nor the space */
        [ESCAPE_JSON] = 0xfffffffb00000000,
    };
    static const uint64_t high = 0x7fffffffefffffff; /* not the backslash and not DEL */
    if (byte < 0x40)
        return low[style] >> byte & 1;
    return byte < 0x80 && (high >> (byte - 0x40) & 1);
}

/* How many bytes the UTF-8 character has that begins with these; 0: it is none. */
static size_t utf8_length(const uint8_t *bytes, size_t left)
{
    uint8_t first = bytes[0], lead = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4 || left < lead)
        return 0;
    for (size_t i = 1; i < lead; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (first == 0xe0 && bytes[1] < 0xa0) || (first == 0xf0 && bytes[1] < 0x90);
    bool surrogate = first == 0xed && bytes[1] >= 0xa0;
    bool too_large = first == 0xf4 && bytes[1] >= 0x90;
    return overlong || surrogate || too_large ? 0 : lead;
}

/* Of a byte that is no character: its own value. */
static uint32_t code_point(const uint8_t *bytes, size_t length)
{
    if (length <= 1)
        return bytes[0];
    uint32_t code = bytes[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (bytes[i] & 0x3f);
    return code;
}

/* C0, DEL and C1, the separators of lines and paragraphs, and what turns the direction of text
 * around: a line is to be read as it was written. */
static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

static void put_hex(char **at, uint32_t value, int digits)
{
    while (digits--)
        *(*at)++ = "0123456789abcdef"[value >> 4 * digits & 15];
}

static bool put_text_escape(char **at, const char *end, const uint8_t *bytes, size_t length)
{
    if ((size_t)(end - *at) < 4 * length)
        return false;
    for (size_t i = 0; i < length; i++) {
        *(*at)++ = '\\';
        *(*at)++ = 'x';
        put_hex(at, bytes[i], 2);
    }
    return true;
}

static bool put_json_escape(char **at, const char *end, uint32_t code)
{
    bool simple = code == '"' || code == '\\';
    if (end - *at < (simple ? 2 : 6))
        return false;
    *(*at)++ = '\\';
    if (simple) {
        *(*at)++ = (char)code;
        return true;
    }
    *(*at)++ = 'u';
    put_hex(at, code, 4);
    return true;
}

/* One character, or one byte that is part of none; *taken says how many bytes it was. */
static bool put_character(char **at, const char *end, const uint8_t *bytes, size_t left,
                          enum escape_style style, size_t *taken)
{
    size_t length = utf8_length(bytes, left);
    uint32_t code = code_point(bytes, length);
    *taken = length ? length : 1;
    if (length > 1 && !is_control(code)) {
        if ((size_t)(end - *at) < length)
            return false;
        memcpy(*at, bytes, length);
        *at += length;
        return true;
    }
    return style == ESCAPE_JSON ? put_json_escape(at, end, code)
                                : put_text_escape(at, end, bytes, *taken);
}

/* --- what is usual: nothing needs an escape */

static inline bool copy_eight(char *to, const uint8_t *bytes, uint64_t least)
{
    uint64_t word;
    memcpy(&word, bytes, 8);
    memcpy(to, &word, 8);
    return all_plain(word, least);
}

/* Four to seven, as two words that overlap. */
static inline bool copy_some(char *to, const uint8_t *bytes, size_t length, uint64_t least)
{
    uint32_t first, last;
    memcpy(&first, bytes, 4);
    memcpy(&last, bytes + length - 4, 4);
    memcpy(to, &first, 4);
    memcpy(to + length - 4, &last, 4);
    return all_plain((uint64_t)last << 32 | first, least);
}

/* One to three, each in its place, some of them twice. */
static inline bool copy_few(char *to, const uint8_t *bytes, size_t length, uint64_t least)
{
    size_t middle = length / 2;
    uint64_t first = bytes[0], second = bytes[middle], last = bytes[length - 1];
    to[0] = (char)first;
    to[middle] = (char)second;
    to[length - 1] = (char)last;
    return all_plain(EVERY_BYTE('a') << 24 | last << 16 | second << 8 | first, least);
}

char *escape_copy(char *at, const char *end, weir_string value, enum escape_style style)
{
    const uint8_t *bytes = (const uint8_t *)value.bytes;
    size_t length = value.length;
    uint64_t least = least_of(style);
    bool fine = true;
    if (length > (size_t)(end - at))
        return NULL;
    if (length >= 8) {
        for (size_t i = 0; i + 8 <= length; i += 8)
            fine &= copy_eight(at + i, bytes + i, least);
        fine &= copy_eight(at + length - 8, bytes + length - 8, least); /* overlaps */
    } else if (length >= 4) {
        fine = copy_some(at, bytes, length, least);
    } else if (length) {
        fine = copy_few(at, bytes, length, least);
    }
    return fine ? at + length : NULL;
}

/* --- anything */

/* Returns how many bytes were as they are. */
static size_t put_plain(char **at, const char *end, const uint8_t *bytes, size_t length,
                        enum escape_style style)
{
    size_t done = 0, room = (size_t)(end - *at), most = length < room ? length : room;
    char *to = *at;
    while (most - done >= 8 && copy_eight(to + done, bytes + done, least_of(style)))
        done += 8;
    while (done < most && plain(bytes[done], style)) {
        to[done] = (char)bytes[done];
        done++;
    }
    *at = to + done;
    return done;
}

bool escape_put(char **at, const char *end, weir_string value, enum escape_style style)
{
    const uint8_t *bytes = (const uint8_t *)value.bytes;
    size_t left = value.length;
    for (;;) {
        size_t taken = put_plain(at, end, bytes, left, style);
        bytes += taken;
        left -= taken;
        if (!left)
            return true;
        if (*at == end || !put_character(at, end, bytes, left, style, &taken))
            return false;
        bytes += taken;
        left -= taken;
    }
}

bool escape_not_needed(weir_string text)
{
    const uint8_t *bytes = (const uint8_t *)text.bytes;
    for (size_t at = 0, length; at < text.length; at += length) {
        length = utf8_length(bytes + at, text.length - at);
        if (!length || (is_control(code_point(bytes + at, length)) && bytes[at] != '\t'))
            return false;
    }
    return true;
}
