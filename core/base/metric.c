/* core/base/metric.c - what the metric cells are called and what they say */
#include "core/base/metric.h"

const struct metric_about metric_abouts[METRICS] = {
    [METRIC_CLIENT_CONNECTIONS] = {"client_connections", "Connections of clients that spoke."},
    [METRIC_CLIENT_CONNECTIONS_OPEN] = {"client_connections_open",
                                        "Connections of clients that are open.", true},
    [METRIC_CLIENTS_REFUSED] = {"clients_refused",
                                "Clients closed at once: their address is not allowed, or has as "
                                "many connections as it may."},
    [METRIC_SERVER_CONNECTIONS] = {"server_connections", "Connections made to servers."},
    [METRIC_SERVER_CONNECTIONS_OPEN] = {"server_connections_open",
                                        "Connections to servers that are open.", true},
    [METRIC_SERVER_CONNECTIONS_REUSED] = {"server_connections_reused",
                                          "Exchanges that took a connection to a server that was "
                                          "open already."},
    [METRIC_EXCHANGES] = {"exchanges", "Requests begun, tunnels among them."},
    [METRIC_EXCHANGES_OPEN] = {"exchanges_open", "Requests and tunnels in progress.", true},
    [METRIC_EXCHANGES_FAILED] = {"exchanges_failed",
                                 "Requests answered by weir with an error, or aborted."},
    [METRIC_ATTEMPTS_REPEATED] = {"attempts_repeated", "Requests sent to a server once more."},
    [METRIC_ACCESS_LINES_DROPPED] = {"access_lines_dropped",
                                     "Lines of the access log that could not be written."},
    [METRIC_REQUEST_BYTES] = {"request_bytes", "Bytes of bodies and tunnels from clients."},
    [METRIC_RESPONSE_BYTES] = {"response_bytes", "Bytes of bodies and tunnels to clients."},
};
