/* codecs/authority.c - whether a host, perhaps with a port, may stand in Host or in a target */
#include "codecs/authority.h"

#include <string.h>

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool host_character_is_valid(uint8_t c)
{
    return c > 0x20 && c < 0x7f && !strchr("\"#/<>?@[\\]^`{|}", c);
}

/* Where the name or the bracketed address ends, at its port or behind it; NULL: it is neither. */
static const char *host_name_end(weir_string host)
{
    const char *at = host.bytes, *end = at + host.length;
    bool literal = at < end && *at == '[';
    for (at += literal; at < end; at++) {
        uint8_t c = (uint8_t)*at;
        if ((c >= 'a' && c <= 'z') || (c >= '-' && c <= '9' && c != '/'))
            continue; /* what is usual: letters, digits, dots and hyphens */
        if (literal && c == ']')
            return at + 1;
        if (c == ':' && !literal)
            return at;
        if (!host_character_is_valid(c))
            return NULL;
    }
    return literal ? NULL : at;
}

/* uri-host [ ":" port ] of RFC 9110 7.2; may be empty. A second port would be read as one by some
 * and as a part of the name by others. */
bool authority_is_valid(weir_string host)
{
    const char *end = host.bytes + host.length, *at = host_name_end(host);
    if (!at || (at < end && *at++ != ':'))
        return false;
    while (at < end && digit(*at))
        at++;
    return at == end;
}
