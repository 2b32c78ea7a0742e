/* codecs/tls/handshake.c - from a carrier to one on top of it, or to why not */
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "codecs/tls/tls.h"
#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/io/address.h"
#include "core/io/loop.h"

static struct metrics *metrics_of(const struct tls *tls)
{
    return &tls->worker->metrics;
}

static void count(const struct tls *tls, enum metric client, enum metric server)
{
    metric_add(metrics_of(tls), tls->context->is_server ? client : server, 1);
}

/* --- how it ends */

static void handshake_free(struct tls_handshake *handshake)
{
    handshake->tls->handshake = NULL;
    wheel_clear(&handshake->deadline);
    X509_free(handshake->blamed);
    memory_free(handshake->place);
    memory_free(handshake);
}

static void succeed(struct tls *tls)
{
    struct tls_handshake handshake = *tls->handshake;
    handshake_free(tls->handshake);
    tls_facts_learn(tls);
    count(tls, METRIC_CLIENT_TLS_HANDSHAKES, METRIC_SERVER_TLS_HANDSHAKES);
    if (tls->facts.resumed)
        count(tls, METRIC_CLIENT_TLS_RESUMED, METRIC_SERVER_TLS_RESUMED);
    tls_want_below(tls);
    handshake.done(handshake.user, &tls->carrier, WEIR_OK);
}

/* An alert may be on its way: a client's bytes that nobody reads must not make it a reset. */
static void fail(struct tls *tls, weir_result why)
{
    tls->handshake->why = why;
    count(tls, METRIC_CLIENT_TLS_FAILED, METRIC_SERVER_TLS_FAILED);
    wheel_clear(&tls->handshake->deadline);
    tls_close_below(tls, tls->context->is_server ? CARRIER_CLOSE_LINGER : CARRIER_CLOSE_FLUSH);
}

void tls_handshake_step(struct tls *tls)
{
    if (tls->closing != TLS_OPEN)
        return;
    tls->handshake->any_bytes |= tls->incoming.count != 0;
    ERR_clear_error();
    int rc = SSL_do_handshake(tls->ssl);
    if (rc == 1)
        succeed(tls);
    else if (SSL_get_error(tls->ssl, rc) != SSL_ERROR_WANT_READ)
        fail(tls, tls_failure(tls));
    if (tls->handshake) {
        tls_want_below(tls);
        tls_keep_below_reading(tls);
    }
}

void tls_handshake_end(struct tls *tls, uint32_t how)
{
    static const char *const words[] = {"ended the connection", "ended the connection",
                                        "reset the connection", "said nothing for too long"};
    if (tls->closing != TLS_OPEN)
        return;
    if (tls->context->is_server && !tls->handshake->any_bytes) { /* somebody looked who is there */
        tls->handshake->why = WEIR_CONNECTION_TERMINATED;
        tls_close_below(tls, CARRIER_CLOSE_NOW);
        return;
    }
    tls_failure_by(tls, words[how & 3]);
    fail(tls, WEIR_CONNECTION_TERMINATED);
}

static void on_deadline(struct wheel_entry *entry)
{
    struct tls *tls = CONTAINER(entry, struct tls_handshake, deadline)->tls;
    tls_failure_by(tls, "did not finish in time");
    fail(tls, WEIR_CONNECTION_TIMEOUT);
    tls_close_below(tls, CARRIER_CLOSE_NOW);
}

void tls_handshake_closed(struct tls *tls)
{
    struct tls_handshake handshake = *tls->handshake;
    handshake_free(tls->handshake);
    if (handshake.done)
        handshake.done(handshake.user, NULL,
                       handshake.why ? handshake.why : WEIR_CONNECTION_TERMINATED);
}

void tls_cancel(struct tls_handshake *handshake)
{
    handshake->done = NULL;
    wheel_clear(&handshake->deadline);
    tls_close_below(handshake->tls, CARRIER_CLOSE_NOW);
}

/* --- how it begins */

/* Who the server must be. A literal is no name: it is not asked for (RFC 6066 3). */
static bool expect_server(struct tls *tls, const char *name)
{
    struct address address;
    bool literal = address_from_literal(string_of(name), 0, &address);
    SSL_set_hostflags(tls->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (!literal && SSL_set_tlsext_host_name(tls->ssl, name) != 1)
        return false;
    if (!tls->context->verify)
        return true;
    X509_VERIFY_PARAM *parameters = SSL_get0_param(tls->ssl);
    return (literal ? X509_VERIFY_PARAM_set1_ip_asc(parameters, name)
                    : X509_VERIFY_PARAM_set1_host(parameters, name, 0)) == 1;
}

/* What is offered: each name with its length in front (RFC 7301 3.1). */
static void offer_protocols(struct tls *tls, const char *const *names)
{
    uint8_t list[TLS_ALPN_MOST * 256];
    uint32_t length = 0;
    for (int i = 0; names[i]; i++) {
        size_t size = strlen(names[i]) & 0xff;
        list[length++] = (uint8_t)size;
        memcpy(list + length, names[i], size);
        length += (uint32_t)size;
    }
    if (length)
        SSL_set_alpn_protos(tls->ssl, list, length);
}

static void resume(struct tls *tls)
{
    struct tls_context *context = tls->context;
    pthread_mutex_lock(&context->lock);
    SSL_SESSION *session = tls_sessions_take(&context->sessions, tls->target);
    pthread_mutex_unlock(&context->lock);
    if (session)
        SSL_set_session(tls->ssl, session);
    SSL_SESSION_free(session);
}

static char *name_target(const struct tls_start *start)
{
    char text[ADDRESS_TEXT_BYTES];
    int digits = snprintf(text, sizeof text, ":%u", start->port);
    char *target = memory_allocate(start->host.length + (size_t)digits + 1);
    memcpy(target, start->host.bytes, start->host.length);
    memcpy(target + start->host.length, text, (size_t)digits + 1);
    return target;
}

static bool begin_client(struct tls *tls, const struct tls_start *start)
{
    struct tls_context *context = tls->context;
    char *host = memory_copy_string(start->host);
    bool fine = expect_server(tls, context->server_name ? context->server_name : host);
    memory_free(host);
    tls->target = name_target(start);
    tls->handshake->place = memory_copy_string(string_of(tls->target));
    offer_protocols(tls, tls->handshake->alpn);
    resume(tls);
    SSL_set_connect_state(tls->ssl);
    return fine;
}

struct tls_handshake *tls_start(const struct tls_start *start)
{
    struct tls *tls = memory_zeroed(sizeof *tls);
    struct tls_handshake *handshake = memory_zeroed(sizeof *handshake);
    *handshake = (struct tls_handshake){.tls = tls, .done = start->done, .user = start->user};
    for (int i = 0; start->alpn && start->alpn[i] && i < TLS_ALPN_MOST; i++)
        handshake->alpn[i] = start->alpn[i];
    tls->handshake = handshake;
    tls->worker = start->worker;
    tls->below = start->below;
    tls->context = tls_context_take(start->context);
    tls_context_need(tls->context);
    tls->ssl = SSL_new(tls->context->ssl);
    SSL_set_app_data(tls->ssl, tls);
    BIO *bio = tls_bio_new(tls);
    SSL_set_bio(tls->ssl, bio, bio);
    wheel_entry_init(&handshake->deadline, on_deadline);
    if (start->limit_ms)
        wheel_set(start->worker->wheel, &handshake->deadline,
                  loop_now_ms(start->worker->loop) + start->limit_ms);
    tls_carrier_init(tls);
    if (tls->context->is_server) {
        handshake->place = memory_copy_string(string_of(start->where ? start->where : ""));
        SSL_set_accept_state(tls->ssl);
    } else if (begin_client(tls, start)) {
        tls_handshake_step(tls);
    } else {
        fail(tls, tls_failure(tls));
    }
    return handshake;
}
