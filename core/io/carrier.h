/* core/io/carrier.h - what carries bytes: TCP here, TLS or a tunnel on top of any other
 *
 * A carrier pulls: want_produce() says that there is something to send, and once per turn, when
 * there is room, the user's produce() writes it; nothing queues below a user but what one write
 * left over. Credit: open() grants the first WEIR_CREDIT bytes, grant() more; data() never
 * exceeds what was granted. Events come outside of the steps of connections and exchanges and only
 * store and mark; closed() is the last one, and comes exactly once for every opened carrier, never
 * from inside close().
 *
 * `stream` is 0 on byte carriers. All functions on the loop's thread. */
#ifndef CORE_IO_CARRIER_H
#define CORE_IO_CARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/protocol.h"
#include "core/io/address.h"

struct carrier;

/* A certificate that the peer showed and that was verified. Texts end with NUL. */
struct tls_peer {
    const char *subject, *issuer; /* RFC 4514: "CN=ann,O=Example" */
    const char *name;             /* its common name; without one: the first of its names, or "" */
    const char *names;            /* "a.example, 192.0.2.1, ann@example"; "" */
    const char *fingerprint;      /* SHA-256, hexadecimal */
};

/* What was agreed where the bytes are encrypted. As long as the carrier. */
struct tls_facts {
    const char *version, *cipher, *group; /* "TLSv1.3", "TLS_AES_256_GCM_SHA384", "X25519" */
    weir_string alpn;                     /* "h2"; empty: nothing was agreed */
    weir_string server_name;              /* that the client asked for; empty: none */
    bool resumed;
    const struct tls_peer *peer; /* NULL: none was shown, or nobody verified it */
};

struct carrier_facts {
    struct address peer, local;
    const struct tls_facts *tls; /* NULL: whoever is between can read the bytes */
};

struct carrier_events {
    void (*data)(void *user, uint64_t stream, const weir_slice *slice); /* borrowed */
    void (*end)(void *user, uint64_t stream, uint32_t how);             /* WEIR_END_CLEAN .. */
    void (*produce)(void *user, uint64_t stream, size_t room);
    void (*sent)(void *user, uint64_t stream); /* all that was written has left */
    void (*closed)(void *user);                /* the carrier's memory goes now */
};

struct carrier_operations {
    void (*open)(struct carrier *carrier);
    void (*want_produce)(struct carrier *carrier, uint64_t stream);
    void (*write)(struct carrier *carrier, uint64_t stream, const weir_slice *slices,
                  uint32_t count, uint32_t flags);
    void (*grant)(struct carrier *carrier, uint64_t stream, size_t bytes);
    void (*close)(struct carrier *carrier, uint32_t how);
};

struct carrier {
    const struct carrier_operations *operations;
    const struct carrier_events *events;
    void *user;
    struct carrier_facts facts;
};

/* Says whose the carrier is and lets it deliver. A carrier that is not wanted is only closed. */
static inline void carrier_open(struct carrier *carrier, const struct carrier_events *events,
                                void *user)
{
    carrier->events = events;
    carrier->user = user;
    carrier->operations->open(carrier);
}

static inline void carrier_want_produce(struct carrier *carrier, uint64_t stream)
{
    carrier->operations->want_produce(carrier, stream);
}

/* Only inside produce(). The carrier takes references. WEIR_END half-closes after these bytes. */
static inline void carrier_write(struct carrier *carrier, uint64_t stream, const weir_slice *slices,
                                 uint32_t count, uint32_t flags)
{
    carrier->operations->write(carrier, stream, slices, count, flags);
}

static inline void carrier_grant(struct carrier *carrier, uint64_t stream, size_t bytes)
{
    carrier->operations->grant(carrier, stream, bytes);
}

/* Whose the opened carrier is from here on. */
static inline void carrier_hand_over(struct carrier *carrier, const struct carrier_events *events,
                                     void *user)
{
    carrier->events = events;
    carrier->user = user;
}

/* How to end. No event but produce() (when flushing) and closed() comes afterwards, the latter
 * never from inside close(). */
enum {
    CARRIER_CLOSE_FLUSH = WEIR_CLOSE_FLUSH,
    CARRIER_CLOSE_LINGER = WEIR_CLOSE_LINGER,
    CARRIER_CLOSE_NOW = WEIR_CLOSE_NOW,
    CARRIER_CLOSE_RESET = WEIR_CLOSE_RESET
};
static inline void carrier_close(struct carrier *carrier, uint32_t how)
{
    carrier->operations->close(carrier, how);
}

#endif
