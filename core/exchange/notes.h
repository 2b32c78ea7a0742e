/* core/exchange/notes.h - what is remembered of an exchange for its filters and for the access log
 *
 * Apart from the exchange, because most have neither: made when it begins, in its arena, if it has
 * filters or its configuration an access log. [worker] */
#ifndef CORE_EXCHANGE_NOTES_H
#define CORE_EXCHANGE_NOTES_H

#include "core/base/variable.h"
#include "core/exchange/exchange.h"

/* What is spoken on a leg's connection; with TLS also how. NULL, empty: nothing (yet). */
struct leg_notes {
    const char *protocol, *tls, *cipher; /* "h2", "TLSv1.3"; not this exchange's */
    weir_string tls_name;                /* that was asked for, copied */
};

/* Addresses are copied, because the connections may be gone when the exchange ends. */
struct exchange_notes {
    struct address client, server;
    uint64_t sent_us, answered_us; /* 0: did not happen */
    const char *listener;          /* as configured, of the exchange's snapshot; NULL: unknown */
    weir_string user;              /* who the client proved to be; empty: nobody knows */
    weir_result cause;             /* why it ended; WEIR_OK: it has not, or well */
    struct variables variables;
    struct leg_notes client_leg, server_leg;
    weir_string certificate, fingerprint; /* the client's, verified; copied */
};

enum { USER_BYTES = 1024 };

/* The exchange has a connection on that side. */
void notes_client_leg(struct exchange *exchange, const struct connection *connection);
void notes_server_leg(struct exchange *exchange, const struct connection *connection);

/* Those of the exchange, made empty if there are none. */
struct exchange_notes *notes_of(struct exchange *exchange);
/* Who the client is; empty: nobody knows. */
static inline weir_string notes_user(const struct exchange *exchange)
{
    return exchange->notes ? exchange->notes->user : (weir_string){"", 0};
}
/* Copies. WEIR_INVALID: empty, or control characters; WEIR_TOO_MUCH: longer than USER_BYTES. */
weir_result notes_set_user(struct exchange *exchange, weir_string user);

/* As texts; the first without its port, which says nothing about who it is. Empty when there is
 * none. */
weir_string notes_client(const struct exchange_notes *notes, char text[ADDRESS_TEXT_BYTES]);
weir_string notes_server(const struct exchange_notes *notes, char text[ADDRESS_TEXT_BYTES]);

#endif
