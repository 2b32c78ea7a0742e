/* abi/filter.h - hooks of a filter on the exchanges that pass, and what they may do
 *
 * A hook that is NULL is in no dispatch list and costs nothing. On requests the filters run first
 * to last, on responses last to first. The order of one exchange:
 *
 *   accept                                     of a connection: the client's address, before TLS
 *   open                                       of every filter, before any other hook
 *   authenticate                               of every filter, until one knows the credentials
 *   request, body_full                         head; the route is not chosen yet
 *   route, address, upstream, upstream_error   per attempt to reach a server
 *   request_body, request trailers, tunnel     bytes towards the server
 *   interim, response, body_full               head, whoever answers
 *   response_body, response trailers, tunnel   bytes towards the client
 *   event                                      what the filter waits for
 *   log, close                                 exactly once each
 *
 * The filters of a route come to it once those of the listener have had the request: they are
 * opened, then asked to authenticate if nobody is known yet, then for the request. Which route it
 * is does not change any more.
 *
 * The directions are independent: a response may begin and end while the request still comes.
 *
 * Flow control is credit. A direction that a filter pauses is not read any more once its credit is
 * used up: bytes are never piled up. A filter that emits has WEIR_CREDIT bytes of credit of its own
 * (protocol.h); what it emits takes from it and what has left gives it back. */
#ifndef WEIR_FILTER_H
#define WEIR_FILTER_H

#include "configuration.h"
#include "weir.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One exchange as one filter sees it: host memory, valid from open() to close(). */
typedef struct weir_exchange {
    void *state; /* state_size zeroed bytes, 16-aligned, of this filter and exchange */
    const void
        *instance;      /* what make() made; the same for the whole exchange, also over a reload */
    void *worker_state; /* what worker_make() made */
} weir_exchange;

enum { WEIR_REQUEST_DIRECTION = 0, WEIR_RESPONSE_DIRECTION = 1 };

/* What a hook answers. Any other value, and one that the hook may not give, is a fault. */
typedef int32_t weir_answer;
enum {
    WEIR_CONTINUE = 0, /* on to the next filter */
    WEIR_PAUSE = 1,    /* this direction stops at this filter until resume(), which acts as a late
                          WEIR_CONTINUE; or until the filter settles the exchange, or its time is
                          over: then event() is told, and if the filter still does not act, by
                          pause_limit() at least, that is a fault. Others cannot end its pause */
    WEIR_BUFFER = 2,   /* request, response: the head waits here until the whole body has come and
                          body_full() has judged it */
    WEIR_DONE = 3,     /* respond() or abort() was called: that settles the exchange */
    WEIR_TAKE = 4,     /* bodies, tunnels: the bytes go no further; what this hook emitted, if
                          anything, takes their place. With WEIR_END in the data, the end is taken
                          too, unless it was emitted: it is owed then */
    WEIR_HOLD = 5,     /* likewise, and the bytes stay with the filter: they hold back the sender
                          until release() */
    WEIR_DETACH = 6,   /* WEIR_CONTINUE, and of this filter only close() is called from here on */
    WEIR_ACCEPT = 7,   /* authenticate: the credentials are good; set_user() was called */
    WEIR_DENY = 8,     /* accept: close it. address: not this one. open, request, route, upstream:
                          the client gets 403 */
    WEIR_FORBID = 9,   /* upstream_error: do not repeat the attempt */
    WEIR_FAIL = -1 /* the filter failed: what `on_fault` in the configuration says, by default 500,
                      or a reset once the response head is out */
};

/* A part of a body or of a tunnel's bytes. Slices are borrowed; take references to keep them. */
typedef struct weir_data {
    uint32_t size;
    uint32_t direction;
    const weir_slice *slices;
    uint32_t count;
    uint32_t flags; /* WEIR_END: the last; trailers may follow. WEIR_TRUNCATED_DATA */
    uint64_t bytes; /* of all slices */
} weir_data;

/* Where a client comes in. */
typedef struct weir_client {
    uint32_t size;
    uint32_t port;        /* of the client; 0 on a unix socket */
    const void *instance; /* as in weir_exchange */
    void *worker_state;
    weir_string address;  /* "192.0.2.1", "2001:db8::1", "unix" */
    weir_string listener; /* as configured: "[::]:3128" */
} weir_client;

/* What a name resolved to, before it is dialled or taken from the pool. */
typedef struct weir_address {
    uint32_t size;
    uint32_t port;
    weir_string text; /* "192.0.2.1", "2001:db8::1" */
} weir_address;

/* What a filter waited for. */
enum {
    WEIR_EVENT_TIMER = 1,
    WEIR_EVENT_POST = 2,
    WEIR_EVENT_WORK = 3,
    WEIR_EVENT_FETCH = 4,      /* `result`; when that is not negative `head` and `body` */
    WEIR_EVENT_CREDIT = 5,     /* `direction` has all its credit again, after credit() was less */
    WEIR_EVENT_PAUSE_LIMIT = 6 /* the pause of `direction` is over its time: act now */
};

typedef struct weir_event {
    uint32_t size;
    uint32_t kind;
    uint32_t tag;       /* what the caller gave to tell its events apart */
    uint32_t direction; /* of CREDIT and PAUSE_LIMIT */
    weir_result result;
    uint32_t flags;           /* of FETCH: WEIR_TRUNCATED_DATA */
    weir_reference reference; /* of TIMER, WORK, FETCH: what its call returned */
    void *data;               /* of POST and WORK; drop() comes after the hook */
    const weir_head *head;
    weir_string body;
} weir_event;

/* Flags of a filter. */
enum {
    WEIR_FILTER_GUARDS = 1u,        /* decides who may use the proxy: a listener for everybody may
                                       have it instead of allow_clients */
    WEIR_FILTER_EDITS_REQUEST = 2u, /* request_body() may change its length, */
    WEIR_FILTER_EDITS_RESPONSE = 4u /* response_body() or body_full(): the host frames anew, and
                                       the answer to HEAD has no length. Another filter that
                                       changes a length that was announced has failed, and the
                                       exchange with it, also where faults are skipped */
};

typedef struct weir_filter {
    uint32_t size;
    uint32_t flags;
    const char *name;      /* as in `use: NAME` */
    const weir_life *life; /* NULL: no configuration, instance NULL */
    uint32_t state_size;   /* bytes per exchange */
    /* All [worker]. Above each hook stands what it may answer beside WEIR_CONTINUE, WEIR_DETACH and
     * WEIR_FAIL, without the WEIR_. For every open() that was called, whatever it answered, close()
     * comes once; a filter without open() counts as opened. */
    /* WEIR_DENY, and no DETACH. */
    weir_answer (*accept)(const weir_client *client);
    /* DENY, DONE. */
    weir_answer (*open)(weir_exchange *exchange);
    /* ACCEPT, PAUSE, DENY, DONE. Also when there are no credentials: `scheme` is empty then. */
    weir_answer (*authenticate)(weir_exchange *exchange, const weir_credentials *credentials);
    /* PAUSE, BUFFER, DENY, DONE. */
    weir_answer (*request)(weir_exchange *exchange);
    /* PAUSE, DENY, DONE. The target is known. */
    weir_answer (*route)(weir_exchange *exchange);
    /* DENY, and no DETACH. For each address, also before a kept connection is taken, which is left
     * for others then. Not of the servers of an upstream, which are the operator's word. */
    weir_answer (*address)(weir_exchange *exchange, const weir_address *address);
    /* PAUSE, DENY, DONE. There is a connection; before the head is sent. */
    weir_answer (*upstream)(weir_exchange *exchange);
    /* FORBID, DONE. An attempt failed; `repeats`: 1 when it will be made again. When it reached
     * nobody, retarget() makes another one, of three at most. */
    weir_answer (*upstream_error)(weir_exchange *exchange, weir_result why, uint32_t repeats);
    /* Nothing else. A head of 1xx. */
    weir_answer (*interim)(weir_exchange *exchange, uint32_t status);
    /* PAUSE, BUFFER, DONE. Not of a response that this filter gave itself by respond(), nor are
     * the hooks of its body. */
    weir_answer (*response)(weir_exchange *exchange);
    /* PAUSE, TAKE, HOLD, DONE. At most WEIR_BODY_MOST bytes at once, and only while the filter's
     * credit in that direction is whole: who emits no more than WEIR_CREDIT for one call need not
     * ask for it. */
    weir_answer (*request_body)(weir_exchange *exchange, const weir_data *data);
    weir_answer (*response_body)(weir_exchange *exchange, const weir_data *data);
    weir_answer (*tunnel)(weir_exchange *exchange, const weir_data *data);
    /* TAKE, PAUSE, DENY, DONE. The whole body, after WEIR_BUFFER. TAKE: what was emitted, as much
     * as may be buffered, replaces it. The head may still be edited. */
    weir_answer (*body_full)(weir_exchange *exchange, const weir_data *data);
    /* PAUSE, DONE. */
    weir_answer (*trailers)(weir_exchange *exchange, uint32_t direction);
    /* DONE; DENY where the hook that paused may. */
    weir_answer (*event)(weir_exchange *exchange, const weir_event *event);
    void (*log)(weir_exchange *exchange); /* it is over: all numbers are final */
    void (*close)(weir_exchange *exchange);
    /* What an instance waits for on one worker, whatever exchange it is about. */
    void (*worker_event)(const void *instance, void *worker_state, const weir_event *event);
} weir_filter;

enum { WEIR_BODY_MOST = 15360 };

/* A filter's answer to the client. Field names and values are copied; they hold no CR, LF or NUL.
 * The body may be of any size: the client takes it at its own pace, its buffer is referenced. */
typedef struct weir_reply {
    uint32_t size;
    uint32_t status;          /* 200..599 */
    const weir_field *fields; /* Content-Type and others, none about how the body is framed */
    uint32_t count;
    uint32_t flags; /* WEIR_MORE_DATA */
    weir_slice body;
} weir_reply;

/* More of the body follows by emit() in the response direction, from the first WEIR_EVENT_CREDIT
 * on, which comes when what the reply has of it has left. */
enum { WEIR_MORE_DATA = 8u };

/* Which fields. */
enum {
    WEIR_REQUEST_HEAD = 0,
    WEIR_RESPONSE_HEAD = 1,
    WEIR_REQUEST_TRAILERS = 2,
    WEIR_RESPONSE_TRAILERS = 3,
    WEIR_INTERIM_HEAD = 4 /* inside interim() */
};

/* Parts of heads that set_part() changes; they are read from the head. What says how a message or
 * its answer is framed stays: nothing becomes a HEAD or CONNECT, and they become nothing else; of a
 * tunnel only the authority changes. Until the route is chosen the authority is where the request
 * goes; Host follows it. */
enum { WEIR_METHOD = 1, WEIR_SCHEME = 2, WEIR_AUTHORITY = 3, WEIR_PATH = 4 };

/* Facts that text() tells. Empty when there is none (yet). */
enum {
    WEIR_CLIENT_ADDRESS = 1, /* "192.0.2.1" */
    WEIR_LOCAL_ADDRESS = 2,  /* where it reached weir: "192.0.2.9:3128" */
    WEIR_SERVER_ADDRESS = 3, /* "198.51.100.7:80", of the attempt */
    WEIR_LISTENER = 4,
    WEIR_ROUTE = 5,    /* its name in the configuration, empty: none */
    WEIR_UPSTREAM = 6, /* likewise */
    WEIR_USER = 7,
    WEIR_ANSWERED_BY = 8,    /* the response: "server", "weir", or the filter's name */
    WEIR_CAUSE = 9,          /* why it ended, as in the access log: "ok", "dns_error" */
    WEIR_IDENTITY = 10,      /* of the exchange, as in the access log: "0-42" */
    WEIR_CLIENT_SCHEME = 11, /* how the client speaks to weir: "http", or "https" over TLS */
    /* Of the two connections: what is spoken on it, "h1" or "h2"; with TLS its version, "TLSv1.3",
     * its cipher, and the name that whoever connected asked for (SNI). */
    WEIR_CLIENT_PROTOCOL = 12,
    WEIR_CLIENT_TLS = 13,
    WEIR_CLIENT_CIPHER = 14,
    WEIR_CLIENT_TLS_NAME = 15,
    WEIR_SERVER_PROTOCOL = 16,
    WEIR_SERVER_TLS = 17,
    WEIR_SERVER_CIPHER = 18,
    WEIR_SERVER_TLS_NAME = 19,
    /* Of the certificate that the client showed, if it was verified: its subject, "CN=ann", and its
     * SHA-256, hexadecimal. */
    WEIR_CLIENT_CERTIFICATE = 20,
    WEIR_CLIENT_FINGERPRINT = 21
};

/* Numbers that number() tells; 0 when there is none (yet). */
enum {
    WEIR_STATUS = 1, /* of the response */
    WEIR_EXCHANGE_NUMBER = 2,
    WEIR_ATTEMPTS = 3,
    WEIR_REQUEST_BYTES = 4, /* of bodies and tunnels, received and sent on the client's side */
    WEIR_RESPONSE_BYTES = 5,
    WEIR_STARTED_US = 6,    /* since 1970 */
    WEIR_FIRST_BYTE_US = 7, /* from then on; 0: not yet */
    WEIR_TOTAL_US = 8,      /* until now, or the end */
    WEIR_CLIENT_PORT = 9
};

/* Limits that set_limit() changes for this exchange. */
enum {
    WEIR_BUFFER_LIMIT = 1,    /* bytes that WEIR_BUFFER may collect in that direction, 1..1 GiB */
    WEIR_BUFFER_TRUNCATES = 2 /* 1: a longer body is shown as far as it goes and then passed on; 0,
                                 the standard: 413 or 502 */
};

/* query("weir.filter/0"). All [worker], for an exchange between open() and close(): inside a hook
 * of it unless it says otherwise. Those that fail change nothing. */
typedef struct weir_filter_host {
    uint32_t size;
    /* --- heads. As they are now; NULL before there is one. The head stays at its address, what it
     * points at changes with every edit. */
    const weir_head *(*request_head)(weir_exchange *exchange);
    const weir_head *(*response_head)(weir_exchange *exchange);
    /* The nth field of that name, from 0; repeated fields stay apart. WEIR_NOT_FOUND. */
    weir_result (*field)(weir_exchange *exchange, uint32_t which, weir_string name, uint32_t nth,
                         weir_string *value);
    weir_result (*field_at)(weir_exchange *exchange, uint32_t which, uint32_t index,
                            weir_field *field);
    /* Names and values are copied. set() replaces the first of that name, in its place, and removes
     * the others. WEIR_INVALID: a control character, a name that is no token, or one about framing
     * or of the connection, which are the host's (Host, Expect and Trailer too), or in trailers one
     * that RFC 9110 6.5.1 keeps out of them; WEIR_WRONG_PHASE: it has left; WEIR_TOO_MUCH: a head
     * has 256 fields, or got 64 KiB from filters. A message that came without trailers gets them:
     * those of a response once there is its head. They are dropped where the peer's protocol has no
     * place for them. */
    weir_result (*set_field)(weir_exchange *exchange, uint32_t which, weir_string name,
                             weir_string value);
    weir_result (*add_field)(weir_exchange *exchange, uint32_t which, weir_string name,
                             weir_string value);
    weir_result (*remove_field)(weir_exchange *exchange, uint32_t which, weir_string name);
    weir_result (*set_part)(weir_exchange *exchange, uint32_t part, weir_string value);
    /* 200..599, but none that has a body where it had none or the other way round (204, 304), and
     * none that opens or closes a tunnel. */
    weir_result (*set_status)(weir_exchange *exchange, uint32_t status);
    /* --- facts; borrowed until the hook returns. WEIR_UNSUPPORTED: no such fact. */
    weir_result (*text)(weir_exchange *exchange, uint32_t what, weir_string *value);
    weir_result (*number)(weir_exchange *exchange, uint32_t what, int64_t *value);
    /* Variables of the exchange, for other filters, scripts and the access log. Copied; names are
     * tokens, values any bytes. At most 64, of 16 KiB together: WEIR_TOO_MUCH. */
    weir_result (*variable)(weir_exchange *exchange, weir_string name, weir_string *value);
    weir_result (*set_variable)(weir_exchange *exchange, weir_string name, weir_string value);
    weir_result (*set_user)(weir_exchange *exchange, weir_string user); /* in authenticate or its
                                                                         event() */
    weir_result (*set_limit)(weir_exchange *exchange, uint32_t limit, uint32_t direction,
                             uint64_t value);
    /* --- settling it; acted upon when the hook has returned. Inside event() too. respond():
     * WEIR_INVALID: no such status, a body of 204 or 304, 2xx to CONNECT, a bad field;
     * WEIR_TOO_MUCH: of fields; WEIR_ALREADY; WEIR_WRONG_PHASE: the response head is out. The other
     * filters see it like a server's response, but for those that have seen one before it. */
    weir_result (*respond)(weir_exchange *exchange, const weir_reply *reply);
    weir_result (*abort)(weir_exchange *exchange);
    /* Another target, in request, route, upstream and upstream_error: the name of an upstream, or
     * "HOST:PORT" of a server, which is checked like any client's, and reached over TLS if the
     * request's scheme is https. WEIR_NOT_FOUND. */
    weir_result (*retarget)(weir_exchange *exchange, weir_string target);
    /* --- bytes. Slices without an owner are copied. WEIR_END ends the direction. WEIR_TOO_MUCH:
     * beyond the credit; nothing was taken, which counts as a fault. */
    weir_result (*emit)(weir_exchange *exchange, uint32_t direction, const weir_slice *slices,
                        uint32_t count, uint32_t flags);
    size_t (*credit)(weir_exchange *exchange, uint32_t direction); /* that may be emitted now */
    /* So many of the bytes that WEIR_HOLD took need not be held any more. */
    weir_result (*release)(weir_exchange *exchange, uint32_t direction, uint64_t bytes);
    /* --- pauses. resume(): WEIR_ALREADY when it is not paused by this filter. */
    weir_result (*resume)(weir_exchange *exchange, uint32_t direction);
    /* How long the next pause of that direction may last, or the one that is, from now on; the
     * standard is what the configuration says, or 30 s. */
    weir_result (*pause_limit)(weir_exchange *exchange, uint32_t direction, uint32_t milliseconds);
    weir_reference (*reference)(weir_exchange *exchange); /* for services.h */
    /* Who the request's first field of that name says somebody is, such as Authorization; the one
     * for proxies comes to authenticate(). `credentials` has its size. WEIR_NOT_FOUND: empty. */
    weir_result (*credentials)(weir_exchange *exchange, weir_string field,
                               weir_credentials *credentials);
} weir_filter_host;

#ifdef __cplusplus
}
#endif
#endif
