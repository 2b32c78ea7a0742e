/* core/connection/channel.c - one leg of one exchange: what it received, what it may be sent */
#include "core/connection/channel.h"

#include <string.h>

void channel_init(struct channel *channel, struct turn *turn, struct mark *owner,
                  struct arena *arena)
{
    memset(channel, 0, sizeof *channel);
    link_init(&channel->link);
    channel->turn = turn;
    channel->owner = owner;
    channel->arena = arena;
}

static void mark_owner(struct channel *channel)
{
    turn_mark(channel->turn, TURN_EXCHANGES, channel->owner);
}

void channel_deliver_head(struct channel *channel, const weir_head *head)
{
    channel->head = head_copy(channel->arena, head);
    channel->answered = true;
    if (head->flags & WEIR_END)
        channel->incoming_ended = true;
    mark_owner(channel);
}

void channel_deliver_interim(struct channel *channel, const weir_head *head)
{
    struct head **last = &channel->interim;
    while (*last)
        last = &(*last)->next;
    *last = head_copy(channel->arena, head);
    channel->answered = true;
    mark_owner(channel);
}

void channel_deliver_data(struct channel *channel, const weir_slice *slice, uint32_t flags)
{
    slice_queue_push(&channel->incoming, *slice);
    channel->received_bytes += slice->length;
    channel->owed += slice->length;
    if (flags & WEIR_END)
        channel->incoming_ended = true;
    mark_owner(channel);
}

void channel_deliver_trailers(struct channel *channel, const weir_field *fields, uint32_t count)
{
    struct head *before = channel->trailers;
    channel->trailers = head_copy(
        channel->arena, &(weir_head){.size = sizeof(weir_head), .fields = fields, .count = count});
    for (uint32_t i = 0; before && i < before->count; i++)
        head_append(channel->trailers, before->fields[i].name, before->fields[i].value);
    if (before)
        channel->trailers->added = before->added;
    channel->incoming_ended = true;
    mark_owner(channel);
}

void channel_deliver_error(struct channel *channel, weir_result why)
{
    channel->incoming_error = why;
    mark_owner(channel);
}

void channel_granted(struct channel *channel, size_t bytes)
{
    channel->credit += bytes;
    mark_owner(channel);
}

void channel_has_sent(struct channel *channel, size_t bytes)
{
    channel->left += bytes;
    mark_owner(channel);
}

void channel_fail(struct channel *channel, weir_result why, bool unprocessed)
{
    if (channel->failed != WEIR_OK)
        return;
    channel->failed = why;
    channel->unprocessed = unprocessed;
    mark_owner(channel);
}

void channel_detach(struct channel *channel, weir_result why)
{
    link_remove(&channel->link);
    channel->connection = NULL;
    channel->detached = true;
    channel_fail(channel, why, false);
}

void channel_abort(struct channel *channel, weir_result why)
{
    if (channel_open(channel))
        channel->operations->reset(&channel->public, why);
    channel_close(channel);
}

void channel_close(struct channel *channel)
{
    const weir_channel_operations *operations = channel->operations;
    if (channel->owed) /* taken or dropped: the connection may go on */
        channel_grant(channel, (size_t)channel->owed);
    link_remove(&channel->link);
    slice_queue_deinit(&channel->incoming);
    if (operations && !channel->detached)
        operations->close(&channel->public);
    channel->operations = NULL;
    channel->connection = NULL;
    channel->public.connection = NULL;
}

/* --- a leg that no protocol plays */

static weir_result nowhere_head(weir_channel *channel, const weir_head *head, uint32_t flags)
{
    (void)channel, (void)head, (void)flags;
    return WEIR_OK;
}

static void nowhere_data(weir_channel *channel, const weir_slice *slices, uint32_t count,
                         uint32_t flags)
{
    (void)channel, (void)slices, (void)count, (void)flags;
}

static void nowhere_reset(weir_channel *channel, weir_result why)
{
    (void)channel, (void)why;
}

static void nowhere_grant(weir_channel *channel, size_t bytes)
{
    (void)channel, (void)bytes;
}

static void nowhere_close(weir_channel *channel)
{
    (void)channel;
}

const weir_channel_operations channel_to_nowhere = {
    .size = sizeof channel_to_nowhere,
    .head = nowhere_head,
    .data = nowhere_data,
    .reset = nowhere_reset,
    .grant = nowhere_grant,
    .close = nowhere_close,
};
