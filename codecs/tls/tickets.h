/* codecs/tls/tickets.h - the keys of session tickets: one set for the process, rotated
 *
 * All workers and all configurations share them, so that a client can resume on any worker and
 * after a reload. A key makes tickets for TICKET_KEY_MS and opens them for as long again. */
#ifndef CODECS_TLS_TICKETS_H
#define CODECS_TLS_TICKETS_H

#include <openssl/ssl.h>

enum { TICKET_KEY_MS = 6 * 3600 * 1000 };

/* Lets that context give out tickets and take them. */
void tickets_use(SSL_CTX *ssl);

#endif
