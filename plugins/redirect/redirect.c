/* plugins/redirect/redirect.c - the filter: a request that meets a rule is answered by it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/filter.h"
#include "abi/services.h"
#include "plugins/redirect/pool.h"
#include "plugins/redirect/read.h"
#include "plugins/redirect/rules.h"

enum { RULES_SHOWN = 200, NAME_BYTES = 64 };

static const weir_filter_host *exchanges;
static const weir_configuration_host *configuration;
static const weir_metrics_host *metrics; /* NULL: nothing is counted */
static uint32_t answers_metric, rules_metric, over_limit_metric;

struct redirect {
    struct rules *rules;
    uint32_t inline_count; /* the first so many rules are written in the configuration, */
    char file[NAME_BYTES]; /* the others in a file of this name, which may be cut */
};

struct redirect_worker {
    struct lookup *lookup;
    uint64_t over_limit; /* that was counted */
};

/* --- what is configured */

static void keep_name(struct redirect *redirect, weir_string path)
{
    const char *slash = path.length ? memrchr(path.bytes, '/', path.length) : NULL;
    size_t start = slash ? (size_t)(slash + 1 - path.bytes) : 0;
    snprintf(redirect->file, sizeof redirect->file, "%.*s", (int)(path.length - start),
             path.bytes + start);
}

static weir_result make(const weir_section *with, void **instance)
{
    uint32_t inline_count;
    struct rules *rules = read_rules(configuration, with, &inline_count);
    if (!rules)
        return WEIR_INVALID;
    struct redirect *redirect = redirect_resize(NULL, sizeof *redirect);
    *redirect = (struct redirect){.rules = rules, .inline_count = inline_count};
    keep_name(redirect, configuration->text(configuration->find(with, "file")));
    *instance = redirect;
    return WEIR_OK;
}

static void free_instance(void *instance)
{
    rules_free(((struct redirect *)instance)->rules);
    free(instance);
}

static weir_result make_worker(const void *instance, weir_worker *worker, void **state)
{
    const struct redirect *redirect = instance;
    struct redirect_worker *made = redirect_resize(NULL, sizeof *made);
    *made = (struct redirect_worker){.lookup = lookup_new(redirect->rules)};
    *state = made;
    return WEIR_OK;
}

static void free_worker(const void *instance, void *state)
{
    lookup_free(((struct redirect_worker *)state)->lookup);
    free(state);
}

/* --- what is counted */

static void count_answer(const struct redirect *redirect, const struct rule_answer *answer)
{
    char status[16], rule[NAME_BYTES + 16];
    if (!metrics)
        return;
    bool is_inline = answer->number < redirect->inline_count;
    int length = snprintf(rule, sizeof rule, "%s:%u", is_inline ? "rules" : redirect->file,
                          rules_line(redirect->rules, answer->number));
    metrics->add(rules_metric, 1, &(weir_string){rule, (size_t)length});
    length = snprintf(status, sizeof status, "%u", answer->status);
    metrics->add(answers_metric, 1, &(weir_string){status, (size_t)length});
}

static void count_over_limit(struct redirect_worker *worker)
{
    uint64_t all = lookup_over_limit(worker->lookup);
    if (metrics && all != worker->over_limit)
        metrics->add(over_limit_metric, (int64_t)(all - worker->over_limit), NULL);
    worker->over_limit = all;
}

/* --- requests */

static weir_answer answer_request(weir_exchange *exchange, const struct rule_answer *answer)
{
    static const char moved[] = "moved\n", refused[] = "not here\n";
    bool leads = answer->location.length;
    weir_field fields[] = {{WEIR_STRING("Content-Type"), WEIR_STRING("text/plain")},
                           {WEIR_STRING("Location"), answer->location}};
    weir_reply reply = {.size = sizeof reply,
                        .status = answer->status,
                        .fields = fields,
                        .count = leads ? 2 : 1,
                        .body = {.bytes = (const uint8_t *)(leads ? moved : refused),
                                 .length = leads ? sizeof moved - 1 : sizeof refused - 1}};
    return exchanges->respond(exchange, &reply) < 0 ? WEIR_FAIL : WEIR_DONE;
}

static weir_answer on_request(weir_exchange *exchange)
{
    const weir_head *head = exchanges->request_head(exchange);
    const struct redirect *redirect = exchange->instance;
    struct redirect_worker *worker = exchange->worker_state;
    struct rule_answer answer;
    if (head->kind != WEIR_REQUEST)
        return WEIR_CONTINUE;
    bool found = rules_find(redirect->rules, worker->lookup, head->authority, head->path, &answer);
    count_over_limit(worker);
    if (!found)
        return WEIR_CONTINUE;
    count_answer(redirect, &answer);
    return answer_request(exchange, &answer);
}

/* --- the plugin */

static const weir_life life = {.size = sizeof life,
                               .schema = read_schema,
                               .make = make,
                               .free = free_instance,
                               .worker_make = make_worker,
                               .worker_free = free_worker};

static const weir_filter filter = {
    .size = sizeof filter, .name = "redirect", .life = &life, .request = on_request};

static bool define_metrics(const weir_host *host)
{
    static const char *const status[] = {"status"}, *const rule[] = {"rule"};
    const weir_metric answers = {.size = sizeof answers,
                                 .kind = WEIR_COUNTER,
                                 .name = "redirect_answers_total",
                                 .help = "Requests answered by a rule.",
                                 .labels = status,
                                 .label_count = 1};
    const weir_metric rules = {.size = sizeof rules,
                               .kind = WEIR_COUNTER,
                               .name = "redirect_rule_answers_total",
                               .help = "Requests answered by each rule.",
                               .labels = rule,
                               .label_count = 1,
                               .series_most = RULES_SHOWN};
    const weir_metric over_limit = {.size = sizeof over_limit,
                                    .kind = WEIR_COUNTER,
                                    .name = "redirect_over_limit_total",
                                    .help = "Patterns given up after too many steps."};
    return metrics->define(host, &answers, &answers_metric) >= 0 &&
           metrics->define(host, &rules, &rules_metric) >= 0 &&
           metrics->define(host, &over_limit, &over_limit_metric) >= 0;
}

static weir_result load(const weir_host *host)
{
    exchanges = host->query(host, "weir.filter/0");
    configuration = host->query(host, "weir.configuration/0");
    metrics = host->query(host, "weir.metrics/0");
    if (!exchanges || !configuration)
        return WEIR_UNSUPPORTED;
    if (metrics && !define_metrics(host))
        metrics = NULL;
    return host->register_filter(host, &filter);
}

WEIR_PLUGIN(2, WEIR_PLUGIN_UNLOADABLE, 0, "redirect", "0.1.0", "MIT",
            "weir.filter/0,weir.configuration/0", load, NULL);
