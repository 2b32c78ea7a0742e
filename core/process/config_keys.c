/* core/process/config_keys.c - all that a configuration file may say */
#include "core/process/config_keys.h"

#include "core/process/values.h"

/* What schema.h asks of the structs that it fills. */
#define COUNT_FOLLOWS(type, items, count)                                                          \
    _Static_assert(offsetof(type, count) == offsetof(type, items) + sizeof(void *), #count)
COUNT_FOLLOWS(struct snapshot, listeners, listener_count);
COUNT_FOLLOWS(struct snapshot, upstreams, upstream_count);
COUNT_FOLLOWS(struct upstream_group, servers, count);
_Static_assert(offsetof(struct upstream_group, name) == 0, "the name of a map's item");
_Static_assert(sizeof(enum log_level) == sizeof(uint32_t), "a choice");

#define AT(member) offsetof(struct config, snapshot.member)

static const char *const log_levels[] = {"debug", "info", "warning", "error", NULL};
static const char *const protocols[] = {"h1", NULL};

static const struct schema_type workers_type = {
    .kind = SCHEMA_NUMBER,
    .what = "a whole number",
    .units = value_plain,
    .least = 1,
    .most = WORKERS_MOST,
    .word = "auto",
};
static const struct schema_type duration_type = {
    .kind = SCHEMA_NUMBER,
    .what = "a duration such as 500ms, 10s, 5m or 1h",
    .units = value_durations,
    .least = 1,
    .most = 7 * 86400000,
    .word = "none",
};
static const struct schema_type line_size_type = {
    .kind = SCHEMA_NUMBER,
    .what = "a size such as 512B or 8KiB",
    .units = value_sizes,
    .least = 256,
    .most = 64 << 10,
};
static const struct schema_type header_size_type = {
    .kind = SCHEMA_NUMBER,
    .what = "a size such as 64KiB or 1MiB",
    .units = value_sizes,
    .least = 1 << 10,
    .most = 1 << 20,
};
static const struct schema_type field_count_type = {
    .kind = SCHEMA_NUMBER,
    .what = "a whole number",
    .units = value_plain,
    .least = 8,
    .most = 256,
};
static const struct schema_type log_level_type = {.kind = SCHEMA_CHOICE, .words = log_levels};
static const struct schema_type protocol_type = {.kind = SCHEMA_TEXT, .words = protocols};
static const struct schema_type listen_address_type = {
    .kind = SCHEMA_TEXT, .what = "ADDRESS:PORT", .mistake = value_listen_mistake};
static const struct schema_type server_address_type = {
    .kind = SCHEMA_TEXT, .what = "HOST:PORT", .mistake = value_server_mistake};
static const struct schema_type name_type = {
    .kind = SCHEMA_TEXT, .what = "NAME", .mistake = value_name_mistake};

static const struct schema_key listener_keys[] = {
    {.name = "address",
     .type = &listen_address_type,
     .offset = offsetof(struct listener_config, address),
     .required = true,
     .help = "The IP address and port to listen on. Port 0: the system picks one."},
    {0},
};
static const struct schema_type listener_type = {.kind = SCHEMA_SECTION, .keys = listener_keys};
static const struct schema_type listeners_type = {
    .kind = SCHEMA_LIST,
    .least = 1,
    .most = LISTENERS_MOST,
    .item = &listener_type,
    .size = sizeof(struct listener_config),
};

static const struct schema_type servers_type = {
    .kind = SCHEMA_LIST,
    .least = 1,
    .most = 1024,
    .item = &server_address_type,
    .size = sizeof(char *),
};
static const struct schema_key group_keys[] = {
    {.name = "servers",
     .type = &servers_type,
     .offset = offsetof(struct upstream_group, servers),
     .required = true,
     .help = "The servers as host and port, taken in turn."},
    {.name = "protocol",
     .type = &protocol_type,
     .offset = offsetof(struct upstream_group, protocol),
     .standard = "h1",
     .help = "The protocol that the servers speak."},
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

static const struct schema_key log_keys[] = {
    {.name = "level",
     .type = &log_level_type,
     .offset = AT(log_level),
     .standard = "info",
     .help = "The least important messages that are written to standard error."},
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
    {.name = "connect",
     .type = &duration_type,
     .offset = AT(timeouts.connect),
     .standard = "40s",
     .help = "How long connecting to a server may take, over all its addresses."},
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
    {0},
};
static const struct schema_type limits_type = {.kind = SCHEMA_SECTION, .keys = limit_keys};

static const struct schema_key root_keys[] = {
    {.name = "workers",
     .type = &workers_type,
     .offset = AT(workers),
     .standard = "auto",
     .help = "How many threads serve connections. auto: one for each CPU that weir may use."},
    {.name = "listen",
     .type = &listeners_type,
     .offset = AT(listeners),
     .standard = "[ { address: " CONFIG_STANDARD_LISTENER " } ]",
     .help = "Where clients connect to."},
    {.name = "upstream",
     .type = &groups_type,
     .offset = AT(upstreams),
     .help = "Groups of servers, by a name of your choice."},
    {.name = "fixed_upstream",
     .type = &name_type,
     .offset = offsetof(struct config, fixed_upstream),
     .help = "The group that every request goes to, which makes weir a reverse proxy."},
    {.name = "log", .type = &log_type, .help = "What weir says about itself."},
    {.name = "timeouts", .type = &timeouts_type, .help = "How long weir waits."},
    {.name = "limits", .type = &limits_type, .help = "How large a request's head may be."},
    {0},
};
const struct schema_type config_schema = {.kind = SCHEMA_SECTION, .keys = root_keys};
