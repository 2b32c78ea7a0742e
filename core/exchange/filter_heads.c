/* core/exchange/filter_heads.c - what filters read and change of heads and trailers */
#include "core/exchange/filter_heads.h"

#include "core/base/string.h"
#include "core/exchange/exchange.h"
#include "core/exchange/hop.h"

enum {
    FIELDS_MOST = 256, /* of one head, with those that came */
    ADDED_MOST = 65536 /* bytes that filters may put into one head, with what they overwrote */
};

static struct exchange *of(weir_exchange *public)
{
    return filter_state_of(public)->exchange;
}

/* --- which fields */

static struct head *head_at(const struct exchange *x, uint32_t which)
{
    switch (which) {
    case WEIR_REQUEST_HEAD:
        return x->request;
    case WEIR_RESPONSE_HEAD:
        return x->response;
    case WEIR_REQUEST_TRAILERS:
        return x->client.trailers;
    case WEIR_RESPONSE_TRAILERS:
        return x->server.trailers;
    case WEIR_INTERIM_HEAD:
        return x->filters.record->interim;
    default:
        return NULL;
    }
}

static bool trailers(uint32_t which)
{
    return which == WEIR_REQUEST_TRAILERS || which == WEIR_RESPONSE_TRAILERS;
}

static bool request_waits(const struct exchange *x)
{
    return x->request && x->progress < PROGRESS_SENT;
}

static bool response_waits(const struct exchange *x)
{
    return x->response && !x->response_sent;
}

/* What becomes a tunnel, or may, has none. */
static bool trailers_wait(const struct exchange *x, const struct head *head,
                          const struct flow *flow)
{
    return head && head->view.kind == WEIR_REQUEST && !x->request->view.protocol.length &&
           !x->tunnel && !flow->ended;
}

/* Whether what it is about is there and has not left. */
static bool waits(const struct exchange *x, uint32_t which)
{
    switch (which) {
    case WEIR_REQUEST_HEAD:
        return request_waits(x);
    case WEIR_RESPONSE_HEAD:
        return response_waits(x);
    case WEIR_REQUEST_TRAILERS:
        return trailers_wait(x, x->request, &x->request_flow);
    case WEIR_RESPONSE_TRAILERS:
        return trailers_wait(x, x->response, &x->response_flow);
    default:
        return x->filters.record->interim != NULL;
    }
}

/* A message that came without trailers gets some: they go out if the sink's protocol has a place
 * for them. */
static struct head *make_trailers(struct exchange *x, uint32_t which)
{
    struct channel *source = which == WEIR_REQUEST_TRAILERS ? &x->client : &x->server;
    if (!source->trailers)
        source->trailers = head_new(&x->arena);
    return source->trailers;
}

/* --- which names and values */

/* About framing, or of one connection; Host follows the authority, and whoever expects 100-continue
 * is waited for. */
static bool of_the_host(weir_string name)
{
    switch (field_intern(name)) {
    case FIELD_CONNECTION:
    case FIELD_CONTENT_LENGTH:
    case FIELD_EXPECT:
    case FIELD_HOST:
    case FIELD_KEEP_ALIVE:
    case FIELD_PROXY_CONNECTION:
    case FIELD_TE:
    case FIELD_TRAILER:
    case FIELD_TRANSFER_ENCODING:
    case FIELD_UPGRADE:
        return true;
    default:
        return string_equal_nocase(name, WEIR_STRING("http2-settings"));
    }
}

bool filter_heads_may_have(weir_string name, weir_string value)
{
    return string_is_token(name) && !of_the_host(name) && string_is_field_value(value);
}

bool filter_heads_fit(const weir_field *fields, uint32_t count)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < count && count <= FIELDS_MOST; i++)
        bytes += fields[i].name.length + fields[i].value.length;
    return count <= FIELDS_MOST && bytes <= ADDED_MOST;
}

/* WEIR_OK: a field of that name may be changed now. */
static weir_result check(const struct exchange *x, uint32_t which, weir_string name)
{
    if (which > WEIR_INTERIM_HEAD || !string_is_token(name) || of_the_host(name))
        return WEIR_INVALID;
    return waits(x, which) ? WEIR_OK : WEIR_WRONG_PHASE;
}

static weir_result check_value(uint32_t which, weir_string name, weir_string value)
{
    bool misplaced = trailers(which) && hop_no_trailer(name);
    return misplaced || !string_is_field_value(value) ? WEIR_INVALID : WEIR_OK;
}

/* Counts the bytes. */
static bool fits(struct head *head, size_t bytes)
{
    if (bytes > ADDED_MOST - head->added)
        return false;
    head->added += (uint32_t)bytes;
    return true;
}

/* --- reading */

static int find(const struct head *head, weir_string name, uint32_t from)
{
    enum field_id id = field_intern(name);
    for (uint32_t i = from; i < head->count; i++)
        if (head->ids[i] == id &&
            (id != FIELD_OTHER || string_equal_nocase(head->fields[i].name, name)))
            return (int)i;
    return -1;
}

weir_result filter_field(weir_exchange *public, uint32_t which, weir_string name, uint32_t nth,
                         weir_string *value)
{
    const struct head *head = head_at(of(public), which);
    int index = head && string_is_token(name) ? find(head, name, 0) : -1;
    for (; index >= 0 && nth; nth--)
        index = find(head, name, (uint32_t)index + 1);
    if (index < 0)
        return WEIR_NOT_FOUND;
    *value = head->fields[index].value;
    return WEIR_OK;
}

weir_result filter_field_at(weir_exchange *public, uint32_t which, uint32_t index,
                            weir_field *field)
{
    const struct head *head = head_at(of(public), which);
    if (!head || index >= head->count)
        return WEIR_NOT_FOUND;
    *field = head->fields[index];
    return WEIR_OK;
}

/* --- changing fields */

static weir_result append(struct head *head, weir_string name, weir_string value)
{
    if (head->count >= FIELDS_MOST || !fits(head, name.length + value.length))
        return WEIR_TOO_MUCH;
    head_append(head, arena_copy(head->arena, name), arena_copy(head->arena, value));
    return WEIR_OK;
}

static void remove_from(struct head *head, weir_string name, uint32_t from)
{
    for (int i = find(head, name, from); i >= 0; i = find(head, name, (uint32_t)i + 1))
        head_remove(head, (uint32_t)i);
    head_compact(head);
}

/* The name is written as the filter writes it. */
static weir_result replace(struct head *head, uint32_t index, weir_string name, weir_string value)
{
    if (!fits(head, name.length + value.length))
        return WEIR_TOO_MUCH;
    name = head->fields[index].name = arena_copy(head->arena, name);
    head_set_value(head, index, arena_copy(head->arena, value));
    remove_from(head, name, index + 1);
    return WEIR_OK;
}

/* What may be changed; NULL: *rc says why not. */
static struct head *head_to_fill(struct exchange *x, uint32_t which, weir_string name,
                                 weir_string value, weir_result *rc)
{
    *rc = check(x, which, name);
    if (*rc == WEIR_OK)
        *rc = check_value(which, name, value);
    if (*rc != WEIR_OK)
        return NULL;
    return trailers(which) ? make_trailers(x, which) : head_at(x, which);
}

weir_result filter_set_field(weir_exchange *public, uint32_t which, weir_string name,
                             weir_string value)
{
    weir_result rc;
    value = string_trim(value);
    struct head *head = head_to_fill(of(public), which, name, value, &rc);
    if (!head)
        return rc;
    int index = find(head, name, 0);
    return index < 0 ? append(head, name, value) : replace(head, (uint32_t)index, name, value);
}

weir_result filter_add_field(weir_exchange *public, uint32_t which, weir_string name,
                             weir_string value)
{
    weir_result rc;
    value = string_trim(value);
    struct head *head = head_to_fill(of(public), which, name, value, &rc);
    return head ? append(head, name, value) : rc;
}

weir_result filter_remove_field(weir_exchange *public, uint32_t which, weir_string name)
{
    struct exchange *x = of(public);
    weir_result rc = check(x, which, name);
    struct head *head = head_at(x, which);
    if (rc == WEIR_OK && head)
        remove_from(head, name, 0);
    return rc;
}

/* --- the first line */

/* HEAD, CONNECT and OPTIONS of "*" say how the message or its answer is framed: nothing becomes one
 * of them, and none of them something else. */
static bool method_may_become(const weir_head *head, weir_string method)
{
    static const weir_string head_method = WEIR_STRING("HEAD"), connect = WEIR_STRING("CONNECT");
    bool star = string_equal(head->path, WEIR_STRING("*"));
    return head->kind == WEIR_REQUEST && string_is_token(method) &&
           string_equal(method, head_method) == string_equal(head->method, head_method) &&
           !string_equal(method, connect) &&
           (!star || string_equal(method, WEIR_STRING("OPTIONS")));
}

/* RFC 3986 3.1, lower case. */
static bool is_scheme(weir_string scheme)
{
    for (size_t i = 0; i < scheme.length; i++) {
        char c = scheme.bytes[i];
        bool later = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        if (!(c >= 'a' && c <= 'z') && !(i && later))
            return false;
    }
    return scheme.length > 0;
}

static bool authority_may_become(const weir_head *head, weir_string text)
{
    struct authority authority;
    return authority_parse(text, &authority) && (authority.port || head->kind != WEIR_TUNNEL);
}

/* As of what comes from clients: bytes that a target has, and no fragment. */
static bool path_may_become(const weir_head *head, weir_string path)
{
    if (head->kind != WEIR_REQUEST || !path.length)
        return false;
    if (string_equal(path, WEIR_STRING("*")))
        return string_equal(head->method, WEIR_STRING("OPTIONS"));
    for (size_t i = 0; i < path.length; i++)
        if ((uint8_t)path.bytes[i] <= 0x20 || (uint8_t)path.bytes[i] >= 0x7f ||
            path.bytes[i] == '#')
            return false;
    return path.bytes[0] == '/';
}

/* Where the part stands; NULL: it may not become that. */
static weir_string *part_to_fill(weir_head *head, uint32_t part, weir_string value)
{
    switch (part) {
    case WEIR_METHOD:
        return method_may_become(head, value) ? &head->method : NULL;
    case WEIR_SCHEME:
        return head->kind == WEIR_REQUEST && is_scheme(value) ? &head->scheme : NULL;
    case WEIR_AUTHORITY:
        return authority_may_become(head, value) ? &head->authority : NULL;
    case WEIR_PATH:
        return path_may_become(head, value) ? &head->path : NULL;
    default:
        return NULL;
    }
}

weir_result filter_set_part(weir_exchange *public, uint32_t part, weir_string value)
{
    struct exchange *x = of(public);
    struct head *head = x->request;
    if (!request_waits(x))
        return WEIR_WRONG_PHASE;
    weir_string *at = part_to_fill(&head->view, part, value);
    if (!at)
        return WEIR_INVALID;
    if (!fits(head, value.length))
        return WEIR_TOO_MUCH;
    *at = arena_copy(head->arena, value);
    head->view.block = (weir_string){0};
    int host = part == WEIR_AUTHORITY ? head_find(head, FIELD_HOST, 0) : -1;
    if (host >= 0)
        head_set_value(head, (uint32_t)host, *at);
    return WEIR_OK;
}

static bool without_body(uint32_t status)
{
    return status == 204 || status == 304;
}

/* A status says whether there is a body, and to CONNECT whether there is a tunnel. */
static bool status_may_become(const struct exchange *x, uint32_t status)
{
    const weir_head *response = &x->response->view;
    bool opens = x->request->view.kind == WEIR_TUNNEL && status < 300;
    return status >= 200 && status <= 599 && response->kind != WEIR_TUNNEL && !opens &&
           without_body(status) == without_body(response->status);
}

weir_result filter_set_status(weir_exchange *public, uint32_t status)
{
    struct exchange *x = of(public);
    if (!response_waits(x))
        return WEIR_WRONG_PHASE;
    if (!status_may_become(x, status))
        return WEIR_INVALID;
    x->response->view.status = status;
    x->response->view.reason = reply_reason(status);
    return WEIR_OK;
}
