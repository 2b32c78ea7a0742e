/* core/connection/channel.h - one leg of one exchange: what it received, what it may be sent
 *
 * The same on both legs and for every protocol. What the protocol delivers is stored here and marks
 * the owner; the owner's step takes it and calls the operations. The memory is the owner's. */
#ifndef CORE_CONNECTION_CHANNEL_H
#define CORE_CONNECTION_CHANNEL_H

#include <assert.h>
#include <stdbool.h>

#include "abi/protocol.h"
#include "core/base/buffer.h"
#include "core/base/list.h"
#include "core/connection/head.h"
#include "core/io/turn.h"

struct connection;

struct channel {
    weir_channel public;                       /* what the protocol sees */
    const weir_channel_operations *operations; /* NULL: not attached, or closed */
    struct connection *connection;             /* NULL: a local answer, or the connection is gone */
    struct link link;                          /* in the connection's list */
    bool detached; /* the connection is gone: its protocol has forgotten us */
    struct turn *turn;
    struct mark *owner;
    struct arena *arena; /* heads are copied there */

    /* What this leg received. */
    struct head *interim;         /* in order; the owner takes them off */
    struct head *head, *trailers; /* NULL: not yet, or none */
    struct slice_queue incoming;
    uint64_t owed; /* delivered, and not granted again yet */
    bool incoming_ended;
    weir_result incoming_error; /* it broke off; WEIR_OK: it did not */
    bool answered;              /* a head has come, interim or final */

    /* What this leg may be sent, and has been. */
    uint64_t credit;
    uint64_t left; /* of the bytes sent, since the owner last looked: gone for good */
    bool sent_end;

    uint64_t received_bytes, sent_bytes; /* of bodies and tunnels */
    weir_result failed;                  /* WEIR_OK: alive */
    bool unprocessed;                    /* of a failed server channel: provably never handled */
};

void channel_init(struct channel *channel, struct turn *turn, struct mark *owner,
                  struct arena *arena);

/* What a protocol, or whoever plays one (a local answer), reports. Stores and marks. */
void channel_deliver_head(struct channel *channel, const weir_head *head);
void channel_deliver_interim(struct channel *channel, const weir_head *head);
void channel_deliver_data(struct channel *channel, const weir_slice *slice, uint32_t flags);
/* Behind them stay those that a filter made before. */
void channel_deliver_trailers(struct channel *channel, const weir_field *fields, uint32_t count);
void channel_deliver_error(struct channel *channel, weir_result why);
void channel_granted(struct channel *channel, size_t bytes);
void channel_has_sent(struct channel *channel, size_t bytes);
void channel_fail(struct channel *channel, weir_result why, bool unprocessed);

/* The message that this leg sends. */
static inline bool channel_open(const struct channel *channel)
{
    return channel->operations && channel->failed == WEIR_OK;
}

static inline weir_result channel_head(struct channel *channel, const struct head *head,
                                       uint32_t flags)
{
    assert(!channel->sent_end);
    channel->sent_end = flags & WEIR_END;
    return channel->operations->head(&channel->public, &head->view, flags);
}

static inline void channel_interim(struct channel *channel, const struct head *head)
{
    channel->operations->interim(&channel->public, &head->view);
}

static inline void channel_data(struct channel *channel, const weir_slice *slices, uint32_t count,
                                uint64_t bytes, uint32_t flags)
{
    assert(!channel->sent_end && bytes <= channel->credit);
    channel->credit -= bytes;
    channel->sent_bytes += bytes;
    channel->sent_end = flags & WEIR_END;
    channel->operations->data(&channel->public, slices, count, flags);
}

static inline void channel_trailers(struct channel *channel, const struct head *trailers)
{
    assert(!channel->sent_end);
    channel->sent_end = true;
    channel->operations->trailers(&channel->public, trailers->fields, trailers->count);
}

/* The owner consumed that much of what was delivered. */
static inline void channel_grant(struct channel *channel, size_t bytes)
{
    channel->owed -= bytes;
    if (channel_open(channel))
        channel->operations->grant(&channel->public, bytes);
}

/* Of a leg that no protocol plays: whatever it is sent goes nowhere. */
extern const weir_channel_operations channel_to_nowhere;

/* Aborts honestly if it is not over, then lets go. The channel may be attached again. */
void channel_abort(struct channel *channel, weir_result why);
/* The other end of the leg is gone, and is not called any more: it fails. */
void channel_detach(struct channel *channel, weir_result why);
/* Both directions are over: lets go of the connection and of what was not taken. */
void channel_close(struct channel *channel);

#endif
