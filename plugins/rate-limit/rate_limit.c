/* plugins/rate-limit/rate_limit.c - refuses requests beyond a rate: START HERE
 *
 * docs/plugins/rate-limit.md says what may be written. A bucket for each client, user or host is in
 * a dictionary that all workers share and that reloads leave alone. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "abi/filter.h"
#include "abi/services.h"
#include "plugins/rate-limit/key.h"

enum {
    DICTIONARY_BYTES = 32 << 20,
    BURST_MOST = 1000000000,
    NAME_BYTES = 256,
    SECONDS_OF_HOUR = 3600
};

enum per { PER_CLIENT, PER_USER, PER_HOST, PER_ALL };

static const weir_filter_host *exchanges;
static const weir_configuration_host *configuration;
static const weir_dictionary_host *dictionaries;
static const weir_metrics_host *metrics; /* NULL: nothing is counted */
static weir_dictionary *buckets;
static uint32_t refused_metric;

struct instance {
    char name[NAME_BYTES]; /* that its buckets have */
    size_t name_length;
    enum per per;
    double per_second, burst;
    uint32_t status, ipv6_bits;
};

/* --- configuration */

static const char schema[] =
    "{\"type\":\"object\",\"required\":[\"rate\"],\"properties\":{"
    "\"rate\":{\"type\":\"string\",\"format\":\"rate\",\"minimum\":\"1/h\","
    "\"description\":\"How many requests may come, in the long run.\"},"
    "\"burst\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000000000,"
    "\"description\":\"How many may come at once; else those of a second, at least 1.\"},"
    "\"per\":{\"type\":\"string\",\"enum\":[\"client\",\"user\",\"host\",\"all\"],"
    "\"default\":\"client\",\"description\":\"Who has a rate of his own: each address, each user, "
    "each host that is asked for; all: nobody.\"},"
    "\"ipv6_prefix\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":128,\"default\":64,"
    "\"description\":\"IPv6 addresses that have so many first bits in common are one client.\"},"
    "\"status\":{\"type\":\"integer\",\"format\":\"status\",\"default\":429,"
    "\"description\":\"Of the answer to what is too much.\"},"
    "\"name\":{\"type\":\"string\",\"format\":\"name\","
    "\"description\":\"Limits of the same name count together.\"}}}";

static uint64_t number(const weir_section *with, const char *path)
{
    return configuration->number(configuration->find(with, path));
}

static enum per read_per(weir_string word)
{
    switch (word.length ? word.bytes[0] : 'c') {
    case 'u':
        return PER_USER;
    case 'h':
        return PER_HOST;
    case 'a':
        return PER_ALL;
    default:
        return PER_CLIENT;
    }
}

/* A limit without a name has that of its place: buckets are found again after a reload, and no
 * other limit's are. A given name has no dot, a place has. */
static void read_name(struct instance *instance, const weir_section *with)
{
    weir_string name = configuration->text(configuration->find(with, "name"));
    if (!name.length)
        name = configuration->path(with);
    int length =
        snprintf(instance->name, sizeof instance->name, "%.*s", (int)name.length, name.bytes);
    instance->name_length =
        (size_t)length < sizeof instance->name ? (size_t)length : sizeof instance->name - 1;
}

static double read_burst(const weir_section *with, double per_second)
{
    uint64_t burst = number(with, "burst");
    if (burst)
        return (double)burst;
    return per_second <= 1           ? 1
           : per_second > BURST_MOST ? BURST_MOST
                                     : (double)(uint64_t)per_second;
}

static weir_result make(const weir_section *with, void **made)
{
    const weir_section *status = configuration->find(with, "status");
    struct instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        abort();
    read_name(instance, with);
    instance->per = read_per(configuration->text(configuration->find(with, "per")));
    instance->per_second = (double)number(with, "rate") / SECONDS_OF_HOUR;
    instance->burst = read_burst(with, instance->per_second);
    instance->ipv6_bits = (uint32_t)number(with, "ipv6_prefix");
    instance->status = (uint32_t)configuration->number(status);
    if (instance->status >= 400) {
        *made = instance;
        return WEIR_OK;
    }
    configuration->mistake(status, WEIR_STRING("must be 400 to 599: it is a refusal"));
    free(instance);
    return WEIR_INVALID;
}

static void free_instance(void *instance)
{
    free(instance);
}

/* --- requests */

/* Who has no user is counted by address. */
static void make_key(weir_exchange *exchange, struct key *key)
{
    const struct instance *instance = exchange->instance;
    weir_string user = {"", 0}, address = {"", 0};
    key_begin(key, (weir_string){instance->name, instance->name_length});
    if (instance->per == PER_ALL)
        return;
    if (instance->per == PER_HOST) {
        key_add_host(key, exchanges->request_head(exchange)->authority);
        return;
    }
    exchanges->text(exchange, WEIR_CLIENT_ADDRESS, &address);
    if (instance->per == PER_USER)
        exchanges->text(exchange, WEIR_USER, &user);
    if (user.length)
        key_add_user(key, user);
    else
        key_add_client(key, address, instance->ipv6_bits);
}

/* RFC 9110 10.2.3: in whole seconds, and not before it makes sense. */
static weir_answer refuse(weir_exchange *exchange, uint32_t wait_ms)
{
    static const char text[] = "Too many requests.\n";
    const struct instance *instance = exchange->instance;
    char seconds[16];
    uint32_t whole = wait_ms / 1000 + (wait_ms % 1000 != 0);
    int length = snprintf(seconds, sizeof seconds, "%u", whole ? whole : 1);
    weir_field fields[] = {{WEIR_STRING("Retry-After"), {seconds, (size_t)length}},
                           {WEIR_STRING("Content-Type"), WEIR_STRING("text/plain")}};
    weir_reply reply = {.size = sizeof reply,
                        .status = instance->status,
                        .fields = fields,
                        .count = 2,
                        .body = {.bytes = (const uint8_t *)text, .length = sizeof text - 1}};
    if (metrics)
        metrics->add(refused_metric, 1, &(weir_string){instance->name, instance->name_length});
    return exchanges->respond(exchange, &reply) < 0 ? WEIR_FAIL : WEIR_DONE;
}

static weir_answer on_request(weir_exchange *exchange)
{
    const struct instance *instance = exchange->instance;
    struct key key;
    uint32_t wait_ms = 0;
    make_key(exchange, &key);
    weir_result rc = dictionaries->rate(buckets, key_string(&key), instance->per_second,
                                        instance->burst, 1, &wait_ms);
    if (rc < 0)
        return WEIR_FAIL;
    return wait_ms ? refuse(exchange, wait_ms) : WEIR_CONTINUE;
}

/* --- the plugin */

static const weir_life life = {
    .size = sizeof life, .schema = schema, .make = make, .free = free_instance};

static const weir_filter filter = {
    .size = sizeof filter, .name = "rate-limit", .life = &life, .request = on_request};

static bool define_metrics(const weir_host *host)
{
    static const char *const labels[] = {"limit"};
    const weir_metric refused = {.size = sizeof refused,
                                 .kind = WEIR_COUNTER,
                                 .name = "rate_limit_refused_total",
                                 .help = "Requests that were too many, by limit.",
                                 .labels = labels,
                                 .label_count = 1};
    return metrics->define(host, &refused, &refused_metric) >= 0;
}

static weir_result load(const weir_host *host)
{
    exchanges = host->query(host, "weir.filter/0");
    configuration = host->query(host, "weir.configuration/0");
    dictionaries = host->query(host, "weir.dictionary/0");
    metrics = host->query(host, "weir.metrics/0");
    if (!exchanges || !dictionaries || !WEIR_HAS(weir_configuration_host, configuration, path))
        return WEIR_UNSUPPORTED;
    if (metrics && !define_metrics(host))
        metrics = NULL;
    buckets = dictionaries->open(WEIR_STRING("rate-limit"), DICTIONARY_BYTES);
    return host->register_filter(host, &filter);
}

WEIR_PLUGIN(2, WEIR_PLUGIN_UNLOADABLE, 0, "rate-limit", "0.1.0", "MIT",
            "weir.filter/0,weir.configuration/0,weir.dictionary/0", load, NULL);
