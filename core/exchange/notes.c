/* core/exchange/notes.c - what is remembered of an exchange for its filters and for the access log
 */
#include "core/exchange/notes.h"

#include "core/base/string.h"

struct exchange_notes *notes_of(struct exchange *x)
{
    if (x->notes)
        return x->notes;
    x->notes = arena_allocate(&x->arena, sizeof *x->notes);
    *x->notes = (struct exchange_notes){
        .client.any.sa_family = AF_UNSPEC, .server.any.sa_family = AF_UNSPEC, .user = {"", 0}};
    return x->notes;
}

static void note_leg(struct exchange *x, struct leg_notes *leg, const struct connection *connection)
{
    const struct tls_facts *tls = connection->carrier->facts.tls;
    *leg = (struct leg_notes){.protocol = connection->protocol->name};
    if (!tls)
        return;
    leg->tls = tls->version;
    leg->cipher = tls->cipher;
    leg->tls_name = arena_copy(&x->arena, tls->server_name);
}

void notes_client_leg(struct exchange *x, const struct connection *connection)
{
    const struct tls_facts *tls = connection->carrier->facts.tls;
    struct exchange_notes *notes = notes_of(x);
    note_leg(x, &notes->client_leg, connection);
    if (!tls || !tls->peer)
        return;
    notes->certificate = arena_copy(&x->arena, string_of(tls->peer->subject));
    notes->fingerprint = arena_copy(&x->arena, string_of(tls->peer->fingerprint));
}

void notes_server_leg(struct exchange *x, const struct connection *connection)
{
    note_leg(x, &notes_of(x)->server_leg, connection);
}

weir_result notes_set_user(struct exchange *x, weir_string user)
{
    if (!user.length || !string_is_field_value(user))
        return WEIR_INVALID;
    if (user.length > USER_BYTES)
        return WEIR_TOO_MUCH;
    notes_of(x)->user = arena_copy(&x->arena, user);
    return WEIR_OK;
}

weir_string notes_client(const struct exchange_notes *notes, char text[ADDRESS_TEXT_BYTES])
{
    if (notes->client.any.sa_family == AF_UNIX)
        return WEIR_STRING("unix");
    if (notes->client.any.sa_family == AF_UNSPEC)
        return (weir_string){"", 0};
    return string_of(address_format_host(&notes->client, text));
}

weir_string notes_server(const struct exchange_notes *notes, char text[ADDRESS_TEXT_BYTES])
{
    if (notes->server.any.sa_family == AF_UNSPEC)
        return (weir_string){"", 0};
    return string_of(address_format(&notes->server, text));
}
