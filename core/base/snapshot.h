/* core/base/snapshot.h - one immutable configuration; an exchange keeps the one it began with
 *
 * Made by core/process/config.c, read by every worker, never changed once published. Texts that
 * nobody wrote are NULL. */
#ifndef CORE_BASE_SNAPSHOT_H
#define CORE_BASE_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/protocol.h"
#include "core/base/log.h"
#include "core/base/tls_settings.h"

struct network_list;  /* core/io/network.h */
struct access_format; /* core/base/access_format.h */
struct filter_chain;  /* core/exchange/filters.h */
struct filter_use;    /* core/plugins/filter_use.h */
struct route_index;   /* core/upstream/route.c */
struct tree_node;     /* core/process/tree.h */

/* A filter with its settings, as it is written in a list of them. */
struct filter_entry {
    char *name;
    struct tree_node *with; /* only while the configuration is loaded */
    uint32_t on_fault;      /* 0: fail, 1: skip */
    uint32_t pause_limit_ms;
    uint64_t buffer_limit; /* bytes */
};

struct filter_list {
    struct filter_entry *entries;
    uint32_t count;
    uint32_t first; /* of the snapshot's uses; the others follow */
};
struct registry; /* core/plugins/registry.h */

/* A group of servers. */
struct upstream_group {
    char *name;
    char **servers; /* authorities, "host:port" */
    uint32_t count;
    char *protocol; /* that they speak: "h1"; NULL: with TLS what they choose, else "h1" */
    struct tls_client_settings tls;
};

struct listener_config {
    char *address; /* "127.0.0.1:3128", "[::]:8443", "unix:/run/weir.sock", as text */
    struct network_list *allow_clients; /* NULL: whoever can connect */
    bool open;                          /* said to be meant so, where anybody can connect */
    bool v6only;                        /* of an IPv6 address: no IPv4 clients */
    uint32_t mode;                      /* of a unix socket's file */
    char **protocol_names;              /* of those below */
    uint32_t protocol_count;
    const weir_protocol *const *protocols; /* that clients may speak, ended by NULL; NULL: what is
                                              built in */
    struct tls_server_settings tls;
    const char *const *alpn; /* the names of its protocols, ended by NULL; with TLS */
    struct filter_list filters;
    bool guarded;                     /* one of its chain decides who may use it */
    const struct filter_chain *chain; /* of all listeners' filters, then its own */
};

struct timeouts { /* milliseconds, 0 = none */
    uint32_t connect, response_head, exchange_idle, tunnel_idle;
    uint32_t body;      /* without a byte of a request's body that the client owes */
    uint32_t handshake; /* of TLS */
    uint32_t drain;     /* for what runs, once weir was told to stop */
};

struct port_range {
    uint16_t first, last;
};

struct port_set {
    struct port_range *ranges;
    uint32_t count;
};

static inline bool ports_contain(const struct port_set *ports, uint16_t port)
{
    for (uint32_t i = 0; i < ports->count; i++)
        if (port >= ports->ranges[i].first && port <= ports->ranges[i].last)
            return true;
    return false;
}

struct text_list {
    char **texts;
    uint32_t count;
};

/* Where some requests go; the first that fits is taken. */
struct route_config {
    char *name; /* NULL: it has none */
    struct {
        struct text_list hosts; /* "app.example", "*.example"; none: any */
        struct text_list paths; /* "/one", "/all/" with a * behind it; none: any */
        struct text_list methods;
        struct port_set ports;
    } when;
    char *to;
    const struct upstream_group *group; /* NULL: direct, where the request itself says */
    struct filter_list filters;
    const struct filter_chain *chain; /* of those alone; runs behind the listener's */
};

struct access_log_config {
    bool on;
    char *format;    /* "common", "combined", "json", or a template, which has a { */
    char *file;      /* NULL: standard output */
    uint32_t sample; /* one exchange in so many is logged: 1.. */
    const struct access_format *compiled; /* the format; NULL: off */
};

struct snapshot {
    uint32_t workers; /* 1.. */
    enum log_level log_level;
    struct access_log_config access_log;
    struct registry *registry;  /* the plugins in force */
    struct filter_list filters; /* of all listeners */
    struct filter_use *uses;    /* of all lists */
    uint32_t use_count;
    struct listener_config *listeners;
    uint32_t listener_count;
    bool listeners_standard; /* nobody wrote where to listen */
    struct upstream_group *upstreams;
    uint32_t upstream_count;
    struct tls_client_settings server_tls;       /* with servers that requests name */
    const struct upstream_group *fixed_upstream; /* set: weir is a reverse proxy; else NULL */
    struct route_config *routes;
    uint32_t route_count;
    const struct route_index *route_index; /* NULL: there are no routes */
    weir_limits limits;
    struct timeouts timeouts;
    uint32_t connections_max;                                  /* 0 = automatic */
    uint32_t connections_per_address, requests_per_connection; /* 0 = any number */
    uint64_t request_body_max;                                 /* bytes, 0 = any */
    uint32_t body_rate_min;                                    /* bytes per second, 0 = any */
    struct port_set connect_ports;                             /* where CONNECT may go */
    struct network_list *deny_addresses;                       /* where nothing may go */
    char *error_template; /* of weir's own answers, with {status}, {reason} and {text} */
    char *user, *group;   /* to become after binding */
    char *pid_file;
    char *admin;    /* "unix:/run/admin.sock", or an address of loopback with its port */
    char *via_name; /* of this process, unique: how loops are noticed */
};

/* One worker's use of one snapshot. Counted without atomics: whoever counts is on that worker. */
struct snapshot_use {
    const struct snapshot *snapshot;
    void **worker_states; /* of each filter in use, what its instance has on this worker */
    uint32_t count;
    bool retired;                                /* not in force there any more, nor will be */
    void (*on_unused)(struct snapshot_use *use); /* the count is 0: both may go now */
};

static inline struct snapshot_use *snapshot_take(struct snapshot_use *use)
{
    use->count++;
    return use;
}

static inline void snapshot_drop(struct snapshot_use *use)
{
    if (--use->count == 0)
        use->on_unused(use);
}

#endif
