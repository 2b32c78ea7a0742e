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
