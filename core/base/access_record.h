/* core/base/access_record.h - what the access log can say about one exchange that is over
 *
 * Gathered by core/exchange/access_record.c, rendered by core/base/access_format.c. Strings are
 * borrowed until the line is rendered; empty ones are shown as missing. */
#ifndef CORE_BASE_ACCESS_RECORD_H
#define CORE_BASE_ACCESS_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/variable.h"

/* Whose answer the client got. */
enum access_by { ACCESS_BY_NOBODY, ACCESS_BY_SERVER, ACCESS_BY_WEIR, ACCESS_BY_FILTER };

/* What was spoken on a connection; with TLS its version, its cipher, the name asked for. */
struct access_leg {
    weir_string protocol, tls, cipher, tls_name;
};

struct access_record {
    uint64_t worker;
    uint64_t number;            /* of the exchange, counted by its worker */
    uint64_t time_us;           /* when the request's head was there, since 1970 in UTC */
    weir_string client, server; /* address; address and port of the last connection used */
    struct access_leg client_leg, server_leg;
    weir_string certificate, fingerprint;   /* of the client's certificate: subject, SHA-256 */
    weir_string user;                       /* who the client proved to be */
    const struct variables *variables;      /* that filters set; NULL: none */
    const weir_head *request;               /* of a malformed request: empty strings */
    const weir_head *response;              /* as the client got it; NULL: none */
    uint64_t request_bytes, response_bytes; /* of bodies and tunnels */
    /* Microseconds, 0: did not happen. Resolving and connecting are those of the last attempt, the
     * first byte counts from the request's head being passed to the server. */
    uint64_t dns_us, connect_us, first_byte_us, total_us;
    uint64_t attempts; /* to reach a server; 0: none was needed */
    bool reused;       /* the last connection had served before */
    enum access_by by;
    weir_string filter; /* the name, of ACCESS_BY_FILTER */
    weir_string why;    /* how it ended: the cause's name, "ok" */
};

#endif
