/* codecs/h1/connection.h - the state of one h1 connection, shared by its receiving and sending
 * halves */
#ifndef CODECS_H1_CONNECTION_H
#define CODECS_H1_CONNECTION_H

#include "codecs/h1/parse.h"
#include "codecs/output.h"

enum h1_receiving {
    RECEIVE_HEAD,     /* between messages, or in a head */
    RECEIVE_LENGTH,   /* `receive_left` more body bytes */
    RECEIVE_CHUNKS,   /* in a chunked body */
    RECEIVE_TRAILERS, /* behind the last chunk */
    RECEIVE_UNTIL_END,
    RECEIVE_TUNNEL,
    RECEIVE_DONE,   /* the message is whole; the next is not looked at before the exchange ends */
    RECEIVE_NOTHING /* ended or broken: what still comes is dropped */
};

enum h1_sending {
    SEND_HEAD, /* nothing of this message's final head was sent */
    SEND_NO_BODY,
    SEND_LENGTH, /* `send_left` more body bytes */
    SEND_CHUNKS,
    SEND_UNTIL_END,
    SEND_UPGRADE, /* a request that asks for another protocol: the answer decides */
    SEND_TUNNEL,
    SEND_DONE
};

struct h1 {
    weir_channel *channel;      /* the exchange in progress; NULL: none */
    struct h1_chunks *chunks;   /* a chunked body being received; NULL: none, as most of the time */
    weir_buffer *chunks_buffer; /* where it is */
    enum h1_receiving receiving;
    enum h1_sending sending;
    uint64_t receive_left, send_left;
    weir_slice rest;       /* received and not parsed: part of a head, or the next request */
    size_t scanned;        /* of the rest, for the end of a head */
    size_t granted_before; /* that many from the front of the rest were granted to the carrier */
    bool rest_growable;    /* its buffer is ours alone and has the next power of two */
    struct output output;
    size_t waiting, passed; /* body bytes in output; with the carrier, not left yet */
    bool in_flight;         /* the carrier has something that has not left yet */
    uint32_t interims;      /* before the awaited final response */
    size_t interim_bytes;
    size_t discard_left; /* of a request that was answered early and has not ended */
    /* The Sec-WebSocket-Accept that is owed the client, or that the server owes for the key that
     * was made here; no owner: none. */
    weir_slice accept;
    bool keep_alive; /* another exchange may follow this one */
    bool ended;      /* the peer's direction is over */
    bool peer_10;    /* the client speaks HTTP/1.0 */
    bool no_body;    /* of HEAD: the response has none whatever it says */
    bool begun;      /* a byte of the awaited head has come */
    bool early;      /* tunnel bytes came before the answer */
    bool end_wanted; /* half-close the carrier behind the output */
};

extern const weir_host *h1_host;
extern const weir_protocol_host *h1_api;

/* Something has not left yet. Nothing new is begun behind it: neither a peer that does not read may
 * make it grow, nor may it count as the next exchange's bytes. */
static inline bool h1_unsent(const struct h1 *h1)
{
    return h1->output.count || h1->in_flight;
}

static inline struct h1 *h1_of(const weir_connection *connection)
{
    return connection->state;
}

/* Body bytes have left, or were dropped. All the room there is is the carrier's. */
static inline void h1_sent(weir_channel *channel, size_t bytes)
{
    h1_api->sent(channel, bytes);
    h1_api->grant(channel, bytes);
}

/* --- codecs/h1/receive.c */

/* Parses as much as may be parsed now; what remains is kept. */
void h1_receive(weir_connection *connection, const weir_slice *slice);
void h1_receive_rest(weir_connection *connection);
void h1_on_end(weir_connection *connection, uint32_t how);
void h1_drop_rest(struct h1 *h1);
void h1_drop_chunks(struct h1 *h1);
/* Client side: nothing is in progress, the next request may come. */
void h1_await_request(weir_connection *connection);
/* There is no usable head and nothing more is read: the client is answered, the exchange fails. */
void h1_report_broken(weir_connection *connection, weir_result error);

/* --- codecs/h1/handshake.c: of WebSockets whose other leg is not HTTP/1.1 and has no keys */

/* Keeps what a key is to be answered with. */
void h1_handshake_begin(struct h1 *h1, weir_string key);
void h1_handshake_drop(struct h1 *h1);
/* A client's request: its key, if it asks for a WebSocket. */
void h1_handshake_asked(struct h1 *h1, const weir_head *request);
/* The line that agrees, if the answer has none because it is of a later version; the text is this
 * thread's. */
weir_string h1_handshake_agree(const struct h1 *h1, const weir_head *answer);
/* The line that asks with a key made here, if the request is of a later version; likewise. */
weir_string h1_handshake_ask(struct h1 *h1, const weir_head *request);
/* Whether the server's answer fits the key that was made here, if one was. */
bool h1_handshake_fits(const struct h1 *h1, const weir_head *answer);

/* --- codecs/h1/send.c: the channel operations */

weir_result h1_send_response(weir_channel *channel, const weir_head *head, uint32_t flags);
weir_result h1_send_request(weir_channel *channel, const weir_head *head, uint32_t flags);
weir_result h1_send_interim(weir_channel *channel, const weir_head *head);
void h1_send_data(weir_channel *channel, const weir_slice *slices, uint32_t count, uint32_t flags);
void h1_send_trailers(weir_channel *channel, const weir_field *fields, uint32_t count);

#endif
