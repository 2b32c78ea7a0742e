/* codecs/tls/context.h - keys, certificates and what else all connections of one place share */
#ifndef CODECS_TLS_CONTEXT_H
#define CODECS_TLS_CONTEXT_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "codecs/tls/sessions.h"
#include "core/io/tls.h"

/* A name of a certificate; of "*.example.org" only ".example.org" is kept. Lower case. */
struct tls_name {
    char *text;
    SSL_CTX *ssl;
};

struct tls_context {
    _Atomic uint32_t references;
    bool is_server;
    SSL_CTX *ssl;     /* of the first certificate; of a client NULL until it is needed */
    SSL_CTX **others; /* of the others */
    uint32_t other_count;
    struct tls_name *names; /* of all certificates, sorted; of two equal ones the first counts */
    uint32_t name_count;
    int key_log; /* descriptor, or -1 */
    /* --- client's side */
    char *server_name; /* NULL: the host's */
    bool verify;
    uint32_t least_version;
    pthread_mutex_t lock; /* of what follows */
    bool has_system_store;
    struct tls_sessions sessions;
};

struct tls_context *tls_server_context(const struct tls_server_settings *settings,
                                       const char *key_log, struct tls_mistake *mistake);
struct tls_context *tls_client_context(const struct tls_client_settings *settings,
                                       const char *key_log, struct tls_mistake *mistake);
struct tls_context *tls_context_take(struct tls_context *context);
void tls_context_drop(struct tls_context *context);

/* The context of an SSL, whichever certificate it shows. */
struct tls_context *tls_context_of(const SSL *ssl);
/* Before it is used: who speaks no TLS does not pay for the library, nor for what the system
 * trusts. [any] */
void tls_context_need(struct tls_context *context);
/* The one whose certificate has that name; NULL: none has. */
SSL_CTX *tls_context_find(const struct tls_context *context, const char *name);

#endif
