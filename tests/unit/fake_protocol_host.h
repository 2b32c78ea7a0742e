/* tests/unit/fake_protocol_host.h - a host for one connection of a protocol: plays core and carrier
 *
 * Whoever includes this defines CHECK(condition) first: what happens when the protocol breaks the
 * contract of abi/protocol.h. Checked always: credit is never exceeded in either direction and
 * never granted twice, nothing is delivered behind an end, no channel is used once it is gone,
 * produce() alone writes, nothing is called back into. What was received and written is kept byte
 * by byte. */
#ifndef TESTS_UNIT_FAKE_PROTOCOL_HOST_H
#define TESTS_UNIT_FAKE_PROTOCOL_HOST_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "abi/protocol.h"
#include "abi/services.h"
#include "core/base/buffer.h"
#include "core/connection/head.h"

#ifndef FAKE_CHANNELS_MOST
#define FAKE_CHANNELS_MOST 200
#endif
enum { FAKE_CHANNELS = FAKE_CHANNELS_MOST };

struct fake_bytes {
    char *bytes; /* with a NUL behind them; NULL: there was nothing yet */
    size_t length, capacity;
};

struct fake_channel {
    weir_channel public;
    bool open;                              /* the protocol may use it */
    struct head *head, *interim, *trailers; /* the last of each */
    uint32_t interims;
    struct fake_bytes body; /* what it received */
    size_t owed;            /* of that, not granted again */
    bool ended;
    weir_result error, failed;
    bool unprocessed;
    uint64_t credit;     /* what it may be sent */
    uint64_t sent, left; /* bodies; how much of that left */
    bool answering;      /* its head was sent */
    bool sent_end;
};

static struct fake {
    weir_connection public;
    const weir_protocol *protocol;
    const weir_channel_operations *operations;
    weir_limits limits;
    struct arena arena;
    _Alignas(8) uint8_t first_block[64]; /* of the arena */
    struct fake_channel channels[FAKE_CHANNELS];
    uint32_t begun; /* how many of them */
    int inside;     /* the protocol is being called */
    bool producing;
    bool shared;      /* several exchanges at a time: its channels have a state of their own */
    size_t owed_most; /* by one channel */
    uint64_t fed, carrier_credit;
    struct fake_bytes output; /* what was written */
    size_t unsent;            /* writes since sent() */
    bool wants, woken, half_closed;
    uint32_t deadline_ms;
    bool closing; /* close() was called */
    uint32_t close_how;
    weir_result close_why;
    bool authenticates; /* a filter judges credentials */
    bool judging;       /* authenticate() was called and is not answered */
    struct fake_bytes scheme, name, secret;
    uint32_t spare_changes;
    uint64_t now_ms;
    struct fake_bytes logged; /* the last line */
} fake;

static inline void fake_append(struct fake_bytes *to, const void *bytes, size_t count)
{
    if (to->length + count + 1 > to->capacity) {
        to->capacity = (to->length + count + 1) * 2;
        to->bytes = realloc(to->bytes, to->capacity);
        CHECK(to->bytes);
    }
    if (count)
        memcpy(to->bytes + to->length, bytes, count);
    to->length += count;
    to->bytes[to->length] = 0;
}

/* --- what the protocol calls */

static inline struct fake_channel *fake_of(weir_channel *public)
{
    struct fake_channel *channel = (struct fake_channel *)(void *)public;
    CHECK(channel >= fake.channels && channel < fake.channels + fake.begun);
    CHECK(channel->open);
    CHECK(fake.inside);
    return channel;
}

static inline void fake_is_ours(const weir_connection *public)
{
    CHECK(public == &fake.public);
    CHECK(fake.inside);
}

static inline void fake_want_produce(weir_connection *public, uint64_t stream)
{
    fake_is_ours(public);
    CHECK(stream == 0);
    fake.wants = true;
}

static inline void fake_write(weir_connection *public, uint64_t stream, const weir_slice *slices,
                              uint32_t count, uint32_t flags)
{
    fake_is_ours(public);
    CHECK(fake.producing && stream == 0);
    CHECK(!fake.half_closed || !count);
    for (uint32_t i = 0; i < count; i++) {
        CHECK(slices[i].length);
        fake_append(&fake.output, slices[i].bytes, slices[i].length);
        fake.unsent += slices[i].length;
    }
    fake.half_closed |= (flags & WEIR_END) != 0;
}

static inline void fake_carrier_grant(weir_connection *public, uint64_t stream, size_t bytes)
{
    fake_is_ours(public);
    CHECK(stream == 0);
    fake.carrier_credit += bytes;
    CHECK(fake.carrier_credit <= WEIR_CREDIT); /* no byte is granted twice */
}

static inline void fake_close(weir_connection *public, uint32_t how, weir_result why)
{
    fake_is_ours(public);
    CHECK(how <= WEIR_CLOSE_RESET);
    if (fake.closing)
        return;
    fake.closing = true;
    fake.close_how = how;
    fake.close_why = why;
    for (uint32_t i = 0; i < fake.begun; i++)
        if (fake.channels[i].open) {
            fake.channels[i].open = false;
            if (fake.channels[i].failed == WEIR_OK)
                fake.channels[i].failed = why;
        }
}

static inline void fake_wake(weir_connection *public)
{
    fake_is_ours(public);
    fake.woken = true;
}

static inline void fake_deadline(weir_connection *public, uint32_t milliseconds)
{
    fake_is_ours(public);
    fake.deadline_ms = milliseconds;
}

static inline struct fake_channel *fake_new_channel(void)
{
    CHECK(fake.begun < FAKE_CHANNELS && !fake.closing);
    struct fake_channel *channel = &fake.channels[fake.begun++];
    channel->public.connection = &fake.public;
    if (fake.shared)
        channel->public.state = calloc(1, fake.operations->channel_state_size);
    channel->open = true;
    return channel;
}

static inline void fake_receive_head(struct fake_channel *channel, const weir_head *head)
{
    CHECK(head->size == sizeof *head && !channel->head && !channel->ended);
    CHECK(head->kind != WEIR_TUNNEL || head->content_length == -1);
    channel->head = head_copy(&fake.arena, head);
    channel->ended = head->flags & WEIR_END;
}

static inline weir_channel *fake_begin(weir_connection *public, const weir_head *head)
{
    fake_is_ours(public);
    for (uint32_t i = 0; i < fake.begun; i++)
        CHECK(!fake.channels[i].open || fake.shared);
    struct fake_channel *channel = fake_new_channel();
    fake_receive_head(channel, head);
    return &channel->public;
}

static inline void fake_deliver_interim(weir_channel *public, const weir_head *head)
{
    struct fake_channel *channel = fake_of(public);
    CHECK(!channel->head && head->status >= 100 && head->status < 200);
    channel->interim = head_copy(&fake.arena, head);
    channel->interims++;
}

static inline void fake_deliver_head(weir_channel *public, const weir_head *head)
{
    fake_receive_head(fake_of(public), head);
}

static inline void fake_deliver_data(weir_channel *public, const weir_slice *slice, uint32_t flags)
{
    struct fake_channel *channel = fake_of(public);
    CHECK(channel->head && !channel->ended && channel->error == WEIR_OK);
    CHECK(slice->length || flags & WEIR_END);
    fake_append(&channel->body, slice->bytes, slice->length);
    channel->owed += slice->length;
    CHECK(channel->owed <= fake.owed_most); /* what was granted for what it delivers */
    channel->ended = flags & WEIR_END;
}

static inline void fake_deliver_trailers(weir_channel *public, const weir_field *fields,
                                         uint32_t count)
{
    struct fake_channel *channel = fake_of(public);
    CHECK(channel->head && !channel->ended && count);
    channel->trailers = head_copy(
        &fake.arena, &(weir_head){.size = sizeof(weir_head), .fields = fields, .count = count});
    channel->ended = true;
}

static inline void fake_deliver_error(weir_channel *public, weir_result why)
{
    struct fake_channel *channel = fake_of(public);
    CHECK(why < 0 && channel->error == WEIR_OK && !channel->ended);
    channel->error = why;
}

static inline void fake_grant(weir_channel *public, size_t bytes)
{
    struct fake_channel *channel = fake_of(public);
    CHECK(bytes);
    channel->credit += bytes;
    CHECK(channel->credit <= WEIR_CREDIT);
}

static inline void fake_report_sent(weir_channel *public, size_t bytes)
{
    struct fake_channel *channel = fake_of(public);
    CHECK(bytes);
    channel->left += bytes;
    CHECK(channel->left <= channel->sent);
}

static inline void fake_fail(weir_channel *public, weir_result why, uint32_t unprocessed)
{
    struct fake_channel *channel = fake_of(public);
    CHECK(why < 0);
    if (channel->failed != WEIR_OK)
        return;
    channel->failed = why;
    channel->unprocessed = unprocessed;
}

static inline uint32_t fake_authenticates(const weir_connection *public)
{
    fake_is_ours(public);
    return fake.authenticates;
}

static inline void fake_take_text(struct fake_bytes *to, weir_string text)
{
    to->length = 0;
    fake_append(to, text.bytes, text.length);
}

static inline void fake_authenticate(weir_connection *public, const weir_credentials *credentials)
{
    fake_is_ours(public);
    CHECK(credentials->size == sizeof *credentials && !fake.judging && fake.authenticates);
    fake.judging = true;
    fake_take_text(&fake.scheme, credentials->scheme);
    fake_take_text(&fake.name, credentials->name);
    fake_take_text(&fake.secret, credentials->secret);
}

static inline void fake_spare_changed(weir_connection *public)
{
    fake_is_ours(public);
    fake.spare_changes++;
}

static inline uint64_t fake_now_ms(void)
{
    return fake.now_ms;
}

static inline const void *fake_query(const weir_host *host, const char *name)
{
    static const weir_protocol_host table = {
        .size = sizeof table,
        .want_produce = fake_want_produce,
        .write = fake_write,
        .carrier_grant = fake_carrier_grant,
        .close = fake_close,
        .wake = fake_wake,
        .deadline = fake_deadline,
        .begin = fake_begin,
        .deliver_interim = fake_deliver_interim,
        .deliver_head = fake_deliver_head,
        .deliver_data = fake_deliver_data,
        .deliver_trailers = fake_deliver_trailers,
        .deliver_error = fake_deliver_error,
        .grant = fake_grant,
        .sent = fake_report_sent,
        .fail = fake_fail,
        .authenticates = fake_authenticates,
        .authenticate = fake_authenticate,
        .spare_changed = fake_spare_changed,
    };
    static const weir_asynchronous_host asynchronous = {.size = sizeof asynchronous,
                                                        .now_ms = fake_now_ms};
    if (!strcmp(name, "weir.asynchronous/0"))
        return &asynchronous;
    return !strcmp(name, "weir.protocol/0") ? &table : NULL;
}

static const weir_protocol *fake_registered; /* by a plugin's load() */

static inline weir_result fake_register_protocol(const weir_host *host,
                                                 const weir_protocol *protocol)
{
    fake_registered = protocol;
    return WEIR_OK;
}

static inline weir_buffer *fake_buffer_new(size_t capacity, uint8_t **bytes)
{
    weir_buffer *buffer = buffer_new(capacity);
    *bytes = buffer->bytes;
    return buffer;
}

static inline void fake_buffer_reference(weir_buffer *buffer)
{
    buffer_reference(buffer);
}

static inline void fake_buffer_release(weir_buffer *buffer)
{
    buffer_release(buffer);
}

static inline void fake_log(const weir_host *host, uint32_t level, weir_string line)
{
    (void)host, (void)level;
    fake_take_text(&fake.logged, line);
}

static inline const weir_host *fake_host(void)
{
    static const uint8_t not_tracing;
    static const weir_host host = {
        .size = sizeof host,
        .query = fake_query,
        .buffer_new = fake_buffer_new,
        .buffer_reference = fake_buffer_reference,
        .buffer_release = fake_buffer_release,
        .tracing = &not_tracing,
        .log = fake_log,
        .register_protocol = fake_register_protocol,
    };
    return &host;
}

/* --- the carrier: what happens to the connection */

static inline void fake_open_protocol(const weir_protocol *protocol, uint32_t side)
{
    memset(&fake, 0, sizeof fake);
    fake.now_ms = 1000;
    fake.limits = (weir_limits){.size = sizeof fake.limits,
                                .request_line_bytes = 8192,
                                .header_bytes = 65536,
                                .header_fields = 128,
                                .head_ms = 10000,
                                .idle_ms = 70000,
                                .streams = 100,
                                .resets = 1000,
                                .control_frames = 10000};
    fake.protocol = protocol;
    fake.operations = side == WEIR_CLIENT_SIDE ? fake.protocol->client : fake.protocol->server;
    fake.public.state = calloc(1, fake.protocol->connection->connection_state_size);
    fake.public.limits = &fake.limits;
    fake.public.side = side;
    fake.carrier_credit = WEIR_CREDIT;
    CHECK(fake.public.state);
    fake.owed_most = WEIR_CREDIT;
    fake.shared = fake.operations->channel_state_size != 0;
    arena_init(&fake.arena, fake.first_block, sizeof fake.first_block);
    fake.inside++;
    fake.protocol->connection->open(&fake.public);
    fake.inside--;
}

static inline size_t fake_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The bytes come, in buffers of just their size, at most so many at a time and as far as the credit
 * reaches. Returns how many came. */
static inline size_t fake_feed(const char *bytes, size_t count, size_t piece)
{
    size_t done = 0;
    while (done < count && fake.carrier_credit && !fake.closing) {
        size_t length = fake_least(fake_least(count - done, piece), fake.carrier_credit);
        weir_buffer *buffer = buffer_new(length);
        weir_slice slice = {buffer->bytes + buffer->capacity - length, length, buffer};
        memcpy(buffer->bytes + buffer->capacity - length, bytes + done, length);
        fake.fed += length;
        fake.carrier_credit -= length;
        fake.inside++;
        fake.protocol->connection->data(&fake.public, 0, &slice);
        fake.inside--;
        buffer_release(buffer);
        done += length;
    }
    return done;
}

static inline void fake_end(uint32_t how)
{
    if (fake.closing)
        return;
    fake.inside++;
    fake.protocol->connection->end(&fake.public, 0, how);
    fake.inside--;
}

/* Also while closing, but with WEIR_CLOSE_NOW. */
static inline void fake_produce(void)
{
    if (!fake.wants || (fake.closing && fake.close_how == WEIR_CLOSE_NOW))
        return;
    fake.wants = false;
    fake.inside++;
    fake.producing = true;
    fake.protocol->connection->produce(&fake.public, 0, 65536);
    fake.producing = false;
    fake.inside--;
}

static inline void fake_sent(void)
{
    if (fake.closing || !fake.unsent)
        return;
    fake.unsent = 0;
    fake.inside++;
    fake.protocol->connection->sent(&fake.public, 0);
    fake.inside--;
}

static inline void fake_step(void)
{
    if (!fake.woken || fake.closing)
        return;
    fake.woken = false;
    fake.inside++;
    fake.protocol->connection->wake(&fake.public);
    fake.inside--;
}

static inline void fake_timeout(void)
{
    if (!fake.deadline_ms || fake.closing)
        return;
    fake.deadline_ms = 0;
    fake.inside++;
    fake.protocol->connection->timeout(&fake.public);
    fake.inside--;
}

static inline void fake_drain(void)
{
    if (fake.closing)
        return;
    fake.public.draining = 1;
    fake.inside++;
    fake.protocol->connection->drain(&fake.public);
    fake.inside--;
}

/* The answer to authenticate(). */
static inline void fake_authenticated(weir_result result)
{
    CHECK(fake.judging);
    fake.judging = false;
    if (fake.closing)
        return;
    fake.inside++;
    fake.protocol->connection->authenticated(&fake.public, result);
    fake.inside--;
}

/* Everything that is due. */
static inline void fake_turn(void)
{
    fake_step();
    fake_produce();
    fake_sent();
}

/* --- core: what happens to a channel */

static inline struct fake_channel *fake_attach(void)
{
    struct fake_channel *channel = fake_new_channel();
    fake.inside++;
    channel->credit = fake.operations->attach(&channel->public);
    fake.inside--;
    CHECK(channel->credit <= WEIR_CREDIT);
    return channel;
}

static inline uint32_t fake_spare(void)
{
    return fake.closing ? 0 : fake.operations->spare(&fake.public);
}

static inline weir_result fake_send_head(struct fake_channel *channel, const weir_head *head,
                                         uint32_t flags)
{
    CHECK(channel->open && !channel->answering);
    CHECK(head->kind != WEIR_TUNNEL || head->content_length == -1);
    channel->answering = true;
    channel->sent_end = flags & WEIR_END;
    fake.inside++;
    weir_result rc = fake.operations->head(&channel->public, head, flags);
    fake.inside--;
    return rc;
}

static inline weir_result fake_send_interim(struct fake_channel *channel, const weir_head *head)
{
    fake.inside++;
    weir_result rc = fake.operations->interim(&channel->public, head);
    fake.inside--;
    return rc;
}

/* Sends as much as the credit allows, in one slice; the flags with the last byte. Returns how much.
 */
static inline size_t fake_send(struct fake_channel *channel, const char *bytes, size_t count,
                               uint32_t flags)
{
    size_t length = fake_least(count, channel->credit);
    weir_buffer *buffer = buffer_new(length);
    weir_slice slice = {buffer->bytes, length, buffer};
    CHECK(channel->open && !channel->sent_end);
    if (length)
        memcpy(buffer->bytes, bytes, length);
    channel->credit -= length;
    channel->sent += length;
    flags = length < count ? 0 : flags;
    channel->sent_end = flags & WEIR_END;
    if (length || flags & WEIR_END) {
        fake.inside++;
        fake.operations->data(&channel->public, &slice, length ? 1 : 0, flags);
        fake.inside--;
    }
    buffer_release(buffer);
    return length;
}

static inline void fake_send_trailers(struct fake_channel *channel, const weir_field *fields,
                                      uint32_t count)
{
    CHECK(channel->open && !channel->sent_end);
    channel->sent_end = true;
    fake.inside++;
    fake.operations->trailers(&channel->public, fields, count);
    fake.inside--;
}

/* Core has consumed that much of what was delivered. */
static inline void fake_consume(struct fake_channel *channel, size_t bytes)
{
    CHECK(bytes <= channel->owed);
    channel->owed -= bytes;
    if (!bytes || !channel->open)
        return;
    fake.inside++;
    fake.operations->grant(&channel->public, bytes);
    fake.inside--;
}

static inline void fake_let_go(struct fake_channel *channel)
{
    if (!channel->open)
        return;
    fake_consume(channel, channel->owed);
    fake.inside++;
    fake.operations->close(&channel->public);
    fake.inside--;
    channel->open = false;
}

static inline void fake_reset(struct fake_channel *channel, weir_result why)
{
    if (!channel->open)
        return;
    fake.inside++;
    fake.operations->reset(&channel->public, why);
    fake.inside--;
    fake_let_go(channel);
}

/* --- the end of it all */

static inline void fake_gone(void)
{
    fake.inside++;
    fake.protocol->connection->close(&fake.public);
    fake.inside--;
    for (uint32_t i = 0; i < fake.begun; i++) {
        free(fake.channels[i].body.bytes);
        free(fake.channels[i].public.state);
    }
    free(fake.output.bytes);
    free(fake.scheme.bytes);
    free(fake.name.bytes);
    free(fake.secret.bytes);
    free(fake.logged.bytes);
    free(fake.public.state);
    arena_deinit(&fake.arena);
    arena_pool_deinit();
    buffer_pool_deinit();
}

#endif
