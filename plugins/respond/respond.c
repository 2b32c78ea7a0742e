/* plugins/respond/respond.c - answers requests itself: START HERE
 *
 * docs/plugins/respond.md says what may be written. A worker has the body once, in a buffer that
 * all its answers share; what is longer than that buffer is streamed from it. */
#include <stdlib.h>
#include <string.h>

#include "abi/filter.h"
#include "abi/services.h"
#include "plugins/respond/settings.h"

enum { PAUSE_MARGIN_MS = 30000 };

static const weir_host *base;
static const weir_filter_host *exchanges;
static const weir_configuration_host *configuration;
static const weir_asynchronous_host *asynchronous;

struct worker {
    weir_buffer *buffer; /* NULL: nothing is ever answered but a status */
    uint8_t *bytes;
    size_t length;
};

struct state {
    uint64_t left; /* of the body, when it is streamed */
    uint32_t status;
    bool streams, waits; /* for its time, before the answer */
};

/* --- instances, and what workers have of them */

static weir_result make(const weir_section *with, void **instance)
{
    *instance = settings_make(configuration, with);
    return *instance ? WEIR_OK : WEIR_INVALID;
}

static void free_instance(void *instance)
{
    settings_free(instance);
}

static size_t shared_bytes(const struct settings *settings)
{
    if (settings->body)
        return settings->standard.size;
    uint64_t most = settings->on_request ? FILL_BYTES : settings->standard.size;
    return most < FILL_BYTES ? (size_t)most : FILL_BYTES;
}

static void fill(const struct settings *settings, struct worker *worker)
{
    if (settings->body) {
        memcpy(worker->bytes, settings->body, worker->length);
        return;
    }
    for (size_t i = 0; i < worker->length; i++)
        worker->bytes[i] = i % 64 == 63 ? '\n' : (uint8_t)('a' + i % 26);
}

static weir_result make_worker(const void *instance, weir_worker *unused, void **state)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        abort();
    worker->length = shared_bytes(instance);
    if (worker->length) {
        worker->buffer = base->buffer_new(worker->length, &worker->bytes);
        fill(instance, worker);
    }
    *state = worker;
    return WEIR_OK;
}

static void free_worker(const void *instance, void *state)
{
    base->buffer_release(((struct worker *)state)->buffer);
    free(state);
}

/* --- answering */

static bool is_method(weir_exchange *exchange, const char *method)
{
    weir_string said = exchanges->request_head(exchange)->method;
    return said.length == strlen(method) && !memcmp(said.bytes, method, said.length);
}

static weir_answer say(weir_exchange *exchange, weir_slice body, uint32_t flags)
{
    const struct settings *settings = exchange->instance;
    const struct state *state = exchange->state;
    weir_reply reply = {.size = sizeof reply,
                        .status = state->status,
                        .fields = settings->fields,
                        .count = settings->field_count,
                        .flags = flags,
                        .body = body};
    return exchanges->respond(exchange, &reply) < 0 ? WEIR_FAIL : WEIR_DONE;
}

/* What fits into the shared buffer goes with the head; of all else that comes when there is room,
 * or when its time has come. */
static weir_answer answer(weir_exchange *exchange)
{
    const struct worker *worker = exchange->worker_state;
    const struct settings *settings = exchange->instance;
    struct state *state = exchange->state;
    bool is_whole = state->left <= worker->length && !settings->piece;
    state->streams = !is_whole;
    if (is_whole)
        return say(exchange, (weir_slice){worker->bytes, (size_t)state->left, worker->buffer}, 0);
    if (is_method(exchange, "HEAD"))
        state->left = 0;
    return say(exchange, (weir_slice){0}, WEIR_MORE_DATA);
}

static weir_answer refuse(weir_exchange *exchange)
{
    static const char text[] = "status is from 200 to 599, size and delay have limits\n";
    const weir_field field = {WEIR_STRING("Content-Type"), WEIR_STRING("text/plain")};
    weir_reply reply = {.size = sizeof reply,
                        .status = 400,
                        .fields = &field,
                        .count = 1,
                        .body = {(const uint8_t *)text, sizeof text - 1, NULL}};
    return exchanges->respond(exchange, &reply) < 0 ? WEIR_FAIL : WEIR_DONE;
}

static weir_answer answer_later(weir_exchange *exchange, uint32_t delay_ms)
{
    struct state *state = exchange->state;
    weir_reference owner = exchanges->reference(exchange);
    state->waits = true;
    if (exchanges->pause_limit(exchange, WEIR_REQUEST_DIRECTION, delay_ms + PAUSE_MARGIN_MS) < 0 ||
        asynchronous->timer(owner, delay_ms, 0, NULL) < 0)
        return WEIR_FAIL;
    return WEIR_PAUSE;
}

static weir_answer on_request(weir_exchange *exchange)
{
    const struct settings *settings = exchange->instance;
    const weir_head *head = exchanges->request_head(exchange);
    struct state *state = exchange->state;
    struct wanted wanted = settings->standard;
    if (settings->on_request && !query_read(head->path, settings->most, &wanted))
        return refuse(exchange);
    if (head->kind == WEIR_TUNNEL && wanted.status < 300)
        return WEIR_DENY; /* it would say that there is a tunnel */
    state->status = (uint32_t)wanted.status;
    state->left = wanted.status == 204 || wanted.status == 304 ? 0 : wanted.size;
    return wanted.delay_ms ? answer_later(exchange, (uint32_t)wanted.delay_ms) : answer(exchange);
}

/* --- bodies that are streamed */

static size_t next_part(const struct settings *settings, const struct state *state, size_t room)
{
    size_t most = settings->piece && settings->piece < room ? settings->piece : room;
    return state->left < most ? (size_t)state->left : most;
}

/* In slices of the shared buffer, each of them all of it if there is room. */
static weir_result emit(weir_exchange *exchange, size_t bytes)
{
    const struct worker *worker = exchange->worker_state;
    const struct settings *settings = exchange->instance;
    struct state *state = exchange->state;
    size_t offset = settings->body ? worker->length - (size_t)state->left : 0;
    size_t length = bytes < worker->length - offset ? bytes : worker->length - offset;
    weir_slice slice = {worker->bytes + offset, length, worker->buffer};
    state->left -= length;
    return exchanges->emit(exchange, WEIR_RESPONSE_DIRECTION, &slice, length ? 1 : 0,
                           state->left ? 0 : WEIR_END);
}

static weir_answer stream(weir_exchange *exchange)
{
    const struct settings *settings = exchange->instance;
    struct state *state = exchange->state;
    size_t room = exchanges->credit(exchange, WEIR_RESPONSE_DIRECTION);
    size_t bytes = next_part(settings, state, room);
    if (!bytes && state->left)
        return WEIR_CONTINUE; /* told when there is room again */
    if (emit(exchange, bytes) < 0)
        return WEIR_FAIL;
    state->streams = state->left != 0;
    if (!state->left)
        return WEIR_CONTINUE;
    if (settings->every_ms)
        return asynchronous->timer(exchanges->reference(exchange), settings->every_ms, 0, NULL) < 0
                   ? WEIR_FAIL
                   : WEIR_CONTINUE;
    exchanges->credit(exchange, WEIR_RESPONSE_DIRECTION); /* asks to be told */
    return WEIR_CONTINUE;
}

static weir_answer on_event(weir_exchange *exchange, const weir_event *event)
{
    struct state *state = exchange->state;
    bool timer = event->kind == WEIR_EVENT_TIMER;
    if (state->waits && timer) {
        state->waits = false;
        return answer(exchange);
    }
    return state->streams && (timer || event->kind == WEIR_EVENT_CREDIT) ? stream(exchange)
                                                                         : WEIR_CONTINUE;
}

/* --- the plugin */

static const weir_life life = {.size = sizeof life,
                               .schema = settings_schema,
                               .make = make,
                               .free = free_instance,
                               .worker_make = make_worker,
                               .worker_free = free_worker};

static const weir_filter filter = {.size = sizeof filter,
                                   .name = "respond",
                                   .life = &life,
                                   .state_size = sizeof(struct state),
                                   .request = on_request,
                                   .event = on_event};

static weir_result load(const weir_host *host)
{
    base = host;
    exchanges = host->query(host, "weir.filter/0");
    configuration = host->query(host, "weir.configuration/0");
    asynchronous = host->query(host, "weir.asynchronous/0");
    return host->register_filter(host, &filter);
}

WEIR_PLUGIN(2, WEIR_PLUGIN_UNLOADABLE, 0, "respond", "0.1.0", "MIT",
            "weir.filter/0,weir.configuration/0,weir.asynchronous/0", load, NULL);
