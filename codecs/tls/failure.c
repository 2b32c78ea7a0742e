/* codecs/tls/failure.c - who is to blame for a handshake that failed, in one line of the log */
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>

#include "codecs/tls/certificate.h"
#include "codecs/tls/tls.h"
#include "core/base/log.h"

enum { REASON_BYTES = 256 };

struct verdict {
    weir_result why;
    const X509 *certificate; /* that it is about; NULL: none */
    const char *whose;       /* "its" or "our" */
    char text[REASON_BYTES]; /* with who is to blame in front */
};

static const char *peer_of(const struct tls *tls)
{
    return tls->context->is_server ? "the client" : "the server";
}

/* Alerts by which the peer says that it does not want our certificate. */
static bool is_about_certificate(int alert)
{
    switch (alert) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
        return true;
    default:
        return false;
    }
}

static void by_alert(const struct tls *tls, int alert, struct verdict *verdict)
{
    bool refuses = is_about_certificate(alert);
    snprintf(verdict->text, REASON_BYTES, "%s %s (alert: %s)", peer_of(tls),
             refuses ? "does not accept our certificate" : "gave up",
             SSL_alert_desc_string_long(alert));
    if (refuses)
        verdict->certificate = SSL_get_certificate(tls->ssl);
    verdict->whose = "our";
}

static void by_certificate(const struct tls *tls, struct verdict *verdict)
{
    const struct tls_handshake *handshake = tls->handshake;
    snprintf(verdict->text, REASON_BYTES, "the certificate of %s is not accepted: %s", peer_of(tls),
             X509_verify_cert_error_string(handshake->verdict));
    verdict->certificate = handshake->blamed;
    verdict->whose = "its";
    verdict->why = WEIR_TLS_CERTIFICATE_ERROR;
}

/* What a peer cannot cause. */
static bool is_ours(unsigned long error)
{
    if (!error || ERR_GET_LIB(error) != ERR_LIB_SSL)
        return true;
    switch (ERR_GET_REASON(error)) {
    case ERR_R_INTERNAL_ERROR:
    case ERR_R_MALLOC_FAILURE:
    case SSL_R_NO_CERTIFICATE_ASSIGNED:
    case SSL_R_NO_CIPHERS_AVAILABLE:
    case SSL_R_NO_PROTOCOLS_AVAILABLE:
        return true;
    default:
        return false;
    }
}

/* What people understand better than OpenSSL's words. */
static const char *words_for(const struct tls *tls, unsigned long error)
{
    if (ERR_GET_LIB(error) != ERR_LIB_SSL)
        return ERR_reason_error_string(error);
    switch (ERR_GET_REASON(error)) {
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
        return "it speaks plain HTTP, not TLS";
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_RECORD_LENGTH_MISMATCH:
        return "it does not speak TLS";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        return "no version of TLS that both sides allow";
    case SSL_R_NO_SHARED_CIPHER:
        return "no cipher that both sides allow";
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SHARED_GROUPS:
        return "no key exchange group that both sides allow";
    case SSL_R_NO_APPLICATION_PROTOCOL:
        return "no application protocol that both sides speak";
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return "it showed no certificate";
    default:
        return ERR_reason_error_string(error);
    }
}

static void judge(const struct tls *tls, struct verdict *verdict)
{
    unsigned long error = ERR_peek_error();
    int reason = ERR_GET_REASON(error);
    bool of_ssl = error && ERR_GET_LIB(error) == ERR_LIB_SSL;
    const char *words = error ? words_for(tls, error) : NULL;
    if (of_ssl && reason >= SSL_AD_REASON_OFFSET)
        by_alert(tls, reason - SSL_AD_REASON_OFFSET, verdict);
    else if (of_ssl && reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
        by_certificate(tls, verdict);
    else
        snprintf(verdict->text, REASON_BYTES, "the fault is %s: %s",
                 is_ours(error)            ? "ours"
                 : tls->context->is_server ? "the client's"
                                           : "the server's",
                 words ? words : "unknown");
    if (of_ssl && reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
        verdict->why = WEIR_TLS_CERTIFICATE_ERROR;
}

static void say(const struct tls *tls, const struct verdict *verdict)
{
    char peer[ADDRESS_TEXT_BYTES], summary[CERTIFICATE_SUMMARY_BYTES];
    const struct tls_handshake *handshake = tls->handshake;
    const char *name = SSL_get_servername(tls->ssl, TLSEXT_NAMETYPE_host_name);
    bool is_server = tls->context->is_server;
    address_format(&tls->carrier.facts.peer, peer);
    log_write(is_server ? LOG_INFO : LOG_WARNING,
              "TLS handshake with %s %s %s %s failed: %s%s%.255s%s%s%s%s%s",
              is_server ? "client" : "server", is_server ? peer : handshake->place,
              is_server ? "at" : "at address", is_server ? handshake->place : peer, verdict->text,
              is_server && name ? "; asked for " : "", is_server && name ? name : "",
              verdict->certificate ? "; " : "", verdict->certificate ? verdict->whose : "",
              verdict->certificate ? " certificate: " : "",
              verdict->certificate ? certificate_summary(verdict->certificate, summary) : "", "");
}

weir_result tls_failure(struct tls *tls)
{
    struct verdict verdict = {.why = WEIR_TLS_PROTOCOL_ERROR, .whose = "its"};
    judge(tls, &verdict);
    ERR_clear_error();
    say(tls, &verdict);
    return verdict.why;
}

void tls_failure_by(struct tls *tls, const char *what)
{
    struct verdict verdict = {.whose = "its"};
    snprintf(verdict.text, REASON_BYTES, "%s %s", peer_of(tls), what);
    say(tls, &verdict);
}
