/* plugins/acl/acl.c - who may ask for what: START HERE
 *
 * docs/plugins/acl.md says what may be written. A request is judged when it has come; what depends
 * on the address that its host resolves to, about each address before it is reached. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/filter.h"
#include "abi/services.h"
#include "plugins/acl/plain.h"
#include "plugins/acl/rules.h"

enum { SHORT_PATH = 2048, RULES_SHOWN = 500 };

static const weir_filter_host *exchanges;
static const weir_configuration_host *configuration;
static const weir_metrics_host *metrics; /* NULL: nothing is counted */
static uint32_t denied_metric;

struct state {
    struct verdict verdict;
    bool judged;
};

/* --- what is known of a request */

static weir_string text_of(weir_exchange *exchange, uint32_t what)
{
    weir_string text = {"", 0};
    exchanges->text(exchange, what, &text);
    return text;
}

static uint32_t standard_port(const weir_head *head)
{
    return head->scheme.length == 5 ? 443 : 80; /* "https" */
}

/* Both readings of the path, in one piece of memory. */
static void read_path(weir_string path, char *memory, struct facts *facts)
{
    facts->decoded_path = (weir_string){memory, plain_decoded(path, memory)};
    memory += path.length;
    facts->resolved_path = (weir_string){memory, plain_resolved(path, memory)};
}

static void judge(const struct rules *rules, weir_exchange *exchange, struct verdict *verdict)
{
    const weir_head *head = exchanges->request_head(exchange);
    char host[HOST_BYTES], paths[2 * SHORT_PATH];
    bool needs_path = rules_have_paths(rules) && head->kind != WEIR_TUNNEL && head->path.length;
    char *memory =
        needs_path && head->path.length > SHORT_PATH ? malloc(2 * head->path.length) : paths;
    struct facts facts = {.client = text_of(exchange, WEIR_CLIENT_ADDRESS),
                          .user = text_of(exchange, WEIR_USER),
                          .method = head->method,
                          .host = {host, plain_host(head->authority, host)},
                          .port = plain_port(head->authority)};
    facts.host_is_encoded =
        head->authority.length && memchr(head->authority.bytes, '%', head->authority.length);
    if (!facts.port)
        facts.port = standard_port(head);
    if (!memory)
        abort();
    if (needs_path)
        read_path(head->path, memory, &facts);
    rules_judge(rules, &facts, verdict);
    if (memory != paths)
        free(memory);
}

/* --- the hooks */

static weir_answer deny(const struct rules *rules, int32_t rule)
{
    char line[16];
    int length = snprintf(line, sizeof line, "%u", rules_line(rules, rule));
    weir_string label = rule < 0 ? WEIR_STRING("otherwise") : (weir_string){line, (size_t)length};
    if (metrics)
        metrics->add(denied_metric, 1, &label);
    return WEIR_DENY;
}

static weir_answer settle(const struct rules *rules, const struct verdict *verdict)
{
    return verdict->allows ? WEIR_CONTINUE : deny(rules, verdict->rule);
}

static weir_answer on_request(weir_exchange *exchange)
{
    struct state *state = exchange->state;
    judge(exchange->instance, exchange, &state->verdict);
    state->judged = true;
    return state->verdict.waits ? WEIR_CONTINUE : settle(exchange->instance, &state->verdict);
}

static weir_answer on_address(weir_exchange *exchange, const weir_address *address)
{
    const struct state *state = exchange->state;
    int32_t rule = -1;
    if (!state->judged)
        return WEIR_DENY;
    bool allows = state->verdict.waits ? rules_allow_address(exchange->instance, &state->verdict,
                                                             address->text, &rule)
                                       : state->verdict.allows;
    return allows ? WEIR_CONTINUE : deny(exchange->instance, rule);
}

/* Addresses of an upstream's servers are not judged: no rule with addresses fits. Asked before one
 * is dialled, and again because other filters may send the request there later. */
static weir_answer on_target(weir_exchange *exchange)
{
    const struct state *state = exchange->state;
    if (!state->verdict.waits || !text_of(exchange, WEIR_UPSTREAM).length)
        return WEIR_CONTINUE;
    return settle(exchange->instance, &state->verdict);
}

/* --- the plugin */

static weir_result make(const weir_section *with, void **instance)
{
    *instance = rules_make(configuration, with);
    return *instance ? WEIR_OK : WEIR_INVALID;
}

static void free_instance(void *instance)
{
    rules_free(instance);
}

static const weir_life life = {
    .size = sizeof life, .schema = rules_schema, .make = make, .free = free_instance};

static const weir_filter filter = {.size = sizeof filter,
                                   .flags = WEIR_FILTER_GUARDS,
                                   .name = "acl",
                                   .life = &life,
                                   .state_size = sizeof(struct state),
                                   .request = on_request,
                                   .route = on_target,
                                   .address = on_address,
                                   .upstream = on_target};

static weir_result load(const weir_host *host)
{
    static const char *const rule[] = {"rule"};
    const weir_metric denied = {.size = sizeof denied,
                                .kind = WEIR_COUNTER,
                                .name = "acl_denied_total",
                                .help = "Requests and addresses denied, by the rule's line.",
                                .labels = rule,
                                .label_count = 1,
                                .series_most = RULES_SHOWN};
    exchanges = host->query(host, "weir.filter/0");
    configuration = host->query(host, "weir.configuration/0");
    metrics = host->query(host, "weir.metrics/0");
    if (metrics && metrics->define(host, &denied, &denied_metric) < 0)
        metrics = NULL;
    return host->register_filter(host, &filter);
}

WEIR_PLUGIN(2, WEIR_PLUGIN_UNLOADABLE, 0, "acl", "0.1.0", "MIT",
            "weir.filter/0,weir.configuration/0", load, NULL);
