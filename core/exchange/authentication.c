/* core/exchange/authentication.c - who the client is: its credentials go through the filters */
#include "core/exchange/authentication.h"

#include <string.h>

#include "core/base/string.h"
#include "core/exchange/filter_heads.h"
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

/* What a protocol with fields of its own for it was told. */
static weir_credentials of_protocol(const struct head *request)
{
    return (weir_credentials){.size = sizeof(weir_credentials),
                              .scheme = request->view.scheme,
                              .name = request->fields[0].value,
                              .secret = request->fields[1].value};
}

/* What the client showed when it connected; nothing, when it showed none. */
static weir_credentials of_certificate(const struct exchange *x)
{
    const struct connection *connection = x->client.connection;
    const struct tls_facts *tls = connection ? connection->carrier->facts.tls : NULL;
    weir_credentials credentials = {.size = sizeof credentials};
    if (!tls || !tls->peer)
        return credentials;
    credentials.scheme = WEIR_STRING("certificate");
    credentials.name = string_of(tls->peer->name);
    credentials.token = string_of(tls->peer->fingerprint);
    return credentials;
}

weir_result filter_credentials(weir_exchange *public, weir_string field,
                               weir_credentials *credentials)
{
    struct exchange *x = filter_state_of(public)->exchange;
    weir_credentials found = {.size = credentials->size};
    weir_string value;
    weir_result rc = filter_field(public, WEIR_REQUEST_HEAD, field, 0, &value);
    if (rc == WEIR_OK)
        read_field(&x->arena, value, &found);
    memcpy(credentials, &found, found.size < sizeof found ? found.size : sizeof found);
    return rc;
}

weir_answer authentication_run(struct exchange *x)
{
    bool waits = x->filters.record->runs[WEIR_REQUEST_DIRECTION].waiting;
    if (!filters_count(&x->filters, HOOK_AUTHENTICATE) || (notes_user(x).length && !waits))
        return WEIR_CONTINUE;
    weir_credentials credentials = of_certificate(x);
    if (x->request->view.kind == WEIR_AUTHENTICATION)
        credentials = of_protocol(x->request);
    int index = head_find(x->request, FIELD_PROXY_AUTHORIZATION, 0);
    if (index >= 0 && !waits) {
        credentials = (weir_credentials){.size = sizeof credentials};
        read_field(&x->arena, x->request->fields[index].value, &credentials);
    }
    return filters_run(x, HOOK_AUTHENTICATE, WEIR_REQUEST_DIRECTION, &credentials);
}

/* --- exchanges without a message */

/* A refusal that a filter words for requests goes nowhere. */
void authentication_attach(struct exchange *x, struct connection *connection)
{
    connection_join(connection, &x->client, &channel_to_nowhere);
}

void authentication_end(struct exchange *x)
{
    struct connection *connection = x->client.connection;
    weir_string user = notes_user(x);
    if (!connection || connection->closing)
        return;
    memory_free(connection->user);
    connection->user = user.length ? memory_copy_string(user) : NULL;
    connection->protocol->connection->authenticated(&connection->public,
                                                    user.length ? WEIR_OK : WEIR_UNAUTHENTICATED);
}
