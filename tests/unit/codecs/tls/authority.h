/* tests/unit/codecs/tls/authority.h - certificates for tests, made when they are asked for */
#ifndef TESTS_UNIT_CODECS_TLS_AUTHORITY_H
#define TESTS_UNIT_CODECS_TLS_AUTHORITY_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

struct issued {
    X509 *certificate;
    EVP_PKEY *key;
    char *certificate_pem, *key_pem;
};

static inline char *authority_text(BIO *bio)
{
    char *bytes;
    long length = BIO_get_mem_data(bio, &bytes);
    char *text = calloc(1, (size_t)length + 1);
    memcpy(text, bytes, (size_t)length);
    BIO_free(bio);
    return text;
}

static inline void authority_extend(X509 *certificate, int what, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, what, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
}

/* names: "DNS:a.example,IP:127.0.0.1", or NULL; issuer NULL: it signs itself and others. */
static inline struct issued authority_issue(const char *common_name, const char *names,
                                            const struct issued *issuer, long days)
{
    struct issued issued = {.certificate = X509_new(), .key = EVP_EC_gen("P-256")};
    X509 *certificate = issued.certificate;
    static long serial = 1;
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -86400 * 10);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400 * days);
    X509_NAME *subject = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)common_name, -1,
                               -1, 0);
    X509_set_issuer_name(certificate,
                         issuer ? X509_get_subject_name(issuer->certificate) : subject);
    X509_set_pubkey(certificate, issued.key);
    authority_extend(certificate, NID_basic_constraints,
                     issuer ? "critical,CA:FALSE" : "critical,CA:TRUE");
    if (names)
        authority_extend(certificate, NID_subject_alt_name, names);
    X509_sign(certificate, issuer ? issuer->key : issued.key, EVP_sha256());
    BIO *bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, certificate);
    issued.certificate_pem = authority_text(bio);
    bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, issued.key, NULL, NULL, 0, NULL, NULL);
    issued.key_pem = authority_text(bio);
    return issued;
}

static inline void authority_free(struct issued *issued)
{
    X509_free(issued->certificate);
    EVP_PKEY_free(issued->key);
    free(issued->certificate_pem);
    free(issued->key_pem);
}

#endif
