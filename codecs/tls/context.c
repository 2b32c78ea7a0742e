/* codecs/tls/context.c - keys, certificates and what else all connections of one place share */
#include "codecs/tls/context.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codecs/tls/certificate.h"
#include "codecs/tls/tickets.h"
#include "codecs/tls/tls.h"
#include "core/base/memory.h"
#include "core/base/string.h"

#define SYSTEM_DIRECTORY "/etc/ssl/certs" /* where OpenSSL's own default is not set up */

/* A star: a key is sent at once, so that servers that lack the first need no second round. */
static const char groups[] = "*X25519MLKEM768:*X25519:P-256";
static const char ciphers_1_2[] = "ECDHE+AESGCM:ECDHE+CHACHA20";

/* --- mistakes */

static void __attribute__((format(printf, 4, 5)))
mistaken(struct tls_mistake *mistake, enum tls_setting setting, uint32_t index, const char *format,
         ...)
{
    va_list arguments;
    va_start(arguments, format);
    mistake->setting = setting;
    mistake->index = index;
    vsnprintf(mistake->text, TLS_MISTAKE_BYTES, format, arguments);
    va_end(arguments);
    ERR_clear_error();
}

/* What OpenSSL says was wrong. */
static const char *reason(void)
{
    const char *words = ERR_reason_error_string(ERR_peek_last_error());
    return words ? words : "it cannot be used";
}

/* --- PEM: in files or as they are */

static bool is_pem(const char *text)
{
    return strstr(text, "-----BEGIN") != NULL;
}

/* How a message may call it: a key as it is is nobody's business. */
static const char *shown(const char *place)
{
    return is_pem(place) ? "what is given here" : place;
}

static BIO *open_pem(const char *place)
{
    return is_pem(place) ? BIO_new_mem_buf(place, -1) : BIO_new_file(place, "r");
}

/* No terminal is asked. */
static int no_password(char *buffer, int size, int writing, void *user)
{
    (void)buffer, (void)size, (void)writing, (void)user;
    return -1;
}

static bool use_chain(SSL_CTX *ssl, BIO *bio)
{
    X509 *next;
    SSL_CTX_clear_chain_certs(ssl);
    while ((next = PEM_read_bio_X509(bio, NULL, no_password, NULL)))
        if (SSL_CTX_add0_chain_cert(ssl, next) != 1) {
            X509_free(next);
            return false;
        }
    unsigned long error = ERR_peek_last_error(); /* that there is no further one is the end */
    bool ended = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
    if (ended)
        ERR_clear_error();
    return ended;
}

static bool use_certificate(SSL_CTX *ssl, const char *place, uint32_t index,
                            struct tls_mistake *mistake)
{
    BIO *bio = open_pem(place);
    if (!bio) {
        mistaken(mistake, TLS_CERTIFICATE, index, "%s cannot be read: %s", shown(place),
                 strerror(errno));
        return false;
    }
    X509 *certificate = PEM_read_bio_X509_AUX(bio, NULL, no_password, NULL);
    bool fine =
        certificate && SSL_CTX_use_certificate(ssl, certificate) == 1 && use_chain(ssl, bio);
    if (!certificate)
        mistaken(mistake, TLS_CERTIFICATE, index, "%s holds no certificate in PEM", shown(place));
    else if (!fine)
        mistaken(mistake, TLS_CERTIFICATE, index, "%s: %s", shown(place), reason());
    X509_free(certificate);
    BIO_free(bio);
    return fine;
}

static bool use_key(SSL_CTX *ssl, const char *place, uint32_t index, struct tls_mistake *mistake)
{
    BIO *bio = open_pem(place);
    if (!bio) {
        mistaken(mistake, TLS_KEY, index, "%s cannot be read: %s", shown(place), strerror(errno));
        return false;
    }
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
    BIO_free(bio);
    bool fine = key && X509_check_private_key(SSL_CTX_get0_certificate(ssl), key) == 1;
    if (!key)
        mistaken(mistake, TLS_KEY, index,
                 "%s holds no key in PEM that can be used without a password", shown(place));
    else if (!fine)
        mistaken(mistake, TLS_KEY, index, "%s is not the key of its certificate", shown(place));
    if (fine && SSL_CTX_use_PrivateKey(ssl, key) != 1) {
        mistaken(mistake, TLS_KEY, index, "%s: %s", shown(place), reason());
        fine = false;
    }
    EVP_PKEY_free(key);
    return fine;
}

/* --- contexts */

static int number;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* OpenSSL's memory is counted with ours, and runs out as ours does. */
static void *allocate(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return size ? memory_allocate(size) : NULL;
}

static void *resize(void *memory, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    if (size)
        return memory_resize(memory, size);
    memory_free(memory);
    return NULL;
}

static void release(void *memory, const char *file, int line)
{
    (void)file, (void)line;
    memory_free(memory);
}

static void start_library(void)
{
    CRYPTO_set_mem_functions(allocate, resize, release); /* refused when it is in use already */
    OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL);
    number = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL);
}

struct tls_context *tls_context_of(const SSL *ssl)
{
    return SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), number);
}

static void on_secret(const SSL *ssl, const char *line)
{
    char text[1024];
    int length = snprintf(text, sizeof text, "%s\n", line);
    if (length > 0 && (size_t)length < sizeof text &&
        write(tls_context_of(ssl)->key_log, text, (size_t)length) < 0)
        return; /* it is for debugging */
}

static int on_certificate(int fine, X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls *tls = SSL_get_app_data(ssl);
    X509 *leaf = X509_STORE_CTX_get0_cert(store);
    if (fine || !tls->handshake || tls->handshake->blamed)
        return fine;
    if (leaf && X509_up_ref(leaf) == 1)
        tls->handshake->blamed = leaf;
    tls->handshake->verdict = X509_STORE_CTX_get_error(store);
    return fine;
}

static SSL_CTX *make_ssl(struct tls_context *context, uint32_t least_version)
{
    pthread_once(&once, start_library);
    SSL_CTX *ssl = SSL_CTX_new(TLS_method());
    int least = least_version == TLS_VERSION_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
    SSL_CTX_set_ex_data(ssl, number, context);
    SSL_CTX_set_min_proto_version(ssl, least);
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set1_groups_list(ssl, groups);
    if (context->key_log >= 0)
        SSL_CTX_set_keylog_callback(ssl, on_secret);
    return ssl;
}

static struct tls_context *context_new(bool is_server, const char *key_log)
{
    struct tls_context *context = memory_zeroed(sizeof *context);
    context->references = 1;
    context->is_server = is_server;
    context->key_log =
        key_log ? open(key_log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    pthread_mutex_init(&context->lock, NULL);
    return context;
}

struct tls_context *tls_context_take(struct tls_context *context)
{
    atomic_fetch_add_explicit(&context->references, 1, memory_order_relaxed);
    return context;
}

void tls_context_drop(struct tls_context *context)
{
    if (!context || atomic_fetch_sub_explicit(&context->references, 1, memory_order_acq_rel) != 1)
        return;
    tls_sessions_deinit(&context->sessions);
    SSL_CTX_free(context->ssl);
    for (uint32_t i = 0; i < context->other_count; i++)
        SSL_CTX_free(context->others[i]);
    for (uint32_t i = 0; i < context->name_count; i++)
        memory_free(context->names[i].text);
    memory_free(context->others);
    memory_free(context->names);
    memory_free(context->server_name);
    if (context->key_log >= 0)
        close(context->key_log);
    pthread_mutex_destroy(&context->lock);
    memory_free(context);
}

/* --- towards clients: certificates by name */

struct collection {
    struct tls_context *context;
    SSL_CTX *ssl;
};

static int find_name(const struct tls_context *context, const char *text)
{
    uint32_t from = 0, to = context->name_count;
    while (from < to) {
        uint32_t middle = (from + to) / 2;
        int order = strcmp(context->names[middle].text, text);
        if (!order)
            return (int)middle;
        *(order < 0 ? &from : &to) = order < 0 ? middle + 1 : middle;
    }
    return -1 - (int)from; /* where it would be */
}

static void lower(char *text)
{
    for (; *text; text++)
        *text = character_lower(*text);
}

static void collect(void *user, const char *name)
{
    struct collection *collection = user;
    struct tls_context *context = collection->context;
    char *text = memory_copy_string(string_of(name[0] == '*' ? name + 1 : name));
    lower(text);
    int at = find_name(context, text);
    if (at >= 0) { /* the first one that has it is shown */
        memory_free(text);
        return;
    }
    at = -1 - at;
    context->names =
        memory_resize(context->names, (context->name_count + 1) * sizeof *context->names);
    memmove(&context->names[at + 1], &context->names[at],
            (context->name_count - (uint32_t)at) * sizeof *context->names);
    context->names[at] = (struct tls_name){text, collection->ssl};
    context->name_count++;
}

SSL_CTX *tls_context_find(const struct tls_context *context, const char *name)
{
    char text[256];
    if (strlen(name) >= sizeof text)
        return NULL;
    memcpy(text, name, strlen(name) + 1);
    lower(text);
    const char *dot = strchr(text, '.');
    int at = text[0] == '.' ? -1 : find_name(context, text);
    if (at < 0 && dot && dot > text)
        at = find_name(context, dot);
    return at < 0 ? NULL : context->names[at].ssl;
}

static int on_server_name(SSL *ssl, int *alert, void *user)
{
    const struct tls_context *context = user;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    SSL_CTX *found = name ? tls_context_find(context, name) : NULL;
    (void)alert;
    if (found && found != SSL_get_SSL_CTX(ssl))
        SSL_set_SSL_CTX(ssl, found);
    return name ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

static bool is_spoken(const char *const *ours, const unsigned char *name, size_t length)
{
    for (; *ours; ours++)
        if (strlen(*ours) == length && !memcmp(*ours, name, length))
            return true;
    return false;
}

/* The client likes best what it offers first. */
static int on_protocols(SSL *ssl, const unsigned char **out, unsigned char *out_length,
                        const unsigned char *offered, unsigned length, void *user)
{
    const struct tls *tls = SSL_get_app_data(ssl);
    const char *const *ours = tls->handshake ? tls->handshake->alpn : NULL;
    (void)user;
    if (!ours || !*ours)
        return SSL_TLSEXT_ERR_NOACK; /* what is spoken here has no names */
    for (unsigned at = 0; at < length; at += 1u + offered[at])
        if (is_spoken(ours, offered + at + 1, offered[at])) {
            *out = offered + at + 1;
            *out_length = offered[at];
            return SSL_TLSEXT_ERR_OK;
        }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static bool demand_certificates(SSL_CTX *ssl, const struct tls_server_settings *settings,
                                struct tls_mistake *mistake)
{
    int mode = SSL_VERIFY_PEER;
    if (settings->client_certificates == TLS_CLIENTS_OFF)
        return true;
    if (!settings->client_ca) {
        mistaken(mistake, TLS_CLIENT_CA, 0, "is needed to judge the certificates of clients");
        return false;
    }
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(settings->client_ca);
    if (!names || SSL_CTX_load_verify_file(ssl, settings->client_ca) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        mistaken(mistake, TLS_CLIENT_CA, 0, "%s: %s", settings->client_ca, reason());
        return false;
    }
    SSL_CTX_set_client_CA_list(ssl, names);
    if (settings->client_certificates == TLS_CLIENTS_REQUIRED)
        mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(ssl, mode, on_certificate);
    return true;
}

/* Whoever was let in under other rules starts anew: a ticket opens only where these are the same.
 */
static void name_rules(SSL_CTX *ssl, const struct tls_server_settings *settings)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    EVP_DigestInit_ex(md, EVP_sha256(), NULL);
    EVP_DigestUpdate(md, &settings->client_certificates, sizeof settings->client_certificates);
    STACK_OF(X509_OBJECT) *trusted = X509_STORE_get1_objects(SSL_CTX_get_cert_store(ssl));
    for (int i = 0; i < sk_X509_OBJECT_num(trusted); i++) {
        const X509 *one = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(trusted, i));
        uint8_t print[EVP_MAX_MD_SIZE];
        unsigned size = 0;
        if (one && X509_digest(one, EVP_sha256(), print, &size) == 1)
            EVP_DigestUpdate(md, print, size);
    }
    sk_X509_OBJECT_pop_free(trusted, X509_OBJECT_free);
    EVP_DigestFinal_ex(md, digest, &length);
    EVP_MD_CTX_free(md);
    SSL_CTX_set_session_id_context(ssl, digest, length < 32 ? length : 32);
}

static void set_resumption(SSL_CTX *ssl, bool tickets)
{
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    if (tickets) {
        tickets_use(ssl);
    } else {
        SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(ssl, 0);
    }
}

static SSL_CTX *make_server(struct tls_context *context, const struct tls_server_settings *settings,
                            uint32_t index, struct tls_mistake *mistake)
{
    const struct tls_pair *pair = &settings->certificates[index];
    SSL_CTX *ssl = make_ssl(context, settings->least_version);
    SSL_CTX_set_cipher_list(ssl, ciphers_1_2);
    SSL_CTX_set_tlsext_servername_callback(ssl, on_server_name);
    SSL_CTX_set_tlsext_servername_arg(ssl, context);
    SSL_CTX_set_alpn_select_cb(ssl, on_protocols, NULL);
    set_resumption(ssl, settings->tickets);
    if (!use_certificate(ssl, pair->certificate, index, mistake) ||
        !use_key(ssl, pair->key, index, mistake) || !demand_certificates(ssl, settings, mistake)) {
        SSL_CTX_free(ssl);
        return NULL;
    }
    name_rules(ssl, settings);
    certificate_each_name(SSL_CTX_get0_certificate(ssl), collect,
                          &(struct collection){context, ssl});
    return ssl;
}

struct tls_context *tls_server_context(const struct tls_server_settings *settings,
                                       const char *key_log, struct tls_mistake *mistake)
{
    struct tls_context *context = context_new(true, key_log);
    context->ssl = make_server(context, settings, 0, mistake);
    context->others = memory_zeroed(settings->certificate_count * sizeof(SSL_CTX *));
    bool fine = context->ssl != NULL;
    for (uint32_t i = 1; i < settings->certificate_count && fine; i++) {
        SSL_CTX *ssl = make_server(context, settings, i, mistake);
        if ((fine = ssl != NULL))
            context->others[context->other_count++] = ssl;
    }
    if (fine)
        return context;
    tls_context_drop(context);
    return NULL;
}

/* --- towards servers */

/* A server's ticket, perhaps long after the handshake. */
static int on_session(SSL *ssl, SSL_SESSION *session)
{
    const struct tls *tls = SSL_get_app_data(ssl);
    struct tls_context *context = tls->context;
    if (!tls->target || !SSL_SESSION_is_resumable(session))
        return 0;
    pthread_mutex_lock(&context->lock);
    tls_sessions_put(&context->sessions, tls->target, session);
    pthread_mutex_unlock(&context->lock);
    return 1;
}

/* What the system trusts is read from its files when somebody is to be verified, not before. */
static void trust_the_system(SSL_CTX *ssl)
{
    SSL_CTX_set_default_verify_paths(ssl);
    if (access(X509_get_default_cert_dir(), R_OK) != 0)
        SSL_CTX_load_verify_dir(ssl, SYSTEM_DIRECTORY);
    ERR_clear_error();
}

static SSL_CTX *make_client(struct tls_context *context)
{
    SSL_CTX *ssl = make_ssl(context, context->least_version);
    SSL_CTX_set_verify(ssl, context->verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, on_certificate);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_sess_set_new_cb(ssl, on_session);
    return ssl;
}

void tls_context_need(struct tls_context *context)
{
    if (context->is_server)
        return;
    pthread_mutex_lock(&context->lock);
    if (!context->ssl)
        context->ssl = make_client(context);
    if (context->verify && !context->has_system_store)
        trust_the_system(context->ssl);
    context->has_system_store = true;
    pthread_mutex_unlock(&context->lock);
}

struct tls_context *tls_client_context(const struct tls_client_settings *settings,
                                       const char *key_log, struct tls_mistake *mistake)
{
    struct tls_context *context = context_new(false, key_log);
    context->verify = settings->verify;
    context->least_version = settings->least_version;
    if (settings->server_name)
        context->server_name = memory_copy_string(string_of(settings->server_name));
    if (settings->ca_file_count)
        context->ssl = make_client(context);
    for (uint32_t i = 0; i < settings->ca_file_count; i++)
        if (SSL_CTX_load_verify_file(context->ssl, settings->ca_files[i]) != 1) {
            mistaken(mistake, TLS_CA_FILE, i, "%s: %s", settings->ca_files[i], reason());
            tls_context_drop(context);
            return NULL;
        }
    return context;
}
