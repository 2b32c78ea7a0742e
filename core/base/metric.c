/* core/base/metric.c - the names of the metric cells */
#include "core/base/metric.h"

const char *const metric_names[METRICS] = {
    [METRIC_CLIENT_CONNECTIONS] = "client_connections",
    [METRIC_CLIENT_CONNECTIONS_OPEN] = "client_connections_open",
    [METRIC_CLIENTS_REFUSED] = "clients_refused",
    [METRIC_SERVER_CONNECTIONS] = "server_connections",
    [METRIC_SERVER_CONNECTIONS_OPEN] = "server_connections_open",
    [METRIC_SERVER_CONNECTIONS_REUSED] = "server_connections_reused",
    [METRIC_EXCHANGES] = "exchanges",
    [METRIC_EXCHANGES_OPEN] = "exchanges_open",
    [METRIC_EXCHANGES_FAILED] = "exchanges_failed",
    [METRIC_ATTEMPTS_REPEATED] = "attempts_repeated",
    [METRIC_ACCESS_LINES_DROPPED] = "access_lines_dropped",
    [METRIC_REQUEST_BYTES] = "request_bytes",
    [METRIC_RESPONSE_BYTES] = "response_bytes",
};
