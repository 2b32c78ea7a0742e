/* codecs/h1/parse.c - bytes to heads and bodies, by llhttp; refuses what could be read in two ways
 */
#include "codecs/h1/parse.h"

#include <string.h>

#include "codecs/authority.h"
#include "codecs/string.h"

/* What one call collects. One per thread: heads are parsed in one go. */
struct collected {
    struct h1_head result;
    uint32_t count; /* fields */
    uint32_t most;  /* that many are allowed */
    bool too_many, folded;
    weir_string target, reason;
    void (*on_data)(void *user, const uint8_t *bytes, size_t count);
    void *user;
    bool last_chunk;
    size_t extension_bytes; /* of this chunked body, so far */
};
static _Thread_local struct collected collected;

/* --- llhttp's callbacks: they only store */

static int cb_url(llhttp_t *parser, const char *at, size_t length)
{
    (void)parser;
    collected.target = (weir_string){at, length};
    return 0;
}

static int cb_status(llhttp_t *parser, const char *at, size_t length)
{
    (void)parser;
    collected.reason = (weir_string){at, length};
    return 0;
}

static int cb_field(llhttp_t *parser, const char *at, size_t length)
{
    (void)parser;
    if (collected.count == collected.most) {
        collected.too_many = true;
        return HPE_USER;
    }
    collected.result.fields[collected.count++] = (weir_field){{at, length}, {at + length, 0}};
    return 0;
}

static int cb_value(llhttp_t *parser, const char *at, size_t length)
{
    (void)parser;
    weir_string *value = &collected.result.fields[collected.count - 1].value;
    if (value->length)
        collected.folded = true; /* a second piece: the line went on behind a line end */
    while (length && (at[length - 1] == ' ' || at[length - 1] == '\t'))
        length--;
    *value = (weir_string){at, length};
    return 0;
}

static int cb_pause(llhttp_t *parser)
{
    (void)parser;
    return HPE_PAUSED;
}

static int cb_body(llhttp_t *parser, const char *at, size_t length)
{
    (void)parser;
    collected.on_data(collected.user, (const uint8_t *)at, length);
    return 0;
}

static int cb_extension(llhttp_t *parser, const char *at, size_t length)
{
    (void)parser, (void)at;
    collected.extension_bytes += length;
    return collected.extension_bytes > H1_EXTENSION_BYTES ? -1 : 0;
}

static int cb_chunk_header(llhttp_t *parser)
{
    if (parser->content_length > INT64_MAX)
        return -1;
    if (parser->content_length)
        return 0;
    collected.last_chunk = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_url = cb_url,
    .on_status = cb_status,
    .on_header_field = cb_field,
    .on_header_value = cb_value,
    .on_headers_complete = cb_pause,
    .on_body = cb_body,
    .on_chunk_extension_name = cb_extension,
    .on_chunk_extension_value = cb_extension,
    .on_chunk_header = cb_chunk_header,
    .on_message_complete = cb_pause,
};

static void collect_anew(const weir_limits *limits)
{
    collected.count = 0;
    collected.most =
        limits->header_fields < H1_FIELDS_MOST ? limits->header_fields : H1_FIELDS_MOST;
    collected.too_many = collected.folded = collected.last_chunk = false;
    collected.target = collected.reason = (weir_string){"", 0};
}

static enum h1_parsed broken(weir_result error)
{
    collected.result.error = error;
    return H1_BROKEN;
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether the first line ends in the name of an HTTP version, whichever. */
static bool names_a_version(const uint8_t *bytes, size_t count)
{
    const uint8_t *end = memchr(bytes, '\n', count);
    size_t length = end ? (size_t)(end - bytes) : count;
    if (length < 10 || bytes[length - 1] != '\r')
        return false;
    const char *version = (const char *)bytes + length - 10;
    return !memcmp(version, " HTTP/", 6) && digit(version[6]) && version[7] == '.' &&
           digit(version[8]);
}

/* llhttp's refusal as ours. H1_MORE: not before the first line has ended can it be told from
 * others. */
static enum h1_parsed broken_by(const llhttp_t *parser, const uint8_t *bytes, size_t count)
{
    if (collected.too_many)
        return broken(WEIR_HEAD_TOO_LARGE);
    if (parser->error != HPE_INVALID_VERSION)
        return broken(WEIR_MALFORMED);
    if (!memchr(bytes, '\n', count))
        return H1_MORE;
    return broken(names_a_version(bytes, count) ? WEIR_VERSION_UNSUPPORTED : WEIR_MALFORMED);
}

/* --- how much of a head there may be */

bool h1_head_is_whole(const uint8_t *bytes, size_t count, size_t *scanned)
{
    size_t at = *scanned;
    while (at < count) {
        const uint8_t *line_end = memchr(bytes + at, '\n', count - at);
        if (!line_end)
            break;
        size_t next = (size_t)(line_end - bytes) + 1;
        if (next < count && bytes[next] == '\n')
            return true;
        if (next + 1 < count && bytes[next] == '\r' && bytes[next + 1] == '\n')
            return true;
        if (next + 1 >= count) { /* the next line has not shown itself: look here again */
            *scanned = next - 1;
            return false;
        }
        at = next;
    }
    *scanned = count;
    return false;
}

weir_result h1_head_size_error(const weir_limits *limits, const uint8_t *bytes, size_t count)
{
    size_t most = limits->request_line_bytes;
    const uint8_t *line_end = memchr(bytes, '\n', count < most ? count : most);
    if (!line_end)
        return count > most ? WEIR_TARGET_TOO_LONG : WEIR_OK;
    size_t fields = count - (size_t)(line_end - bytes) - 1;
    return fields > limits->header_bytes ? WEIR_HEAD_TOO_LARGE : WEIR_OK;
}

static enum h1_parsed check_size(enum h1_parsed parsed, const weir_limits *limits,
                                 const uint8_t *bytes, size_t count)
{
    weir_result error = h1_head_size_error(limits, bytes, count);
    return error == WEIR_OK ? parsed : broken(error);
}

/* Runs llhttp over a head. A method that llhttp does not know is fed to it as POST, which frames
 * its body like any other: what the method means is not the parser's business. */
static llhttp_errno_t execute(llhttp_t *parser, llhttp_type_t type, const uint8_t *bytes,
                              size_t count, size_t skip)
{
    llhttp_init(parser, type, &settings);
    if (skip)
        llhttp_execute(parser, "POST", 4);
    return llhttp_execute(parser, (const char *)bytes + skip, count - skip);
}

static enum h1_parsed run_head(llhttp_t *parser, llhttp_type_t type, const weir_limits *limits,
                               const uint8_t *bytes, size_t count, size_t skip)
{
    collect_anew(limits);
    llhttp_errno_t rc = execute(parser, type, bytes, count, skip);
    if (rc == HPE_PAUSED) {
        if (collected.folded)
            return broken(WEIR_MALFORMED);
        collected.result.consumed = (size_t)(llhttp_get_error_pos(parser) - (const char *)bytes);
        return check_size(H1_DONE, limits, bytes, collected.result.consumed);
    }
    enum h1_parsed parsed = rc == HPE_OK ? H1_MORE : broken_by(parser, bytes, count);
    return parsed == H1_MORE ? check_size(parsed, limits, bytes, count) : parsed;
}

/* --- what a head says */

static bool token_character(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static weir_string method_of(const uint8_t *bytes, size_t count)
{
    size_t start = 0, length = 0;
    while (start < count && (bytes[start] == '\r' || bytes[start] == '\n'))
        start++;
    while (start + length < count && token_character(bytes[start + length]))
        length++;
    return (weir_string){(const char *)bytes + start, length};
}

static bool equal_nocase(weir_string a, const char *lower)
{
    for (size_t i = 0; i < a.length; i++) {
        uint8_t c = (uint8_t)a.bytes[i];
        if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != (uint8_t)lower[i])
            return false;
    }
    return lower[a.length] == 0;
}

/* The only field of that name; NULL when there is none, *several when there is more than one. */
static const weir_field *only_field(const char *name, size_t length, bool *several)
{
    const weir_field *found = NULL;
    for (uint32_t i = 0; i < collected.count; i++) {
        const weir_field *field = &collected.result.fields[i];
        if (field->name.length != length || !equal_nocase(field->name, name))
            continue;
        *several |= found != NULL;
        found = field;
    }
    return found;
}

/* RFC 9112 6.3, for what both kinds of message share. False: it can be read in two ways. */
static bool find_framing(llhttp_t *parser, struct h1_head *result, enum h1_framing without)
{
    bool counted = parser->flags & F_CONTENT_LENGTH;
    bool several = false;
    const weir_field *coding = only_field("transfer-encoding", 17, &several);
    result->head.content_length = -1;
    if (coding) {
        parser->flags |= F_CHUNKED; /* llhttp does not see it behind a trailing tab */
        result->framing = H1_CHUNKED;
        return !several && !counted && !result->http_10 && coding->value.length == 7 &&
               equal_nocase(coding->value, "chunked");
    }
    if (!counted) {
        result->framing = without;
        return true;
    }
    only_field("content-length", 14, &several);
    result->framing = parser->content_length ? H1_LENGTH : H1_NO_BODY;
    result->head.content_length = (int64_t)parser->content_length;
    return !several && parser->content_length <= INT64_MAX;
}

static void fill_common(const llhttp_t *parser, const uint8_t *bytes)
{
    struct h1_head *result = &collected.result;
    bool close = parser->flags & F_CONNECTION_CLOSE;
    bool keep = parser->flags & F_CONNECTION_KEEP_ALIVE;
    result->http_10 = parser->http_minor == 0;
    result->keep_alive = !close && (keep || !result->http_10);
    result->error = WEIR_OK;
    result->head = (weir_head){
        .size = sizeof result->head,
        .kind = WEIR_REQUEST,
        .version = result->http_10 ? WEIR_STRING("1.0") : WEIR_STRING("1.1"),
        .fields = result->fields,
        .count = collected.count,
        .content_length = -1,
        .block = {(const char *)bytes, result->consumed},
    };
}

static bool version_is_ours(const llhttp_t *parser)
{
    return parser->http_major == 1 && parser->http_minor <= 1;
}

/* --- requests */

/* RFC 9112 3.2.1: an empty path in front of a query is sent as "/". The only target that is not a
 * part of what was received, so the head cannot be copied in one piece. */
static weir_string slash_before(weir_string query, weir_head *head)
{
    static _Thread_local char target[H1_TARGET_BYTES];
    if (query.length >= sizeof target)
        return (weir_string){"", 0};
    target[0] = '/';
    memcpy(target + 1, query.bytes, query.length);
    head->block = (weir_string){NULL, 0};
    return (weir_string){target, query.length + 1};
}

/* Takes scheme and authority off an absolute target and leaves path and query as they are; only an
 * empty path becomes "/". False: it is no absolute target. */
static bool split_absolute(weir_string target, weir_head *head)
{
    const char *end = target.bytes + target.length;
    const char *colon = memchr(target.bytes, ':', target.length);
    if (!colon || end - colon < 3 || colon[1] != '/' || colon[2] != '/')
        return false;
    const char *authority = colon + 3, *path = authority;
    while (path < end && *path != '/' && *path != '?')
        path++;
    head->scheme = (weir_string){target.bytes, (size_t)(colon - target.bytes)};
    head->authority = (weir_string){authority, (size_t)(path - authority)};
    head->path = path == end ? WEIR_STRING("/") : (weir_string){path, (size_t)(end - path)};
    if (path == end && string_is(head->method, WEIR_STRING("OPTIONS")))
        head->path = WEIR_STRING("*"); /* RFC 9112 3.2.4 */
    if (path < end && *path == '?')
        head->path = slash_before(head->path, head);
    return head->path.length && (head->path.bytes[0] == '/' || head->path.bytes[0] == '*');
}

static void lower_known_scheme(weir_string *scheme)
{
    if (scheme->length == 4 && equal_nocase(*scheme, "http"))
        *scheme = WEIR_STRING("http");
    else if (scheme->length == 5 && equal_nocase(*scheme, "https"))
        *scheme = WEIR_STRING("https");
}

/* RFC 9112 3: one space on either side of the target, which llhttp does not insist on. */
static bool single_spaces(weir_string method)
{
    const char *end = collected.target.bytes + collected.target.length;
    return method.bytes + method.length + 1 == collected.target.bytes && !memcmp(end, " HTTP/", 6);
}

/* What a request asks to switch to, as far as weir passes it on: HTTP/2 is not tunnelled past
 * whoever looks at HTTP, and a body would leave it open what belongs to which protocol. */
static weir_string wanted_protocol(const llhttp_t *parser, enum h1_framing framing)
{
    bool several = false, wished = parser->flags & F_CONNECTION_UPGRADE;
    weir_string none = {"", 0};
    if (!wished || framing != H1_NO_BODY)
        return none;
    const weir_field *upgrade = only_field("upgrade", 7, &several);
    if (!upgrade || several)
        return none;
    for (size_t i = 0; i + 1 < upgrade->value.length; i++)
        if ((upgrade->value.bytes[i] | 0x20) == 'h' && upgrade->value.bytes[i + 1] == '2')
            return none;
    return upgrade->value;
}

static bool fill_target(weir_head *head, weir_string host)
{
    weir_string target = collected.target;
    head->authority = host;
    if (memchr(target.bytes, '#', target.length))
        return false; /* a fragment is no part of a target (RFC 9112 3.2) */
    if (head->kind == WEIR_TUNNEL) {
        head->authority = target;
        head->path = (weir_string){"", 0};
        return true;
    }
    head->path = target;
    if (target.length && target.bytes[0] == '/')
        return true;
    if (string_is(target, WEIR_STRING("*")))
        return string_is(head->method, WEIR_STRING("OPTIONS"));
    if (!split_absolute(target, head))
        return false;
    lower_known_scheme(&head->scheme);
    return head->authority.length &&
           (string_is(head->authority, host) || authority_is_valid(head->authority));
}

static enum h1_parsed fill_request(llhttp_t *parser, weir_string method, const uint8_t *bytes)
{
    struct h1_head *result = &collected.result;
    bool several = false;
    if (!version_is_ours(parser))
        return broken(WEIR_VERSION_UNSUPPORTED);
    fill_common(parser, bytes);
    result->head.method = method;
    const weir_field *host = only_field("host", 4, &several);
    if (several || (host ? !authority_is_valid(host->value) : !result->http_10) ||
        !single_spaces(method))
        return broken(WEIR_MALFORMED);
    if (string_is(method, WEIR_STRING("CONNECT")))
        result->head.kind = WEIR_TUNNEL;
    if (!fill_target(&result->head, host ? host->value : (weir_string){"", 0}))
        return broken(WEIR_MALFORMED);
    if (!find_framing(parser, result, H1_NO_BODY))
        return broken(WEIR_MALFORMED);
    if (result->head.kind == WEIR_TUNNEL) {
        if (result->framing != H1_NO_BODY)
            return broken(WEIR_MALFORMED);
        result->framing = H1_TUNNEL;
        result->head.content_length = -1; /* not 0: bytes follow */
    }
    result->head.protocol = wanted_protocol(parser, result->framing);
    if (result->head.protocol.length && !result->http_10)
        result->framing = H1_TUNNEL; /* or the next request, if the answer says no */
    else
        result->head.protocol = (weir_string){"", 0};
    result->head.flags = result->framing == H1_NO_BODY ? WEIR_END : 0;
    return H1_DONE;
}

/* llhttp knows methods of other protocols, too, and takes those for theirs alone. */
static bool method_is_strange(const llhttp_t *parser)
{
    return parser->error == HPE_INVALID_METHOD || parser->error == HPE_INVALID_CONSTANT;
}

enum h1_parsed h1_parse_request(llhttp_t *parser, const weir_limits *limits, const uint8_t *bytes,
                                size_t count, const struct h1_head **result)
{
    weir_string method = method_of(bytes, count);
    size_t after = (size_t)(method.bytes - (const char *)bytes) + method.length;
    /* Behind PRI llhttp waits for more than a head: for all of HTTP/2's preface. */
    size_t skip = string_is(method, WEIR_STRING("PRI")) ? after : 0;
    enum h1_parsed parsed = run_head(parser, HTTP_REQUEST, limits, bytes, count, skip);
    *result = &collected.result;
    if (parsed == H1_BROKEN && method.length && method_is_strange(parser)) {
        if (after == count) /* perhaps only the beginning of it */
            return check_size(H1_MORE, limits, bytes, count);
        if (bytes[after] == ' ')
            parsed = run_head(parser, HTTP_REQUEST, limits, bytes, count, after);
    }
    return parsed == H1_DONE ? fill_request(parser, method, bytes) : parsed;
}

/* --- responses */

static bool never_has_body(uint32_t status)
{
    return status < 200 || status == 204 || status == 304;
}

/* llhttp takes CR CR for the end of a status line, and any byte for a part of its reason. */
static bool status_line_is_strict(weir_string reason, const uint8_t *bytes, size_t count)
{
    const uint8_t *line_end = memchr(bytes, '\r', count - 1);
    if (!line_end || line_end[1] != '\n')
        return false;
    for (size_t i = 0; i < reason.length; i++) {
        uint8_t c = (uint8_t)reason.bytes[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

enum h1_parsed h1_parse_response(llhttp_t *parser, const weir_limits *limits, bool no_body,
                                 const uint8_t *bytes, size_t count, const struct h1_head **result)
{
    enum h1_parsed parsed = run_head(parser, HTTP_RESPONSE, limits, bytes, count, 0);
    struct h1_head *head = &collected.result;
    *result = head;
    if (parsed != H1_DONE)
        return parsed;
    if (!version_is_ours(parser) || parser->status_code < 100 || parser->status_code > 599 ||
        !status_line_is_strict(collected.reason, bytes, collected.result.consumed))
        return broken(WEIR_MALFORMED);
    fill_common(parser, bytes);
    head->head.status = parser->status_code;
    head->head.reason = collected.reason;
    if (head->head.status == 101) {
        bool several = false;
        const weir_field *upgrade = only_field("upgrade", 7, &several);
        head->head.protocol = upgrade ? upgrade->value : (weir_string){"", 0};
    }
    if (!find_framing(parser, head, H1_UNTIL_END))
        return broken(WEIR_MALFORMED);
    if (no_body || never_has_body(head->head.status))
        head->framing = H1_NO_BODY;
    if (head->framing == H1_UNTIL_END)
        head->keep_alive = false;
    head->head.flags = head->framing == H1_NO_BODY ? WEIR_END : 0;
    return H1_DONE;
}

/* --- chunked bodies */

enum h1_parsed h1_parse_chunks(struct h1_chunks *chunks, const uint8_t *bytes, size_t count,
                               void (*on_data)(void *user, const uint8_t *bytes, size_t count),
                               void *user, size_t *consumed)
{
    llhttp_t *parser = &chunks->parser;
    collected.extension_bytes = chunks->extension_bytes;
    collected.on_data = on_data;
    collected.user = user;
    collected.last_chunk = false;
    if (parser->error == HPE_PAUSED)
        llhttp_resume(parser);
    llhttp_errno_t rc = llhttp_execute(parser, (const char *)bytes, count);
    *consumed = count;
    chunks->extension_bytes = (uint32_t)collected.extension_bytes;
    if (rc == HPE_OK)
        return H1_MORE;
    if (rc != HPE_PAUSED || !collected.last_chunk)
        return broken(WEIR_MALFORMED);
    *consumed = (size_t)(llhttp_get_error_pos(parser) - (const char *)bytes);
    return H1_DONE;
}

static bool trailers_are_whole(const uint8_t *bytes, size_t count, size_t *scanned)
{
    if (count >= 1 && bytes[0] == '\n')
        return true;
    if (count >= 2 && bytes[0] == '\r' && bytes[1] == '\n')
        return true;
    return h1_head_is_whole(bytes, count, scanned);
}

enum h1_parsed h1_parse_trailers(llhttp_t *parser, const weir_limits *limits, const uint8_t *bytes,
                                 size_t count, size_t *scanned, const struct h1_head **result)
{
    *result = &collected.result;
    if (!trailers_are_whole(bytes, count, scanned))
        return count > limits->header_bytes ? broken(WEIR_HEAD_TOO_LARGE) : H1_MORE;
    collect_anew(limits);
    llhttp_resume(parser);
    llhttp_errno_t rc = llhttp_execute(parser, (const char *)bytes, count);
    if (rc != HPE_PAUSED || collected.folded)
        return broken(WEIR_MALFORMED);
    collected.result.consumed = (size_t)(llhttp_get_error_pos(parser) - (const char *)bytes);
    if (collected.result.consumed > limits->header_bytes)
        return broken(WEIR_HEAD_TOO_LARGE);
    collected.result.head = (weir_head){
        .size = sizeof(weir_head), .fields = collected.result.fields, .count = collected.count};
    return H1_DONE;
}
