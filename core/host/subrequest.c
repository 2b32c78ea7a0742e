/* core/host/subrequest.c - fetch(): a plugin's own request
 *
 * The client channel of its exchange is here: what it is sent is collected, and when it is closed
 * that is the event. Whoever does not want the answer any more makes the channel fail, and the
 * exchange ends in its next step. */
#include "core/host/subrequest.h"

#include "core/base/memory.h"
#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/exchange/exchange.h"
#include "core/exchange/filter_heads.h"
#include "core/host/asynchronous.h"
#include "core/io/loop.h"
#include "core/upstream/route.h"

enum {
    STANDARD_MS = 30000,
    STANDARD_BODY_BYTES = 65536, /* of the answer */
    BODY_BYTES_MOST = 1 << 20,   /* of the request */
    HEAD_BYTES_MOST = 65536,
    FIELDS_MOST = 256,
    PORT_HTTP = 80,
    PORT_HTTPS = 443
};

struct subrequests {
    struct link list;
    uint32_t count;
    bool stopped;
};

struct subrequest {
    struct task task;
    struct link link; /* in the worker's list */
    struct worker *worker;
    struct channel *client; /* of its exchange; NULL: that is over */
    struct wheel_entry limit;
    struct arena arena; /* of the answer's head */
    char *body;
    size_t length, room, most;
};

/* --- what is wanted */

/* What is to be done, as far as both sides know about it. */
struct wish {
    weir_fetch fetch;
    weir_head head;
    struct authority place;
};

static bool has_prefix(weir_string text, weir_string prefix)
{
    return text.length >= prefix.length &&
           string_equal_nocase((weir_string){text.bytes, prefix.length}, prefix);
}

static bool is_path(weir_string path)
{
    for (size_t i = 0; i < path.length; i++)
        if (path.bytes[i] <= ' ' || path.bytes[i] >= 0x7f || path.bytes[i] == '#')
            return false;
    return path.length && path.bytes[0] == '/';
}

/* The authority, and the path behind it, "/" if there is none. */
static void split(weir_string rest, weir_head *head)
{
    size_t length = 0;
    while (length < rest.length && !memchr("/?#", rest.bytes[length], 3))
        length++;
    head->authority = (weir_string){rest.bytes, length};
    head->path = (weir_string){rest.bytes + length, rest.length - length};
    if (!head->path.length)
        head->path = WEIR_STRING("/");
}

static weir_result read_url(struct wish *wish)
{
    weir_string url = wish->fetch.url;
    weir_head *head = &wish->head;
    bool secure = has_prefix(url, WEIR_STRING("https://"));
    size_t scheme = secure ? 8 : has_prefix(url, WEIR_STRING("http://")) ? 7 : 0;
    head->scheme = secure ? WEIR_STRING("https") : WEIR_STRING("http");
    head->authority = wish->fetch.upstream;
    head->path = url;
    if (scheme)
        split((weir_string){url.bytes + scheme, url.length - scheme}, head);
    else if (!wish->fetch.upstream.length)
        return WEIR_INVALID;
    return authority_parse(head->authority, &wish->place) && is_path(head->path) ? WEIR_OK
                                                                                 : WEIR_INVALID;
}

static weir_result read_method(struct wish *wish)
{
    weir_string method = wish->fetch.method;
    wish->head.method = method.length ? method : WEIR_STRING("GET");
    bool tunnel = string_equal(method, WEIR_STRING("CONNECT"));
    return !tunnel && string_is_token(wish->head.method) ? WEIR_OK : WEIR_INVALID;
}

static weir_result read_fields(struct wish *wish)
{
    const weir_fetch *fetch = &wish->fetch;
    size_t bytes = fetch->url.length + fetch->method.length;
    if (fetch->count > FIELDS_MOST || bytes > HEAD_BYTES_MOST)
        return WEIR_TOO_MUCH;
    for (uint32_t i = 0; i < fetch->count; i++) {
        const weir_field *field = &fetch->fields[i];
        bytes += field->name.length + field->value.length;
        if (bytes > HEAD_BYTES_MOST)
            return WEIR_TOO_MUCH;
        if (!filter_heads_may_have(field->name, field->value))
            return WEIR_INVALID;
    }
    wish->head.fields = fetch->fields;
    wish->head.count = fetch->count;
    return WEIR_OK;
}

static weir_result read_fetch(const weir_fetch *fetch, struct wish *wish)
{
    size_t size = fetch->size < sizeof wish->fetch ? fetch->size : sizeof wish->fetch;
    memcpy(&wish->fetch, fetch, size);
    wish->head = (weir_head){.size = sizeof wish->head,
                             .kind = WEIR_REQUEST,
                             .version = WEIR_STRING("1.1"),
                             .content_length = -1};
    weir_result rc = wish->fetch.body.length > BODY_BYTES_MOST ? WEIR_TOO_MUCH : WEIR_OK;
    if (rc == WEIR_OK)
        rc = read_url(wish);
    if (rc == WEIR_OK)
        rc = read_method(wish);
    return rc == WEIR_OK ? read_fields(wish) : rc;
}

/* --- the answer */

static void end_subrequest(struct task *task)
{
    struct subrequest *own = CONTAINER(task, struct subrequest, task);
    if (own->client)
        channel_detach(own->client, WEIR_CANCELLED);
    own->worker->subrequests->count--;
    wheel_clear(&own->limit);
    link_remove(&own->link);
    arena_deinit(&own->arena);
    memory_free(own->body);
    memory_free(own);
}

static const struct task_kind subrequest_kind = {WEIR_EVENT_FETCH, end_subrequest};

/* The exchange ends in a step of its own. */
static void give_up(struct subrequest *own, weir_result why)
{
    own->task.event.result = why;
    channel_fail(own->client, why, false);
}

static void on_limit(struct wheel_entry *entry)
{
    give_up(CONTAINER(entry, struct subrequest, limit), WEIR_RESPONSE_TIMEOUT);
}

static void note_end(struct subrequest *own, uint32_t flags)
{
    if (flags & WEIR_END)
        own->task.event.result = WEIR_OK;
}

/* Of what weir would answer itself the plugin is told the cause. */
static weir_result take_head(weir_channel *channel, const weir_head *head, uint32_t flags)
{
    struct subrequest *own = channel->state;
    if (head->error != WEIR_OK) {
        give_up(own, head->error);
        return WEIR_OK;
    }
    own->task.event.head = &head_copy(&own->arena, head)->view;
    note_end(own, flags);
    return WEIR_OK;
}

static weir_result drop_interim(weir_channel *channel, const weir_head *head)
{
    (void)channel, (void)head;
    return WEIR_OK;
}

static void reserve(struct subrequest *own, size_t bytes)
{
    if (own->length + bytes <= own->room)
        return;
    own->room = own->room * 2 > own->length + bytes ? own->room * 2 : own->length + bytes;
    if (own->room > own->most)
        own->room = own->most;
    own->body = memory_resize(own->body, own->room);
}

/* False: it is not all. */
static bool keep(struct subrequest *own, const weir_slice *slice)
{
    size_t left = own->most - own->length;
    size_t bytes = slice->length < left ? slice->length : left;
    if (bytes) {
        reserve(own, bytes);
        memcpy(own->body + own->length, slice->bytes, bytes);
        own->length += bytes;
    }
    return bytes == slice->length;
}

static void take_data(weir_channel *channel, const weir_slice *slices, uint32_t count,
                      uint32_t flags)
{
    struct subrequest *own = channel->state;
    size_t taken = 0;
    for (uint32_t i = 0; i < count; i++) {
        taken += slices[i].length;
        if (keep(own, &slices[i]))
            continue;
        give_up(own, WEIR_CANCELLED);
        own->task.event.flags = WEIR_TRUNCATED_DATA;
        own->task.event.result = WEIR_OK;
        return;
    }
    note_end(own, flags);
    channel_has_sent(own->client, taken);
    channel_granted(own->client, taken);
}

static void drop_trailers(weir_channel *channel, const weir_field *fields, uint32_t count)
{
    (void)fields, (void)count;
    note_end(channel->state, WEIR_END);
}

static void take_reset(weir_channel *channel, weir_result why)
{
    struct subrequest *own = channel->state;
    own->task.event.result = why;
}

static void take_grant(weir_channel *channel, size_t bytes)
{
    (void)channel, (void)bytes;
}

/* The exchange is over. What failed has neither head nor body. */
static void take_close(weir_channel *channel)
{
    struct subrequest *own = channel->state;
    weir_event *event = &own->task.event;
    own->client = NULL;
    wheel_clear(&own->limit);
    if (event->result == WEIR_OK) {
        event->body = (weir_string){own->body ? own->body : "", own->length};
    } else {
        event->head = NULL;
        metric_add(&own->worker->metrics, METRIC_SUBREQUESTS_FAILED, 1);
    }
    task_due(&own->task);
}

static const weir_channel_operations client_operations = {
    .size = sizeof client_operations,
    .head = take_head,
    .interim = drop_interim,
    .data = take_data,
    .trailers = drop_trailers,
    .reset = take_reset,
    .grant = take_grant,
    .close = take_close,
};

/* --- begin */

static uint32_t count_of(const struct owner *owner)
{
    uint32_t count = 0;
    for (const struct link *at = owner->tasks.next; at != &owner->tasks; at = at->next)
        count += CONTAINER(at, struct task, link)->kind == &subrequest_kind;
    return count;
}

static weir_result may_begin(struct owner *owner, const struct wish *wish)
{
    const struct subrequests *all = owner->worker->subrequests;
    weir_string upstream = wish->fetch.upstream;
    if (all->stopped || asynchronous_is_retired(owner))
        return WEIR_STOPPING;
    if (upstream.length && !route_has_upstream(owner->use->snapshot, upstream))
        return WEIR_NOT_FOUND;
    if (all->count >= SUBREQUESTS_WORKER_MOST || count_of(owner) >= SUBREQUESTS_OWNER_MOST)
        return WEIR_TOO_MUCH;
    return WEIR_OK;
}

static void bring_body(struct exchange *x, weir_string body)
{
    weir_buffer *buffer = buffer_new(body.length);
    memcpy(buffer->bytes, body.bytes, body.length);
    channel_deliver_data(&x->client, &(weir_slice){buffer->bytes, body.length, buffer}, WEIR_END);
    buffer_release(buffer);
    exchange_set_length(x, WEIR_REQUEST_DIRECTION, (int64_t)body.length);
}

/* Where it goes, as route_named() wants it. */
static weir_string destination(struct subrequest *own, const struct wish *wish)
{
    if (wish->fetch.upstream.length)
        return wish->fetch.upstream;
    weir_string host = wish->head.authority;
    if (wish->place.port)
        return host;
    if (host.bytes[host.length - 1] == ':')
        host.length--;
    int port = string_equal(wish->head.scheme, WEIR_STRING("https")) ? PORT_HTTPS : PORT_HTTP;
    return arena_format(&own->arena, "%.*s:%d", (int)host.length, host.bytes, port);
}

static void start(struct subrequest *own, struct owner *owner, struct wish *wish)
{
    const weir_fetch *fetch = &wish->fetch;
    struct worker *worker = own->worker;
    uint32_t limit_ms = fetch->timeout_ms ? fetch->timeout_ms : STANDARD_MS;
    wish->head.flags = fetch->body.length ? 0 : WEIR_END;
    struct exchange *x = exchange_begin_own(worker, owner->use, filters_exchange_of(owner),
                                            &wish->head, destination(own, wish));
    own->client = &x->client;
    own->client->operations = &client_operations;
    own->client->public.state = own;
    own->client->credit = WEIR_CREDIT;
    if (fetch->body.length)
        bring_body(x, fetch->body);
    wheel_set(worker->wheel, &own->limit, loop_now_ms(worker->loop) + limit_ms);
}

static struct subrequest *subrequest_new(struct worker *worker, const weir_fetch *fetch)
{
    struct subrequest *own = memory_zeroed(sizeof *own);
    own->worker = worker;
    own->most = fetch->body_most ? fetch->body_most : STANDARD_BODY_BYTES;
    wheel_entry_init(&own->limit, on_limit);
    arena_init(&own->arena, NULL, 0);
    link_insert(&worker->subrequests->list, &own->link);
    worker->subrequests->count++;
    return own;
}

weir_result subrequest_begin(struct owner *owner, weir_reference reference, const weir_fetch *fetch,
                             uint32_t tag, weir_reference *name)
{
    struct wish wish = {0};
    weir_result rc = read_fetch(fetch, &wish);
    if (rc == WEIR_OK)
        rc = may_begin(owner, &wish);
    if (rc != WEIR_OK)
        return rc;
    struct subrequest *own = subrequest_new(owner->worker, &wish.fetch);
    rc = task_begin(owner, reference, &own->task, &subrequest_kind, tag);
    if (rc != WEIR_OK) {
        end_subrequest(&own->task);
        return rc;
    }
    own->task.event.result = WEIR_INTERNAL; /* until its end has come */
    start(own, owner, &wish);
    if (name)
        *name = own->task.reference;
    return WEIR_OK;
}

/* --- of a worker */

void subrequests_new(struct worker *worker)
{
    worker->subrequests = memory_zeroed(sizeof *worker->subrequests);
    link_init(&worker->subrequests->list);
}

void subrequests_stop(struct worker *worker)
{
    struct subrequests *all = worker->subrequests;
    all->stopped = true;
    for (struct link *at = all->list.next; at != &all->list; at = at->next) {
        struct subrequest *own = CONTAINER(at, struct subrequest, link);
        if (own->client)
            give_up(own, WEIR_STOPPING);
    }
}

void subrequests_free(struct worker *worker)
{
    memory_free(worker->subrequests);
    worker->subrequests = NULL;
}
