/* tests/sim/network.h - the simulated network, as the clients and origins at its ends see it
 *
 * Each connection has two ends and, each way, one bounded buffer that stands for both kernels'.
 * What is written arrives late, in pieces, or not at all when the other end resets. */
#ifndef TESTS_SIM_NETWORK_H
#define TESTS_SIM_NETWORK_H

#include <stddef.h>

#include "core/io/address.h"
#include "tests/sim/simulation.h"

struct loop;

struct endpoint_events {
    /* Bytes, the end or a reset wait. Comes again, after a while, as long as some do. */
    void (*readable)(void *user);
    /* There is room: once after endpoint_want_room(). */
    void (*writable)(void *user);
};

enum { ENDPOINT_BYTES_MOST = 65536 }; /* one kernel's buffer, at most */

struct endpoint {
    struct endpoint *other;
    const struct endpoint_events *events;
    void *user;
    uint64_t number; /* of the connection */
    struct event readable, writable;
    uint8_t *bytes; /* a ring: what came for this end and was not read */
    uint32_t capacity, first, count;
    uint32_t latency_us;
    bool peer;      /* not weir's end: makes pauses */
    bool impatient; /* but without the long ones */
    bool paused;    /* does not want to read */
    bool wants_room;
    bool end_come, end_read;     /* the other end will send no more */
    bool reset_come, reset_read; /* the connection is dead */
    bool lost; /* nothing reaches this end any more, not even that the other has gone */
    bool closed;
};

/* What endpoint_read() answers when there are no bytes. */
enum { READ_END = 0, READ_NOTHING = -1, READ_RESET = -2 };

ptrdiff_t endpoint_read(struct endpoint *end, uint8_t *bytes, size_t most);
/* How many bytes were taken. A dead connection takes everything. */
size_t endpoint_write(struct endpoint *end, const uint8_t *bytes, size_t count);
size_t endpoint_room(const struct endpoint *end);
void endpoint_want_room(struct endpoint *end);
void endpoint_pause(struct endpoint *end, bool paused);
void endpoint_finish(struct endpoint *end); /* no more will be written: FIN */
void endpoint_reset(struct endpoint *end);  /* and close */
/* FIN; or a reset when something was not read, or was sent to a dead connection: then false. */
bool endpoint_close(struct endpoint *end);
/* Of a new connection: neither kernel's buffer is smaller, which is a power of two. */
void endpoint_widen(struct endpoint *end, uint32_t capacity);
/* How long this end takes until it does the next thing. */
uint64_t endpoint_pause_us(const struct endpoint *end);

/* A new connection: weir's end; the peer's is its `other`. Neither has events yet. */
struct endpoint *connection_pair_new(void);
/* Gives a connection that comes to weir to who listens where it goes to; false: nobody does, or
 * wants it. */
struct carrier;
bool listener_accept(struct carrier *carrier);
/* Connects to a listener of weir's; a reset comes when there is none. */
struct endpoint *network_connect(struct loop *loop, const struct address *to,
                                 const struct address *from, const struct endpoint_events *events,
                                 void *user);

/* What is at the addresses that weir connects to. */
enum reach { REACH_ACCEPTS, REACH_REFUSES, REACH_SILENT };
struct network_servers {
    enum reach (*reach)(const struct address *address);
    void (*accept)(const struct address *address, struct endpoint *end);
    /* Weir writes this, which will reach the server's end some time. */
    void (*on_its_way)(struct endpoint *end, const uint8_t *bytes, size_t count);
    /* A name's address of that family; false: it has none. */
    bool (*resolve)(const char *host, int family, struct address *address);
};
extern struct network_servers network_servers;

#endif
