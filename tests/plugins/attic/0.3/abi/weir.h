/* abi/weir.h - START HERE: base types, what a plugin exports, what the host gives it first
 *
 * C11 or C++11, needs only <stddef.h> and <stdint.h>. Beside this one a plugin includes what it
 * needs: filter.h, protocol.h, configuration.h, services.h; installed they are <weir/filter.h> and
 * so on, with the flags of `pkg-config --cflags weir`. `weir plugin new` writes a whole plugin to
 * begin with. Major 0 is a draft: it may still change.
 *
 * Rules that hold for every header in this folder:
 *  - A plugin links against nothing of weir: every host function comes from a table of pointers.
 *  - Tables and structs that may grow begin with `size`. Growth is append-only: a reader takes what
 *    both sides know, so a hook or function that one side does not have reads as NULL, "not
 *    implemented". Nothing is renamed, reordered, resized or given another meaning inside a
 *    major: a new meaning gets a new interface name, served beside the old one.
 *  - Integers have fixed widths; there is no C enum, bool, bit-field or variable argument list in
 *    any of it.
 *  - What a plugin gives the host may be newer than the host: it is refused with an error. What the
 *    host gives a plugin is cut down to what existed in the minor that the plugin was built with.
 *  - Borrowed bytes (weir_string, weir_slice, weir_head) live until the function they were passed
 *    to returns; what is read inside a hook, until that returns, and of a head no longer than until
 *    that head is changed. To keep bytes: copy them, or take a reference on the slice's owner.
 *    weir --check-plugins finds those that were not.
 *  - Threads: [main] the configuration thread, [worker] the loop that owns the object, [any].
 *    One exchange lives on one worker; its hooks are never called concurrently and never
 *    re-entered: what a hook causes is acted upon after it has returned.
 *  - A call on an exchange that is over, by its reference, returns WEIR_GONE; it never crashes.
 *  - No exception and no longjmp may cross the boundary in either direction. */
#ifndef WEIR_H
#define WEIR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_ABI_MAJOR 0
#define WEIR_ABI_MINOR 3
#define WEIR_MAGIC 0x52494557u /* "WEIR" */

struct weir_filter;   /* filter.h */
struct weir_protocol; /* protocol.h */

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
    WEIR_WRONG_PHASE = -10, /* too early or too late for that, in this exchange */
    WEIR_WRONG_THREAD = -11,
    WEIR_TOO_MUCH = -12, /* beyond the credit, or a limit of the host's */
    WEIR_ALREADY = -13,  /* done before */
    WEIR_NOT_FOUND = -14,
    WEIR_FILTER_TIMEOUT = -15, /* a filter paused and did not go on in time */
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
    WEIR_REQUEST_TRUNCATED = -41,  /* the client ended in the middle of its request's body */
    WEIR_UNAUTHENTICATED = -42,    /* proxy credentials are missing or wrong */
    WEIR_BUFFER_FULL = -43,        /* a response that a filter wants whole is too large for that */
    WEIR_TLS_PROTOCOL_ERROR = -44, /* no TLS with the server ... */
    WEIR_TLS_CERTIFICATE_ERROR = -45 /* ... because of its certificate, or of ours */
};

/* Flags on heads and data. */
enum {
    WEIR_END = 1u,  /* this direction ends here */
    WEIR_LAST = 2u, /* of a response head: the connection is of no use behind it; a protocol of
                       one exchange at a time closes it */
    WEIR_TRUNCATED_DATA = 4u /* of a body that was wanted whole: this is as much of it as could be
                                kept, the rest follows */
};

/* What a head is. */
enum {
    WEIR_REQUEST = 1, /* a request with its body, or the answer to one */
    WEIR_TUNNEL = 2,  /* after the head both directions carry bytes that are nobody's message */
    WEIR_MALFORMED_REQUEST =
        3, /* no usable request; `error` says why. Answered, logged, never sent on */
    WEIR_AUTHENTICATION = 4 /* no request at all: a protocol asks whether credentials are good.
                               Filters see open(), authenticate() and close() of it */
};

/* A request head (method set) or a response head (status set). Field names keep their case and
 * order, repeated fields stay apart. Names and values hold no CR, LF or NUL. */
typedef struct weir_head {
    uint32_t size;
    uint32_t kind;       /* WEIR_REQUEST .. */
    uint32_t flags;      /* WEIR_END: no body follows */
    uint32_t status;     /* of a response, 100..599; 0 in requests */
    weir_string version; /* how it came: "1.1", "1.0", "2", "3" of HTTP, and with its name that of
                            anything else: "SOCKS/5" (for Via) */
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
    weir_result error;      /* of a WEIR_MALFORMED_REQUEST what is wrong with it; of a response
                               that weir made itself why it failed; else WEIR_OK */
    int64_t content_length; /* -1: unknown, and of every tunnel */
    weir_string block;      /* when every string above lies in one run of bytes or is static:
                               that run. Lets the host copy the head in one piece; may be empty */
} weir_head;

/* Who somebody says he is. `scheme` is lower case: "basic", "bearer", "digest" of a request;
 * "password" of a protocol with fields of its own for it; "certificate" of the one that the client
 * showed in its TLS handshake, when the request says nothing; empty: there are none. */
typedef struct weir_credentials {
    uint32_t size;
    weir_string scheme;
    weir_string name, secret; /* of "password", and of "basic" when it could be decoded */
    weir_string token;        /* of a request: what follows the scheme; of a certificate, whose
                                 common name is the name: its SHA-256, hexadecimal */
} weir_credentials;

/* The name of an exchange as one filter sees it, or of an instance on one worker, or of a timer or
 * other task: may be kept for ever and used from any thread, also when what it names is over. 0
 * names nothing. */
typedef struct weir_reference {
    uint64_t value;
} weir_reference;

/* How serious a line of the log is. */
enum { WEIR_LOG_DEBUG = 0, WEIR_LOG_INFO = 1, WEIR_LOG_WARNING = 2, WEIR_LOG_ERROR = 3 };

/* What the host gives first: a table for each plugin, valid until its unload(), or until its
 * load() has failed. */
typedef struct weir_host weir_host;
struct weir_host {
    uint32_t size;
    uint16_t abi_major, abi_minor;
    const char *version; /* "0.1.0" */
    /* [any] "weir.filter/0", "weir.protocol/0", "weir.configuration/0", "weir.asynchronous/0",
     * "weir.metrics/0", "weir.dictionary/0" are always there; others may be NULL. */
    const void *(*query)(const weir_host *host, const char *name);
    weir_buffer *(*buffer_new)(size_t capacity, uint8_t **bytes); /* [worker] with one reference */
    void (*buffer_reference)(weir_buffer *buffer);                /* [worker] NULL is ignored */
    void (*buffer_release)(weir_buffer *buffer);                  /* [worker] NULL is ignored */
    const uint8_t *tracing;                                       /* nonzero: call trace() */
    void (*trace)(const char *file, const char *function);        /* [any] */
    /* [any] One line, with the plugin's name in front. Control characters are replaced. */
    void (*log)(const weir_host *host, uint32_t level, weir_string line);
    uint32_t (*log_level)(void); /* [any] lines of lower levels are dropped */
    /* [main] inside load() only. WEIR_ALREADY: another plugin has one of that name; the log says
     * which. `filter` and `protocol` stay the plugin's and must not change. */
    weir_result (*register_filter)(const weir_host *host, const struct weir_filter *filter);
    weir_result (*register_protocol)(const weir_host *host, const struct weir_protocol *protocol);
};

/* Names the place for the tour of one request (WEIR_TRACE=exchange); a load and a branch otherwise.
 */
#define WEIR_TRACE(host)                                                                           \
    do {                                                                                           \
        if (*(host)->tracing)                                                                      \
            (host)->trace(__FILE__, __func__);                                                     \
    } while (0)

/* The bytes of a string literal. */
#ifdef __cplusplus
#define WEIR_STRING(literal) (weir_string{(literal), sizeof(literal) - 1})
#define WEIR_EXPORTED extern "C" __attribute__((visibility("default")))
#else
#define WEIR_STRING(literal) ((weir_string){(literal), sizeof(literal) - 1})
#define WEIR_EXPORTED extern __attribute__((visibility("default")))
#endif

/* Whether a table of that type has the member: it is long enough, and it is not NULL. */
#define WEIR_HAS(type, table, member)                                                              \
    ((table) && (table)->size >= offsetof(type, member) + sizeof((table)->member) &&               \
     (table)->member)

/* What a plugin exports, as the one symbol weir_plugin_entry. The first 24 bytes have this layout
 * in every major, for ever, so that any weir can say why it refuses any plugin. */
typedef struct weir_plugin {
    uint32_t magic, size;
    uint16_t abi_major, abi_minor; /* of the headers that it was built with */
    uint16_t needs_minor;          /* the least minor of a host that it can live with */
    uint16_t flags;                /* WEIR_PLUGIN_UNLOADABLE */
    uint64_t build;                /* the author's: a revision */
    const char *name;              /* "acme.trace", also in the log */
    const char *version;
    const char *license;
    const char *needs; /* interfaces that it cannot do without: "weir.filter/0,weir.dictionary/0" */
    /* [main] Registers filters and protocols; less than 0 refuses, and what it registered goes. */
    weir_result (*load)(const weir_host *host);
    void (*unload)(void); /* [main] nothing of the plugin is used any more; may be NULL */
} weir_plugin;

enum {
    WEIR_PLUGIN_UNLOADABLE = 1u /* may be unmapped after unload(); others stay in memory */
};

/* The same facts as an ELF note, section .note.weir, which is read before a line of the plugin's
 * code runs. */
typedef struct weir_note {
    uint32_t name_size, description_size, type;
    char name[8];
    uint32_t magic, size;
    uint16_t abi_major, abi_minor, needs_minor, flags;
    uint32_t build[2];
} weir_note;

/* Makes both, in one file of the plugin. */
#define WEIR_PLUGIN(NEEDS_MINOR, FLAGS, BUILD, NAME, VERSION, LICENSE, NEEDS, LOAD, UNLOAD)        \
    __attribute__((used, aligned(4), section(".note.weir"))) static const weir_note weir_note_ = { \
        5,                                                                                         \
        24,                                                                                        \
        1,                                                                                         \
        "WEIR",                                                                                    \
        WEIR_MAGIC,                                                                                \
        sizeof(weir_plugin),                                                                       \
        WEIR_ABI_MAJOR,                                                                            \
        WEIR_ABI_MINOR,                                                                            \
        (NEEDS_MINOR),                                                                             \
        (FLAGS),                                                                                   \
        {(uint32_t)(BUILD), (uint32_t)((uint64_t)(BUILD) >> 32)}};                                 \
    WEIR_EXPORTED const weir_plugin weir_plugin_entry;                                             \
    const weir_plugin weir_plugin_entry = {WEIR_MAGIC,     sizeof(weir_plugin),                    \
                                           WEIR_ABI_MAJOR, WEIR_ABI_MINOR,                         \
                                           (NEEDS_MINOR),  (FLAGS),                                \
                                           (BUILD),        (NAME),                                 \
                                           (VERSION),      (LICENSE),                              \
                                           (NEEDS),        (LOAD),                                 \
                                           (UNLOAD)}

#ifdef __cplusplus
}
#endif
#endif
