/* codecs/tls/certificate.h - what a certificate says, as text; all texts are the caller's to free
 */
#ifndef CODECS_TLS_CERTIFICATE_H
#define CODECS_TLS_CERTIFICATE_H

#include <openssl/x509.h>
#include <stddef.h>

enum { CERTIFICATE_SUMMARY_BYTES = 1024 };

char *certificate_subject(const X509 *certificate); /* RFC 4514 */
char *certificate_issuer(const X509 *certificate);
char *
certificate_names(const X509 *certificate);      /* its alternative names: "a.example, 192.0.2.1" */
char *certificate_name(const X509 *certificate); /* its common name, or the first of those, or "" */
char *certificate_fingerprint(const X509 *certificate); /* SHA-256, hexadecimal */

/* Calls take(user, name) for each DNS name that it is valid for: the alternative ones, or, when
 * there are none, the common name. */
void certificate_each_name(const X509 *certificate, void (*take)(void *user, const char *name),
                           void *user);

/* "subject CN=..., issuer CN=..., valid from 2026-01-02 to 2027-01-02, names a.example, b.example".
 * Cut when longer. Returns `text`. */
const char *certificate_summary(const X509 *certificate, char text[CERTIFICATE_SUMMARY_BYTES]);

#endif
