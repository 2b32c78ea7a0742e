/* core/exchange/authentication.c - who the client is: its credentials go through the filters */
#include "core/exchange/authentication.h"

#include <string.h>

#include "core/base/string.h"
#include "core/exchange/notes.h"

/* RFC 4648 4; -1: not of its alphabet. */
static int digit_of(uint8_t character)
{
    if (character >= 'A' && character <= 'Z')
        return character - 'A';
    if (character >= 'a' && character <= 'z')
        return character - 'a' + 26;
    if (character >= '0' && character <= '9')
        return character - '0' + 52;
    return character == '+' ? 62 : character == '/' ? 63 : -1;
}

static weir_string without_padding(weir_string text)
{
    for (int most = 2; most && text.length && text.bytes[text.length - 1] == '='; most--)
        text.length--;
    return text;
}

/* Empty when it is no Base64. */
static weir_string decode(struct arena *arena, weir_string text)
{
    text = without_padding(text);
    char *bytes = arena_allocate(arena, text.length * 3 / 4 + 1);
    uint32_t bits = 0, have = 0;
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        int digit = digit_of((uint8_t)text.bytes[i]);
        if (digit < 0)
            return (weir_string){0};
        bits = bits << 6 | (uint32_t)digit;
        have += 6;
        if (have >= 8) {
            have -= 8;
            bytes[length++] = (char)(bits >> have);
        }
    }
    return (weir_string){bytes, length};
}

/* RFC 7617 2: the name ends at the first colon. */
static void split_basic(struct arena *arena, weir_credentials *credentials)
{
    weir_string pair = decode(arena, credentials->token);
    const char *colon = pair.length ? memchr(pair.bytes, ':', pair.length) : NULL;
    if (!colon)
        return;
    credentials->name = (weir_string){pair.bytes, (size_t)(colon - pair.bytes)};
    credentials->secret = (weir_string){colon + 1, pair.length - credentials->name.length - 1};
}

static weir_string lower_copy(struct arena *arena, weir_string text)
{
    char *bytes = arena_allocate(arena, text.length + 1);
    for (size_t i = 0; i < text.length; i++)
        bytes[i] = character_lower(text.bytes[i]);
    return (weir_string){bytes, text.length};
}

static void read_field(struct arena *arena, weir_string value, weir_credentials *credentials)
{
    const char *space = memchr(value.bytes, ' ', value.length);
    size_t length = space ? (size_t)(space - value.bytes) : value.length;
    credentials->scheme = lower_copy(arena, (weir_string){value.bytes, length});
    credentials->token = string_trim((weir_string){value.bytes + length, value.length - length});
    if (string_equal(credentials->scheme, WEIR_STRING("basic")))
        split_basic(arena, credentials);
}

weir_answer authentication_run(struct exchange *x)
{
    weir_credentials credentials = {.size = sizeof credentials};
    if (notes_user(x).length || !filters_count(&x->filters, HOOK_AUTHENTICATE))
        return WEIR_CONTINUE;
    int index = head_find(x->request, FIELD_PROXY_AUTHORIZATION, 0);
    if (index >= 0 && !x->filters.runs[WEIR_REQUEST_DIRECTION].waiting)
        read_field(&x->arena, x->request->fields[index].value, &credentials);
    return filters_run(x, HOOK_AUTHENTICATE, WEIR_REQUEST_DIRECTION, &credentials);
}
