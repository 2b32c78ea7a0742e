/* abi/filter.h - hooks of a filter on the exchanges that pass, and what they may do
 *
 * Draft: the hooks that exist are called; more are appended. A hook that is NULL is in no dispatch
 * list and costs nothing. Requests run the filters first to last, responses last to first. */
#ifndef WEIR_FILTER_H
#define WEIR_FILTER_H

#include "weir.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One exchange as a filter sees it; valid from open() to close(). */
typedef struct weir_exchange weir_exchange;

/* What a hook answers. */
typedef int32_t weir_answer;
enum {
    WEIR_CONTINUE = 0, /* on to the next filter */
    WEIR_RESPOND = 1,  /* respond() was called: that is the answer to the client */
    WEIR_FAIL = -1     /* the filter failed: 500, or a reset once the head is out */
};

typedef struct weir_filter {
    uint32_t size;
    const char *name;
    /* All [worker]. open() comes once for every exchange, also a malformed one, before any other
     * hook of any filter and whatever the filters before answer; the first answer counts. close()
     * comes exactly once for every exchange that open() was called for. */
    weir_answer (*open)(weir_exchange *exchange);
    weir_answer (*request)(weir_exchange *exchange);  /* request head, before the route is chosen */
    weir_answer (*upstream)(weir_exchange *exchange); /* before each attempt is sent */
    weir_answer (*response)(weir_exchange *exchange); /* final response head, whoever answered */
    void (*close)(weir_exchange *exchange);
} weir_filter;

/* A filter's answer to the client. Field names and values are copied; they hold no CR, LF or NUL.
 * The body may be of any size: the client takes it at its own pace, its buffer is referenced. */
typedef struct weir_reply {
    uint32_t size;
    uint32_t status;          /* 200..599 */
    const weir_field *fields; /* Content-Type and others, none about how the body is framed */
    uint32_t count;
    weir_slice body;
} weir_reply;

/* query("weir.filter/0"). All [worker], only inside a hook. */
typedef struct weir_filter_host {
    uint32_t size;
    /* Heads as they are now; NULL before there is one. */
    const weir_head *(*request_head)(weir_exchange *exchange);
    const weir_head *(*response_head)(weir_exchange *exchange);
    /* Answers the client; the hook then returns WEIR_RESPOND. WEIR_INVALID: no such status,
     * answered before, or the response head is out. */
    weir_result (*respond)(weir_exchange *exchange, const weir_reply *reply);
} weir_filter_host;

#ifdef __cplusplus
}
#endif
#endif
