/* plugins/headers/headers.c - changes fields of heads as the configuration says: START HERE
 *
 * docs/plugins/headers.md says what may be written. The fields of a request are changed when it has
 * come, those that say who the client was once it is known where it goes, and those of a response
 * before it leaves. */
#include "plugins/headers/headers.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/headers/edits.h"
#include "plugins/headers/forwarded.h"

const weir_filter_host *headers_filter;
const weir_configuration_host *headers_configuration;

struct instance {
    struct edits request, response;
    struct forwarded forwarded;
};

struct state {
    bool forwarded; /* an attempt that is repeated does not add to it again */
};

/* --- what the parts share */

void *headers_allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        abort();
    return memory;
}

char *headers_copy(weir_string text)
{
    char *copy = headers_allocate(text.length + 1, 1);
    if (text.length)
        memcpy(copy, text.bytes, text.length);
    return copy;
}

weir_result headers_mistake(const weir_section *section, const char *format, ...)
{
    char why[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    size_t shown = (size_t)length < sizeof why ? (size_t)length : sizeof why - 1;
    headers_configuration->mistake(section, (weir_string){why, shown});
    return WEIR_INVALID;
}

/* --- the configuration */

#define TEXT "{\"type\":\"string\"}"
#define TEXTS "{\"type\":\"string\",\"orList\":true}"
#define MODE                                                                                       \
    "\"type\":\"string\",\"enum\":[\"auto\",\"append\",\"replace\",\"strip\",\"keep\"],"           \
    "\"default\":\"auto\","
#define EDITS                                                                                      \
    "{\"type\":\"object\",\"properties\":{"                                                        \
    "\"remove\":{\"type\":\"array\",\"items\":" TEXT ","                                           \
    "\"description\":\"Names of fields that go; NAME* is every name that begins so.\"},"           \
    "\"rewrite\":{\"type\":\"array\","                                                             \
    "\"description\":\"What is replaced in values, one after the other.\","                        \
    "\"items\":{\"type\":\"object\",\"required\":[\"name\",\"replace\"],\"properties\":{"          \
    "\"name\":{\"type\":\"string\",\"description\":\"The field.\"},"                               \
    "\"find\":{\"type\":\"string\",\"description\":\"The text that is looked for.\"},"             \
    "\"pattern\":{\"type\":\"string\","                                                            \
    "\"description\":\"Or a regular expression (PCRE2).\"},"                                       \
    "\"replace\":{\"type\":\"string\","                                                            \
    "\"description\":\"What takes its place; of a pattern with $1, ${name}.\"}}}},"                \
    "\"set\":{\"type\":\"object\",\"additionalProperties\":" TEXT ","                              \
    "\"description\":\"Fields that have this value and no other.\"},"                              \
    "\"default\":{\"type\":\"object\",\"additionalProperties\":" TEXT ","                          \
    "\"description\":\"Fields that get this value when they are missing.\"},"                      \
    "\"add\":{\"type\":\"object\",\"additionalProperties\":" TEXTS ","                             \
    "\"description\":\"Fields that are added to those of the same name.\"}},"

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"request\":" EDITS "\"description\":\"What is done to requests.\"},"
    "\"response\":" EDITS "\"description\":\"What is done to responses.\"},"
    "\"forwarded\":{\"type\":\"object\","
    "\"description\":\"Whether servers are told who the client was.\",\"properties\":{"
    "\"x_forwarded\":{" MODE "\"description\":\"X-Forwarded-For, -Proto and -Host.\"},"
    "\"forwarded\":{" MODE "\"description\":\"Forwarded (RFC 7239).\"},"
    "\"client_port\":{\"type\":\"boolean\",\"default\":false,"
    "\"description\":\"Forwarded has the client's port too.\"},"
    "\"trusted\":{\"type\":\"array\",\"items\":" TEXT ","
    "\"description\":\"Clients whose word counts: networks, or unix.\"}}}}}";

static void instance_free(void *memory)
{
    struct instance *instance = memory;
    edits_free(&instance->request);
    edits_free(&instance->response);
    forwarded_free(&instance->forwarded);
    free(instance);
}

/* Finds all mistakes in one go. */
static weir_result instance_make(const weir_section *with, void **made)
{
    struct instance *instance = headers_allocate(1, sizeof *instance);
    const weir_configuration_host *host = headers_configuration;
    weir_result request = edits_make(host->find(with, "request"), &instance->request);
    weir_result response = edits_make(host->find(with, "response"), &instance->response);
    weir_result forwarded = forwarded_make(host->find(with, "forwarded"), &instance->forwarded);
    if (request == WEIR_OK && response == WEIR_OK && forwarded == WEIR_OK) {
        *made = instance;
        return WEIR_OK;
    }
    instance_free(instance);
    return WEIR_INVALID;
}

/* --- the hooks */

static weir_answer answer(weir_result rc)
{
    return rc < 0 ? WEIR_FAIL : WEIR_CONTINUE;
}

static weir_answer on_request(weir_exchange *exchange)
{
    const struct instance *instance = exchange->instance;
    return answer(edits_apply(&instance->request, exchange, WEIR_REQUEST_HEAD));
}

/* Nobody reads the head of a tunnel but weir. */
static weir_answer on_route(weir_exchange *exchange)
{
    const struct instance *instance = exchange->instance;
    struct state *state = exchange->state;
    if (state->forwarded || headers_filter->request_head(exchange)->kind == WEIR_TUNNEL)
        return WEIR_CONTINUE;
    state->forwarded = true;
    return answer(forwarded_apply(&instance->forwarded, exchange));
}

static weir_answer on_response(weir_exchange *exchange)
{
    const struct instance *instance = exchange->instance;
    return answer(edits_apply(&instance->response, exchange, WEIR_RESPONSE_HEAD));
}

/* --- the plugin */

static const weir_life life = {
    .size = sizeof life, .schema = schema, .make = instance_make, .free = instance_free};

static const weir_filter filter = {.size = sizeof filter,
                                   .name = "headers",
                                   .life = &life,
                                   .state_size = sizeof(struct state),
                                   .request = on_request,
                                   .route = on_route,
                                   .response = on_response};

static weir_result load(const weir_host *host)
{
    headers_filter = host->query(host, "weir.filter/0");
    headers_configuration = host->query(host, "weir.configuration/0");
    return host->register_filter(host, &filter);
}

WEIR_PLUGIN(2, WEIR_PLUGIN_UNLOADABLE, 0, "headers", "0.1.0", "MIT",
            "weir.filter/0,weir.configuration/0", load, NULL);
