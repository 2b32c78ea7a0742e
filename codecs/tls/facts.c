/* codecs/tls/facts.c - what was agreed, and who the peer is, for those above */
#include <openssl/evp.h>
#include <string.h>

#include "codecs/tls/certificate.h"
#include "codecs/tls/tls.h"
#include "core/base/memory.h"
#include "core/base/string.h"

/* Also of a resumed session, whose client was verified when it began. */
static struct tls_peer *learn_peer(const SSL *ssl)
{
    X509 *certificate = SSL_get0_peer_certificate(ssl);
    if (!certificate || !(SSL_get_verify_mode(ssl) & SSL_VERIFY_PEER) ||
        SSL_get_verify_result(ssl) != X509_V_OK)
        return NULL;
    struct tls_peer *peer = memory_zeroed(sizeof *peer);
    peer->subject = certificate_subject(certificate);
    peer->issuer = certificate_issuer(certificate);
    peer->names = certificate_names(certificate);
    peer->name = certificate_name(certificate);
    peer->fingerprint = certificate_fingerprint(certificate);
    return peer;
}

static weir_string text_or_nothing(const char *text)
{
    return text ? string_of(text) : (weir_string){"", 0};
}

/* A server's certificate is of no use to anybody once it was verified. */
void tls_facts_learn(struct tls *tls)
{
    struct tls_facts *facts = &tls->facts;
    const uint8_t *alpn;
    unsigned length;
    SSL_get0_alpn_selected(tls->ssl, &alpn, &length);
    facts->version = SSL_get_version(tls->ssl);
    facts->cipher = SSL_get_cipher_name(tls->ssl);
    const char *group = SSL_get0_group_name(tls->ssl);
    facts->group = group ? group : "";
    facts->alpn = (weir_string){length ? (const char *)alpn : "", length};
    facts->server_name = text_or_nothing(SSL_get_servername(tls->ssl, TLSEXT_NAMETYPE_host_name));
    facts->resumed = SSL_session_reused(tls->ssl) == 1;
    facts->peer = tls->context->is_server ? learn_peer(tls->ssl) : NULL;
    tls->carrier.facts.tls = facts;
}

static void drop(const char *text)
{
    memory_free((char *)(uintptr_t)text);
}

void tls_facts_free(struct tls *tls)
{
    struct tls_peer *peer = (struct tls_peer *)(uintptr_t)tls->facts.peer;
    if (!peer)
        return;
    drop(peer->subject);
    drop(peer->issuer);
    drop(peer->name);
    drop(peer->names);
    drop(peer->fingerprint);
    memory_free(peer);
}
