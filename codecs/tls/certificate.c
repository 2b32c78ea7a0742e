/* codecs/tls/certificate.c - what a certificate says, as text */
#include "codecs/tls/certificate.h"

#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/memory.h"
#include "core/base/string.h"

enum { NAMES_MOST = 32 }; /* of one certificate, in texts */

/* The bytes in a memory BIO, which goes. */
static char *text_of(BIO *bio)
{
    char *bytes;
    long length = BIO_get_mem_data(bio, &bytes);
    char *text = memory_copy_string((weir_string){bytes, length > 0 ? (size_t)length : 0});
    BIO_free(bio);
    return text;
}

static char *text_of_name(const X509_NAME *name)
{
    BIO *bio = BIO_new(BIO_s_mem());
    X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253 & ~(unsigned long)ASN1_STRFLGS_ESC_MSB);
    return text_of(bio);
}

char *certificate_subject(const X509 *certificate)
{
    return text_of_name(X509_get_subject_name(certificate));
}

char *certificate_issuer(const X509 *certificate)
{
    return text_of_name(X509_get_issuer_name(certificate));
}

/* --- names */

static void put_text(BIO *bio, const ASN1_STRING *string)
{
    ASN1_STRING_print(bio, string); /* what cannot be printed becomes a dot */
}

static void put_address(BIO *bio, const ASN1_OCTET_STRING *bytes)
{
    char *text = i2s_ASN1_OCTET_STRING(NULL, bytes); /* "C0:00:02:01" */
    const unsigned char *at = ASN1_STRING_get0_data(bytes);
    if (ASN1_STRING_length(bytes) == 4)
        BIO_printf(bio, "%u.%u.%u.%u", at[0], at[1], at[2], at[3]);
    else if (text)
        BIO_puts(bio, text);
    OPENSSL_free(text);
}

/* False: a kind that nobody reads. */
static int put_name(BIO *bio, const GENERAL_NAME *name, int index)
{
    int kind;
    const void *value = GENERAL_NAME_get0_value(name, &kind);
    if (kind != GEN_DNS && kind != GEN_EMAIL && kind != GEN_URI && kind != GEN_IPADD)
        return 0;
    if (index)
        BIO_puts(bio, ", ");
    if (kind == GEN_IPADD)
        put_address(bio, value);
    else
        put_text(bio, value);
    return 1;
}

static char *list_names(const X509 *certificate, int most)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    BIO *bio = BIO_new(BIO_s_mem());
    int put = 0;
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && put < most; i++)
        put += put_name(bio, sk_GENERAL_NAME_value(names, i), put);
    GENERAL_NAMES_free(names);
    return text_of(bio);
}

char *certificate_names(const X509 *certificate)
{
    return list_names(certificate, NAMES_MOST);
}

/* The last one is the most specific. NULL: there is none. */
static char *common_name(const X509 *certificate)
{
    const X509_NAME *subject = X509_get_subject_name(certificate);
    int at = -1, next;
    while ((next = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0)
        at = next;
    if (at < 0)
        return NULL;
    uint8_t *bytes = NULL;
    int length =
        ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    bool whole = length > 0 && !memchr(bytes, 0, (size_t)length);
    char *name = whole ? memory_copy_string((weir_string){(char *)bytes, (size_t)length}) : NULL;
    OPENSSL_free(bytes);
    return name;
}

char *certificate_name(const X509 *certificate)
{
    char *name = common_name(certificate);
    return name ? name : list_names(certificate, 1);
}

void certificate_each_name(const X509 *certificate, void (*take)(void *user, const char *name),
                           void *user)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    bool any = false;
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        int kind;
        const ASN1_STRING *value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &kind);
        if (kind != GEN_DNS)
            continue;
        any = true;
        char *name = memory_copy_string((weir_string){(const char *)ASN1_STRING_get0_data(value),
                                                      (size_t)ASN1_STRING_length(value)});
        take(user, name);
        memory_free(name);
    }
    GENERAL_NAMES_free(names);
    char *name = any ? NULL : common_name(certificate);
    if (name)
        take(user, name);
    memory_free(name);
}

/* --- the rest */

char *certificate_fingerprint(const X509 *certificate)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    X509_digest(certificate, EVP_sha256(), digest, &length);
    char *text = memory_allocate(2 * length + 1);
    for (unsigned i = 0; i < length; i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 15];
    }
    text[2 * length] = 0;
    return text;
}

static const char *date(const ASN1_TIME *when, char text[16])
{
    struct tm parts;
    if (ASN1_TIME_to_tm(when, &parts) != 1 || !strftime(text, 16, "%Y-%m-%d", &parts))
        return "?";
    return text;
}

const char *certificate_summary(const X509 *certificate, char text[CERTIFICATE_SUMMARY_BYTES])
{
    char from[16], to[16];
    char *subject = certificate_subject(certificate), *issuer = certificate_issuer(certificate);
    char *names = certificate_names(certificate);
    snprintf(text, CERTIFICATE_SUMMARY_BYTES,
             "subject \"%.200s\", issuer \"%.200s\", valid from %s to %s, names \"%.400s\"",
             subject, issuer, date(X509_get0_notBefore(certificate), from),
             date(X509_get0_notAfter(certificate), to), names);
    memory_free(subject);
    memory_free(issuer);
    memory_free(names);
    return text;
}
