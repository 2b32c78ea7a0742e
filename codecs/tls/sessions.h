/* codecs/tls/sessions.h - sessions of servers, to resume them: bounded, each used once
 *
 * Zeroed memory is empty. No lock: the owner's. */
#ifndef CODECS_TLS_SESSIONS_H
#define CODECS_TLS_SESSIONS_H

#include <openssl/ssl.h>

#include "abi/weir.h"

enum { TLS_SESSIONS_MOST = 1024, TLS_SESSIONS_OF_TARGET = 2, TLS_SESSION_BUCKETS = 256 };

struct tls_session_entry;

struct tls_sessions {
    struct tls_session_entry *buckets[TLS_SESSION_BUCKETS];
    struct tls_session_entry *oldest, *newest;
    uint32_t count;
};

/* Keeps it, which takes the caller's reference; the oldest goes when there are too many. */
void tls_sessions_put(struct tls_sessions *sessions, const char *target, SSL_SESSION *session);
/* The newest of that target, the caller's; it is not kept any longer. NULL: none. */
SSL_SESSION *tls_sessions_take(struct tls_sessions *sessions, const char *target);
void tls_sessions_deinit(struct tls_sessions *sessions);

#endif
