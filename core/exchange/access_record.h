/* core/exchange/access_record.h - what the access log says of an exchange, gathered while it lasts
 *
 * An exchange has notes only when the configuration it began with has an access log. [worker] */
#ifndef CORE_EXCHANGE_ACCESS_RECORD_H
#define CORE_EXCHANGE_ACCESS_RECORD_H

#include "core/base/snapshot.h"
#include "core/exchange/exchange.h"

/* Addresses are copied, because the connections may be gone when the exchange ends. */
struct access_notes {
    uint64_t number; /* of the exchange, counted by its worker */
    struct address client, server;
    uint64_t sent_us, answered_us; /* 0: did not happen */
};

void access_note_begin(struct exchange *exchange, const struct connection *connection);
void access_note_sent(struct exchange *exchange);
void access_note_answered(struct exchange *exchange);
void access_write(struct exchange *exchange, weir_result why);

/* The exchange has its client's connection. */
static inline void access_begin(struct exchange *exchange, const struct connection *connection)
{
    if (exchange->snapshot->access_log.on && exchange->worker->access_lines)
        access_note_begin(exchange, connection);
}

/* Its request's head goes to a server. */
static inline void access_sent(struct exchange *exchange)
{
    if (exchange->access)
        access_note_sent(exchange);
}

/* A final head has come. */
static inline void access_answered(struct exchange *exchange)
{
    if (exchange->access && exchange->progress == PROGRESS_SENT)
        access_note_answered(exchange);
}

/* It is over, and everything of it is still there. */
static inline void access_end(struct exchange *exchange, weir_result why)
{
    if (exchange->access)
        access_write(exchange, why);
}

#endif
