/* core/exchange/filter_facts.c - what filters may know of an exchange, and the variables it has */
#include "core/exchange/filter_facts.h"

#include <stdio.h>

#include "core/base/snapshot.h"
#include "core/base/string.h"
#include "core/exchange/notes.h"
#include "core/exchange/reply.h"
#include "core/io/loop.h"

static const weir_string nothing = {"", 0};

static struct exchange *of(weir_exchange *public)
{
    return filter_state_of(public)->exchange;
}

/* --- texts: those that are made for the asking live until the hook returns, and a worker runs one
 * hook at a time, so each has its place once */

static weir_string client(const struct exchange_notes *notes)
{
    static _Thread_local char text[ADDRESS_TEXT_BYTES];
    return notes_client(notes, text);
}

static weir_string server(const struct exchange_notes *notes)
{
    static _Thread_local char text[ADDRESS_TEXT_BYTES];
    return notes_server(notes, text);
}

static weir_string local(const struct exchange *x)
{
    static _Thread_local char text[ADDRESS_TEXT_BYTES];
    if (!x->client.connection)
        return nothing;
    struct address address = x->client.connection->carrier->facts.local;
    address_unmap(&address);
    return address.any.sa_family == AF_UNSPEC ? nothing : string_of(address_format(&address, text));
}

/* A subrequest has no client. */
static weir_string scheme(const struct exchange *x)
{
    bool secure = x->client.connection && x->client.connection->carrier->facts.tls;
    return secure ? WEIR_STRING("https") : WEIR_STRING("http");
}

/* As in the access log. */
static weir_string identity(const struct exchange *x)
{
    static _Thread_local char text[48];
    int length =
        snprintf(text, sizeof text, "%u-%llu", x->worker->index, (unsigned long long)x->number);
    return (weir_string){text, (size_t)length};
}

static weir_string upstream(const struct exchange *x)
{
    return x->target.group ? string_of(x->target.group->name) : nothing;
}

static weir_string route(const struct exchange *x)
{
    const struct route_config *route = x->target.route;
    return route && route->name ? string_of(route->name) : nothing;
}

static weir_string answered_by(const struct exchange *x)
{
    if (!x->response)
        return nothing;
    if (x->progress != PROGRESS_ANSWERED)
        return WEIR_STRING("server");
    return x->cause == WEIR_OK && x->filters.record->replier
               ? string_of(x->filters.record->replier->use->filter->name)
               : WEIR_STRING("weir");
}

static weir_string cause(const struct exchange *x)
{
    weir_result why = x->notes->cause != WEIR_OK ? x->notes->cause : x->cause;
    return why == WEIR_OK && !x->finished ? nothing : string_of(cause_name(why));
}

static weir_string text_or_nothing(const char *text)
{
    return text ? string_of(text) : nothing;
}

static weir_string given(weir_string text)
{
    return text.bytes ? text : nothing;
}

/* Of a connection. Without bytes: there is no such fact. */
static weir_string leg_text(const struct exchange_notes *notes, uint32_t what)
{
    bool client_side = what < WEIR_SERVER_PROTOCOL;
    const struct leg_notes *leg = client_side ? &notes->client_leg : &notes->server_leg;
    switch (what) {
    case WEIR_CLIENT_PROTOCOL:
    case WEIR_SERVER_PROTOCOL:
        return text_or_nothing(leg->protocol);
    case WEIR_CLIENT_TLS:
    case WEIR_SERVER_TLS:
        return text_or_nothing(leg->tls);
    case WEIR_CLIENT_CIPHER:
    case WEIR_SERVER_CIPHER:
        return text_or_nothing(leg->cipher);
    case WEIR_CLIENT_TLS_NAME:
    case WEIR_SERVER_TLS_NAME:
        return given(leg->tls_name);
    case WEIR_CLIENT_CERTIFICATE:
        return given(notes->certificate);
    case WEIR_CLIENT_FINGERPRINT:
        return given(notes->fingerprint);
    default:
        return (weir_string){NULL, 0};
    }
}

/* Without bytes: there is no such fact. */
static weir_string text_of(const struct exchange *x, uint32_t what)
{
    const struct exchange_notes *notes = x->notes;
    switch (what) {
    case WEIR_CLIENT_ADDRESS:
        return client(notes);
    case WEIR_LOCAL_ADDRESS:
        return local(x);
    case WEIR_SERVER_ADDRESS:
        return server(notes);
    case WEIR_LISTENER:
        return notes->listener ? string_of(notes->listener) : nothing;
    case WEIR_ROUTE:
        return route(x);
    case WEIR_UPSTREAM:
        return upstream(x);
    case WEIR_USER:
        return notes->user;
    case WEIR_ANSWERED_BY:
        return answered_by(x);
    case WEIR_CAUSE:
        return cause(x);
    case WEIR_IDENTITY:
        return identity(x);
    case WEIR_CLIENT_SCHEME:
        return scheme(x);
    default:
        return leg_text(notes, what);
    }
}

weir_result filter_text(weir_exchange *public, uint32_t what, weir_string *value)
{
    struct exchange *x = of(public);
    notes_of(x);
    weir_string text = text_of(x, what);
    if (!text.bytes)
        return WEIR_UNSUPPORTED;
    *value = text;
    return WEIR_OK;
}

/* --- numbers */

static int64_t elapsed_us(const struct exchange *x, uint64_t until_us)
{
    return until_us > x->start_us ? (int64_t)(until_us - x->start_us) : 0;
}

static int64_t started_us(const struct exchange *x)
{
    struct loop *loop = x->worker->loop;
    return (int64_t)loop_wall_us(loop) - elapsed_us(x, loop_now_us(loop));
}

/* Less than 0: there is no such fact. */
static int64_t number_of(const struct exchange *x, uint32_t what)
{
    switch (what) {
    case WEIR_STATUS:
        return x->response ? (int64_t)x->response->view.status : 0;
    case WEIR_EXCHANGE_NUMBER:
        return (int64_t)x->number;
    case WEIR_ATTEMPTS:
        return (int64_t)x->attempt.number;
    case WEIR_REQUEST_BYTES:
        return (int64_t)x->client.received_bytes;
    case WEIR_RESPONSE_BYTES:
        return (int64_t)x->client.sent_bytes;
    case WEIR_STARTED_US:
        return started_us(x);
    case WEIR_FIRST_BYTE_US:
        return elapsed_us(x, x->notes->answered_us);
    case WEIR_TOTAL_US:
        return elapsed_us(x, loop_now_us(x->worker->loop));
    case WEIR_CLIENT_PORT:
        return address_port(&x->notes->client);
    default:
        return -1;
    }
}

weir_result filter_number(weir_exchange *public, uint32_t what, int64_t *value)
{
    struct exchange *x = of(public);
    notes_of(x);
    int64_t number = number_of(x, what);
    if (number < 0)
        return WEIR_UNSUPPORTED;
    *value = number;
    return WEIR_OK;
}

/* --- variables */

weir_result filter_variable(weir_exchange *public, weir_string name, weir_string *value)
{
    const struct exchange *x = of(public);
    const struct variable *variable = x->notes ? variable_find(&x->notes->variables, name) : NULL;
    if (!variable)
        return WEIR_NOT_FOUND;
    *value = variable->value;
    return WEIR_OK;
}

weir_result filter_set_variable(weir_exchange *public, weir_string name, weir_string value)
{
    struct exchange *x = of(public);
    return variable_set(&notes_of(x)->variables, &x->arena, name, value);
}
