/* codecs/tls/tls.h - one TLS connection: what the files of this folder share */
#ifndef CODECS_TLS_TLS_H
#define CODECS_TLS_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>

#include "codecs/tls/context.h"
#include "core/base/buffer.h"
#include "core/io/tls.h"
#include "core/io/turn.h"
#include "core/io/wheel.h"

enum {
    TLS_RECORD_BYTES = 16384,                 /* plain bytes in one record */
    TLS_RECORD_MOST = TLS_RECORD_BYTES + 512, /* what it may be on the way */
    TLS_SEALED_MOST = 64 * 1024               /* of our answers, before we read no more */
};

/* While it lasts. */
struct tls_handshake {
    struct tls *tls;
    struct wheel_entry deadline;
    void (*done)(void *user, struct carrier *carrier, weir_result why);
    void *user;                          /* NULL done: nobody waits any more */
    const char *alpn[TLS_ALPN_MOST + 1]; /* what is offered, or may be chosen; ended by NULL */
    char *place;  /* for the log: the listener's address, or the server's name and port */
    X509 *blamed; /* the peer's certificate that was refused; NULL: none */
    int verdict;  /* why: X509_V_ERR_* */
    weir_result why;
    bool any_bytes; /* the peer said something */
};

struct tls {
    struct carrier carrier; /* the one above */
    struct carrier *below;
    struct worker *worker;
    struct tls_context *context;
    SSL *ssl;
    struct tls_handshake *handshake; /* NULL: it is over and went well */
    char *target;                    /* client's side: whose session it is; NULL: nobody's */
    struct tls_facts facts;
    struct slice_queue incoming; /* from below, not opened yet */
    struct slice_queue plain;    /* from above, not sealed yet */
    struct slice_queue sealed;   /* not given below yet */
    size_t readable;             /* so much of incoming is whole: OpenSSL gets no more */
    size_t credit;               /* how much may be delivered above */
    size_t below_credit;         /* how much below may deliver */
    struct mark reading;         /* something waits for credit that has come */
    uint8_t closing;             /* enum tls_closing */
    uint8_t below_end;           /* 1 + WEIR_END_*; 0: not yet */
    bool opened, want_produce;
    bool end_wanted, shut; /* close_notify is to be sent, was sent */
    bool ended;            /* end() was told */
    bool broken;           /* no record can be read or made any more */
};

enum tls_closing { TLS_OPEN, TLS_FLUSHING, TLS_DROPPING };

/* carrier.c */
void tls_carrier_init(struct tls *tls);
void tls_keep_below_reading(struct tls *tls);
void tls_want_below(struct tls *tls); /* when something is sealed */
void tls_close_below(struct tls *tls, uint32_t how);
void tls_carrier_free(struct tls *tls);

/* bytes.c: a BIO whose other end are the queues */
BIO *tls_bio_new(struct tls *tls);

/* handshake.c */
struct tls_handshake *tls_start(const struct tls_start *start);
void tls_cancel(struct tls_handshake *handshake);
void tls_handshake_step(struct tls *tls);
void tls_handshake_end(struct tls *tls, uint32_t how); /* below has ended */
void tls_handshake_closed(struct tls *tls);            /* below is gone */

/* facts.c */
void tls_facts_learn(struct tls *tls);
void tls_facts_free(struct tls *tls);

/* failure.c: who is to blame, and the line for the log; call it before anything else of OpenSSL */
weir_result tls_failure(struct tls *tls);
void tls_failure_by(struct tls *tls, const char *what); /* no error of OpenSSL's */

#endif
