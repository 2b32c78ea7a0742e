/* core/base/metric.c - what the metric cells are called and what they say */
#include "core/base/metric.h"

const struct metric_about metric_abouts[METRICS] = {
    [METRIC_CLIENT_CONNECTIONS] = {.name = "client_connections",
                                   .help = "Connections of clients that spoke."},
    [METRIC_CLIENT_CONNECTIONS_OPEN] = {.name = "client_connections_open",
                                        .help = "Connections of clients that are open.",
                                        .is_gauge = true},
    [METRIC_CLIENTS_REFUSED] =
        {.name = "clients_refused",
         .help = "Clients closed at once: their address is not allowed, or has as "
                 "many connections as it may."},
    [METRIC_CLIENTS_SILENT] = {"clients_silent",
                               "Clients that have connected and not said anything yet.", true},
    [METRIC_SERVER_CONNECTIONS] = {.name = "server_connections",
                                   .help = "Connections made to servers."},
    [METRIC_SERVER_CONNECTIONS_OPEN] = {.name = "server_connections_open",
                                        .help = "Connections to servers that are open.",
                                        .is_gauge = true},
    [METRIC_SERVER_CONNECTIONS_REUSED] =
        {.name = "server_connections_reused",
         .help = "Exchanges that took a connection to a server that was "
                 "open already."},
    [METRIC_EXCHANGES] = {.name = "exchanges", .help = "Requests begun, tunnels among them."},
    [METRIC_EXCHANGES_OPEN] = {.name = "exchanges_open",
                               .help = "Requests and tunnels in progress.",
                               .is_gauge = true},
    [METRIC_EXCHANGES_FAILED] = {.name = "exchanges_failed",
                                 .help = "Requests answered by weir with an error, or aborted."},
    [METRIC_SUBREQUESTS] = {.name = "subrequests", .help = "Requests of plugins' own."},
    [METRIC_SUBREQUESTS_OPEN] = {.name = "subrequests_open",
                                 .help = "Requests of plugins' own in progress.",
                                 .is_gauge = true},
    [METRIC_SUBREQUESTS_FAILED] = {.name = "subrequests_failed",
                                   .help = "Requests of plugins' own that got no answer, or not "
                                           "all of it."},
    [METRIC_ATTEMPTS_REPEATED] = {.name = "attempts_repeated",
                                  .help = "Requests sent to a server once more."},
    [METRIC_FILTER_FAULTS] = {.name = "filter_faults",
                              .help = "Hooks of filters that failed, or answered what they must "
                                      "not."},
    [METRIC_ACCESS_LINES_DROPPED] = {.name = "access_lines_dropped",
                                     .help = "Lines of the access log that could not be written."},
    [METRIC_REQUEST_BYTES] = {.name = "request_bytes",
                              .help = "Bytes of bodies and tunnels from clients."},
    [METRIC_RESPONSE_BYTES] = {.name = "response_bytes",
                               .help = "Bytes of bodies and tunnels to clients."},
};
