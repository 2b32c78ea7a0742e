/* abi/services.h - what a plugin may have done: timers, other threads, work, requests of its own,
 * metrics, a dictionary that all workers share
 *
 * What is asked for has an owner, an exchange as one filter sees it (weir_filter_host.reference) or
 * an instance on one worker (worker_reference). The answer comes as an event of the owner: to
 * event() or worker_event(). When the owner ends, everything of it is cancelled. */
#ifndef WEIR_SERVICES_H
#define WEIR_SERVICES_H

#include "configuration.h"
#include "weir.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of threads. */
enum { WEIR_THREAD_MAIN = 1, WEIR_THREAD_WORKER = 2, WEIR_THREAD_OTHER = 3 };

/* A request of a plugin's own. Everything is copied. It passes no routes and no filters, and the
 * access log does not have it. It may go to named upstreams, and where the client of the exchange
 * that owns it may go: deny_addresses holds, also for those of an instance, and so does what
 * address() of the exchange's filters says. */
typedef struct weir_fetch {
    uint32_t size;
    uint32_t timeout_ms;  /* for the whole; 0: 30 s */
    weir_string method;   /* empty: GET. Not CONNECT */
    weir_string url;      /* "http://host:port/path", of which Host is made; with an upstream also
                             "/path", Host is the upstream's name then */
    weir_string upstream; /* of the configuration; empty: the url's own host */
    const weir_field *fields; /* as set_field() takes them: none about framing, and no Host */
    uint32_t count;
    uint32_t body_most; /* bytes of the answer's body that are kept; 0: 64 KiB */
    weir_string body;   /* at most 1 MiB */
} weir_fetch;

/* query("weir.asynchronous/0"). [worker], the owner's, but for post(). */
typedef struct weir_asynchronous_host {
    uint32_t size;
    /* [any] WEIR_EVENT_POST. drop(data) runs exactly once, whatever happens: after it was
     * delivered, when the owner is gone (WEIR_GONE), or when too many are waiting (WEIR_TOO_MUCH).
     * It may run on any thread. NULL: nothing to drop. */
    weir_result (*post)(weir_reference owner, uint32_t tag, void *data, void (*drop)(void *data));
    /* WEIR_EVENT_TIMER, once. `timer` may be NULL. */
    weir_result (*timer)(weir_reference owner, uint32_t milliseconds, uint32_t tag,
                         weir_reference *timer);
    /* run(data) on a thread of the pool, then WEIR_EVENT_WORK with what it returned; then
     * drop(data), exactly once. WEIR_STOPPING: for an instance whose configuration is not in force
     * any more, since what it asks for would hold that. */
    weir_result (*work)(weir_reference owner, weir_result (*run)(void *data), uint32_t tag,
                        void *data, void (*drop)(void *data), weir_reference *work);
    /* WEIR_EVENT_FETCH, never before this returns. `result`: WEIR_OK when there is an answer of any
     * status, else why there is none that is whole: what an exchange would fail with,
     * WEIR_RESPONSE_TIMEOUT also when timeout_ms have passed. An answer that is longer than
     * body_most is cut and has WEIR_TRUNCATED_DATA in `flags`. WEIR_INVALID: a part is not what it
     * must be; WEIR_NOT_FOUND: no such upstream; WEIR_TOO_MUCH: 32 of an
     * owner or 1024 of a worker are in progress, or it is larger than allowed: 64 KiB without its
     * body; WEIR_STOPPING: also for an instance whose configuration is not in force any more. */
    weir_result (*fetch)(weir_reference owner, const weir_fetch *fetch, uint32_t tag,
                         weir_reference *request);
    /* Nothing of it is delivered after this; WEIR_GONE: it was delivered before, or never was. */
    weir_result (*cancel)(weir_reference task);
    weir_reference (*worker_reference)(weir_worker *worker); /* in worker_make(): the instance's */
    uint32_t (*thread)(void);                                /* [any] WEIR_THREAD_* */
    uint64_t (*now_ms)(void);                                /* [worker] monotonic, of this turn */
    uint64_t (*wall_us)(void);                               /* [any] since 1970 */
} weir_asynchronous_host;

enum { WEIR_COUNTER = 0, WEIR_GAUGE = 1 };

typedef struct weir_metric {
    uint32_t size;
    uint32_t kind;
    const char *name; /* letters, digits and _, at most 100: "acme_refused_total" is shown as
                         weir_plugin_acme_refused_total */
    const char *help;
    const char *const *labels; /* their names, label_count of them */
    uint32_t label_count;      /* at most 8 */
    uint32_t series_most;      /* further label values are counted as "other"; 0: 1000; at most
                                  100000 */
} weir_metric;

/* query("weir.metrics/0"). */
typedef struct weir_metrics_host {
    uint32_t size;
    /* [main] in load() or make(). The same name gives the same metric again, with its counts, also
     * after a reload. WEIR_INVALID: a wrong name, or that name is defined with another kind or
     * other labels; the log says so. Texts are copied. */
    weir_result (*define)(const weir_host *host, const weir_metric *metric, uint32_t *id);
    /* [worker] One value for each label, of which 128 bytes count. Without locks, but when a worker
     * meets values first. Counters ignore what is negative. */
    void (*add)(uint32_t id, int64_t value, const weir_string *label_values);
} weir_metrics_host;

/* Keys and values, shared by all workers and plugins, lost at exit and kept over reloads. Bounded:
 * the entries that were not used for longest make room. */
typedef struct weir_dictionary weir_dictionary;

/* query("weir.dictionary/0"). [any] */
typedef struct weir_dictionary_host {
    uint32_t size;
    /* The one of that name, made if there is none; `bytes` bounds it all in all: what the last one
     * says. Lives until exit. Each part of it, 64 KiB or more unless `bytes` is less, has a bound
     * of its own: what is larger than that is WEIR_TOO_MUCH below. */
    weir_dictionary *(*open)(weir_string name, size_t bytes);
    /* Copies up to `most` bytes and says how many there are; of a counter its decimal digits.
     * WEIR_NOT_FOUND; WEIR_INVALID: it is a bucket of rate(). */
    weir_result (*get)(weir_dictionary *dictionary, weir_string key, void *value, size_t most,
                       size_t *length);
    /* time_ms: how long it is kept; 0: for ever. if_absent: WEIR_ALREADY when there is one. */
    weir_result (*set)(weir_dictionary *dictionary, weir_string key, weir_string value,
                       uint32_t time_ms, uint32_t if_absent);
    weir_result (*remove)(weir_dictionary *dictionary, weir_string key);
    /* In one step: a counter that is not there begins at `first`, to which `by` is added, and lives
     * time_ms from then on. WEIR_INVALID: the key holds something else. */
    weir_result (*increment)(weir_dictionary *dictionary, weir_string key, int64_t by,
                             int64_t first, uint32_t time_ms, int64_t *value);
    /* In one step: whether `cost` fits into a bucket that fills at `per_second` up to `burst`. 0
     * and *wait_ms 0: taken; *wait_ms more: not taken, try again then. WEIR_INVALID: it never can,
     * or the key holds something else. */
    weir_result (*rate)(weir_dictionary *dictionary, weir_string key, double per_second,
                        double burst, double cost, uint32_t *wait_ms);
} weir_dictionary_host;

#ifdef __cplusplus
}
#endif
#endif
