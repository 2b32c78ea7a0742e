/* core/base/metric.h - counters and gauges, one set of cells per worker, summed when read
 *
 * Only the owning worker writes a cell, but with metric_add_shared(); any thread may read it. */
#ifndef CORE_BASE_METRIC_H
#define CORE_BASE_METRIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum metric {
    METRIC_CLIENT_CONNECTIONS,      /* accepted */
    METRIC_CLIENT_CONNECTIONS_OPEN, /* gauge */
    METRIC_CLIENTS_REFUSED,         /* at once, by their address */
    METRIC_CLIENTS_SILENT,          /* gauge: connected, and not said yet what they speak */
    METRIC_SERVER_CONNECTIONS,      /* dialled */
    METRIC_SERVER_CONNECTIONS_OPEN, /* gauge */
    METRIC_SERVER_CONNECTIONS_REUSED,
    METRIC_EXCHANGES,
    METRIC_EXCHANGES_OPEN,   /* gauge */
    METRIC_EXCHANGES_FAILED, /* answered by weir with an error, or aborted */
    METRIC_SUBREQUESTS,      /* of plugins */
    METRIC_SUBREQUESTS_OPEN, /* gauge */
    METRIC_SUBREQUESTS_FAILED,
    METRIC_ATTEMPTS_REPEATED,
    METRIC_CLIENT_TLS_HANDSHAKES, /* done, with clients */
    METRIC_CLIENT_TLS_RESUMED,
    METRIC_CLIENT_TLS_FAILED,
    METRIC_SERVER_TLS_HANDSHAKES, /* done, with servers */
    METRIC_SERVER_TLS_RESUMED,
    METRIC_SERVER_TLS_FAILED,
    METRIC_FILTER_FAULTS,
    METRIC_ACCESS_LINES_DROPPED, /* of the access log: what takes them is too slow, or full */
    METRIC_REQUEST_BYTES,        /* body and tunnel bytes */
    METRIC_RESPONSE_BYTES,
    METRICS
};

struct metrics {
    _Atomic uint64_t cells[METRICS];
};

struct metric_about {
    const char *name, *help;
    bool is_gauge; /* goes up and down; others only count up */
};
extern const struct metric_about metric_abouts[METRICS];

static inline void metric_add(struct metrics *metrics, enum metric metric, int64_t value)
{
    uint64_t now = atomic_load_explicit(&metrics->cells[metric], memory_order_relaxed);
    atomic_store_explicit(&metrics->cells[metric], now + (uint64_t)value, memory_order_relaxed);
}

/* For a cell that others than the worker write too. [any] */
static inline void metric_add_shared(struct metrics *metrics, enum metric metric, uint64_t value)
{
    atomic_fetch_add_explicit(&metrics->cells[metric], value, memory_order_relaxed);
}

static inline uint64_t metric_read(const struct metrics *metrics, enum metric metric)
{
    return atomic_load_explicit(&metrics->cells[metric], memory_order_relaxed);
}

#endif
