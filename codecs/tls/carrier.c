/* codecs/tls/carrier.c - the carrier on top: records to bytes and back, credit, and ends
 *
 * Credit below follows credit above: below may deliver as much as above may take, and one record
 * more, since only a whole record can be opened. Records are made inside of produce() alone, so
 * what is sent is chosen at the last moment. */
#include <openssl/err.h>
#include <string.h>

#include "codecs/tls/operations.h"
#include "codecs/tls/tls.h"
#include "core/base/memory.h"
#include "core/io/loop.h"

enum { SLICES_MOST = 64, HEAD_BYTES = 5 };

static struct tls *of(struct carrier *carrier)
{
    return CONTAINER(carrier, struct tls, carrier);
}

/* --- credit */

/* How many bytes of below may be on their way or here. */
static size_t wanted_from_below(const struct tls *tls)
{
    if (tls->handshake)
        return WEIR_CREDIT;
    bool stuffed = tls->sealed.bytes >= TLS_SEALED_MOST; /* it makes us answer and does not read */
    return tls->credit && !stuffed ? tls->credit + TLS_RECORD_MOST : 0;
}

void tls_keep_below_reading(struct tls *tls)
{
    size_t wanted = wanted_from_below(tls);
    size_t here = tls->incoming.bytes + (size_t)SSL_pending(tls->ssl) + tls->below_credit;
    if (tls->closing != TLS_OPEN || tls->below_end || here >= wanted)
        return;
    tls->below_credit += wanted - here;
    carrier_grant(tls->below, 0, wanted - here);
}

/* --- reading */

static void tell_end(struct tls *tls, uint32_t how)
{
    if (tls->ended || tls->closing != TLS_OPEN)
        return;
    tls->ended = true;
    tls->carrier.events->end(tls->carrier.user, 0, how);
}

/* No bytes came out of a read. */
static void on_no_bytes(struct tls *tls, int rc)
{
    int error = SSL_get_error(tls->ssl, rc);
    if (error == SSL_ERROR_WANT_READ)
        return;
    if (error == SSL_ERROR_ZERO_RETURN) {
        tell_end(tls, WEIR_END_CLEAN);
        return;
    }
    tls->broken = true;
    ERR_clear_error();
    tell_end(tls, WEIR_END_RESET);
}

static bool may_read(const struct tls *tls)
{
    return tls->credit && !tls->ended && !tls->broken && tls->closing == TLS_OPEN &&
           tls->sealed.bytes < TLS_SEALED_MOST;
}

/* False: there is nothing to be had. */
static bool read_some(struct tls *tls)
{
    size_t room;
    uint64_t before = tls->incoming.bytes;
    uint8_t *space = receive_space(&room);
    if (room > tls->credit)
        room = tls->credit;
    ERR_clear_error();
    int length = SSL_read(tls->ssl, space, (int)room);
    if (length <= 0) {
        on_no_bytes(tls, length);
        return tls->incoming.bytes < before; /* a record without bytes, such as a ticket */
    }
    weir_slice slice = receive_take((size_t)length);
    tls->credit -= slice.length;
    tls->carrier.events->data(tls->carrier.user, 0, &slice);
    buffer_release(slice.owner);
    return true;
}

/* RFC 8446 5.1. One that is too long is OpenSSL's to refuse. 0: it is not all here. */
static size_t next_record(const struct tls *tls)
{
    uint8_t head[HEAD_BYTES] = {0};
    weir_slice slices[HEAD_BYTES];
    uint32_t count = slice_queue_peek(&tls->incoming, slices, HEAD_BYTES, HEAD_BYTES);
    for (uint32_t i = 0, at = 0; i < count; at += (uint32_t)slices[i].length, i++)
        memcpy(head + at, slices[i].bytes, slices[i].length);
    size_t length = HEAD_BYTES + ((size_t)head[3] << 8 | head[4]);
    if (length > TLS_RECORD_MOST)
        length = HEAD_BYTES;
    return tls->incoming.bytes >= length ? length : 0;
}

static bool has_some(struct tls *tls)
{
    if (!tls->readable)
        tls->readable = next_record(tls);
    return tls->readable || SSL_has_pending(tls->ssl);
}

/* What comes after this is only what below says of its end. */
static void look_at_end(struct tls *tls)
{
    uint32_t how = tls->below_end - 1u;
    if (!tls->below_end || !tls->opened)
        return;
    if (how == WEIR_END_RESET || may_read(tls)) /* nothing is left that could be read */
        tell_end(tls, how == WEIR_END_CLEAN ? WEIR_END_TRUNCATED : how);
}

static void read_all(struct tls *tls)
{
    while (may_read(tls) && has_some(tls) && read_some(tls))
        ;
    look_at_end(tls);
    slice_queue_settle(&tls->incoming);
    tls_want_below(tls);
    tls_keep_below_reading(tls);
}

static void step_reading(struct mark *mark)
{
    struct tls *tls = CONTAINER(mark, struct tls, reading);
    if (tls->opened && tls->closing == TLS_OPEN)
        read_all(tls);
}

/* Not now: whoever grants is in the middle of something. */
static void read_soon(struct tls *tls)
{
    if (may_read(tls) && (has_some(tls) || tls->below_end))
        turn_mark(tls->worker->turn, TURN_CONNECTIONS, &tls->reading);
}

/* --- events of the carrier below */

static void on_data(void *user, uint64_t stream, const weir_slice *slice)
{
    struct tls *tls = user;
    (void)stream;
    tls->below_credit -= slice->length;
    slice_queue_push(&tls->incoming, *slice);
    if (tls->handshake)
        tls_handshake_step(tls);
    if (tls->opened)
        read_all(tls);
    else
        slice_queue_settle(&tls->incoming);
}

static void on_end(void *user, uint64_t stream, uint32_t how)
{
    struct tls *tls = user;
    (void)stream;
    tls->below_end = (uint8_t)(1 + how);
    if (tls->handshake)
        tls_handshake_end(tls, how);
    else if (tls->opened)
        read_all(tls);
}

/* One record of what is there. */
static void seal_record(struct tls *tls)
{
    weir_slice slices[SLICES_MOST];
    uint32_t count = slice_queue_peek(&tls->plain, slices, SLICES_MOST, TLS_RECORD_BYTES);
    const uint8_t *bytes = slices[0].bytes;
    size_t length = 0;
    weir_buffer *buffer = NULL;
    if (count > 1) {
        buffer = buffer_new(TLS_RECORD_BYTES);
        bytes = buffer->bytes;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (buffer)
            memcpy(buffer->bytes + length, slices[i].bytes, slices[i].length);
        length += slices[i].length;
    }
    ERR_clear_error();
    tls->broken |= SSL_write(tls->ssl, bytes, (int)length) != (int)length;
    buffer_release(buffer);
    slice_queue_drop(&tls->plain, length);
}

/* The last word. Without it the peer cannot tell our end from one that somebody else made. */
static void shut(struct tls *tls)
{
    tls->shut = true;
    ERR_clear_error();
    if (!tls->broken && SSL_shutdown(tls->ssl) < 0)
        ERR_clear_error();
}

/* Whether close_notify is due. */
static bool must_shut(const struct tls *tls)
{
    bool all = !tls->plain.count && !tls->want_produce;
    return !tls->shut && !tls->handshake &&
           ((tls->end_wanted && !tls->plain.count) || (tls->closing == TLS_FLUSHING && all));
}

static void seal(struct tls *tls, size_t room)
{
    while (tls->plain.count && tls->sealed.bytes < room && !tls->broken)
        seal_record(tls);
    if (tls->broken)
        slice_queue_drop(&tls->plain, tls->plain.bytes);
    else
        slice_queue_settle(&tls->plain);
    if (must_shut(tls))
        shut(tls);
}

static void pass_on(struct tls *tls)
{
    weir_slice slices[SLICES_MOST];
    bool last = tls->end_wanted && tls->shut;
    do {
        uint32_t count = slice_queue_peek(&tls->sealed, slices, SLICES_MOST, UINT64_MAX);
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < count; i++)
            bytes += slices[i].length;
        carrier_write(tls->below, 0, slices, count,
                      last && bytes == tls->sealed.bytes ? WEIR_END : 0);
        slice_queue_drop(&tls->sealed, bytes);
    } while (tls->sealed.count);
}

static void on_produce(void *user, uint64_t stream, size_t room)
{
    struct tls *tls = user;
    if (tls->opened && tls->want_produce && !tls->plain.count) {
        tls->want_produce = false;
        tls->carrier.events->produce(tls->carrier.user, stream, TLS_RECORD_BYTES);
    }
    seal(tls, room);
    pass_on(tls);
    if (tls->plain.count || (tls->want_produce && tls->opened))
        carrier_want_produce(tls->below, 0);
    read_soon(tls);
    tls_keep_below_reading(tls);
}

static void on_sent(void *user, uint64_t stream)
{
    struct tls *tls = user;
    if (tls->opened && tls->closing == TLS_OPEN && !tls->plain.count && !tls->sealed.count)
        tls->carrier.events->sent(tls->carrier.user, stream);
}

static void on_closed(void *user)
{
    struct tls *tls = user;
    if (tls->handshake)
        tls_handshake_closed(tls);
    else if (tls->opened)
        tls->carrier.events->closed(tls->carrier.user);
    tls_carrier_free(tls);
}

static const struct carrier_events events_below = {
    .data = on_data, .end = on_end, .produce = on_produce, .sent = on_sent, .closed = on_closed};

/* --- what the carrier above is asked */

void tls_want_below(struct tls *tls)
{
    if (tls->sealed.count)
        carrier_want_produce(tls->below, 0);
}

static void tls_open(struct carrier *carrier)
{
    struct tls *tls = of(carrier);
    tls->opened = true;
    tls->credit = WEIR_CREDIT;
    read_soon(tls);
}

static void tls_want_produce(struct carrier *carrier, uint64_t stream)
{
    struct tls *tls = of(carrier);
    tls->want_produce = true;
    if (!tls->plain.count)
        carrier_want_produce(tls->below, stream);
}

static void tls_write(struct carrier *carrier, uint64_t stream, const weir_slice *slices,
                      uint32_t count, uint32_t flags)
{
    struct tls *tls = of(carrier);
    (void)stream;
    for (uint32_t i = 0; i < count; i++)
        slice_queue_push(&tls->plain, slices[i]);
    tls->end_wanted |= (flags & WEIR_END) != 0;
}

static void tls_grant(struct carrier *carrier, uint64_t stream, size_t bytes)
{
    struct tls *tls = of(carrier);
    (void)stream;
    tls->credit += bytes;
    if (!tls->opened)
        return;
    read_soon(tls);
    tls_keep_below_reading(tls);
}

void tls_close_below(struct tls *tls, uint32_t how)
{
    bool flush = how == CARRIER_CLOSE_FLUSH || how == CARRIER_CLOSE_LINGER;
    tls->closing = flush ? TLS_FLUSHING : TLS_DROPPING;
    if (flush)
        carrier_want_produce(tls->below, 0); /* for close_notify, if for nothing else */
    carrier_close(tls->below, how);
}

static void tls_close(struct carrier *carrier, uint32_t how)
{
    struct tls *tls = of(carrier);
    bool flush = how == CARRIER_CLOSE_FLUSH || how == CARRIER_CLOSE_LINGER;
    if (tls->closing != TLS_OPEN && flush)
        return;
    tls_close_below(tls, how);
}

static const struct carrier_operations operations = {
    .open = tls_open,
    .want_produce = tls_want_produce,
    .write = tls_write,
    .grant = tls_grant,
    .close = tls_close,
};

void tls_carrier_init(struct tls *tls)
{
    tls->carrier.operations = &operations;
    tls->carrier.facts = tls->below->facts;
    mark_init(&tls->reading, step_reading);
    tls->below_credit = WEIR_CREDIT;
    carrier_open(tls->below, &events_below, tls);
}

void tls_carrier_free(struct tls *tls)
{
    turn_unmark(tls->worker->turn, TURN_CONNECTIONS, &tls->reading);
    slice_queue_deinit(&tls->incoming);
    slice_queue_deinit(&tls->plain);
    slice_queue_deinit(&tls->sealed);
    SSL_set_shutdown(tls->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); /* keeps its session */
    SSL_free(tls->ssl);
    tls_facts_free(tls);
    tls_context_drop(tls->context);
    memory_free(tls->target);
    memory_free(tls);
}

const struct tls_operations tls_operations = {
    .server_context = tls_server_context,
    .client_context = tls_client_context,
    .context_take = tls_context_take,
    .context_drop = tls_context_drop,
    .start = tls_start,
    .cancel = tls_cancel,
};
