/* codecs/h1/receive.c - what arrives on an h1 connection becomes what its channel received
 *
 * Bytes are parsed where they lie. What cannot be parsed yet, part of a head or the next request
 * while an exchange runs, is kept in `rest` and counts against the carrier's credit until it is. */
#include <string.h>

#include "codecs/h1/connection.h"
#include "codecs/string.h"

enum { INTERIMS_MOST = 64 }; /* before one final response, and no more bytes than one head has */

static bool client_side(const weir_connection *connection)
{
    return connection->side == WEIR_CLIENT_SIDE;
}

/* --- what remains */

void h1_drop_rest(struct h1 *h1)
{
    h1_host->buffer_release(h1->rest.owner);
    h1->rest = (weir_slice){0};
    h1->scanned = h1->granted_before = 0;
}

/* Replaces the rest by a copy of these bytes, which may be part of it. */
static void keep_rest(struct h1 *h1, const weir_slice *slice)
{
    weir_slice copy = {NULL, slice->length, NULL};
    if (slice->length) {
        uint8_t *bytes;
        copy.owner = h1_host->buffer_new(slice->length, &bytes);
        memcpy(bytes, slice->bytes, slice->length);
        copy.bytes = bytes;
    }
    h1_host->buffer_release(h1->rest.owner);
    h1->rest = copy;
}

/* Grows by doubling, so that a byte at a time costs a constant each. */
static void append_rest(struct h1 *h1, const weir_slice *slice)
{
    uint8_t *bytes;
    size_t length = h1->rest.length + slice->length, capacity = 256;
    while (capacity < length)
        capacity *= 2;
    size_t before = 256;
    while (before < h1->rest.length)
        before *= 2;
    if (before == capacity && h1->rest_growable) {
        memcpy((uint8_t *)h1->rest.bytes + h1->rest.length, slice->bytes, slice->length);
        h1->rest.length = length;
        return;
    }
    weir_buffer *owner = h1_host->buffer_new(capacity, &bytes);
    memcpy(bytes, h1->rest.bytes, h1->rest.length);
    memcpy(bytes + h1->rest.length, slice->bytes, slice->length);
    h1_host->buffer_release(h1->rest.owner);
    h1->rest = (weir_slice){bytes, length, owner};
    h1->rest_growable = true;
}

static void advance(weir_slice *slice, size_t bytes)
{
    slice->bytes += bytes;
    slice->length -= bytes;
}

/* Heads and framing are granted again at once. Those of a head that is kept until it is whole were
 * granted then: a head may be longer than the carrier's credit, and has limits of its own. */
static void grant_framing(weir_connection *connection, size_t bytes)
{
    struct h1 *h1 = h1_of(connection);
    size_t before = bytes < h1->granted_before ? bytes : h1->granted_before;
    h1->granted_before -= before;
    h1_api->carrier_grant(connection, 0, bytes - before);
}

static void grant_kept(weir_connection *connection, const weir_slice *slice)
{
    struct h1 *h1 = h1_of(connection);
    h1_api->carrier_grant(connection, 0, slice->length - h1->granted_before);
    h1->granted_before = slice->length;
}

/* --- heads */

static enum h1_receiving after_head(enum h1_framing framing)
{
    switch (framing) {
    case H1_LENGTH:
        return RECEIVE_LENGTH;
    case H1_CHUNKED:
        return RECEIVE_CHUNKS;
    case H1_UNTIL_END:
        return RECEIVE_UNTIL_END;
    case H1_TUNNEL:
        return RECEIVE_TUNNEL;
    case H1_NO_BODY:
        break;
    }
    return RECEIVE_DONE;
}

/* Behind a head whose body is chunked the parser goes on in the body. */
static _Thread_local llhttp_t head_parser;

static void keep_chunks(struct h1 *h1)
{
    uint8_t *bytes;
    h1_drop_chunks(h1);
    h1->chunks_buffer = h1_host->buffer_new(sizeof *h1->chunks, &bytes);
    h1->chunks = (struct h1_chunks *)(void *)bytes;
    *h1->chunks = (struct h1_chunks){.parser = head_parser};
}

void h1_drop_chunks(struct h1 *h1)
{
    h1_host->buffer_release(h1->chunks_buffer);
    h1->chunks_buffer = NULL;
    h1->chunks = NULL;
}

static void enter_body(struct h1 *h1, const struct h1_head *head)
{
    h1->receiving = after_head(head->framing);
    if (head->framing == H1_CHUNKED)
        keep_chunks(h1);
    h1->receive_left = head->framing == H1_LENGTH ? (uint64_t)head->head.content_length : 0;
    h1->begun = false;
}

static void begin(weir_connection *connection, const weir_head *head)
{
    struct h1 *h1 = h1_of(connection);
    h1->sending = SEND_HEAD;
    h1_api->deadline(connection, 0);
    h1->channel = h1_api->begin(connection, head);
    h1_api->grant(h1->channel, WEIR_CREDIT);
}

static void on_request_head(weir_connection *connection, const struct h1_head *head)
{
    struct h1 *h1 = h1_of(connection);
    WEIR_TRACE(h1_host);
    h1->keep_alive = head->keep_alive;
    h1->peer_10 = head->http_10;
    h1->no_body = string_is(head->head.method, WEIR_STRING("HEAD"));
    h1_handshake_asked(h1, &head->head);
    enter_body(h1, head);
    begin(connection, &head->head);
}

/* The server speaks another protocol from here on, if somebody asked it to. */
static void on_switch(weir_connection *connection, const weir_head *head)
{
    struct h1 *h1 = h1_of(connection);
    bool asked =
        h1->sending == SEND_UPGRADE && head->protocol.length && h1_handshake_fits(h1, head);
    weir_head tunnel = *head;
    tunnel.kind = WEIR_TUNNEL;
    tunnel.flags = 0;
    tunnel.content_length = -1; /* RFC 9112 6.3: whatever it says */
    h1->keep_alive = false;
    h1->receiving = asked ? RECEIVE_TUNNEL : RECEIVE_NOTHING;
    if (asked) {
        h1->sending = SEND_TUNNEL;
        h1_api->deliver_head(h1->channel, &tunnel);
    } else {
        h1_api->fail(h1->channel, WEIR_SERVER_PROTOCOL_ERROR, 0);
    }
}

/* They are kept until they are passed on, and no credit bounds them: a server that sends no end of
 * them is not waited for. */
static void on_interim_head(weir_connection *connection, const struct h1_head *head)
{
    struct h1 *h1 = h1_of(connection);
    h1->begun = false;
    h1->interims++;
    h1->interim_bytes += head->consumed;
    if (h1->interims > INTERIMS_MOST || h1->interim_bytes > connection->limits->header_bytes)
        h1_report_broken(connection, WEIR_SERVER_PROTOCOL_ERROR);
    else
        h1_api->deliver_interim(h1->channel, &head->head);
}

static void on_response_head(weir_connection *connection, const struct h1_head *head)
{
    struct h1 *h1 = h1_of(connection);
    WEIR_TRACE(h1_host);
    if (head->head.status == 101) {
        on_switch(connection, &head->head);
        return;
    }
    if (head->head.status < 200) {
        on_interim_head(connection, head);
        return;
    }
    h1->keep_alive = head->keep_alive;
    if (h1->sending == SEND_UPGRADE)
        h1->sending = SEND_DONE; /* refused: the request was all of it */
    enter_body(h1, head);
    h1_api->deliver_head(h1->channel, &head->head);
}

void h1_report_broken(weir_connection *connection, weir_result error)
{
    struct h1 *h1 = h1_of(connection);
    h1->keep_alive = false;
    h1->receiving = RECEIVE_NOTHING;
    h1->no_body = h1->peer_10 = false; /* of the request before */
    if (client_side(connection))
        begin(connection, &(weir_head){.size = sizeof(weir_head),
                                       .kind = WEIR_MALFORMED_REQUEST,
                                       .version = WEIR_STRING("1.1"),
                                       .error = error,
                                       .flags = WEIR_END,
                                       .content_length = -1});
    else
        h1_api->fail(h1->channel, WEIR_SERVER_PROTOCOL_ERROR, 0);
}

static enum h1_parsed parse_head(weir_connection *connection, const weir_slice *slice,
                                 const struct h1_head **head)
{
    struct h1 *h1 = h1_of(connection);
    if (client_side(connection))
        return h1_parse_request(&head_parser, connection->limits, slice->bytes, slice->length,
                                head);
    return h1_parse_response(&head_parser, connection->limits, h1->no_body, slice->bytes,
                             slice->length, head);
}

/* Empty lines before a head are nobody's (RFC 9112 2.2). Returns whether what follows them, if
 * anything, may be a head: it does not begin with half a line end. */
static bool skip_empty_lines(weir_connection *connection, weir_slice *slice)
{
    size_t skip = 0;
    while (skip + 1 < slice->length && !memcmp(slice->bytes + skip, "\r\n", 2))
        skip += 2;
    advance(slice, skip);
    grant_framing(connection, skip);
    bool half = slice->length == 1 && slice->bytes[0] == '\r'; /* its other half may come */
    return !slice->length || half || (slice->bytes[0] != '\r' && slice->bytes[0] != '\n');
}

/* A head whose first part waits in `rest` is looked at again only when it is whole or too long. */
static bool worth_parsing(weir_connection *connection, const weir_slice *slice)
{
    struct h1 *h1 = h1_of(connection);
    return !h1->begun || h1_head_is_whole(slice->bytes, slice->length, &h1->scanned) ||
           h1_head_size_error(connection->limits, slice->bytes, slice->length) != WEIR_OK;
}

/* Returns whether parsing may go on behind it. */
static bool receive_head(weir_connection *connection, weir_slice *slice)
{
    struct h1 *h1 = h1_of(connection);
    const struct h1_head *head;
    bool client = client_side(connection);
    if (client && h1_unsent(h1))
        return false; /* also what is broken begins an exchange */
    if (!h1->begun && !skip_empty_lines(connection, slice)) {
        h1_report_broken(connection, WEIR_MALFORMED);
        return true;
    }
    if (!slice->length || slice->bytes[0] == '\r')
        return false;
    enum h1_parsed parsed = H1_MORE;
    if (worth_parsing(connection, slice))
        parsed = parse_head(connection, slice, &head);
    if (parsed == H1_MORE) {
        grant_kept(connection, slice);
        if (client && !h1->begun)
            h1_api->deadline(connection, connection->limits->head_ms);
        h1->begun = true;
        return false;
    }
    h1->scanned = 0;
    if (parsed == H1_BROKEN) {
        h1_report_broken(connection, head->error);
        return true;
    }
    size_t consumed = head->consumed;
    if (client)
        on_request_head(connection, head);
    else
        on_response_head(connection, head);
    advance(slice, consumed);
    grant_framing(connection, consumed);
    return true;
}

/* --- bodies */

/* The rest of a request that was answered before it was whole: nobody wants it, but behind it the
 * connection can go on. Not for ever. */
static void discard(weir_connection *connection, size_t bytes)
{
    struct h1 *h1 = h1_of(connection);
    h1_api->carrier_grant(connection, 0, bytes);
    if (bytes > h1->discard_left) {
        h1->receiving = RECEIVE_NOTHING;
        h1_api->close(connection, WEIR_CLOSE_FLUSH, WEIR_OK);
        return;
    }
    h1->discard_left -= bytes;
}

static void deliver_piece(weir_connection *connection, const weir_slice *piece, uint32_t flags)
{
    struct h1 *h1 = h1_of(connection);
    if (h1->channel)
        h1_api->deliver_data(h1->channel, piece, flags);
    else
        discard(connection, piece->length);
}

static void deliver(weir_connection *connection, weir_slice *slice, size_t bytes, uint32_t flags)
{
    weir_slice piece = {slice->bytes, bytes, slice->owner};
    deliver_piece(connection, &piece, flags);
    advance(slice, bytes);
}

static void receive_counted(weir_connection *connection, weir_slice *slice)
{
    struct h1 *h1 = h1_of(connection);
    size_t bytes = slice->length < h1->receive_left ? slice->length : (size_t)h1->receive_left;
    h1->receive_left -= bytes;
    if (!h1->receive_left)
        h1->receiving = RECEIVE_DONE;
    deliver(connection, slice, bytes, h1->receive_left ? 0 : WEIR_END);
}

struct chunk_sink {
    weir_connection *connection;
    weir_buffer *owner;
    size_t bytes;
};

static void store_piece(void *user, const uint8_t *bytes, size_t count)
{
    struct chunk_sink *sink = user;
    weir_slice piece = {bytes, count, sink->owner};
    sink->bytes += count;
    deliver_piece(sink->connection, &piece, 0);
}

static void on_broken_body(weir_connection *connection)
{
    struct h1 *h1 = h1_of(connection);
    h1->receiving = RECEIVE_NOTHING;
    h1->keep_alive = false;
    if (!h1->channel)
        h1_api->close(connection, WEIR_CLOSE_FLUSH, WEIR_OK);
    else if (client_side(connection))
        h1_api->deliver_error(h1->channel, WEIR_MALFORMED);
    else
        h1_api->fail(h1->channel, WEIR_SERVER_PROTOCOL_ERROR, 0);
}

static void receive_chunks(weir_connection *connection, weir_slice *slice)
{
    struct h1 *h1 = h1_of(connection);
    struct chunk_sink sink = {connection, slice->owner, 0};
    size_t consumed;
    enum h1_parsed parsed =
        h1_parse_chunks(h1->chunks, slice->bytes, slice->length, store_piece, &sink, &consumed);
    if (parsed == H1_DONE && h1->receiving == RECEIVE_CHUNKS) /* and not given up meanwhile */
        h1->receiving = RECEIVE_TRAILERS;
    advance(slice, consumed);
    grant_framing(connection, consumed - sink.bytes);
    if (parsed == H1_BROKEN)
        on_broken_body(connection);
}

static bool receive_trailers(weir_connection *connection, weir_slice *slice)
{
    struct h1 *h1 = h1_of(connection);
    const struct h1_head *head;
    weir_slice nothing = {0};
    enum h1_parsed parsed = h1_parse_trailers(&h1->chunks->parser, connection->limits, slice->bytes,
                                              slice->length, &h1->scanned, &head);
    if (parsed == H1_MORE) {
        grant_kept(connection, slice);
        return false;
    }
    h1->scanned = 0;
    if (parsed == H1_BROKEN) {
        on_broken_body(connection);
        return true;
    }
    h1->receiving = RECEIVE_DONE;
    h1_drop_chunks(h1);
    if (head->head.count && h1->channel)
        h1_api->deliver_trailers(h1->channel, head->head.fields, head->head.count);
    else
        deliver_piece(connection, &nothing, WEIR_END);
    size_t consumed = head->consumed;
    advance(slice, consumed);
    grant_framing(connection, consumed);
    return true;
}

/* --- the whole */

/* One piece of what is there; false: nothing more can be done with it now. */
static bool receive_some(weir_connection *connection, weir_slice *slice)
{
    struct h1 *h1 = h1_of(connection);
    switch (h1->receiving) {
    case RECEIVE_HEAD:
        return receive_head(connection, slice);
    case RECEIVE_LENGTH:
        receive_counted(connection, slice);
        return true;
    case RECEIVE_CHUNKS:
        receive_chunks(connection, slice);
        return true;
    case RECEIVE_TRAILERS:
        return receive_trailers(connection, slice);
    case RECEIVE_TUNNEL:
        h1->early |= h1->sending == SEND_HEAD && client_side(connection);
        deliver(connection, slice, slice->length, 0);
        return true;
    case RECEIVE_UNTIL_END:
        deliver(connection, slice, slice->length, 0);
        return true;
    case RECEIVE_DONE:
        return false; /* the next request waits for the answer to this one */
    case RECEIVE_NOTHING:
        grant_framing(connection, slice->length);
        slice->length = 0;
        return false;
    }
    return false;
}

/* A server that sends where no answer is awaited is not trusted with another request. */
static bool unexpected(const weir_connection *connection)
{
    const struct h1 *h1 = h1_of(connection);
    return !client_side(connection) && (!h1->channel || h1->receiving == RECEIVE_DONE);
}

static void process(weir_connection *connection, weir_slice *slice)
{
    while (slice->length) {
        if (unexpected(connection)) {
            h1_of(connection)->keep_alive = false;
            slice->length = 0;
            if (!h1_of(connection)->channel)
                h1_api->close(connection, WEIR_CLOSE_RESET, WEIR_RESET);
            return;
        }
        if (!receive_some(connection, slice))
            return;
        if (h1_of(connection)->receiving == RECEIVE_DONE && !h1_of(connection)->channel)
            h1_await_request(connection); /* what had to be discarded is over */
    }
}

static void on_client_end(weir_connection *connection, bool clean);

void h1_receive_rest(weir_connection *connection)
{
    struct h1 *h1 = h1_of(connection);
    bool waited = !h1->channel;
    weir_slice slice = h1->rest;
    h1_host->buffer_reference(slice.owner); /* stays while it is parsed */
    process(connection, &slice);
    if (slice.length != h1->rest.length) {
        h1->scanned = 0;
        h1->rest_growable = false;
        keep_rest(h1, &slice);
    }
    h1_host->buffer_release(slice.owner);
    if (waited && h1->channel && h1->ended) /* the end came before the request could begin */
        on_client_end(connection, true);
}

void h1_receive(weir_connection *connection, const weir_slice *given)
{
    struct h1 *h1 = h1_of(connection);
    if (h1->rest.length) {
        append_rest(h1, given);
        h1_receive_rest(connection);
        return;
    }
    weir_slice slice = *given;
    process(connection, &slice);
    if (slice.length) {
        h1->rest_growable = false;
        keep_rest(h1, &slice);
    }
}

/* --- the end of the peer's direction */

static void on_client_end(weir_connection *connection, bool clean)
{
    struct h1 *h1 = h1_of(connection);
    weir_slice nothing = {0};
    if (!h1->channel && clean && h1->rest.length) {
        h1_api->wake(connection); /* there may be a request to answer first */
    } else if (!h1->channel) {
        h1_api->close(connection, clean ? WEIR_CLOSE_FLUSH : WEIR_CLOSE_RESET, WEIR_OK);
    } else if (!clean) {
        h1_api->fail(h1->channel, WEIR_RESET, 0);
    } else if (h1->receiving == RECEIVE_TUNNEL) {
        h1_api->deliver_data(h1->channel, &nothing, WEIR_END);
    } else if (h1->receiving != RECEIVE_DONE && h1->receiving != RECEIVE_NOTHING) {
        h1->receiving = RECEIVE_NOTHING;
        h1_api->deliver_error(h1->channel, WEIR_REQUEST_TRUNCATED);
    } /* else: it only says that no other request follows, and waits for its answer */
}

static void on_server_end(weir_connection *connection, bool clean)
{
    struct h1 *h1 = h1_of(connection);
    weir_slice nothing = {0};
    if (!h1->channel) {
        h1_api->close(connection, clean ? WEIR_CLOSE_FLUSH : WEIR_CLOSE_RESET, WEIR_OK);
    } else if ((h1->receiving == RECEIVE_UNTIL_END || h1->receiving == RECEIVE_TUNNEL) && clean) {
        h1->receiving = RECEIVE_DONE;
        h1_api->deliver_data(h1->channel, &nothing, WEIR_END);
    } else if (h1->receiving == RECEIVE_HEAD && !h1->begun) {
        h1_api->fail(h1->channel, WEIR_CONNECTION_TERMINATED, 0);
    } else if (h1->receiving != RECEIVE_DONE) {
        h1_api->fail(h1->channel, WEIR_TRUNCATED, 0);
    }
}

void h1_on_end(weir_connection *connection, uint32_t how)
{
    struct h1 *h1 = h1_of(connection);
    bool clean = how == WEIR_END_CLEAN;
    h1->ended = true;
    if (client_side(connection))
        on_client_end(connection, clean);
    else
        on_server_end(connection, clean);
}
