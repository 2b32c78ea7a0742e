/* core/exchange/access_record.h - what the access log says of an exchange, gathered while it lasts
 *
 * An exchange has notes only when the configuration it began with has an access log. [worker] */
#ifndef CORE_EXCHANGE_ACCESS_RECORD_H
#define CORE_EXCHANGE_ACCESS_RECORD_H

#include "core/exchange/exchange.h"

/* Addresses are copied, because the connections may be gone when the exchange ends. */
struct access_notes {
    uint64_t number; /* of the exchange, counted by its worker */
    struct address client, server;
    uint64_t sent_us, answered_us; /* 0: did not happen */
};

/* The exchange has its client's connection. */
void access_begin(struct exchange *exchange, const struct connection *connection);
/* Its request's head goes to a server. */
void access_sent(struct exchange *exchange);
/* The server's final head has come. */
void access_answered(struct exchange *exchange);
/* It is over, and everything of it is still there. */
void access_end(struct exchange *exchange, weir_result why);

#endif
