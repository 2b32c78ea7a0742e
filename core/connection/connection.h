/* core/connection/connection.h - a carrier joined to a protocol, on either side
 *
 * The connection hands the carrier's events to the protocol and the protocol's calls to the
 * carrier. It owns its channels' places, never their memory, and never calls exchanges: it marks
 * them. When it dies every channel is failed first; its memory goes with the carrier's last
 * callback. */
#ifndef CORE_CONNECTION_CONNECTION_H
#define CORE_CONNECTION_CONNECTION_H

#include "core/base/worker.h"
#include "core/connection/channel.h"
#include "core/io/carrier.h"
#include "core/io/wheel.h"

struct filter_chain; /* core/exchange */
struct snapshot_use;

/* What a client's connection begins its exchanges with. Its keeper's, who may change it between two
 * turns. */
struct connection_terms {
    const struct filter_chain *chain;
    struct snapshot_use *use; /* what the chain and the texts are of */
    bool authenticates;       /* a filter of the chain judges credentials */
    const char *listener;     /* as configured: "[::]:3128"; NULL: unknown */
};

struct connection {
    weir_connection public;
    const weir_protocol *protocol;
    const weir_channel_operations *operations; /* the channel operations of this side */
    struct worker *worker;
    struct carrier *carrier;
    struct mark wake;
    struct wheel_entry deadline;
    struct link link;                     /* in worker->connections */
    struct link channels;                 /* open ones */
    const struct connection_terms *terms; /* of a client's; before it has any bytes */
    uint64_t opened_ms;
    uint32_t exchanges; /* begun so far */
    char *user;         /* who the client proved to be; NULL: nobody knows, or each request says */
    bool closing;
    uint8_t admission; /* the keeper's */
    bool idle;         /* likewise */
    bool settling;     /* likewise */
    /* Whoever keeps the connection: of a server's the pool, of a client's the edge. Told once when
     * it begins to close, and once when its memory goes; either may be NULL. */
    void (*on_closing)(struct connection *connection);
    void (*on_gone)(struct connection *connection);
    void (*on_spare)(struct connection *connection); /* spare_changed(); NULL: nobody is told */
    struct link kept;                                /* the keeper's list */
    void *keeper;
};

/* What the rooms above do when a client's connection announces an exchange: returns its client
 * channel, attached. Set once at start, by core/exchange. */
extern struct connection_hooks {
    struct channel *(*on_exchange)(struct connection *connection, const weir_head *head);
} connection_hooks;

/* Joins an opened or unopened carrier to a protocol; `side`: WEIR_CLIENT_SIDE or WEIR_SERVER_SIDE.
 */
struct connection *connection_open(struct worker *worker, struct carrier *carrier,
                                   const weir_protocol *protocol, uint32_t side);
/* Passes on bytes that were read before there was a protocol. */
void connection_replay(struct connection *connection, const weir_slice *slice);

/* Puts a channel on the connection: on the client's side from on_exchange, on the server's side to
 * take on an exchange (the protocol's attach()). State comes from the channel's arena, zeroed. */
void connection_attach(struct connection *connection, struct channel *channel);
/* Puts a channel on the connection that its protocol knows nothing of. */
void connection_join(struct connection *connection, struct channel *channel,
                     const weir_channel_operations *operations);
uint32_t connection_spare(const struct connection *connection);

/* Finish what runs, begin nothing new. */
void connection_drain(struct connection *connection);
/* how: CARRIER_CLOSE_*. Channels still open fail with `why`. From the rooms above only for an idle
 * connection, or with CARRIER_CLOSE_NOW: its protocol does nothing more then. */
void connection_close(struct connection *connection, uint32_t how, weir_result why);

/* The table behind query("weir.protocol/0"). */
extern const weir_protocol_host connection_protocol_host;

#endif
