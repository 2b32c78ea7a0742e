/* tests/sim/plan.h - what one exchange is to be, and what has become of it
 *
 * The plan follows from the seed and the exchange's number alone; client and origin both know it,
 * so each can check whatever it receives. */
#ifndef TESTS_SIM_PLAN_H
#define TESTS_SIM_PLAN_H

#include <stddef.h>

#include "core/io/address.h"
#include "tests/sim/network.h"

enum delivery { BODY_NONE, BODY_LENGTH, BODY_CHUNKED, BODY_UNTIL_CLOSE };
enum way { REQUEST, RESPONSE, WAYS }; /* from client to origin; back */

enum fault {
    FAULT_NONE,
    CLIENT_RESETS,
    CLIENT_LEAVES, /* closes in the middle */
    CLIENT_HANGS,  /* neither reads nor writes any more, for longer than weir has patience */
    ORIGIN_RESETS,
    ORIGIN_LEAVES,
    ORIGIN_HANGS,
    ORIGIN_SILENT, /* never answers */
    ORIGIN_NONSENSE,
    HOST_FAILS /* no such name, refused, silent */
};

struct host {
    const char *name; /* as in a URL */
    const char *v4, *v6;
    enum reach v4_reach, v6_reach;
    uint16_t failure; /* what weir answers when nobody can be reached; 0: somebody can */
    bool h2;          /* what its origins speak, as weir's configuration says */
};

/* One direction. Bytes are those of the body or tunnel. */
struct direction {
    enum delivery delivery;
    uint32_t length;
    bool trailers;
    uint32_t stall_at; /* the receiver does not read for a while after so many bytes */
    uint64_t sent, received;
    uint32_t buffers;    /* of the simulated kernels, the sender's and the receiver's connection */
    bool ended, arrived; /* by the sender; at the receiver */
};

struct plan {
    uint64_t number; /* 1 .. */
    const char *method;
    const struct host *host;
    uint16_t port; /* 0: none in the URL */
    uint16_t status;
    bool h2[WAYS]; /* what the sender speaks */
    bool tunnel;
    bool eager;        /* tunnel: the client sends before it has the answer */
    bool waits[WAYS];  /* tunnel: the sender ends this direction only after the other has ended */
    uint32_t early;    /* the origin answers after so many bytes of the body */
    bool closes[WAYS]; /* the sender says Connection: close */
    bool half_closes;  /* the client ends its direction behind the request */
    enum fault fault;
    uint32_t fault_at; /* bytes of everything read and written by the one who fails */

    struct direction ways[WAYS];
    bool over;               /* for its client */
    uint32_t attempts;       /* how often the origin has seen it */
    bool attempt_repeatable; /* the last of them may be repeated */
    bool may_fail;           /* a 502 or 504 of weir's is a good answer */
    bool may_break;          /* so is an answer that breaks off */
};

/* Whatever there is to know about exchange `number`; not begun. */
void plan_make(struct plan *plan, uint64_t number, uint64_t seed, bool faults);
/* Tunnels: the exchange's own port, by which the origin knows it. */
uint16_t plan_tunnel_port(uint64_t number);

/* The names that hosts have, and what is at their addresses. */
enum reach plan_reach(const struct address *address);
const struct host *plan_host_at(const struct address *address);
bool plan_resolve(const char *host, int family, struct address *address);

/* Whoever wants requests to that host to be routed; all of them. */
uint32_t plan_hosts(const struct host **all);

struct text {
    char bytes[4096];
    uint32_t length;
};
void text_write(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A whole head as its sender writes it. */
void plan_head(const struct plan *plan, enum way way, struct text *text);
/* Says what is wrong with a head as it arrived; NULL: nothing. */
const char *plan_check_head(const struct plan *plan, enum way way, const struct text *head);
/* The value of a head's field, as text of its own; empty: there is none. */
void text_field(const struct text *head, const char *name, char value[64]);
void plan_trailers(const struct plan *plan, enum way way, struct text *text);

/* Bytes of a body or tunnel: what they must be at this place. */
void pattern_fill(uint64_t number, enum way way, uint64_t offset, uint8_t *bytes, size_t count);
bool pattern_matches(uint64_t number, enum way way, uint64_t offset, const uint8_t *bytes,
                     size_t count);

#endif
