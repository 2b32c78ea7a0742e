/* core/exchange/access_record.h - what the access log says of an exchange, gathered while it lasts
 *
 * [worker] */
#ifndef CORE_EXCHANGE_ACCESS_RECORD_H
#define CORE_EXCHANGE_ACCESS_RECORD_H

#include "core/base/snapshot.h"
#include "core/exchange/notes.h"

/* Whether the exchange, as it began, has an access log. */
static inline bool access_is_on(const struct exchange *exchange)
{
    return exchange->snapshot->access_log.on && exchange->worker->access_lines;
}

void access_note_begin(struct exchange *exchange, const struct connection *connection);
void access_note_sent(struct exchange *exchange);
void access_note_answered(struct exchange *exchange);
void access_write(struct exchange *exchange, weir_result why);

/* The exchange has its client's connection. */
static inline void access_begin(struct exchange *exchange, const struct connection *connection)
{
    if (exchange->filters.chains[0]->count || access_is_on(exchange))
        access_note_begin(exchange, connection);
}

/* Its request's head goes to a server. */
static inline void access_sent(struct exchange *exchange)
{
    if (exchange->notes)
        access_note_sent(exchange);
}

/* A final head has come. */
static inline void access_answered(struct exchange *exchange)
{
    if (exchange->notes && exchange->progress == PROGRESS_SENT)
        access_note_answered(exchange);
}

/* It is over, and everything of it is still there. */
static inline void access_end(struct exchange *exchange, weir_result why)
{
    if (exchange->notes)
        access_write(exchange, why);
}

#endif
