/* abi/weir.h - base types of weir's plugin ABI, and what the host gives every plugin first
 *
 * C11 or C++, needs only <stddef.h> and <stdint.h>. Major 0 is a draft: it may still change.
 *
 * Rules that hold for every header in this folder:
 *  - A plugin links against nothing of weir: every host function comes from a table of pointers.
 *  - Tables and structs that may grow begin with `size`. Growth is append-only; what a smaller
 *    table does not reach reads as NULL, "not implemented".
 *  - Borrowed bytes (weir_string, weir_slice, weir_head) live until the function they were passed
 *    to returns. To keep bytes: copy them, or take a reference on the slice's owner.
 *  - Threads: [main] the configuration thread, [worker] the loop that owns the object, [any].
 *    One exchange lives on one worker; its functions are never called concurrently.
 *  - No exception and no longjmp may cross the boundary in either direction. */
#ifndef WEIR_H
#define WEIR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_ABI_MAJOR 0
#define WEIR_ABI_MINOR 1

typedef struct weir_buffer weir_buffer; /* reference-counted block of bytes, of one worker */

typedef struct weir_string { /* borrowed bytes, no terminating NUL implied */
    const char *bytes;
    size_t length;
} weir_string;

typedef struct weir_slice { /* part of a buffer; owner NULL: the bytes are static */
    const uint8_t *bytes;
    size_t length;
    weir_buffer *owner;
} weir_slice;

typedef struct weir_field {
    weir_string name, value;
} weir_field;

/* Why something failed or ended; also the answer of functions that can fail (0 or more: success).
 * Those from WEIR_DNS_ERROR on are the causes that have an answer of their own to the client:
 * core/exchange/reply.c has the table. */
typedef int32_t weir_result;
enum {
    WEIR_OK = 0,
    WEIR_INVALID = -1, /* a wrong argument or call */
    WEIR_GONE = -2,    /* the object is over */
    WEIR_REFUSED = -3, /* not begun, safe to try elsewhere */
    WEIR_UNSUPPORTED = -4,
    WEIR_CANCELLED = -5,    /* nobody wants it any more */
    WEIR_RESET = -6,        /* the peer aborted */
    WEIR_TRUNCATED = -7,    /* the peer ended in the middle of a message */
    WEIR_IDLE_TIMEOUT = -8, /* no byte for too long */
    WEIR_STOPPING = -9,     /* weir is shutting down */
    WEIR_DNS_ERROR = -20,
    WEIR_CONNECTION_REFUSED = -21,
    WEIR_UNROUTABLE = -22,
    WEIR_CONNECTION_TIMEOUT = -23,
    WEIR_CONNECTION_TERMINATED = -24, /* the server closed before a whole response head */
    WEIR_SERVER_PROTOCOL_ERROR = -25, /* the server spoke nonsense before a whole response head */
    WEIR_RESPONSE_TIMEOUT = -26,
    WEIR_ADDRESS_PROHIBITED = -27,
    WEIR_DENIED = -28,
    WEIR_LIMIT_REACHED = -29,
    WEIR_MALFORMED = -30,
    WEIR_HEAD_TIMEOUT = -31,
    WEIR_TARGET_TOO_LONG = -32,
    WEIR_HEAD_TOO_LARGE = -33,
    WEIR_VERSION_UNSUPPORTED = -34,
    WEIR_NOT_IMPLEMENTED = -35,
    WEIR_NOT_A_PROXY_REQUEST = -36, /* origin-form although no upstream is fixed */
    WEIR_LOOP = -37,
    WEIR_INTERNAL = -38,
    WEIR_BODY_TIMEOUT = -39, /* the client stopped sending its request's body */
    WEIR_BODY_TOO_LARGE = -40,
    WEIR_REQUEST_TRUNCATED = -41 /* the client ended in the middle of its request's body */
};

/* Flags on heads and data. */
enum {
    WEIR_END = 1u, /* this direction ends here */
    WEIR_LAST = 2u /* of a response head: the connection is of no use behind it; a protocol of one
                      exchange at a time closes it */
};

/* What a head is. */
enum {
    WEIR_REQUEST = 1, /* a request with its body, or the answer to one */
    WEIR_TUNNEL = 2,  /* after the head both directions carry bytes that are nobody's message */
    WEIR_MALFORMED_REQUEST =
        3 /* no usable request; `error` says why. Answered, logged, never sent on */
};

/* A request head (method set) or a response head (status set). Field names keep their case and
 * order, repeated fields stay apart. Names and values hold no CR, LF or NUL. */
typedef struct weir_head {
    uint32_t size;
    uint32_t kind;       /* WEIR_REQUEST .. */
    uint32_t flags;      /* WEIR_END: no body follows */
    uint32_t status;     /* of a response, 100..599; 0 in requests */
    weir_string version; /* how it came: "1.1", "1.0", "2", "3" (for Via) */
    weir_string method;
    weir_string scheme;    /* lower case; empty: the request had no absolute target */
    weir_string authority; /* host or host:port as sent; of an origin-form request: Host */
    weir_string path;      /* path and query byte by byte, never empty but in a tunnel */
    weir_string reason;    /* of an h1 response; may be empty */
    weir_string protocol;  /* what an Upgrade or an extended CONNECT asks for, or the answer
                              switches to ("websocket"); empty: nothing. A request that asks
                              has no WEIR_END: what follows depends on the answer */
    const weir_field *fields;
    uint32_t count;
    weir_result error;      /* of a WEIR_MALFORMED_REQUEST */
    int64_t content_length; /* -1: unknown */
    weir_string block;      /* when every string above lies in one run of bytes or is static:
                               that run. Lets the host copy the head in one piece; may be empty */
} weir_head;

/* What the host gives first; more by query("weir.protocol/0"), NULL when it has no such table. */
typedef struct weir_host weir_host;
struct weir_host {
    uint32_t size;
    uint16_t abi_major, abi_minor;
    const char *version;                                          /* "0.1.0" */
    const void *(*query)(const char *name);                       /* [any] */
    weir_buffer *(*buffer_new)(size_t capacity, uint8_t **bytes); /* [worker] with one reference */
    void (*buffer_reference)(weir_buffer *buffer);                /* [worker] NULL is ignored */
    void (*buffer_release)(weir_buffer *buffer);                  /* [worker] NULL is ignored */
    const uint8_t *tracing;                                       /* nonzero: call trace() */
    void (*trace)(const char *file, const char *function);        /* [any] */
};

/* Names the place for the tour of one request (WEIR_TRACE=exchange); a load and a branch otherwise.
 */
#define WEIR_TRACE(host)                                                                           \
    do {                                                                                           \
        if (*(host)->tracing)                                                                      \
            (host)->trace(__FILE__, __func__);                                                     \
    } while (0)

#define WEIR_STRING(literal) ((weir_string){(literal), sizeof(literal) - 1})

#ifdef __cplusplus
}
#endif
#endif
