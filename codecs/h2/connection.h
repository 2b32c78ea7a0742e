/* codecs/h2/connection.h - the state of one h2 connection and of its streams
 *
 * A stream outlives its channel while what core gave it has not left, and its channel outlives it
 * when the peer resets it: `channel` and `closed` say what is still there. */
#ifndef CODECS_H2_CONNECTION_H
#define CODECS_H2_CONNECTION_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>

#include "codecs/h2/block.h"
#include "codecs/h2/guard.h"
#include "codecs/h2/order.h"
#include "codecs/h2/queue.h"
#include "codecs/h2/window.h"

/* What the deadline of a connection is for. */
enum h2_clock {
    H2_CLOCK_OFF, /* exchanges run, and have limits of their own */
    H2_CLOCK_HEAD,
    H2_CLOCK_IDLE,
    H2_CLOCK_STALL,   /* exchanges are over, but not all of their bytes have left */
    H2_CLOCK_RECENT,  /* server's side: idle, and lately heard of */
    H2_CLOCK_SILENCE, /* server's side: exchanges run, and something ought to be heard */
    H2_CLOCK_ASKED    /* server's side: PING has to be answered */
};

struct h2_stream {
    weir_buffer *memory; /* where this is */
    struct h2 *h2;
    struct h2_stream *next, **link; /* of the connection */
    struct h2_stream *next_passed;  /* of those with bytes that the carrier has */
    weir_channel *channel;          /* NULL: not yet, or let go */
    int32_t id;                     /* 0: not sent yet */
    struct h2_queue queue;
    struct h2_window window;
    size_t passed;        /* bytes that the carrier has and that have not left */
    size_t credit;        /* granted to core and not used */
    int64_t send_left;    /* of an announced length; -1: none was */
    weir_field *trailers; /* to be sent behind the last byte; in their buffer */
    weir_buffer *trailers_owner;
    uint32_t trailer_count;
    nghttp2_nv *held; /* server's side: a head that waits, in its buffer; NULL: none */
    weir_buffer *held_owner;
    uint32_t held_count;
    uint32_t interims;
    size_t interim_bytes;
    bool closed;                 /* nothing is sent or received any more */
    bool orphan;                 /* closed, and core has not let go of its channel */
    bool peer_reset;             /* by the peer */
    bool received_end, answered; /* the peer's direction is over; its final head has come */
    bool sent_head, end_wanted, sent_end; /* the head has left; core's end; it has left */
    bool was_reset;                       /* by us */
    uint32_t last_code;                   /* RST_STREAM behind what waits; 0: none */
    bool answering; /* client's side: a body follows the head that core gave */
    bool no_body;   /* what is sent behind the head is dropped: HEAD, 204, 304 */
    bool asks_head; /* the request was HEAD */
    bool extended;  /* an extended CONNECT (RFC 8441) */
    bool tunnel;
    bool deferred;  /* nghttp2 waits to be told of bytes */
    bool is_passed; /* in the list of those */
};

struct h2 {
    nghttp2_session *session;
    struct h2_stream *streams, *passed;
    uint32_t stream_count, channel_count, orphans;
    size_t withheld; /* of the carrier's credit, while there are too many orphans */
    size_t windows;  /* of all streams */
    uint32_t first_window;
    uint64_t settings_ms, round_trip_ms;
    struct h2_block block;
    int32_t block_stream;  /* whose block it is; 0: none is being received */
    struct h2_order order; /* of a client */
    struct output output;
    weir_buffer *receiving; /* what lies in it is being parsed */
    size_t written;         /* in this produce() */
    size_t room;
    enum h2_clock clock;
    bool ended;                 /* the peer's direction is over */
    bool over;                  /* closed: nothing is begun, nobody is told */
    bool settled;               /* the peer's SETTINGS have come */
    bool doubtful;              /* server's side: silent for so long that it is asked first */
    bool asked;                 /* likewise: by PING; what is to be begun waits for the answer */
    bool vouched;               /* likewise: PING was answered in this silence */
    bool heard, left;           /* something came; bytes left: since the clock was set */
    bool going_away, gone_away; /* GOAWAY was announced; was sent with the last stream */
    bool peer_goes_away;
    weir_result why; /* what it is closed for */
    struct h2_guard guard;
};

extern const weir_host *h2_host;
extern const weir_protocol_host *h2_api;

static inline struct h2 *h2_of(const weir_connection *connection)
{
    return connection->state;
}

static inline struct h2_stream *h2_stream_of(const weir_channel *channel)
{
    return *(struct h2_stream **)channel->state;
}

static inline bool h2_is_client(const weir_connection *connection)
{
    return connection->side == WEIR_CLIENT_SIDE;
}

/* --- codecs/h2/stream.c */

struct h2_stream *h2_stream_new(struct h2 *h2, int32_t id);
void h2_stream_attach(struct h2_stream *stream, weir_channel *channel);
/* The channel is let go of, or the stream closed; what both have let go of is freed. */
void h2_stream_detach(struct h2_stream *stream);
void h2_stream_free(struct h2_stream *stream);
/* Neither side sends on it any more. */
void h2_stream_closed(struct h2_stream *stream);
/* Nothing is sent on it any more. */
void h2_stream_drop_output(struct h2_stream *stream);
/* How much the peer's windows let through. */
int64_t h2_stream_window(const struct h2_stream *stream);
/* Grants core what the peer's windows allow beyond what it has. */
void h2_stream_offer(struct h2_stream *stream);
/* What core sends on it is dropped: nothing holds it back. */
void h2_stream_dropping(struct h2_stream *stream);
void h2_offer_all(struct h2 *h2);
/* What the carrier had has left. */
void h2_passed_left(struct h2 *h2);

/* --- codecs/h2/session.c */

void h2_session_start(void); /* once, before there is one */
/* False: there is no memory for it. */
bool h2_session_open(weir_connection *connection);

/* --- codecs/h2/receive.c: nghttp2's callbacks; `user` is the weir_connection */

int h2_on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *head, void *user);
int h2_on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user);
int h2_on_header(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name,
                 nghttp2_rcbuf *value, uint8_t flags, void *user);
int h2_on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name,
                         nghttp2_rcbuf *value, uint8_t flags, void *user);
int h2_on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
               size_t count, void *user);
int h2_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user);
int h2_on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error,
                        void *user);
int h2_on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *user);

/* --- codecs/h2/send.c: nghttp2's callbacks, and the channel operations */

int h2_on_send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head,
                    size_t length, nghttp2_data_source *source, void *user);
int h2_on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user);

weir_result h2_send_response(weir_channel *channel, const weir_head *head, uint32_t flags);
weir_result h2_send_request(weir_channel *channel, const weir_head *head, uint32_t flags);
/* Heads that waited, for SETTINGS or for the answer to PING. */
void h2_send_held(weir_connection *connection);
weir_result h2_send_interim(weir_channel *channel, const weir_head *head);
void h2_send_data(weir_channel *channel, const weir_slice *slices, uint32_t count, uint32_t flags);
void h2_send_trailers(weir_channel *channel, const weir_field *fields, uint32_t count);
void h2_send_reset(weir_channel *channel, weir_result why);
void h2_channel_grant(weir_channel *channel, size_t bytes);
void h2_channel_close(weir_channel *channel);

/* --- codecs/h2/h2.c */

/* Milliseconds of a clock that only goes on; 0 with a host that has none. */
uint64_t h2_now_ms(void);

/* Returns what was read to the carrier's credit, unless core has yet to see what became of streams
 * that are closed already: they come no faster than it ends their exchanges. */
void h2_return_credit(weir_connection *connection, size_t bytes);
/* What nghttp2 wants is asked for; a session that is over is closed. */
void h2_settle(weir_connection *connection);

#endif
