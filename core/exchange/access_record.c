/* core/exchange/access_record.c - what the access log says of an exchange, gathered while it lasts
 */
#include "core/exchange/access_record.h"

#include <arpa/inet.h>

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

/* --- addresses as text: without printf, because it is done for every line */

static char *put_byte(char *at, uint8_t number)
{
    if (number >= 100)
        *at++ = (char)('0' + number / 100);
    if (number >= 10)
        *at++ = (char)('0' + number / 10 % 10);
    *at = (char)('0' + number % 10);
    return at + 1;
}

static char *put_v4(char *at, const uint8_t *bytes)
{
    for (int i = 0; i < 4; i++) {
        at = put_byte(at, bytes[i]);
        *at++ = '.';
    }
    return at - 1;
}

static char *put_port(char *at, uint16_t port)
{
    char *end = at + 2;
    *at = ':';
    for (unsigned left = port; left >= 10; left /= 10)
        end++;
    for (char *digit = end; digit > at + 1; port /= 10)
        *--digit = (char)('0' + port % 10);
    return end;
}

static char *put_host(char *at, const struct address *address, bool brackets)
{
    const struct in6_addr *six = &address->v6.sin6_addr;
    if (address->any.sa_family == AF_INET)
        return put_v4(at, (const uint8_t *)&address->v4.sin_addr);
    if (IN6_IS_ADDR_V4MAPPED(six)) /* an IPv4 client of a listener for both */
        return put_v4(at, six->s6_addr + 12);
    if (brackets)
        *at++ = '[';
    inet_ntop(AF_INET6, six, at, INET6_ADDRSTRLEN);
    at += strlen(at);
    if (brackets)
        *at++ = ']';
    return at;
}

/* Of a client without its port, which says nothing about who it is. */
static weir_string address_text(const struct address *address, bool port,
                                char text[ADDRESS_TEXT_BYTES])
{
    switch (address->any.sa_family) {
    case AF_INET:
    case AF_INET6:
        break;
    case AF_UNIX:
        return WEIR_STRING("unix");
    default:
        return (weir_string){"", 0};
    }
    char *end = put_host(text, address, port);
    if (port)
        end = put_port(end, address_port(address));
    return (weir_string){text, (size_t)(end - text)};
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
        .client = address_text(&notes->client, false, client),
        .server = address_text(&notes->server, true, server),
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
