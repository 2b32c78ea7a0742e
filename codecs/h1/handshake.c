/* codecs/h1/handshake.c - the keys of WebSockets whose other leg is not HTTP/1.1 and has none
 *
 * Between two legs of HTTP/1.1 the client's key and the server's answer just pass. */
#include <string.h>

#include "codecs/h1/connection.h"
#include "codecs/string.h"
#include "codecs/websocket.h"

static const char key_name[] = "Sec-WebSocket-Key: ", accept_name[] = "Sec-WebSocket-Accept: ";

static const weir_field *find(const weir_head *head, weir_string lower)
{
    for (uint32_t i = 0; i < head->count; i++)
        if (string_is_nocase(head->fields[i].name, lower))
            return &head->fields[i];
    return NULL;
}

static bool is_websocket(const weir_head *head)
{
    return string_is_nocase(head->protocol, WEIR_STRING("websocket"));
}

/* Later versions have no keys. */
static bool is_later(const weir_head *head)
{
    return head->version.length && (head->version.bytes[0] == '2' || head->version.bytes[0] == '3');
}

void h1_handshake_begin(struct h1 *h1, weir_string key)
{
    uint8_t *bytes;
    h1_handshake_drop(h1);
    h1->accept.owner = h1_host->buffer_new(WEBSOCKET_ACCEPT_BYTES, &bytes);
    h1->accept.bytes = bytes;
    h1->accept.length = WEBSOCKET_ACCEPT_BYTES;
    websocket_accept(key.bytes, (char *)bytes);
}

void h1_handshake_drop(struct h1 *h1)
{
    h1_host->buffer_release(h1->accept.owner);
    h1->accept = (weir_slice){0};
}

void h1_handshake_asked(struct h1 *h1, const weir_head *request)
{
    h1_handshake_drop(h1);
    if (!is_websocket(request))
        return;
    const weir_field *key = find(request, WEIR_STRING("sec-websocket-key"));
    if (key && key->value.length == WEBSOCKET_KEY_BYTES)
        h1_handshake_begin(h1, key->value);
}

static weir_string line_of(const char *name, weir_string value)
{
    static _Thread_local char line[64];
    size_t length = strlen(name);
    memcpy(line, name, length);
    memcpy(line + length, value.bytes, value.length);
    memcpy(line + length + value.length, "\r\n", 2);
    return (weir_string){line, length + value.length + 2};
}

weir_string h1_handshake_agree(const struct h1 *h1, const weir_head *answer)
{
    if (!h1->accept.owner || !is_later(answer))
        return (weir_string){"", 0};
    return line_of(accept_name, (weir_string){(const char *)h1->accept.bytes, h1->accept.length});
}

weir_string h1_handshake_ask(struct h1 *h1, const weir_head *request)
{
    char key[WEBSOCKET_KEY_BYTES];
    h1_handshake_drop(h1);
    if (!is_websocket(request) || !is_later(request))
        return (weir_string){"", 0};
    websocket_make_key(key);
    h1_handshake_begin(h1, (weir_string){key, sizeof key});
    return line_of(key_name, (weir_string){key, sizeof key});
}

bool h1_handshake_fits(const struct h1 *h1, const weir_head *answer)
{
    const weir_field *accept = find(answer, WEIR_STRING("sec-websocket-accept"));
    return !h1->accept.owner ||
           (accept && string_is(accept->value,
                                (weir_string){(const char *)h1->accept.bytes, h1->accept.length}));
}
