/* core/base/string.c - views of bytes: compare, parse numbers, take authorities apart */
#include "core/base/string.h"

char character_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool string_equal_nocase(weir_string a, weir_string b)
{
    if (a.length != b.length)
        return false;
    if (!a.length || !memcmp(a.bytes, b.bytes, a.length)) /* what is usual */
        return true;
    for (size_t i = 0; i < a.length; i++)
        if (character_lower(a.bytes[i]) != character_lower(b.bytes[i]))
            return false;
    return true;
}

bool string_is_token(weir_string string)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < string.length; i++) {
        char c = character_lower(string.bytes[i]);
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && (!c || !strchr(others, c)))
            return false;
    }
    return string.length > 0;
}

bool string_is_field_value(weir_string string)
{
    for (size_t i = 0; i < string.length; i++) {
        uint8_t c = (uint8_t)string.bytes[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

bool string_to_number(weir_string string, uint64_t most, uint64_t *number)
{
    uint64_t value = 0;
    if (!string.length)
        return false;
    for (size_t i = 0; i < string.length; i++) {
        unsigned digit = (unsigned char)string.bytes[i] - '0';
        if (digit > 9 || digit > most || value > (most - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *number = value;
    return true;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

weir_string string_trim(weir_string string)
{
    while (string.length && blank(string.bytes[0])) {
        string.bytes++;
        string.length--;
    }
    while (string.length && blank(string.bytes[string.length - 1]))
        string.length--;
    return string;
}

bool string_next_element(weir_string *rest, weir_string *element)
{
    while (rest->length) {
        const char *comma = memchr(rest->bytes, ',', rest->length);
        size_t length = comma ? (size_t)(comma - rest->bytes) : rest->length;
        size_t taken = comma ? length + 1 : length;
        *element = string_trim((weir_string){rest->bytes, length});
        rest->bytes += taken;
        rest->length -= taken;
        if (element->length)
            return true;
    }
    return false;
}

/* reg-name and IPv4: unreserved, percent-encoded and sub-delims of RFC 3986, no colon. */
static bool host_character(unsigned char c)
{
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-')
        return true; /* what is usual */
    return (c >= 'A' && c <= 'Z') || (c && strchr("_~%!$&'()*+,;=", c));
}

/* An IPv6 literal; whether it is a valid address is decided where it is turned into one. */
static bool literal_character(unsigned char c)
{
    return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || (c >= '0' && c <= '9') || c == ':' ||
           c == '.';
}

static bool all(weir_string string, bool (*allowed)(unsigned char))
{
    for (size_t i = 0; i < string.length; i++)
        if (!allowed((unsigned char)string.bytes[i]))
            return false;
    return string.length > 0;
}

/* Splits off the host; what follows it (":port" or nothing) goes to *rest. */
static bool split_host(weir_string text, struct authority *authority, weir_string *rest)
{
    const char *end;
    authority->bracketed = text.length && text.bytes[0] == '[';
    if (authority->bracketed) {
        end = memchr(text.bytes, ']', text.length);
        if (!end)
            return false;
        authority->host = (weir_string){text.bytes + 1, (size_t)(end - text.bytes) - 1};
        end++;
    } else {
        end = memchr(text.bytes, ':', text.length);
        if (!end)
            end = text.bytes + text.length;
        authority->host = (weir_string){text.bytes, (size_t)(end - text.bytes)};
    }
    *rest = (weir_string){end, text.length - (size_t)(end - text.bytes)};
    return all(authority->host, authority->bracketed ? literal_character : host_character);
}

bool authority_parse(weir_string text, struct authority *authority)
{
    weir_string rest;
    uint64_t port = 0;
    authority->port = 0;
    if (!text.length || !split_host(text, authority, &rest))
        return false;
    if (!rest.length)
        return true;
    if (rest.bytes[0] != ':')
        return false;
    rest.bytes++;
    rest.length--;
    if (rest.length && (!string_to_number(rest, 65535, &port) || port == 0))
        return false;
    authority->port = (uint16_t)port;
    return true;
}
