/* core/process/config_keys.c - all that a configuration file may say */
#include "core/process/config_keys.h"

#include "core/io/network.h"
#include "core/process/config_stores.h"
#include "core/process/values.h"

/* What schema.h asks of the structs that it fills. */
#define COUNT_FOLLOWS(type, items, count)                                                          \
    _Static_assert(offsetof(type, count) == offsetof(type, items) + sizeof(void *), #count)
COUNT_FOLLOWS(struct snapshot, listeners, listener_count);
COUNT_FOLLOWS(struct snapshot, upstreams, upstream_count);
COUNT_FOLLOWS(struct upstream_group, servers, count);
COUNT_FOLLOWS(struct filter_list, entries, count);
COUNT_FOLLOWS(struct text_list, texts, count);
COUNT_FOLLOWS(struct snapshot, routes, route_count);
COUNT_FOLLOWS(struct listener_config, protocol_names, protocol_count);
COUNT_FOLLOWS(struct config, plugins, plugin_count);
COUNT_FOLLOWS(struct tls_server_settings, certificates, certificate_count);
COUNT_FOLLOWS(struct tls_client_settings, ca_files, ca_file_count);
_Static_assert(offsetof(struct upstream_group, name) == 0, "the name of a map's item");
_Static_assert(sizeof(enum log_level) == sizeof(uint32_t), "a choice");

#define AT(member) offsetof(struct config, snapshot.member)

/* --- kinds of values */

static const char *const log_levels[] = {"debug", "info", "warning", "error", NULL};
static const char *const version_words[] = {"1.2", "1.3", NULL}; /* enum tls_version */
static const char *const demand_words[] = {"off", "optional", "required", NULL}; /* tls_demand */
static const char *const fault_words[] = {"fail", "skip", NULL};
static const char *const protocols[] = {"h1", "h2", NULL};

#define NUMBER(name, text, unit, from, to, ...)                                                    \
    static const struct schema_type name = {.kind = SCHEMA_NUMBER,                                 \
                                            .what = text,                                          \
                                            .units = unit,                                         \
                                            .least = from,                                         \
                                            .most = to,                                            \
                                            __VA_ARGS__}
NUMBER(workers_type, "a whole number", value_plain, 1, WORKERS_MOST, .word = "auto");
NUMBER(duration_type, "a duration such as 500ms, 10s, 5m or 1h", value_durations, 1, 7 * 86400000,
       .word = "none");
NUMBER(line_size_type, "a size such as 512B or 8KiB", value_sizes, 256, 64 << 10);
NUMBER(header_size_type, "a size such as 64KiB or 1MiB", value_sizes, 1 << 10, 1 << 20);
NUMBER(field_count_type, "a whole number", value_plain, 8, 256);
NUMBER(stream_count_type, "a whole number", value_plain, 1, 1000);
NUMBER(connections_type, "a whole number", value_plain, 1, 1 << 20, .word = "auto");
NUMBER(count_type, "a whole number", value_plain, 1, 1000000000, .word = "none");
NUMBER(body_size_type, "a size such as 64KiB, 10MiB or 4GiB", value_sizes, 1, (uint64_t)1 << 50,
       .word = "none", .wide = true);
NUMBER(rate_type, "a rate such as 100B/s or 1KiB/s", value_rates, 1, 1 << 30, .word = "none");
NUMBER(sample_type, "a whole number", value_plain, 1, 1000000);

NUMBER(pause_type, "a duration such as 500ms, 10s, 5m or 1h", value_durations, 1, 7 * 86400000);
NUMBER(buffer_type, "a size such as 64KiB or 1MiB", value_sizes, 1, 1 << 30, .wide = true);

static const struct schema_type flag_type = {.kind = SCHEMA_FLAG};
static const struct schema_type fault_type = {.kind = SCHEMA_CHOICE, .words = fault_words};
static const struct schema_type version_type = {.kind = SCHEMA_CHOICE, .words = version_words};
static const struct schema_type demand_type = {.kind = SCHEMA_CHOICE, .words = demand_words};
static const struct schema_type open_type = {.kind = SCHEMA_OPEN};
static const struct schema_type log_level_type = {.kind = SCHEMA_CHOICE, .words = log_levels};

#define TEXT(name, text, ...)                                                                      \
    static const struct schema_type name = {.kind = SCHEMA_TEXT, .what = text, __VA_ARGS__}
TEXT(protocol_type, "a protocol", .words = protocols);
TEXT(listen_address_type, "ADDRESS:PORT, or unix:PATH", .mistake = value_listen_mistake);
TEXT(admin_type, "unix:PATH, or 127.0.0.1:PORT", .mistake = value_admin_mistake);
TEXT(server_address_type, "HOST:PORT", .mistake = value_server_mistake);
TEXT(name_type, "NAME", .mistake = value_name_mistake);
TEXT(account_type, "NAME or number", .mistake = value_account_mistake);
TEXT(plugin_type, "PATH or NAME", .mistake = value_path_mistake);
TEXT(path_type, "PATH", .mistake = value_path_mistake, .is_path = true);
TEXT(pem_type, "PATH or PEM", .mistake = value_path_mistake, .is_path = true, .or_pem = true);
TEXT(pattern_type, "PATH, with * and ? in its last part", .mistake = value_path_mistake);
TEXT(template_type, "text with {status}, {reason} and {text}", .store = store_answer);
TEXT(log_format_type, "common, combined, json, or text with {fields}");
TEXT(server_name_type, "NAME", .mistake = value_host_mistake);
TEXT(host_type, "NAME or *.NAME", .mistake = value_host_pattern_mistake);
TEXT(url_path_type, "/PATH or /PATH/*", .mistake = value_path_pattern_mistake);
TEXT(method_type, "METHOD", .mistake = value_method_mistake);
TEXT(target_type, "NAME or direct", .mistake = value_name_mistake);
TEXT(mode_type, "octal digits such as 0660", .store = store_mode);
TEXT(ports_type, "PORT or PORT-PORT", .store = store_ports);
TEXT(allowed_type, "networks", .store = store_allowed, .words = network_words);
TEXT(denied_type, "networks", .store = store_denied, .words = network_words);

#define LIST(name, from, to, type, bytes, ...)                                                     \
    static const struct schema_type name = {                                                       \
        .kind = SCHEMA_LIST, .least = from, .most = to, .item = &type, .size = bytes, __VA_ARGS__}
LIST(allowed_list_type, 1, 1024, allowed_type, sizeof(struct network_list *), .collects = true);
LIST(denied_list_type, 0, 1024, denied_type, sizeof(struct network_list *), .collects = true);
LIST(hosts_type, 1, 1024, host_type, sizeof(char *), .or_one = true);
LIST(url_paths_type, 1, 256, url_path_type, sizeof(char *), .or_one = true);
LIST(methods_type, 1, 64, method_type, sizeof(char *), .or_one = true);
LIST(route_ports_type, 1, 64, ports_type, sizeof(struct port_set), .collects = true,
     .or_one = true);
LIST(ports_list_type, 0, 64, ports_type, sizeof(struct port_set), .collects = true);
LIST(protocols_type, 1, 16, name_type, sizeof(char *));
LIST(ca_files_type, 1, 64, path_type, sizeof(char *), .or_one = true);
LIST(servers_type, 1, 1024, server_address_type, sizeof(char *));
LIST(plugins_type, 0, PLUGINS_MOST, plugin_type, sizeof(char *));

/* --- keys */

static const struct schema_key filter_keys[] = {
    {.name = "use",
     .type = &name_type,
     .offset = offsetof(struct filter_entry, name),
     .required = true,
     .help = "The filter."},
    {.name = "with",
     .type = &open_type,
     .offset = offsetof(struct filter_entry, with),
     .help = "What the filter is to do."},
    {.name = "on_fault",
     .type = &fault_type,
     .offset = offsetof(struct filter_entry, on_fault),
     .standard = "fail",
     .help = "What becomes of a request when the filter fails: it fails too, or goes on without "
             "the filter."},
    {.name = "pause_limit",
     .type = &pause_type,
     .offset = offsetof(struct filter_entry, pause_limit_ms),
     .standard = "30s",
     .help = "How long the filter may hold up a request; then it has failed."},
    {.name = "buffer_limit",
     .type = &buffer_type,
     .offset = offsetof(struct filter_entry, buffer_limit),
     .standard = "1MiB",
     .help = "How much of a body is kept for a filter that wants it whole."},
    {0},
};
static const struct schema_type filter_type = {.kind = SCHEMA_SECTION, .keys = filter_keys};
LIST(filters_type, 0, 32, filter_type, sizeof(struct filter_entry));

static const struct schema_key pair_keys[] = {
    {.name = "certificate",
     .type = &pem_type,
     .offset = offsetof(struct tls_pair, certificate),
     .required = true,
     .help = "The certificate in PEM, with those between it and its root behind it."},
    {.name = "key",
     .type = &pem_type,
     .offset = offsetof(struct tls_pair, key),
     .required = true,
     .help = "Its key in PEM, without a password."},
    {0},
};
static const struct schema_type pair_type = {.kind = SCHEMA_SECTION, .keys = pair_keys};
LIST(pairs_type, 1, 1024, pair_type, sizeof(struct tls_pair));

#define WITH_CLIENTS(member) offsetof(struct tls_server_settings, member)
static const struct schema_key client_tls_keys[] = {
    {.name = "certificates",
     .type = &pairs_type,
     .offset = WITH_CLIENTS(certificates),
     .required = true,
     .help = "What clients are shown: the one whose names fit what the client asks for, or the "
             "first."},
    {.name = "client_certificates",
     .type = &demand_type,
     .offset = WITH_CLIENTS(client_certificates),
     .standard = "off",
     .help = "Whether clients are asked for certificates, and must have one."},
    {.name = "client_ca",
     .type = &path_type,
     .offset = WITH_CLIENTS(client_ca),
     .help = "The certificates in PEM that those of clients must be signed with."},
    {.name = "minimum_version",
     .type = &version_type,
     .offset = WITH_CLIENTS(least_version),
     .standard = "1.2",
     .help = "The oldest version of TLS that clients may speak."},
    {.name = "tickets",
     .type = &flag_type,
     .offset = WITH_CLIENTS(tickets),
     .standard = "true",
     .help = "Whether clients may resume a session instead of a whole handshake."},
    {0},
};
static const struct schema_type client_tls_type = {.kind = SCHEMA_SECTION, .keys = client_tls_keys};

#define WITH_SERVERS(member) offsetof(struct tls_client_settings, member)
static const struct schema_key server_tls_keys[] = {
    /* the first for a group alone */
    {.name = "server_name",
     .type = &server_name_type,
     .offset = WITH_SERVERS(server_name),
     .help = "The name that is asked for and that the certificate must have; without it the "
             "host's."},
    {.name = "verify",
     .type = &flag_type,
     .offset = WITH_SERVERS(verify),
     .standard = "true",
     .help = "Whether a server must prove who it is; false only where anybody may pretend to be "
             "it."},
    {.name = "ca_files",
     .type = &ca_files_type,
     .offset = WITH_SERVERS(ca_files),
     .help = "Certificates in PEM that are trusted beside those that the system trusts."},
    {.name = "minimum_version",
     .type = &version_type,
     .offset = WITH_SERVERS(least_version),
     .standard = "1.2",
     .help = "The oldest version of TLS that servers may speak."},
    {0},
};
static const struct schema_type group_tls_type = {.kind = SCHEMA_SECTION, .keys = server_tls_keys};
static const struct schema_type server_tls_type = {.kind = SCHEMA_SECTION,
                                                   .keys = server_tls_keys + 1};

static const struct schema_key listener_keys[] = {
    {.name = "address",
     .type = &listen_address_type,
     .offset = offsetof(struct listener_config, address),
     .required = true,
     .help = "The IP address and port to listen on, or a socket's path. Port 0: the system picks "
             "one. [::] takes IPv4 clients too."},
    {.name = "allow_clients",
     .type = &allowed_list_type,
     .offset = offsetof(struct listener_config, allow_clients),
     .help = "Who may connect: networks, addresses, loopback, link-local, private."},
    {.name = "open",
     .type = &flag_type,
     .offset = offsetof(struct listener_config, open),
     .standard = "false",
     .help = "Whether anybody may use it who can connect; said only where that is meant so."},
    {.name = "v6only",
     .type = &flag_type,
     .offset = offsetof(struct listener_config, v6only),
     .standard = "false",
     .help = "Whether an IPv6 address takes no IPv4 clients."},
    {.name = "mode",
     .type = &mode_type,
     .offset = offsetof(struct listener_config, mode),
     .standard = "0660",
     .help = "The mode of a socket's file, which says who may connect."},
    {.name = "tls",
     .type = &client_tls_type,
     .offset = offsetof(struct listener_config, tls),
     .help = "Clients speak TLS here, and this is how."},
    {.name = "protocols",
     .type = &protocols_type,
     .offset = offsetof(struct listener_config, protocol_names),
     .help =
         "What clients may speak here: h1, h2, or the protocol of a plugin, told apart by their "
         "first bytes. Without it: h1 and h2."},
    {.name = "filters",
     .type = &filters_type,
     .offset = offsetof(struct listener_config, filters),
     .help = "The filters of its requests, behind those of all listeners."},
    {0},
};
const struct schema_type config_listener = {.kind = SCHEMA_SECTION, .keys = listener_keys};
LIST(listeners_type, 1, LISTENERS_MOST, config_listener, sizeof(struct listener_config));

static const struct schema_key group_keys[] = {
    {.name = "servers",
     .type = &servers_type,
     .offset = offsetof(struct upstream_group, servers),
     .required = true,
     .help = "The servers as host and port, taken in turn."},
    {.name = "protocol",
     .type = &protocol_type,
     .offset = offsetof(struct upstream_group, protocol),
     .help =
         "The protocol that the servers speak. Without it: h1; with tls, h2 or h1 as they choose."},
    {.name = "tls",
     .type = &group_tls_type,
     .offset = offsetof(struct upstream_group, tls),
     .help = "The servers speak TLS, and this is how; {} when nothing is to be changed."},
    {0},
};
const struct schema_type config_group = {.kind = SCHEMA_SECTION, .keys = group_keys};
static const struct schema_type groups_type = {
    .kind = SCHEMA_MAP,
    .most = 1024,
    .mistake = value_name_mistake,
    .item = &config_group,
    .size = sizeof(struct upstream_group),
};

#define WHEN(member) offsetof(struct route_config, when.member)
static const struct schema_key when_keys[] = {
    {.name = "host",
     .type = &hosts_type,
     .offset = WHEN(hosts),
     .help = "The host that is asked for, without its port; *.NAME is any below NAME."},
    {.name = "path",
     .type = &url_paths_type,
     .offset = WHEN(paths),
     .help = "The path without its query, byte by byte; with a * at its end all that begin so."},
    {.name = "method", .type = &methods_type, .offset = WHEN(methods), .help = "The method."},
    {.name = "port",
     .type = &route_ports_type,
     .offset = WHEN(ports),
     .help = "The port that is asked for; 80, or 443 of https, when none is."},
    {0},
};
static const struct schema_type when_type = {.kind = SCHEMA_SECTION, .keys = when_keys};

static const struct schema_key route_keys[] = {
    {.name = "name",
     .type = &name_type,
     .offset = offsetof(struct route_config, name),
     .help = "What logs call it."},
    {.name = "when", .type = &when_type, .help = "Which requests take it; without it all."},
    {.name = "to",
     .type = &target_type,
     .offset = offsetof(struct route_config, to),
     .required = true,
     .help = "The group of servers in upstream, or direct: to where the request itself says."},
    {.name = "filters",
     .type = &filters_type,
     .offset = offsetof(struct route_config, filters),
     .help = "The filters of its requests, behind those of the listener."},
    {0},
};
static const struct schema_type route_type = {.kind = SCHEMA_SECTION, .keys = route_keys};
LIST(routes_type, 0, 1024, route_type, sizeof(struct route_config));

static const struct schema_key access_log_keys[] = {
    {.name = "format",
     .type = &log_format_type,
     .offset = AT(access_log.format),
     .standard = "common",
     .help = "How a line is written."},
    {.name = "file",
     .type = &path_type,
     .offset = AT(access_log.file),
     .help = "Where lines go; without it to standard output."},
    {.name = "sample",
     .type = &sample_type,
     .offset = AT(access_log.sample),
     .standard = "1",
     .help = "Of the exchanges that went well, one in so many is logged."},
    {0},
};
static const struct schema_type access_log_type = {.kind = SCHEMA_SECTION, .keys = access_log_keys};

static const struct schema_key log_keys[] = {
    {.name = "level",
     .type = &log_level_type,
     .offset = AT(log_level),
     .standard = "info",
     .help = "The least important messages that are written to standard error."},
    {.name = "access", .type = &access_log_type, .help = "One line for each exchange."},
    {0},
};
static const struct schema_type log_type = {.kind = SCHEMA_SECTION, .keys = log_keys};

static const struct schema_key timeout_keys[] = {
    {.name = "head",
     .type = &duration_type,
     .offset = AT(limits.head_ms),
     .standard = "10s",
     .help = "How long a client may take to send the head of a request."},
    {.name = "idle",
     .type = &duration_type,
     .offset = AT(limits.idle_ms),
     .standard = "70s",
     .help = "How long a connection is kept between two requests."},
    {.name = "body",
     .type = &duration_type,
     .offset = AT(timeouts.body),
     .standard = "30s",
     .help = "How long a client may pause within the body of a request; then the answer is 408."},
    {.name = "connect",
     .type = &duration_type,
     .offset = AT(timeouts.connect),
     .standard = "40s",
     .help = "How long connecting to a server may take, over all its addresses."},
    {.name = "handshake",
     .type = &duration_type,
     .offset = AT(timeouts.handshake),
     .standard = "10s",
     .help = "How long a TLS handshake may take, with a client or a server."},
    {.name = "response",
     .type = &duration_type,
     .offset = AT(timeouts.response_head),
     .standard = "300s",
     .help = "How long a server may take to begin its answer."},
    {.name = "exchange_idle",
     .type = &duration_type,
     .offset = AT(timeouts.exchange_idle),
     .standard = "300s",
     .help = "How long an exchange may go without a byte in either direction."},
    {.name = "tunnel_idle",
     .type = &duration_type,
     .offset = AT(timeouts.tunnel_idle),
     .standard = "1h",
     .help = "How long a tunnel may go without a byte in either direction."},
    {0},
};
static const struct schema_type timeouts_type = {.kind = SCHEMA_SECTION, .keys = timeout_keys};

static const struct schema_key limit_keys[] = {
    {.name = "request_line",
     .type = &line_size_type,
     .offset = AT(limits.request_line_bytes),
     .standard = "8KiB",
     .help = "The longest request line; beyond it the answer is 414."},
    {.name = "header",
     .type = &header_size_type,
     .offset = AT(limits.header_bytes),
     .standard = "64KiB",
     .help = "The largest header section; beyond it the answer is 431."},
    {.name = "fields",
     .type = &field_count_type,
     .offset = AT(limits.header_fields),
     .standard = "128",
     .help = "The most fields in a header section; beyond it the answer is 431."},
    {.name = "streams",
     .type = &stream_count_type,
     .offset = AT(limits.streams),
     .standard = "100",
     .help = "The most requests at a time on one HTTP/2 connection of a client."},
    {.name = "resets",
     .type = &count_type,
     .offset = AT(limits.resets),
     .standard = "1000",
     .help = "How many streams of one HTTP/2 connection a client may reset, or have reset for what "
             "it does wrong, in a minute; beyond it the connection ends with ENHANCE_YOUR_CALM."},
    {.name = "control_frames",
     .type = &count_type,
     .offset = AT(limits.control_frames),
     .standard = "10000",
     .help = "How many HTTP/2 frames that carry nothing (PING, SETTINGS, PRIORITY_UPDATE, empty "
             "DATA) may "
             "come on one connection in a minute; likewise."},
    {.name = "connections_max",
     .type = &connections_type,
     .offset = AT(connections_max),
     .standard = "auto",
     .help = "The most clients at a time. auto: 80% of half the descriptors that weir may open."},
    {.name = "connections_per_address",
     .type = &count_type,
     .offset = AT(connections_per_address),
     .standard = "none",
     .help = "The most connections of one client address at a time."},
    {.name = "requests_per_connection",
     .type = &count_type,
     .offset = AT(requests_per_connection),
     .standard = "none",
     .help = "After so many requests a client's connection is closed."},
    {.name = "request_body_max",
     .type = &body_size_type,
     .offset = AT(request_body_max),
     .standard = "none",
     .help = "The largest body of a request; beyond it the answer is 413."},
    {.name = "body_rate_min",
     .type = &rate_type,
     .offset = AT(body_rate_min),
     .standard = "none",
     .help = "How fast a client must at least send the body of a request; else the answer is 408."},
    {0},
};
static const struct schema_type limits_type = {.kind = SCHEMA_SECTION, .keys = limit_keys};

static const struct schema_key root_keys[] = {
    {.name = "workers",
     .type = &workers_type,
     .offset = AT(workers),
     .standard = "auto",
     .help = "How many threads serve connections. auto: one for each CPU that weir may use."},
    {.name = "plugins",
     .type = &plugins_type,
     .offset = offsetof(struct config, plugins),
     .help = "More protocols and filters: files of plugins; a NAME is NAME.so in the plugin "
             "directory."},
    {.name = "plugin_directory",
     .type = &path_type,
     .offset = offsetof(struct config, plugin_directory),
     .help = "Where plugins are found by their names; else lib/weir/plugins where weir is "
             "installed."},
    {.name = "listen",
     .type = &listeners_type,
     .offset = AT(listeners),
     .standard = "[ { address: " CONFIG_STANDARD_LISTENER " } ]",
     .help = "Where clients connect to."},
    {.name = "upstream",
     .type = &groups_type,
     .offset = AT(upstreams),
     .help = "Groups of servers, by a name of your choice."},
    {.name = "server_tls",
     .type = &server_tls_type,
     .offset = AT(server_tls),
     .help = "How TLS is spoken with servers that https:// requests name."},
    {.name = "fixed_upstream",
     .type = &name_type,
     .offset = offsetof(struct config, fixed_upstream),
     .help = "The group that every request goes to, which makes weir a reverse proxy."},
    {.name = "filters",
     .type = &filters_type,
     .offset = AT(filters),
     .help = "The filters of all requests, first to last; answers pass them last to first."},
    {.name = "routes",
     .type = &routes_type,
     .offset = AT(routes),
     .help = "Where requests go: the first route that fits is taken. Without one: direct, or to "
             "fixed_upstream."},
    {.name = "connect_ports",
     .type = &ports_list_type,
     .offset = AT(connect_ports),
     .standard = "[ 1-24, 26-65535 ]",
     .help = "The ports that CONNECT may go to; an empty list forbids CONNECT."},
    {.name = "deny_addresses",
     .type = &denied_list_type,
     .offset = AT(deny_addresses),
     .help = "Where no request may go: networks, addresses, loopback, link-local, private, "
             "metadata. Each address that a name resolves to is checked; servers in `upstream` "
             "are not."},
    {.name = "limits", .type = &limits_type, .help = "How much weir takes."},
    {.name = "timeouts", .type = &timeouts_type, .help = "How long weir waits."},
    {.name = "drain_timeout",
     .type = &duration_type,
     .offset = AT(timeouts.drain),
     .standard = "30s",
     .help = "How long exchanges may go on when weir is told to stop."},
    {.name = "log", .type = &log_type, .help = "What weir says about itself."},
    {.name = "error_bodies",
     .type = &template_type,
     .offset = AT(error_template),
     .help = "The body of weir's own answers, with the status, its reason and one sentence filled "
             "in."},
    {.name = "admin",
     .type = &admin_type,
     .offset = AT(admin),
     .help = "Where metrics, health and other commands are served."},
    {.name = "user",
     .type = &account_type,
     .offset = AT(user),
     .help = "The user that weir becomes when it listens."},
    {.name = "group",
     .type = &account_type,
     .offset = AT(group),
     .help = "The group that weir becomes; without it the user's."},
    {.name = "pid_file",
     .type = &path_type,
     .offset = AT(pid_file),
     .help = "The file that weir's process number is written to."},
    {.name = "include",
     .type = &pattern_type,
     .offset = offsetof(struct config, include),
     .help = "More files; what they say is added to this one."},
    {0},
};
const struct schema_type config_schema = {.kind = SCHEMA_SECTION, .keys = root_keys};
