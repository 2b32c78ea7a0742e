/* tests/plugins/fetch.c - does what fields of the request say, with requests of its own
 *
 * x-fetch: the url. Others: x-fetch-upstream, -method, -timeout, -most, -send (bytes of its body),
 * -name and -value (of one more field; %0d is a byte), -count (so many at once), -then: "cancel"
 * it, "wait" for it and no longer than 100 ms, or "pass" the request on when the answer is 200. The
 * client is told what has come of each. With `url` in its settings each worker asks for that too,
 * again and again; with `work` it has work done instead. */
#include "abi/filter.h"
#include "abi/services.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/plugins/marks.h"

enum { TEXT_BYTES = 4096, FETCH = 1, PAUSE = 2, AGAIN = 3, SEND_MOST = 2 << 20 };

struct state {
    char text[TEXT_BYTES];
    uint32_t missing; /* answers */
    int in_call;
    int passes;
};

struct settings {
    char url[256];
    int works;
};

struct presence {
    weir_reference worker;
    const struct settings *settings;
    uint32_t worked;
};

static const weir_filter_host *filters;
static const weir_asynchronous_host *asynchronous;
static const weir_configuration_host *configuration;

/* --- of exchanges */

static weir_string field(weir_exchange *exchange, weir_string name)
{
    weir_string value = {"", 0};
    filters->field(exchange, WEIR_REQUEST_HEAD, name, 0, &value);
    return value;
}

static uint32_t number(weir_exchange *exchange, weir_string name)
{
    char digits[32];
    weir_string value = field(exchange, name);
    snprintf(digits, sizeof digits, "%.*s", (int)value.length, value.bytes);
    return (uint32_t)strtoul(digits, NULL, 10);
}

static int is(weir_string value, const char *text)
{
    return value.length == strlen(text) && !memcmp(value.bytes, text, value.length);
}

static void say(struct state *state, const char *line)
{
    size_t length = strlen(state->text);
    snprintf(state->text + length, TEXT_BYTES - length, "%s\n", line);
}

static weir_answer answer(weir_exchange *exchange)
{
    struct state *state = exchange->state;
    weir_reply reply = {.size = sizeof reply,
                        .status = 200,
                        .body = {(const uint8_t *)state->text, strlen(state->text), NULL}};
    filters->respond(exchange, &reply);
    return WEIR_DONE;
}

/* The field's value with the bytes that its %xx stand for; cut when there are more than `size`. */
static weir_string decoded(weir_exchange *exchange, weir_string name, char *bytes, size_t size)
{
    weir_string value = field(exchange, name);
    size_t length = 0;
    for (size_t i = 0; i < value.length && length < size; i++) {
        unsigned byte = (unsigned char)value.bytes[i];
        if (byte == '%' && i + 2 < value.length &&
            sscanf((char[]){value.bytes[i + 1], value.bytes[i + 2], 0}, "%2x", &byte) == 1)
            i += 2;
        bytes[length++] = (char)byte;
    }
    return (weir_string){bytes, length};
}

static weir_result begin(weir_exchange *exchange, weir_reference *task)
{
    static const char body[SEND_MOST];
    struct state *state = exchange->state;
    char name[256], value[256];
    weir_string given;
    int more = filters->field(exchange, WEIR_REQUEST_HEAD, WEIR_STRING("x-fetch-name"), 0,
                              &given) == WEIR_OK;
    weir_field fields[] = {{WEIR_STRING("X-Own"), WEIR_STRING("yes")},
                           {decoded(exchange, WEIR_STRING("x-fetch-name"), name, sizeof name),
                            decoded(exchange, WEIR_STRING("x-fetch-value"), value, sizeof value)}};
    weir_fetch fetch = {
        .size = sizeof fetch,
        .url = field(exchange, WEIR_STRING("x-fetch")),
        .upstream = field(exchange, WEIR_STRING("x-fetch-upstream")),
        .method = field(exchange, WEIR_STRING("x-fetch-method")),
        .timeout_ms = number(exchange, WEIR_STRING("x-fetch-timeout")),
        .body_most = number(exchange, WEIR_STRING("x-fetch-most")),
        .body = {body, number(exchange, WEIR_STRING("x-fetch-send"))},
        .fields = fields,
        .count = more ? 2 : 1,
    };
    state->in_call = 1;
    weir_result rc = asynchronous->fetch(filters->reference(exchange), &fetch, FETCH, task);
    state->in_call = 0;
    return rc;
}

static weir_answer on_request(weir_exchange *exchange)
{
    struct state *state = exchange->state;
    weir_string then = field(exchange, WEIR_STRING("x-fetch-then"));
    uint32_t count = number(exchange, WEIR_STRING("x-fetch-count"));
    char line[64];
    weir_reference task;
    if (!field(exchange, WEIR_STRING("x-fetch")).length)
        return WEIR_CONTINUE;
    for (uint32_t i = 0; i < (count ? count : 1); i++) {
        weir_result rc = begin(exchange, &task);
        state->missing += rc == WEIR_OK;
        snprintf(line, sizeof line, "refused %d", rc);
        if (rc != WEIR_OK)
            say(state, line);
    }
    state->passes = is(then, "pass");
    if (is(then, "cancel")) {
        snprintf(line, sizeof line, "cancel %d", asynchronous->cancel(task));
        say(state, line);
        asynchronous->timer(filters->reference(exchange), 100, PAUSE, NULL);
    }
    if (is(then, "wait"))
        asynchronous->timer(filters->reference(exchange), 100, PAUSE, NULL);
    return state->missing ? WEIR_PAUSE : answer(exchange);
}

static void describe(const weir_event *event, char *line, size_t size)
{
    int shown = (int)(event->body.length < 64 ? event->body.length : 64);
    if (event->result < 0)
        snprintf(line, size, "result %d%s", event->result, event->head ? " with a head" : "");
    else
        snprintf(line, size, "status %u, %zu bytes%s: %.*s", event->head->status,
                 event->body.length, event->flags & WEIR_TRUNCATED_DATA ? " of more" : "", shown,
                 event->body.bytes);
}

static weir_answer on_event(weir_exchange *exchange, const weir_event *event)
{
    struct state *state = exchange->state;
    char line[256];
    if (state->in_call)
        mark("fetch: an event inside of a call\n");
    if (event->tag == PAUSE)
        return answer(exchange);
    if (event->tag != FETCH || event->kind != WEIR_EVENT_FETCH)
        mark("fetch: what event is this?\n");
    describe(event, line, sizeof line);
    say(state, line);
    if (--state->missing)
        return WEIR_CONTINUE;
    if (!state->passes)
        return answer(exchange);
    if (event->result < 0 || event->head->status != 200)
        return WEIR_DENY;
    filters->resume(exchange, WEIR_REQUEST_DIRECTION);
    return WEIR_CONTINUE;
}

static weir_answer on_address(weir_exchange *exchange, const weir_address *address)
{
    (void)exchange;
    return is(address->text, "127.0.0.66") ? WEIR_DENY : WEIR_CONTINUE;
}

/* --- of workers */

static weir_result do_nothing(void *data)
{
    (void)data;
    return WEIR_OK;
}

static void ask(const struct presence *presence)
{
    weir_string url = {presence->settings->url, strlen(presence->settings->url)};
    weir_fetch fetch = {.size = sizeof fetch, .url = url};
    char line[64];
    weir_result rc = presence->settings->works
                         ? asynchronous->work(presence->worker, do_nothing, FETCH, NULL, NULL, NULL)
                         : asynchronous->fetch(presence->worker, &fetch, FETCH, NULL);
    snprintf(line, sizeof line, "fetch: refused %d\n", rc);
    if (rc != WEIR_OK)
        mark(line);
}

static void on_worker_event(const void *instance, void *state, const weir_event *event)
{
    char line[256], whole[300];
    struct presence *presence = state;
    (void)instance;
    if (event->kind == WEIR_EVENT_WORK && !presence->worked++)
        mark("fetch: worker: work is done\n");
    if (event->kind == WEIR_EVENT_TIMER || event->kind == WEIR_EVENT_WORK) {
        ask(state);
        return;
    }
    describe(event, line, sizeof line);
    snprintf(whole, sizeof whole, "fetch: worker: %s\n", line);
    mark(whole);
    ask(state);
}

static weir_result worker_make(const void *instance, weir_worker *worker, void **state)
{
    struct presence *presence = calloc(1, sizeof *presence);
    presence->settings = instance;
    presence->worker = asynchronous->worker_reference(worker);
    if (presence->settings->url[0] || presence->settings->works)
        asynchronous->timer(presence->worker, 0, AGAIN, NULL);
    *state = presence;
    return WEIR_OK;
}

static void worker_free(const void *instance, void *state)
{
    (void)instance;
    mark("fetch: worker_free\n");
    free(state);
}

static weir_result make(const weir_section *with, void **made)
{
    struct settings *settings = calloc(1, sizeof *settings);
    weir_string url = configuration->text(configuration->find(with, "url"));
    snprintf(settings->url, sizeof settings->url, "%.*s", (int)url.length, url.bytes);
    settings->works = configuration->flag(configuration->find(with, "work")) != 0;
    *made = settings;
    return WEIR_OK;
}

static weir_result load(const weir_host *host)
{
    static const weir_life life = {
        .size = sizeof life,
        .schema = "{\"type\": \"object\", \"properties\": {\"url\": {\"type\": \"string\"},"
                  "\"work\": {\"type\": \"boolean\"}}}",
        .make = make,
        .free = free,
        .worker_make = worker_make,
        .worker_free = worker_free,
    };
    static const weir_filter filter = {.size = sizeof filter,
                                       .name = "fetch",
                                       .life = &life,
                                       .state_size = sizeof(struct state),
                                       .request = on_request,
                                       .address = on_address,
                                       .event = on_event,
                                       .worker_event = on_worker_event};
    filters = host->query(host, "weir.filter/0");
    asynchronous = host->query(host, "weir.asynchronous/0");
    configuration = host->query(host, "weir.configuration/0");
    return host->register_filter(host, &filter);
}

WEIR_PLUGIN(0, 0, 1, "test.fetch", "1", "MIT",
            "weir.filter/0,weir.asynchronous/0,weir.configuration/0", load, 0);
