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
    x->access = arena_allocate(&x->arena, sizeof *x->access);
    x->access->number = metric_read(&x->worker->metrics, METRIC_EXCHANGES);
    x->access->client = connection->carrier->facts.peer;
    address_unmap(&x->access->client);
    x->access->server.any.sa_family = AF_UNSPEC;
    x->access->sent_us = x->access->answered_us = 0;
}

void access_note_sent(struct exchange *x)
{
    x->access->server = x->server.connection->carrier->facts.peer;
    x->access->sent_us = loop_now_us(x->worker->loop);
    x->access->answered_us = 0;
}

void access_note_answered(struct exchange *x)
{
    x->access->answered_us = loop_now_us(x->worker->loop);
}

/* --- at its end */

static enum access_by answered_by(const struct exchange *x)
{
    if (!x->response_sent)
        return ACCESS_BY_NOBODY;
    if (x->progress != PROGRESS_ANSWERED)
        return ACCESS_BY_SERVER;
    return x->cause == WEIR_OK && x->replier ? ACCESS_BY_FILTER : ACCESS_BY_WEIR;
}

/* 0 means that it did not happen. */
static uint64_t duration(uint64_t begin_us, uint64_t end_us)
{
    if (!begin_us || !end_us)
        return 0;
    return end_us > begin_us ? end_us - begin_us : 1;
}

/* Without its port, which says nothing about who it is. */
static weir_string client_text(const struct address *address, char text[ADDRESS_TEXT_BYTES])
{
    if (address->any.sa_family == AF_UNIX)
        return WEIR_STRING("unix");
    return string_of(address_format_host(address, text));
}

static weir_string server_text(const struct address *address, char text[ADDRESS_TEXT_BYTES])
{
    if (address->any.sa_family == AF_UNSPEC)
        return (weir_string){"", 0};
    return string_of(address_format(address, text));
}

static void write_record(struct exchange *x, weir_result why)
{
    const struct access_notes *notes = x->access;
    struct loop *loop = x->worker->loop;
    char client[ADDRESS_TEXT_BYTES], server[ADDRESS_TEXT_BYTES];
    uint64_t total_us = duration(x->start_us, loop_now_us(loop));
    struct access_record record = {
        .worker = x->worker->index,
        .number = notes->number,
        .time_us = loop_wall_us(loop) - total_us,
        .client = client_text(&notes->client, client),
        .server = server_text(&notes->server, server),
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
        .why = why == WEIR_OK ? WEIR_STRING("ok") : string_of(cause_name(why)),
    };
    if (record.by == ACCESS_BY_FILTER)
        record.filter = string_of(x->replier->name);
    access_lines_add(x->worker->access_lines, x->snapshot->access_log.compiled, &record);
}

void access_write(struct exchange *x, weir_result why)
{
    if (why == WEIR_OK) /* it was told why it failed */
        why = x->cause;
    bool failed = why != WEIR_OK || (x->response_sent && x->response->view.status >= 400);
    if (access_lines_wanted(x->worker->access_lines, x->snapshot->access_log.sample, failed))
        write_record(x, why);
}
