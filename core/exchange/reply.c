/* core/exchange/reply.c - the answers that weir makes itself */
#include "core/exchange/reply.h"

#include "core/base/log.h"
#include "core/base/string.h"

struct cause_entry {
    weir_result cause;
    uint32_t status;   /* 0: no answer, the exchange just ends */
    const char *error; /* of Proxy-Status */
    const char *text;
};

static const struct cause_entry causes[] = {
    {WEIR_DNS_ERROR, 502, "dns_error", "The name of the server could not be resolved.\n"},
    {WEIR_CONNECTION_REFUSED, 502, "connection_refused", "The server refused the connection.\n"},
    {WEIR_UNROUTABLE, 502, "destination_ip_unroutable", "There is no route to the server.\n"},
    {WEIR_CONNECTION_TIMEOUT, 504, "connection_timeout",
     "The server could not be reached in time.\n"},
    {WEIR_CONNECTION_TERMINATED, 502, "connection_terminated",
     "The server closed the connection before it had answered.\n"},
    {WEIR_SERVER_PROTOCOL_ERROR, 502, "http_protocol_error",
     "The server's answer was not understood.\n"},
    {WEIR_TLS_PROTOCOL_ERROR, 502, "tls_protocol_error",
     "No secure connection to the server could be made.\n"},
    {WEIR_TLS_CERTIFICATE_ERROR, 502, "tls_certificate_error",
     "The server could not prove who it is.\n"},
    {WEIR_RESPONSE_TIMEOUT, 504, "http_response_timeout", "The server did not answer in time.\n"},
    {WEIR_ADDRESS_PROHIBITED, 403, "destination_ip_prohibited",
     "Access to this address is not allowed.\n"},
    {WEIR_DENIED, 403, "http_request_denied", "Access is not allowed.\n"},
    {WEIR_LIMIT_REACHED, 503, "connection_limit_reached", "Too many connections.\n"},
    {WEIR_MALFORMED, 400, "http_request_error", "The request is malformed.\n"},
    {WEIR_NOT_A_PROXY_REQUEST, 400, "http_request_error",
     "This is a proxy: the request must name its target in absolute form (http://host/path).\n"},
    {WEIR_REQUEST_TRUNCATED, 400, "http_request_error", "The request ended too early.\n"},
    {WEIR_BODY_TIMEOUT, 408, "http_request_error", "The request did not come in time.\n"},
    {WEIR_BODY_TOO_LARGE, 413, "http_request_error", "The request is too large.\n"},
    {WEIR_HEAD_TIMEOUT, 408, "http_request_error", "The request did not come in time.\n"},
    {WEIR_TARGET_TOO_LONG, 414, "http_request_error", "The request target is too long.\n"},
    {WEIR_HEAD_TOO_LARGE, 431, "http_request_error", "The request's fields are too large.\n"},
    {WEIR_VERSION_UNSUPPORTED, 505, "http_request_error", "This HTTP version is not supported.\n"},
    {WEIR_NOT_IMPLEMENTED, 501, "http_request_error",
     "This kind of request is not supported by this proxy.\n"},
    {WEIR_LOOP, 508, "proxy_loop_detected", "The request came back to this proxy.\n"},
    {WEIR_CANCELLED, 0, "cancelled", NULL},
    {WEIR_RESET, 0, "reset", NULL},
    {WEIR_TRUNCATED, 502, "connection_terminated",
     "The server closed the connection before it had answered.\n"},
    {WEIR_IDLE_TIMEOUT, 504, "http_response_timeout", "Nothing was received for too long.\n"},
    {WEIR_UNAUTHENTICATED, 407, "http_request_denied", "Proxy credentials are required.\n"},
    {WEIR_BUFFER_FULL, 502, "http_response_body_size",
     "The server's answer is too large to be looked at.\n"},
    {WEIR_STOPPING, 503, "connection_limit_reached", "The proxy is stopping.\n"},
};

/* Also of what should never have come this far. */
static const struct cause_entry internal = {WEIR_INTERNAL, 500, "proxy_internal_error",
                                            "The proxy failed.\n"};

static const struct cause_entry *entry_of(weir_result cause)
{
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (causes[i].cause == cause)
            return &causes[i];
    return &internal;
}

/* Logs tell apart what is one error to Proxy-Status. */
static const struct {
    weir_result cause;
    const char *name;
} names[] = {
    {WEIR_MALFORMED, "malformed"},
    {WEIR_NOT_A_PROXY_REQUEST, "not_a_proxy_request"},
    {WEIR_REQUEST_TRUNCATED, "request_truncated"},
    {WEIR_BODY_TIMEOUT, "body_timeout"},
    {WEIR_BODY_TOO_LARGE, "body_too_large"},
    {WEIR_HEAD_TIMEOUT, "head_timeout"},
    {WEIR_TARGET_TOO_LONG, "target_too_long"},
    {WEIR_HEAD_TOO_LARGE, "head_too_large"},
    {WEIR_VERSION_UNSUPPORTED, "version_unsupported"},
    {WEIR_NOT_IMPLEMENTED, "not_implemented"},
    {WEIR_TRUNCATED, "truncated"},
    {WEIR_IDLE_TIMEOUT, "idle_timeout"},
    {WEIR_UNAUTHENTICATED, "unauthenticated"},
    {WEIR_BUFFER_FULL, "buffer_full"},
    {WEIR_STOPPING, "stopping"},
};

const char *cause_name(weir_result cause)
{
    if (cause == WEIR_OK)
        return "ok";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].cause == cause)
            return names[i].name;
    return entry_of(cause)->error;
}

static const weir_string plain_type = WEIR_STRING("text/plain");

weir_string reply_reason(uint32_t status)
{
    static const struct {
        uint32_t status;
        weir_string reason;
    } reasons[] = {
        {200, WEIR_STRING("OK")},
        {201, WEIR_STRING("Created")},
        {202, WEIR_STRING("Accepted")},
        {204, WEIR_STRING("No Content")},
        {206, WEIR_STRING("Partial Content")},
        {301, WEIR_STRING("Moved Permanently")},
        {302, WEIR_STRING("Found")},
        {303, WEIR_STRING("See Other")},
        {304, WEIR_STRING("Not Modified")},
        {307, WEIR_STRING("Temporary Redirect")},
        {308, WEIR_STRING("Permanent Redirect")},
        {400, WEIR_STRING("Bad Request")},
        {401, WEIR_STRING("Unauthorized")},
        {403, WEIR_STRING("Forbidden")},
        {404, WEIR_STRING("Not Found")},
        {405, WEIR_STRING("Method Not Allowed")},
        {406, WEIR_STRING("Not Acceptable")},
        {407, WEIR_STRING("Proxy Authentication Required")},
        {408, WEIR_STRING("Request Timeout")},
        {409, WEIR_STRING("Conflict")},
        {410, WEIR_STRING("Gone")},
        {411, WEIR_STRING("Length Required")},
        {412, WEIR_STRING("Precondition Failed")},
        {413, WEIR_STRING("Content Too Large")},
        {414, WEIR_STRING("URI Too Long")},
        {415, WEIR_STRING("Unsupported Media Type")},
        {416, WEIR_STRING("Range Not Satisfiable")},
        {417, WEIR_STRING("Expectation Failed")},
        {421, WEIR_STRING("Misdirected Request")},
        {422, WEIR_STRING("Unprocessable Content")},
        {426, WEIR_STRING("Upgrade Required")},
        {428, WEIR_STRING("Precondition Required")},
        {429, WEIR_STRING("Too Many Requests")},
        {431, WEIR_STRING("Request Header Fields Too Large")},
        {451, WEIR_STRING("Unavailable For Legal Reasons")},
        {500, WEIR_STRING("Internal Server Error")},
        {501, WEIR_STRING("Not Implemented")},
        {502, WEIR_STRING("Bad Gateway")},
        {503, WEIR_STRING("Service Unavailable")},
        {504, WEIR_STRING("Gateway Timeout")},
        {505, WEIR_STRING("HTTP Version Not Supported")},
        {508, WEIR_STRING("Loop Detected")},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return (weir_string){"", 0};
}

void reply_with(struct channel *channel, struct head *head, const weir_slice *body, bool continues)
{
    channel->operations = &channel_to_nowhere; /* the request body */
    head->view.kind = WEIR_REQUEST;
    head->view.version = WEIR_STRING("1.1");
    head->view.content_length = continues ? -1 : (int64_t)body->length;
    head->view.reason = reply_reason(head->view.status);
    bool bodiless = head->view.status == 204 || head->view.status == 304; /* RFC 9110 8.6 */
    if (!continues && !bodiless)
        head_append(head, WEIR_STRING("Content-Length"),
                    arena_format(channel->arena, "%zu", body->length));
    channel_deliver_head(channel, &head->view);
    channel_deliver_data(channel, body, continues ? 0 : WEIR_END);
}

/* The placeholder that `at`, a brace, begins: its text, and how long it is; a brace of no
 * placeholder stands for itself. */
static weir_string placeholder(const char *at, const struct cause_entry *entry, struct arena *arena,
                               size_t *length)
{
    if (!strncmp(at, "{status}", *length = 8))
        return arena_format(arena, "%u", entry->status);
    if (!strncmp(at, "{reason}", *length = 8))
        return reply_reason(entry->status);
    if (!strncmp(at, "{text}", *length = 6))
        return (weir_string){entry->text, strlen(entry->text) - 1}; /* without its line end */
    *length = 1;
    return (weir_string){at, 1};
}

static size_t count_braces(const char *template)
{
    size_t count = 0;
    for (const char *at = template; (at = strchr(at, '{')); at++)
        count++;
    return count;
}

static weir_string fill(const char *template, const struct cause_entry *entry, struct arena *arena)
{
    weir_string *parts = arena_allocate(arena, (2 * count_braces(template) + 1) * sizeof *parts);
    size_t count = 0, length;
    const char *at = template;
    for (const char *brace; (brace = strchr(at, '{')); at = brace + length) {
        parts[count++] = (weir_string){at, (size_t)(brace - at)};
        parts[count++] = placeholder(brace, entry, arena, &length);
    }
    parts[count++] = string_of(at);
    return arena_join(arena, parts, count);
}

void reply_for_cause(struct channel *channel, weir_result cause, weir_string name,
                     const char *template)
{
    const struct cause_entry *entry = entry_of(cause);
    struct head *head = head_new(channel->arena);
    TRACE();
    if (!entry->status)
        entry = &internal;
    head->view.status = entry->status;
    head->view.error = cause;
    bool doubtful = entry->status == 400 || entry->status == 408 || entry->status == 413;
    if (doubtful) /* where such a request ends is not believed, or not waited for */
        head->view.flags = WEIR_LAST;
    head_append(
        head, WEIR_STRING("Proxy-Status"),
        arena_format(channel->arena, "%.*s; error=%s", (int)name.length, name.bytes, entry->error));
    bool html = template && template[0] == '<';
    head_append(head, WEIR_STRING("Content-Type"),
                html ? WEIR_STRING("text/html; charset=utf-8") : plain_type);
    weir_string text = template ? fill(template, entry, channel->arena) : string_of(entry->text);
    reply_with(channel, head, &(weir_slice){(const uint8_t *)text.bytes, text.length, NULL}, false);
}

/* RFC 9110 9.3.8: what is secret is not echoed. */
static bool secret(weir_string name)
{
    return string_equal_nocase(name, WEIR_STRING("cookie")) ||
           string_equal_nocase(name, WEIR_STRING("authorization")) ||
           string_equal_nocase(name, WEIR_STRING("proxy-authorization"));
}

/* The request as it was received, as a message. */
static weir_string echo_of(struct arena *arena, const weir_head *request)
{
    weir_string space = WEIR_STRING(" "), line = WEIR_STRING("\r\n"), none = {"", 0};
    bool absolute = request->scheme.length != 0;
    weir_string start[] = {request->method,
                           space,
                           request->scheme,
                           absolute ? WEIR_STRING("://") : none,
                           absolute ? request->authority : none,
                           request->path,
                           WEIR_STRING(" HTTP/"),
                           request->version,
                           line};
    size_t starts = sizeof start / sizeof *start, count = starts;
    weir_string *parts = arena_allocate(arena, (4 * request->count + starts + 1) * sizeof *parts);
    memcpy(parts, start, sizeof start);
    for (uint32_t i = 0; i < request->count; i++) {
        if (secret(request->fields[i].name))
            continue;
        parts[count++] = request->fields[i].name;
        parts[count++] = WEIR_STRING(": ");
        parts[count++] = request->fields[i].value;
        parts[count++] = line;
    }
    parts[count++] = line;
    return arena_join(arena, parts, count);
}

void reply_own(struct channel *channel, enum reply_own own, const weir_head *request)
{
    struct head *head = head_new(channel->arena);
    weir_string text = own == REPLY_TRACE ? echo_of(channel->arena, request) : (weir_string){"", 0};
    head->view.status = 200;
    if (own == REPLY_TRACE)
        head_append(head, WEIR_STRING("Content-Type"), WEIR_STRING("message/http"));
    reply_with(channel, head, &(weir_slice){(const uint8_t *)text.bytes, text.length, NULL}, false);
}
