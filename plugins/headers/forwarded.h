/* plugins/headers/forwarded.h - who the client was, for the server: X-Forwarded-* and Forwarded
 *
 * X-Forwarded-For, -Proto and -Host, and Forwarded (RFC 7239). What a client claims is kept only
 * when it is one of those that are trusted. */
#ifndef HEADERS_FORWARDED_H
#define HEADERS_FORWARDED_H

#include <stdbool.h>

#include "plugins/headers/headers.h"

enum forwarded_mode {
    FORWARDED_AUTO, /* append on the way to a named upstream, else keep */
    FORWARDED_APPEND,
    FORWARDED_REPLACE,
    FORWARDED_STRIP,
    FORWARDED_KEEP
};

struct forwarded {
    enum forwarded_mode x_forwarded, forwarded;
    bool client_port;  /* in Forwarded */
    bool unix_trusted; /* clients of unix sockets */
    weir_networks **trusted;
    uint32_t trusted_count;
};

/* [main] Of the section `forwarded`; mistakes are reported: less than 0. To be freed in any case.
 * NULL: nothing is done. */
weir_result forwarded_make(const weir_section *section, struct forwarded *forwarded);
void forwarded_free(struct forwarded *forwarded);

/* Less than 0: the head has no room. To be called when the upstream is known. */
weir_result forwarded_apply(const struct forwarded *forwarded, weir_exchange *exchange);

#endif
