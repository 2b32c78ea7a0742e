/* plugins/throttle/throttle.c - so many bytes a second: START HERE
 *
 * docs/plugins/throttle.md says what may be written. Bytes that must wait pause their direction, so
 * they stay where they are and hold back whoever sends them: nothing is kept here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/filter.h"
#include "abi/services.h"
#include "plugins/throttle/bucket.h"

enum { SHARED_BYTES = 8 << 20, KEY_BYTES = 320, WAIT_MOST_MS = 600000, PAUSE_MARGIN_MS = 60000 };

enum per { PER_EXCHANGE, PER_CLIENT, PER_USER };

static const weir_filter_host *exchanges;
static const weir_configuration_host *configuration;
static const weir_asynchronous_host *asynchronous;
static const weir_dictionary_host *dictionaries;

struct throttle {
    struct rate bodies[2], tunnels[2]; /* by direction */
    enum per per;
    weir_dictionary *shared; /* buckets of clients and users; NULL: per exchange */
};

struct state {
    struct bucket buckets[2];
    uint64_t waiting[2]; /* bytes of the part that must wait */
    bool tunnel;
};

/* --- what is configured */

#define RATE "\"type\":\"string\",\"format\":\"byte-rate\",\"minimum\":\"100B/s\","

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"request\":{" RATE "\"description\":\"Of bodies of requests.\"},"
    "\"response\":{" RATE "\"description\":\"Of bodies of responses.\"},"
    "\"tunnel\":{" RATE
    "\"description\":\"Of tunnels, each way; otherwise as request and response.\"},"
    "\"burst\":{\"type\":\"string\",\"format\":\"size\",\"default\":\"64KiB\","
    "\"description\":\"What passes at once after a rest.\"},"
    "\"per\":{\"type\":\"string\",\"enum\":[\"exchange\",\"client\",\"user\"],"
    "\"default\":\"exchange\",\"description\":\"Who shares the rate.\"}}}";

static struct rate read_rate(const weir_section *with, const char *key, const char *instead)
{
    const weir_section *section = configuration->find(with, key);
    uint64_t burst = configuration->number(configuration->find(with, "burst"));
    if (!section)
        section = configuration->find(with, instead);
    return rate_make(configuration->number(section), burst, WEIR_BODY_MOST);
}

static enum per read_per(const weir_section *with)
{
    weir_string text = configuration->text(configuration->find(with, "per"));
    return text.bytes[0] == 'e' ? PER_EXCHANGE : text.bytes[0] == 'c' ? PER_CLIENT : PER_USER;
}

static weir_result make(const weir_section *with, void **instance)
{
    struct throttle *throttle = calloc(1, sizeof *throttle);
    if (!throttle)
        abort();
    throttle->bodies[WEIR_REQUEST_DIRECTION] = read_rate(with, "request", "request");
    throttle->bodies[WEIR_RESPONSE_DIRECTION] = read_rate(with, "response", "response");
    throttle->tunnels[WEIR_REQUEST_DIRECTION] = read_rate(with, "tunnel", "request");
    throttle->tunnels[WEIR_RESPONSE_DIRECTION] = read_rate(with, "tunnel", "response");
    throttle->per = read_per(with);
    if (throttle->per != PER_EXCHANGE)
        throttle->shared = dictionaries->open(WEIR_STRING("throttle"), SHARED_BYTES);
    *instance = throttle;
    return WEIR_OK;
}

static void free_instance(void *instance)
{
    free(instance);
}

/* --- buckets of clients and users, which all workers share */

static weir_string who(weir_exchange *exchange, enum per per)
{
    weir_string name = {"", 0};
    if (per == PER_USER)
        exchanges->text(exchange, WEIR_USER, &name);
    if (!name.length)
        exchanges->text(exchange, WEIR_CLIENT_ADDRESS, &name);
    return name;
}

/* Rules with the same figures share their buckets, also those before a reload. */
static uint32_t take_shared(weir_exchange *exchange, const struct throttle *throttle,
                            struct rate rate, uint32_t direction, uint64_t bytes)
{
    char key[KEY_BYTES];
    uint32_t wait_ms = 0;
    weir_string name = who(exchange, throttle->per);
    int length = snprintf(key, sizeof key, "%u %.0f %.0f %u %.*s", direction, rate.per_second,
                          rate.burst, (unsigned)throttle->per, (int)name.length, name.bytes);
    size_t used = (size_t)length < sizeof key ? (size_t)length : sizeof key - 1;
    dictionaries->rate(throttle->shared, (weir_string){key, used}, rate.per_second, rate.burst,
                       (double)bytes, &wait_ms);
    return wait_ms;
}

/* 0: they may pass. */
static uint32_t take(weir_exchange *exchange, uint32_t direction)
{
    const struct throttle *throttle = exchange->instance;
    struct state *state = exchange->state;
    struct rate rate = state->tunnel ? throttle->tunnels[direction] : throttle->bodies[direction];
    uint64_t bytes = state->waiting[direction];
    if (rate.per_second <= 0 || !bytes)
        return 0;
    uint32_t wait_ms = throttle->shared ? take_shared(exchange, throttle, rate, direction, bytes)
                                        : bucket_take(&state->buckets[direction], rate, bytes,
                                                      asynchronous->now_ms());
    return wait_ms < WAIT_MOST_MS ? wait_ms : WAIT_MOST_MS;
}

/* --- bytes */

static weir_result wait(weir_exchange *exchange, uint32_t direction, uint32_t wait_ms)
{
    weir_result rc = exchanges->pause_limit(exchange, direction, wait_ms + PAUSE_MARGIN_MS);
    if (rc < 0)
        return rc;
    return asynchronous->timer(exchanges->reference(exchange), wait_ms, direction, NULL);
}

static weir_answer on_bytes(weir_exchange *exchange, const weir_data *data)
{
    struct state *state = exchange->state;
    state->waiting[data->direction] = data->bytes;
    uint32_t wait_ms = take(exchange, data->direction);
    if (!wait_ms)
        return WEIR_CONTINUE;
    return wait(exchange, data->direction, wait_ms) < 0 ? WEIR_FAIL : WEIR_PAUSE;
}

static weir_answer on_tunnel(weir_exchange *exchange, const weir_data *data)
{
    struct state *state = exchange->state;
    state->tunnel = true;
    return on_bytes(exchange, data);
}

static weir_answer on_event(weir_exchange *exchange, const weir_event *event)
{
    if (event->kind != WEIR_EVENT_TIMER)
        return WEIR_CONTINUE;
    uint32_t wait_ms = take(exchange, event->tag);
    if (wait_ms)
        return wait(exchange, event->tag, wait_ms) < 0 ? WEIR_FAIL : WEIR_CONTINUE;
    exchanges->resume(exchange, event->tag);
    return WEIR_CONTINUE;
}

/* --- the plugin */

static const weir_life life = {
    .size = sizeof life, .schema = schema, .make = make, .free = free_instance};

static const weir_filter filter = {.size = sizeof filter,
                                   .name = "throttle",
                                   .life = &life,
                                   .state_size = sizeof(struct state),
                                   .request_body = on_bytes,
                                   .response_body = on_bytes,
                                   .tunnel = on_tunnel,
                                   .event = on_event};

static weir_result load(const weir_host *host)
{
    exchanges = host->query(host, "weir.filter/0");
    configuration = host->query(host, "weir.configuration/0");
    asynchronous = host->query(host, "weir.asynchronous/0");
    dictionaries = host->query(host, "weir.dictionary/0");
    return host->register_filter(host, &filter);
}

WEIR_PLUGIN(2, WEIR_PLUGIN_UNLOADABLE, 0, "throttle", "0.1.0", "MIT",
            "weir.filter/0,weir.configuration/0,weir.asynchronous/0,weir.dictionary/0", load, NULL);
