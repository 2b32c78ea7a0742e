/* codecs/h1/send.c - what an exchange sends on this leg becomes an HTTP/1.1 message
 *
 * Framing is decided here and nowhere else: a counted body when the head has a Content-Length, else
 * chunks, else (to an HTTP/1.0 client) until the end of the connection. RFC 9112 6. */
#include <string.h>

#include "codecs/h1/connection.h"
#include "codecs/h1/write.h"
#include "codecs/string.h"

static void want_produce(weir_channel *channel)
{
    h1_api->want_produce(channel->connection, 0);
}

static bool has_te(const weir_head *head)
{
    for (uint32_t i = 0; i < head->count; i++) {
        weir_string name = head->fields[i].name;
        if (name.length == 2 && (name.bytes[0] | 0x20) == 't' && (name.bytes[1] | 0x20) == 'e')
            return true;
    }
    return false;
}

/* Sets how the body is framed and the line that says so. */
static void choose_framing(struct h1 *h1, const weir_head *head, uint32_t flags,
                           struct h1_framing_lines *lines)
{
    if (flags & WEIR_END) {
        h1->sending = SEND_DONE;
        return;
    }
    if (head->content_length >= 0) {
        h1->sending = SEND_LENGTH;
        h1->send_left = (uint64_t)head->content_length;
    } else if (h1->peer_10) {
        h1->sending = SEND_UNTIL_END;
        h1->keep_alive = false;
    } else {
        h1->sending = SEND_CHUNKS;
        lines->length = "Transfer-Encoding: chunked\r\n";
    }
}

static bool response_has_body(const struct h1 *h1, uint32_t status)
{
    return !h1->no_body && status >= 200 && status != 204 && status != 304;
}

static const char *connection_line(const struct h1 *h1)
{
    if (!h1->keep_alive)
        return "Connection: close\r\n";
    return h1->peer_10 ? "Connection: keep-alive\r\n" : NULL;
}

static void begin_tunnel(weir_channel *channel, const weir_head *head)
{
    struct h1 *h1 = h1_of(channel->connection);
    struct h1_framing_lines lines = {.upgrade = head->protocol,
                                     .handshake = h1_handshake_agree(h1, head)};
    weir_head agreed = *head;
    if (head->protocol.length) { /* a later version has another status for it */
        agreed.status = 101;
        agreed.reason = WEIR_STRING("Switching Protocols");
    }
    h1->sending = SEND_TUNNEL;
    h1->keep_alive = false;
    h1_write_response(h1_host, &h1->output, &agreed, &lines);
    want_produce(channel);
}

weir_result h1_send_response(weir_channel *channel, const weir_head *head, uint32_t flags)
{
    struct h1 *h1 = h1_of(channel->connection);
    struct h1_framing_lines lines = {0};
    WEIR_TRACE(h1_host);
    if (head->kind == WEIR_TUNNEL) {
        begin_tunnel(channel, head);
        return WEIR_OK;
    }
    if (h1->receiving == RECEIVE_TUNNEL) /* refused: what follows is HTTP again */
        h1->receiving = RECEIVE_DONE;
    bool broken = h1->early || h1->receiving == RECEIVE_NOTHING;
    bool last = (h1->ended && !h1->rest.length) || (flags & WEIR_LAST);
    if (channel->connection->draining || broken || last)
        h1->keep_alive = false;
    if (!response_has_body(h1, head->status)) {
        h1->sending = flags & WEIR_END ? SEND_DONE : SEND_NO_BODY;
    } else {
        choose_framing(h1, head, flags, &lines);
        if ((flags & WEIR_END) && head->content_length < 0)
            lines.length = "Content-Length: 0\r\n";
    }
    lines.connection = connection_line(h1);
    h1_write_response(h1_host, &h1->output, head, &lines);
    want_produce(channel);
    return WEIR_OK;
}

weir_result h1_send_request(weir_channel *channel, const weir_head *head, uint32_t flags)
{
    struct h1 *h1 = h1_of(channel->connection);
    struct h1_framing_lines lines = {0};
    WEIR_TRACE(h1_host);
    if (h1->ended || !h1->keep_alive)
        return WEIR_REFUSED; /* it died between being chosen and being used */
    h1->no_body = string_is(head->method, WEIR_STRING("HEAD"));
    lines.upgrade = head->protocol;
    lines.handshake = h1_handshake_ask(h1, head);
    if (head->protocol.length)
        h1->sending = SEND_UPGRADE;
    else
        choose_framing(h1, head, flags, &lines);
    bool expects_body = string_is(head->method, WEIR_STRING("POST")) ||
                        string_is(head->method, WEIR_STRING("PUT")) ||
                        string_is(head->method, WEIR_STRING("PATCH"));
    if ((flags & WEIR_END) && head->content_length < 0 && expects_body)
        lines.length = "Content-Length: 0\r\n"; /* RFC 9110 8.6 */
    if (!head->protocol.length)
        lines.connection = has_te(head) ? "Connection: TE\r\n" : NULL;
    h1_write_request(h1_host, &h1->output, head, &lines);
    want_produce(channel);
    return WEIR_OK;
}

weir_result h1_send_interim(weir_channel *channel, const weir_head *head)
{
    struct h1 *h1 = h1_of(channel->connection);
    struct h1_framing_lines lines = {0};
    if (h1->peer_10)
        return WEIR_UNSUPPORTED; /* RFC 9110 15.2: an HTTP/1.0 client knows none */
    h1_write_response(h1_host, &h1->output, head, &lines);
    want_produce(channel);
    return WEIR_OK;
}

static void queue(struct h1 *h1, const weir_slice *slices, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        output_slice(h1_host, &h1->output, slices[i]);
    h1->waiting += output_total(slices, count);
}

/* A body that does not fit its announced length would become part of the next message: whoever sent
 * it is wrong, and the connection cannot be used any more. */
static void break_off(weir_channel *channel)
{
    struct h1 *h1 = h1_of(channel->connection);
    h1->keep_alive = false;
    h1->sending = SEND_DONE;
    h1_api->fail(channel, WEIR_INTERNAL, 0);
}

static void send_counted(weir_channel *channel, const weir_slice *slices, uint32_t count,
                         uint32_t flags)
{
    struct h1 *h1 = h1_of(channel->connection);
    size_t bytes = output_total(slices, count);
    if (bytes > h1->send_left || ((flags & WEIR_END) && bytes != h1->send_left)) {
        break_off(channel);
        return;
    }
    h1->send_left -= bytes;
    queue(h1, slices, count);
}

static void send_chunk(struct h1 *h1, const weir_slice *slices, uint32_t count, uint32_t flags)
{
    size_t bytes = output_total(slices, count);
    if (bytes) {
        h1_write_chunk_size(h1_host, &h1->output, bytes);
        queue(h1, slices, count);
        output_text(h1_host, &h1->output, WEIR_STRING("\r\n"));
    }
    if (flags & WEIR_END)
        output_text(h1_host, &h1->output, WEIR_STRING("0\r\n\r\n"));
}

void h1_send_data(weir_channel *channel, const weir_slice *slices, uint32_t count, uint32_t flags)
{
    struct h1 *h1 = h1_of(channel->connection);
    switch (h1->sending) {
    case SEND_LENGTH:
        send_counted(channel, slices, count, flags);
        break;
    case SEND_CHUNKS:
        send_chunk(h1, slices, count, flags);
        break;
    case SEND_UNTIL_END:
        queue(h1, slices, count);
        break;
    case SEND_TUNNEL:
        queue(h1, slices, count);
        h1->end_wanted = flags & WEIR_END;
        break;
    case SEND_NO_BODY: /* what HEAD, 204 and 304 must not have is dropped */
        if (count)
            h1_sent(channel, output_total(slices, count));
        break;
    case SEND_UPGRADE:
    case SEND_HEAD:
    case SEND_DONE:
        break;
    }
    if (flags & WEIR_END)
        h1->sending = SEND_DONE;
    want_produce(channel);
}

void h1_send_trailers(weir_channel *channel, const weir_field *fields, uint32_t count)
{
    struct h1 *h1 = h1_of(channel->connection);
    if (h1->sending != SEND_CHUNKS) { /* only a chunked body has a place for them */
        h1_send_data(channel, NULL, 0, WEIR_END);
        return;
    }
    output_text(h1_host, &h1->output, WEIR_STRING("0\r\n"));
    h1_write_trailers(h1_host, &h1->output, fields, count);
    h1->sending = SEND_DONE;
    want_produce(channel);
}
