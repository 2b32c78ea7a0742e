/* abi/protocol.h - how a wire format becomes a plugin: connection operations and channel operations
 *
 * A protocol turns a carrier's bytes into channels. A connection is one protocol on one carrier; a
 * channel is one leg of one exchange on it. The channel operations are the same on both legs: the
 * client's channel sends the response, the server's channel sends the request.
 *
 * Credit is the only flow control. Whoever receives bytes grants credit; a sender never exceeds it.
 *  - A carrier starts with WEIR_CREDIT bytes granted to it when the connection opens. What the
 *    protocol reads as its own framing it grants back at once (carrier_grant); body bytes it
 *    grants back when core grants them on the channel.
 *  - A channel starts with WEIR_CREDIT bytes granted for what it delivers, without a call; and
 *    with nothing for what it is sent, until its protocol grants. A protocol whose peers have
 *    windows may let WEIR_CREDIT_MOST of its bytes wait in core while core passes them on as fast
 *    as they come, and little more than WEIR_CREDIT before its peer knows the window.
 *
 * What a channel is sent has two accounts. grant() is room: the peer's window, or of a protocol
 * that has no windows the carrier's. sent() is what became of the bytes: they are gone, and only
 * that lets their source send more, so what one direction holds anywhere in weir is bounded
 * whatever room there is.
 *
 * No host function calls back into the protocol before the protocol's function has returned. */
#ifndef WEIR_PROTOCOL_H
#define WEIR_PROTOCOL_H

#include "weir.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a carrier and a channel start with, in bytes: near 64 KiB, and a little less than what one
 * segment of the loopback interface takes. */
#define WEIR_CREDIT 61440
#define WEIR_CREDIT_MOST 1048576

enum { WEIR_CLIENT_SIDE = 0, WEIR_SERVER_SIDE = 1 };

/* How a carrier's incoming direction ended. Only `clean` may complete a message. */
enum { WEIR_END_CLEAN = 0, WEIR_END_TRUNCATED = 1, WEIR_END_RESET = 2, WEIR_END_TIMEOUT = 3 };

/* How a connection is closed. */
enum {
    WEIR_CLOSE_FLUSH = 0,  /* when what is wanted to be produced and was written has left; FIN */
    WEIR_CLOSE_LINGER = 1, /* likewise, and then what the peer still sends is read and dropped for a
                              while, so that the last answer is not lost to a reset */
    WEIR_CLOSE_NOW = 2,    /* what has not left is dropped; FIN */
    WEIR_CLOSE_RESET = 3   /* aborted: the peer sees a reset, never a clean end, behind as much of
                              what is wanted to be produced as leaves at once */
};

/* What sniff() answers. */
enum { WEIR_SNIFF_NO = 0, WEIR_SNIFF_YES = 1, WEIR_SNIFF_MORE = 2 };

/* Limits in force on this connection; times in milliseconds, 0 = none. */
typedef struct weir_limits {
    uint32_t size;
    uint32_t request_line_bytes, header_bytes, header_fields;
    uint32_t head_ms, idle_ms;
    uint32_t streams; /* of one client's connection at a time, where it has several */
    uint32_t resets, control_frames; /* of one connection in a minute */
} weir_limits;

typedef struct weir_connection { /* host memory; valid from open() until close() */
    void *state;                 /* connection_state_size zeroed bytes */
    const weir_limits *limits;   /* in force now: after a reload others */
    uint32_t side;
    uint32_t draining; /* finish what runs, begin nothing new */
} weir_connection;

typedef struct weir_channel { /* host memory; valid from begin() or attach() until close() */
    void *state;              /* channel_state_size zeroed bytes */
    weir_connection *connection;
} weir_channel;

/* The carrier's events, passed on by core. All [worker]. `stream` is 0 on byte carriers. None is
 * NULL but sniff() of a protocol without a client's side. */
typedef struct weir_connection_operations {
    uint32_t size, connection_state_size;
    /* Pure function of the first bytes of a connection; `end`: no more will come. */
    int32_t (*sniff)(const uint8_t *bytes, size_t count, uint32_t end);
    void (*open)(weir_connection *connection);
    void (*data)(weir_connection *connection, uint64_t stream, const weir_slice *slice);
    void (*end)(weir_connection *connection, uint64_t stream, uint32_t how);
    /* Write now, about `room` bytes: a frame begun may pass it. Asked for by want_produce(). */
    void (*produce)(weir_connection *connection, uint64_t stream, size_t room);
    /* Everything written so far has left (to the kernel, a TLS record, a packet). */
    void (*sent)(weir_connection *connection, uint64_t stream);
    void (*wake)(weir_connection *connection);    /* wake() was called; once, in the step phase */
    void (*timeout)(weir_connection *connection); /* the deadline set by deadline() has passed */
    void (*drain)(weir_connection *connection);   /* `draining` was set */
    void (*close)(weir_connection *connection);   /* last call: release what `state` holds */
    /* The answer to authenticate(): WEIR_OK, or WEIR_UNAUTHENTICATED, also when no filter knows
     * such credentials. NULL in protocols that do not ask. */
    void (*authenticated)(weir_connection *connection, weir_result result);
} weir_connection_operations;

/* The message that this leg sends. All [worker]. Slices are borrowed: take a reference to keep.
 * None is NULL but what the client's side has no use for. */
typedef struct weir_channel_operations {
    uint32_t size, channel_state_size;
    /* Server side: the connection takes on an exchange. Returns the first credit, as by grant(). */
    size_t (*attach)(weir_channel *channel);
    /* flags: WEIR_END. Server side may answer WEIR_REFUSED: not begun, safe elsewhere. */
    weir_result (*head)(weir_channel *channel, const weir_head *head, uint32_t flags);
    /* A peer that knows no interim answers gets none: whatever it returns, the exchange goes on. */
    weir_result (*interim)(weir_channel *channel, const weir_head *head);
    /* Within the credit granted; count may be 0 with WEIR_END. */
    void (*data)(weir_channel *channel, const weir_slice *slices, uint32_t count, uint32_t flags);
    void (*trailers)(weir_channel *channel, const weir_field *fields, uint32_t count); /* ends */
    void (*reset)(weir_channel *channel, weir_result why); /* abort honestly, both directions */
    void (*grant)(weir_channel *channel, size_t bytes);    /* core consumed what was delivered */
    void (*close)(weir_channel *channel); /* both directions are over, or reset; channel is gone */
    /* Server side: how many exchanges the connection could take on now: of a shared one asked
     * before each, so 0 is how it says that it is full, is about to go away, or was silent for so
     * long that it had better not be believed. 0 when none is running means that it is of no use
     * any more and may be closed. */
    uint32_t (*spare)(const weir_connection *connection);
} weir_channel_operations;

/* What spare() says of a connection on which the peer has not yet said how many it takes: it takes
 * one. Whoever wants another waits for spare_changed(), or for the end of the connection. */
#define WEIR_SPARE_LATER UINT32_MAX

/* Flags of a protocol. */
enum {
    /* A connection to a server takes several exchanges at once: further ones wait for it while it
     * is made, and share it as far as spare() says. */
    WEIR_PROTOCOL_SHARES = 1
};

typedef struct weir_protocol {
    uint32_t size;
    const char *name; /* "h1" */
    const weir_connection_operations *connection;
    const weir_channel_operations *client, *server; /* either may be NULL: a one-sided protocol */
    const char *alpn; /* its name where it is agreed upon (RFC 7301); NULL: it has none */
    uint32_t flags;   /* WEIR_PROTOCOL_* */
} weir_protocol;

/* What a protocol calls: query("weir.protocol/0"). All [worker]. */
typedef struct weir_protocol_host {
    uint32_t size;
    /* --- the carrier */
    void (*want_produce)(weir_connection *connection, uint64_t stream);
    /* Only inside produce(). WEIR_END half-closes after these bytes. The host takes references. */
    void (*write)(weir_connection *connection, uint64_t stream, const weir_slice *slices,
                  uint32_t count, uint32_t flags);
    void (*carrier_grant)(weir_connection *connection, uint64_t stream, size_t bytes);
    /* Ends the connection, how: WEIR_CLOSE_*. Its channels fail with `why`, unless failed before,
     * and are gone for the protocol: it must not use them any more. */
    void (*close)(weir_connection *connection, uint32_t how, weir_result why);
    void (*wake)(weir_connection *connection);
    /* timeout() is called in that many milliseconds or a little later, unless set again; 0: never.
     */
    void (*deadline)(weir_connection *connection, uint32_t milliseconds);
    /* --- channels: what this leg received */
    weir_channel *(*begin)(weir_connection *connection, const weir_head *head); /* client side */
    void (*deliver_interim)(weir_channel *channel, const weir_head *head);
    void (*deliver_head)(weir_channel *channel, const weir_head *head);
    void (*deliver_data)(weir_channel *channel, const weir_slice *slice, uint32_t flags);
    void (*deliver_trailers)(weir_channel *channel, const weir_field *fields, uint32_t count);
    /* What this leg receives has broken off: nothing more of it comes, but it may be sent an
     * answer. */
    void (*deliver_error)(weir_channel *channel, weir_result why);
    /* --- channels: what this leg may be sent, and its death */
    /* That many more bytes may be given to data(). */
    void (*grant)(weir_channel *channel, size_t bytes);
    /* That many of the bytes given to data() have left (to the kernel, a TLS record, a packet), or
     * were dropped. Never more than were given, and without the protocol's own framing. What is
     * never reported is held against the exchange: its source stops when WEIR_CREDIT is reached. */
    void (*sent)(weir_channel *channel, size_t bytes);
    /* The leg is dead. unprocessed: the peer provably never handled the exchange. */
    void (*fail)(weir_channel *channel, weir_result why, uint32_t unprocessed);
    /* --- who the client is, for protocols that must know before there is an exchange (RFC 1929).
     * Whether a filter of this listener judges credentials. */
    uint32_t (*authenticates)(const weir_connection *connection);
    /* Has them judge these; authenticated() has the answer, never before this returns. When it is
     * WEIR_OK all exchanges of the connection have that user. One at a time. */
    void (*authenticate)(weir_connection *connection, const weir_credentials *credentials);
    /* Server side: spare() says something else now, and not because an exchange is over. */
    void (*spare_changed)(weir_connection *connection);
} weir_protocol_host;

#ifdef __cplusplus
}
#endif
#endif
