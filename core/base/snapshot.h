/* core/base/snapshot.h - one immutable configuration; an exchange keeps the one it began with
 *
 * Made by core/process/config.c, read by every worker, never changed once published. */
#ifndef CORE_BASE_SNAPSHOT_H
#define CORE_BASE_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/protocol.h"
#include "core/base/log.h"

/* A group of servers. The only one in force so far is the one every request goes to. */
struct upstream_group {
    char *name;
    char **servers; /* authorities, "host:port" */
    uint32_t count;
    char *protocol; /* that they speak: "h1" */
};

struct listener_config {
    char *address; /* "127.0.0.1:3128", as text */
};

struct timeouts { /* milliseconds, 0 = none */
    uint32_t connect, response_head, exchange_idle, tunnel_idle;
};

struct snapshot {
    uint32_t workers; /* 1.. */
    enum log_level log_level;
    struct listener_config *listeners;
    uint32_t listener_count;
    struct upstream_group *upstreams;
    uint32_t upstream_count;
    const struct upstream_group *fixed_upstream; /* set: weir is a reverse proxy; else NULL */
    weir_limits limits;
    struct timeouts timeouts;
    char *via_name; /* of this process, unique: how loops are noticed */
};

#endif
