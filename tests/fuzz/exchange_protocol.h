/* tests/fuzz/exchange_protocol.h - the protocols of exchange.c: they parse nothing and check all
 *
 * Included once. A leg knows what it has delivered and what it was sent; whatever core asks of it
 * that breaks the contract of abi/protocol.h ends the play. */
#ifndef TESTS_FUZZ_EXCHANGE_PROTOCOL_H
#define TESTS_FUZZ_EXCHANGE_PROTOCOL_H

#include "tests/fuzz/exchange_stage.h"

/* --- what legs deliver and are sent */

enum { PERIOD = 65521 }; /* the largest prime that fits: no shift by a power of two looks right */

/* What a leg delivers, PERIOD bytes that begin anew and anew; each leg begins elsewhere. */
static const uint8_t *bytes_of(const struct leg *leg, uint64_t position, uint64_t *run)
{
    static uint8_t bytes[PERIOD];
    if (!bytes[1])
        for (uint32_t i = 0; i < PERIOD; i++)
            bytes[i] = (uint8_t)(i * 13 + (i >> 8));
    uint64_t at = (position + (uint64_t)(leg - play.legs) * 499) % PERIOD;
    *run = PERIOD - at;
    return bytes + at;
}

static weir_slice take_bytes(const struct leg *leg, uint64_t bytes)
{
    weir_buffer *buffer = buffer_new(bytes);
    for (uint64_t done = 0, run; done < bytes; done += run) {
        const uint8_t *some = bytes_of(leg, leg->delivered + done, &run);
        run = run < bytes - done ? run : bytes - done;
        memcpy(buffer->bytes + done, some, run);
    }
    return (weir_slice){buffer->bytes, bytes, buffer};
}

static bool holds_bytes_of(const struct leg *leg, uint64_t position, const weir_slice *slice)
{
    for (uint64_t done = 0, run; done < slice->length; done += run) {
        const uint8_t *some = bytes_of(leg, position + done, &run);
        run = run < slice->length - done ? run : slice->length - done;
        if (memcmp(slice->bytes + done, some, run) != 0)
            return false;
    }
    return true;
}

static struct leg *new_leg(struct peer *peer)
{
    struct leg *leg = &play.legs[play.leg_count++];
    must(play.leg_count <= LEGS_MOST);
    leg->peer = peer;
    leg->server = peer->server;
    leg->credit = in_mood(MOOD_SMALL_CREDIT) ? 1024 : WEIR_CREDIT;
    peer->open_legs++;
    return leg;
}

static void join_channel(struct leg *leg, weir_channel *channel)
{
    leg->channel = channel;
    *(struct leg **)channel->state = leg;
}

static struct leg *leg_of(weir_channel *channel)
{
    struct leg *leg = *(struct leg **)channel->state;
    must(leg->channel == channel && !leg->peer->closed);
    return leg;
}

/* Core may send something: the message has begun and has not ended, the leg lives. */
static struct leg *sending(weir_channel *channel)
{
    struct leg *leg = leg_of(channel);
    must(!leg->failed && !leg->reset && !leg->sent_end);
    return leg;
}

static void let_go(struct leg *leg)
{
    leg->channel = NULL;
    leg->peer->open_legs--;
    if (!leg->server)
        leg->story->over = true;
}

/* The legs of a connection that closes fail, and are gone for its protocol. */
static void detach(struct leg *leg, weir_result why)
{
    if (!leg->failed)
        leg->why = why;
    leg->failed = true;
    let_go(leg);
}

static void close_peer(struct peer *peer, uint32_t how, weir_result why)
{
    if (peer->closed)
        return;
    api->close(peer->connection, how, why);
    peer->closed = true;
    for (uint32_t i = 0; i < play.leg_count; i++)
        if (play.legs[i].peer == peer && play.legs[i].channel)
            detach(&play.legs[i], why);
}

static void fail(struct leg *leg, weir_result why, bool unprocessed)
{
    leg->failed = true;
    leg->why = why;
    leg->unprocessed = unprocessed;
    api->fail(leg->channel, why, unprocessed);
}

static void bytes_leave(struct leg *leg, uint64_t most)
{
    uint64_t bytes = leg->position - leg->left;
    if (bytes > most)
        bytes = most;
    if (!bytes)
        return;
    leg->left += bytes;
    leg->credit += bytes;
    api->sent(leg->channel, bytes);
    api->grant(leg->channel, bytes);
}

static const struct deeds *deeds_to(const struct leg *leg)
{
    return &leg->story->deeds[leg->server ? WEIR_REQUEST_DIRECTION : WEIR_RESPONSE_DIRECTION];
}

static void must_be_whole_answer(const struct leg *leg)
{
    const struct deeds *deeds = deeds_to(leg);
    if (leg->streams)
        must(leg->story->stream_ended || deeds->ended);
    else if (!deeds->changed && !deeds->ended)
        must(leg->own_length < 0 ? play.meddling : leg->position == (uint64_t)leg->own_length);
}

/* The message that this leg is sent looks whole to the peer: it must be. */
static void must_be_whole(const struct leg *leg)
{
    const struct leg *source = leg->server ? leg->story->client : leg->source;
    const struct deeds *deeds = deeds_to(leg);
    if (!source) {
        must_be_whole_answer(leg);
    } else if (!deeds->ended) {
        must(source->ended && !source->broken);
        must(deeds->changed || leg->position == source->delivered);
        must(deeds->trailed || leg->sent_trailers == source->trailers);
    }
}

static void end_here(struct leg *leg)
{
    leg->sent_end = true;
    must_be_whole(leg);
}

static bool may_deliver(const struct leg *leg)
{
    return leg && leg->head && !leg->ended && !leg->broken;
}

static void deliver_data(struct leg *leg, uint64_t bytes, bool end)
{
    uint64_t room = WEIR_CREDIT - (leg->delivered - leg->granted);
    must(leg->delivered - leg->granted <= WEIR_CREDIT);
    weir_slice slice = take_bytes(leg, bytes < room ? bytes : room);
    leg->ended = end;
    leg->delivered += slice.length;
    api->deliver_data(leg->channel, &slice, end ? WEIR_END : 0);
    buffer_release(slice.owner);
}

static void deliver_trailers(struct leg *leg)
{
    weir_field field = {WEIR_STRING("X-Trailer"), WEIR_STRING("1")};
    leg->trailers = leg->ended = true;
    api->deliver_trailers(leg->channel, &field, 1);
}

static void deliver_head(struct leg *leg, uint32_t status, uint32_t kind, uint32_t flags,
                         const char *type)
{
    char number = (char)(leg - play.legs);
    weir_field fields[] = {{WEIR_STRING("X-Leg"), {&number, 1}},
                           {WEIR_STRING("Content-Type"), string_of(type ? type : "text/plain")}};
    weir_head head = {.size = sizeof head,
                      .kind = kind,
                      .flags = flags,
                      .status = status,
                      .version = WEIR_STRING("1.1"),
                      .reason = WEIR_STRING("Some"),
                      .protocol = kind == WEIR_TUNNEL ? WEIR_STRING("websocket") : WEIR_STRING(""),
                      .fields = fields,
                      .count = 2,
                      .content_length = -1};
    leg->answered = true;
    if (status < 200 && kind != WEIR_TUNNEL) {
        api->deliver_interim(leg->channel, &head);
        return;
    }
    leg->head = true;
    leg->ended = flags & WEIR_END;
    api->deliver_head(leg->channel, &head);
}

/* --- channel operations */

/* The leg that the message came from, as a field of its head says; NULL: nobody's but weir's. */
static struct leg *origin_of(const weir_head *head)
{
    for (uint32_t i = 0; i < head->count; i++)
        if (string_equal(head->fields[i].name, WEIR_STRING("X-Leg")))
            return &play.legs[(uint8_t)head->fields[i].value.bytes[0]];
    return NULL;
}

static bool has_field(const weir_head *head, weir_string name)
{
    for (uint32_t i = 0; i < head->count; i++)
        if (string_equal(head->fields[i].name, name))
            return true;
    return false;
}

static size_t server_attach(weir_channel *channel)
{
    struct peer *peer = *(struct peer **)channel->connection->state;
    must(peer->server && !peer->closed && !peer->open_legs);
    bool reused = false;
    for (uint32_t i = 0; i < play.leg_count; i++)
        reused |= play.legs[i].peer == peer;
    struct leg *leg = new_leg(peer);
    leg->reused = reused;
    join_channel(leg, channel);
    return leg->credit;
}

/* What RFC 9110 9.2.2 allows, and weir promises: nothing is done twice. */
static void must_be_repeatable(const struct story *story)
{
    const struct leg *before = story->server;
    if (!before)
        return;
    must(before->failed && !before->answered && !before->position);
    must(before->unprocessed ||
         (before->reused && story->idempotent && before->why == WEIR_CONNECTION_TERMINATED));
}

static weir_result refuse(struct leg *leg)
{
    leg->failed = leg->unprocessed = true; /* core takes the leg for dead */
    leg->why = WEIR_REFUSED;
    return WEIR_REFUSED;
}

static weir_result server_head(weir_channel *channel, const weir_head *head, uint32_t flags)
{
    struct leg *leg = sending(channel);
    struct leg *client = origin_of(head);
    must(client && !leg->sent_head && head->kind != WEIR_MALFORMED_REQUEST);
    leg->story = client->story;
    must_be_repeatable(leg->story);
    must(++leg->story->attempts <= TRIES_MOST);
    leg->story->server = leg;
    leg->sent_head = true;
    if (in_mood(MOOD_REFUSE_HEAD))
        return refuse(leg);
    if (flags & WEIR_END)
        end_here(leg);
    if (in_mood(MOOD_FAIL_IN_HEAD))
        fail(leg, WEIR_CONNECTION_TERMINATED, false);
    else if (leg->peer->raw && in_mood(MOOD_ANSWER_IN_HEAD))
        deliver_head(leg, 200, WEIR_TUNNEL, 0, NULL);
    return WEIR_OK;
}

static weir_result client_head(weir_channel *channel, const weir_head *head, uint32_t flags)
{
    struct leg *leg = sending(channel);
    must(!leg->sent_head && head->status >= 101 && head->status <= 599);
    leg->sent_head = true;
    leg->source = origin_of(head);
    leg->own_length = head->content_length;
    leg->streams = has_field(head, WEIR_STRING("X-Stream"));
    must(!leg->source || leg->source == leg->story->server);
    if (flags & WEIR_END)
        end_here(leg);
    if (in_mood(MOOD_FAIL_IN_HEAD))
        fail(leg, WEIR_RESET, false);
    return WEIR_OK;
}

static weir_result channel_said(weir_channel *channel, const weir_head *head)
{
    struct leg *leg = sending(channel);
    must(!leg->server && !leg->sent_head && head->status >= 100 && head->status <= 199);
    return WEIR_OK;
}

/* Own answers are weir's words; whatever else comes is a peer's, in its order. */
static void check_bytes(struct leg *leg, const weir_slice *slice)
{
    const struct leg *source = leg->server ? leg->story->client : leg->source;
    must(!source || deeds_to(leg)->changed || holds_bytes_of(source, leg->position, slice));
    leg->position += slice->length;
}

static void channel_sent(weir_channel *channel, const weir_slice *slices, uint32_t count,
                         uint32_t flags)
{
    struct leg *leg = sending(channel);
    uint64_t before = leg->position;
    must(leg->sent_head && (count || (flags & WEIR_END)));
    for (uint32_t i = 0; i < count; i++)
        check_bytes(leg, &slices[i]);
    must(leg->position - before <= leg->credit);
    leg->credit -= leg->position - before;
    if (flags & WEIR_END)
        end_here(leg);
    if (in_mood(MOOD_FAIL_IN_DATA))
        fail(leg, WEIR_INTERNAL, false);
    else if (in_mood(MOOD_LEAVES_AT_ONCE))
        bytes_leave(leg, UINT64_MAX);
}

static void channel_trailed(weir_channel *channel, const weir_field *fields, uint32_t count)
{
    struct leg *leg = sending(channel);
    must(leg->sent_head);
    if (!deeds_to(leg)->trailed)
        must(count == 1 && string_equal(fields[0].name, WEIR_STRING("X-Trailer")));
    leg->sent_trailers = true;
    end_here(leg);
}

static void channel_was_reset(weir_channel *channel, weir_result why)
{
    struct leg *leg = leg_of(channel);
    must(!leg->failed && !leg->reset && why != WEIR_OK);
    leg->reset = true;
    if (in_mood(MOOD_RESET_CLOSES))
        close_peer(leg->peer, WEIR_CLOSE_RESET, why);
}

/* What the other leg of the exchange is sent has left so far. */
static uint64_t passed_on(const struct leg *leg)
{
    const struct leg *sink = leg->server ? leg->story->client : leg->story->server;
    return sink ? sink->left : 0;
}

static void channel_granted_back(weir_channel *channel, size_t bytes)
{
    struct leg *leg = leg_of(channel);
    must(!leg->failed && leg->granted + bytes <= leg->delivered);
    leg->granted += bytes;
    bool loose =
        leg->story->deeds[leg->server ? WEIR_RESPONSE_DIRECTION : WEIR_REQUEST_DIRECTION].loose;
    leg->paid_ahead = !loose && leg->granted > passed_on(leg);
}

/* Without a reset only a whole answer may be behind. All that was delivered was paid back. */
static void channel_was_closed(weir_channel *channel)
{
    struct leg *leg = leg_of(channel);
    struct peer *peer = leg->peer;
    if (!leg->failed) {
        must(leg->reset || (leg->server ? leg->ended || !leg->sent_head : leg->sent_end));
        must(leg->granted == leg->delivered);
    }
    let_go(leg);
    if (peer->raw || in_mood(MOOD_CLOSE_CLOSES))
        close_peer(peer, WEIR_CLOSE_FLUSH, peer->open_legs ? WEIR_RESET : WEIR_OK);
}

static uint32_t connection_room(const weir_connection *connection)
{
    const struct peer *peer = *(struct peer **)connection->state;
    must(!peer->closed);
    return !peer->open_legs && !peer->raw;
}

static const weir_channel_operations client_operations = {
    .size = sizeof client_operations,
    .channel_state_size = sizeof(struct leg *),
    .head = client_head,
    .interim = channel_said,
    .data = channel_sent,
    .trailers = channel_trailed,
    .reset = channel_was_reset,
    .grant = channel_granted_back,
    .close = channel_was_closed,
};

static const weir_channel_operations server_operations = {
    .size = sizeof server_operations,
    .channel_state_size = sizeof(struct leg *),
    .attach = server_attach,
    .head = server_head,
    .interim = channel_said,
    .data = channel_sent,
    .trailers = channel_trailed,
    .reset = channel_was_reset,
    .grant = channel_granted_back,
    .close = channel_was_closed,
    .spare = connection_room,
};

/* --- connection operations */

static void peer_opens(weir_connection *connection, bool raw)
{
    struct peer *peer = &play.peers[play.peer_count++];
    must(play.peer_count <= PEERS_MOST);
    peer->connection = connection;
    peer->server = connection->side == WEIR_SERVER_SIDE;
    peer->raw = raw;
    *(struct peer **)connection->state = peer;
}

static void http_opens(weir_connection *connection)
{
    peer_opens(connection, false);
}

static void raw_opens(weir_connection *connection)
{
    peer_opens(connection, true);
}

static void peer_is_gone(weir_connection *connection)
{
    struct peer *peer = *(struct peer **)connection->state;
    must(peer->connection == connection && !peer->open_legs);
    peer->connection = NULL;
    peer->closed = true;
}

static const weir_connection_operations http_connection = {
    .size = sizeof http_connection,
    .connection_state_size = sizeof(struct peer *),
    .open = http_opens,
    .close = peer_is_gone,
};

static const weir_connection_operations raw_connection = {
    .size = sizeof raw_connection,
    .connection_state_size = sizeof(struct peer *),
    .open = raw_opens,
    .close = peer_is_gone,
};

static const weir_protocol http = {.size = sizeof http,
                                   .name = "h1",
                                   .connection = &http_connection,
                                   .client = &client_operations,
                                   .server = &server_operations};

static const weir_protocol raw = {
    .size = sizeof raw, .name = "raw", .connection = &raw_connection, .server = &server_operations};

#endif
