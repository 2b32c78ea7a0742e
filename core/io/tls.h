/* core/io/tls.h - TLS on top of any carrier: what the rooms above ask of it
 *
 * core names no TLS library: the table is filled in codecs/builtins.c. A handshake takes a carrier
 * that is not open yet and ends, like tcp_connect(), with another one that is not open yet, on top
 * of it. The upper carrier keeps every promise of core/io/carrier.h:
 *  - its room is one record; what it is given beyond is kept by reference;
 *  - it reads from below only while it has credit itself, and at most one record further;
 *  - its direction ends cleanly only by the peer's close_notify: without it the end is
 *    WEIR_END_TRUNCATED, and WEIR_END_RESET when a record was wrong. */
#ifndef CORE_IO_TLS_H
#define CORE_IO_TLS_H

#include "core/base/tls_settings.h"
#include "core/base/worker.h"
#include "core/io/carrier.h"

enum { TLS_MISTAKE_BYTES = 256, TLS_ALPN_MOST = 16 };

/* What is wrong with settings, and where. */
enum tls_setting { TLS_CERTIFICATE, TLS_KEY, TLS_CLIENT_CA, TLS_CA_FILE, TLS_OTHER };
struct tls_mistake {
    enum tls_setting setting;
    uint32_t index; /* of the certificate or file in its list */
    char text[TLS_MISTAKE_BYTES];
};

/* Keys, certificates and what else is the same for all connections of one place. Immutable for
 * those who use it; counted, since connections outlive their configuration. */
struct tls_context;

struct tls_handshake;

struct tls_start {
    struct worker *worker;
    struct carrier *below; /* not open yet; the handshake's from now on */
    struct tls_context *context;
    uint32_t limit_ms; /* 0: none */
    weir_string host;  /* client's side: the server's name, or a literal without brackets */
    uint16_t port;     /* likewise */
    /* What the peer is offered, and of a server the choice is among: "h2", "http/1.1"; ended by
     * NULL, at most TLS_ALPN_MOST. Borrowed for the call, but not the names. NULL: nothing. */
    const char *const *alpn;
    const char *where; /* for the log: the listener's address. Borrowed for the call */
    /* Comes exactly once, never from inside start(): with a carrier that is not open yet and is the
     * callee's, or NULL and why: WEIR_TLS_PROTOCOL_ERROR, WEIR_TLS_CERTIFICATE_ERROR,
     * WEIR_CONNECTION_TIMEOUT, WEIR_CONNECTION_TERMINATED. In the latter case the carrier below is
     * closed by then. */
    void (*done)(void *user, struct carrier *carrier, weir_result why);
    void *user;
};

struct tls_operations {
    /* [main] NULL: mistake. `key_log`: the file that secrets are appended to, for debugging; NULL:
     * none. */
    struct tls_context *(*server_context)(const struct tls_server_settings *settings,
                                          const char *key_log, struct tls_mistake *mistake);
    struct tls_context *(*client_context)(const struct tls_client_settings *settings,
                                          const char *key_log, struct tls_mistake *mistake);
    struct tls_context *(*context_take)(struct tls_context *context); /* [any] one more user */
    void (*context_drop)(struct tls_context *context);                /* [any] NULL is ignored */
    /* [worker] The side is the context's. */
    struct tls_handshake *(*start)(const struct tls_start *start);
    /* done() does not come. */
    void (*cancel)(struct tls_handshake *handshake);
};

/* Defined in codecs/builtins.c. */
extern const struct tls_operations *const builtin_tls;

#endif
