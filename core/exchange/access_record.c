/* core/exchange/access_record.c - what the access log says of an exchange, gathered while it lasts
 */
#include "core/exchange/access_record.h"

#include "core/base/access_record.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/exchange/access_lines.h"
#include "core/exchange/reply.h"
#include "core/io/loop.h"

/* --- while it lasts */

void access_note_begin(struct exchange *x, const struct connection *connection)
{
    struct exchange_notes *notes = notes_of(x);
    notes->client = connection->carrier->facts.peer;
    address_unmap(&notes->client);
    notes->listener = connection->terms ? connection->terms->listener : NULL;
    notes_client_leg(x, connection);
}

void access_note_sent(struct exchange *x)
{
    x->notes->server = x->server.connection->carrier->facts.peer;
    notes_server_leg(x, x->server.connection);
    x->notes->sent_us = loop_now_us(x->worker->loop);
    x->notes->answered_us = 0;
}

void access_note_answered(struct exchange *x)
{
    x->notes->answered_us = loop_now_us(x->worker->loop);
}

/* --- at its end */

static enum access_by answered_by(const struct exchange *x)
{
    if (!x->response_sent)
        return ACCESS_BY_NOBODY;
    if (x->progress != PROGRESS_ANSWERED)
        return ACCESS_BY_SERVER;
    return x->cause == WEIR_OK && x->filters.record->replier ? ACCESS_BY_FILTER : ACCESS_BY_WEIR;
}

static weir_string text_of(const char *text)
{
    return text ? string_of(text) : (weir_string){"", 0};
}

static struct access_leg leg_of(const struct leg_notes *leg)
{
    return (struct access_leg){text_of(leg->protocol), text_of(leg->tls), text_of(leg->cipher),
                               leg->tls_name};
}

/* 0 means that it did not happen. */
static uint64_t duration(uint64_t begin_us, uint64_t end_us)
{
    if (!begin_us || !end_us)
        return 0;
    return end_us > begin_us ? end_us - begin_us : 1;
}

static void write_record(struct exchange *x)
{
    const struct exchange_notes *notes = x->notes;
    struct loop *loop = x->worker->loop;
    char client[ADDRESS_TEXT_BYTES], server[ADDRESS_TEXT_BYTES];
    uint64_t total_us = duration(x->start_us, loop_now_us(loop));
    struct access_record record = {
        .worker = x->worker->index,
        .number = x->number,
        .time_us = loop_wall_us(loop) - total_us,
        .client = notes_client(notes, client),
        .server = notes_server(notes, server),
        .client_leg = leg_of(&notes->client_leg),
        .server_leg = leg_of(&notes->server_leg),
        .certificate = notes->certificate,
        .fingerprint = notes->fingerprint,
        .user = notes->user,
        .variables = &notes->variables,
        .request = &x->request->view,
        .response = x->response_sent ? &x->response->view : NULL,
        .request_bytes = x->client.received_bytes,
        .response_bytes = x->client.sent_bytes,
        .dns_us = x->attempt.times.resolve_us,
        .connect_us = x->attempt.times.connect_us,
        .first_byte_us = duration(notes->sent_us, notes->answered_us),
        .total_us = total_us,
        .attempts = x->attempt.number,
        .reused = x->attempt.reused,
        .by = answered_by(x),
        .why = string_of(cause_name(notes->cause)),
    };
    if (record.by == ACCESS_BY_FILTER)
        record.filter = string_of(x->filters.record->replier->use->filter->name);
    access_lines_add(x->worker->access_lines, x->snapshot->access_log.compiled, &record);
}

void access_write(struct exchange *x, weir_result why)
{
    if (why == WEIR_OK) /* it was told why it failed */
        why = x->cause;
    x->notes->cause = why;
    if (!access_is_on(x))
        return;
    bool failed = why != WEIR_OK || (x->response_sent && x->response->view.status >= 400);
    if (access_lines_wanted(x->worker->access_lines, x->snapshot->access_log.sample, failed))
        write_record(x);
}
