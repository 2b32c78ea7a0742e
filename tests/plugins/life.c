/* tests/plugins/life.c - says when its instances and states come and go, and on which thread
 *
 * "life NAME: make", where NAME is the instance's, then the parent's behind a <. */
#include "abi/filter.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/plugins/marks.h"

struct instance {
    char name[64];
    int fails_on_workers;
    pthread_t main;
};

struct presence {
    pthread_t worker;
};

static const weir_configuration_host *configuration;

static void say(const struct instance *instance, const char *what)
{
    char line[128];
    snprintf(line, sizeof line, "life %s: %s\n", instance->name, what);
    mark(line);
}

static void name(struct instance *instance, const weir_section *with)
{
    const struct instance *parent = configuration->parent(with);
    static const char *const scopes[] = {"all", "listener", "route"};
    snprintf(instance->name, sizeof instance->name, "%.20s@%s<%.20s",
             configuration->text(configuration->find(with, "name")).bytes,
             scopes[configuration->scope(with)], parent ? parent->name : "");
}

static weir_result make(const weir_section *with, void **made)
{
    const weir_section *size = configuration->find(with, "size");
    if (configuration->number(size) == 13) {
        configuration->mistake(size, WEIR_STRING("brings bad luck"));
        return WEIR_INVALID;
    }
    struct instance *instance = calloc(1, sizeof *instance);
    instance->main = pthread_self();
    instance->fails_on_workers = (int)configuration->flag(configuration->find(with, "fails"));
    name(instance, with);
    say(instance, "make");
    *made = instance;
    return WEIR_OK;
}

static void release(void *instance)
{
    const struct instance *own = instance;
    say(own, pthread_equal(own->main, pthread_self()) ? "free" : "free on another thread");
    free(instance);
}

static weir_result worker_make(const void *instance, weir_worker *worker, void **state)
{
    const struct instance *own = instance;
    (void)worker;
    if (own->fails_on_workers)
        return WEIR_INTERNAL;
    struct presence *presence = calloc(1, sizeof *presence);
    presence->worker = pthread_self();
    say(own, pthread_equal(own->main, pthread_self()) ? "worker_make on main" : "worker_make");
    *state = presence;
    return WEIR_OK;
}

static void worker_free(const void *instance, void *state)
{
    struct presence *presence = state;
    int same = pthread_equal(presence->worker, pthread_self());
    say(instance, same ? "worker_free" : "worker_free on another thread");
    free(presence);
}

static weir_answer on_open(weir_exchange *exchange)
{
    const struct presence *presence = exchange->worker_state;
    int same = presence && pthread_equal(presence->worker, pthread_self());
    say(exchange->instance, same ? "open" : "open without its state");
    return WEIR_CONTINUE;
}

static void on_close(weir_exchange *exchange)
{
    say(exchange->instance, "close");
}

static weir_result load(const weir_host *host)
{
    static const weir_life life = {
        .size = sizeof life,
        .schema = "{\"type\": \"object\", \"required\": [\"name\"], \"properties\": {"
                  "\"name\": {\"type\": \"string\", \"format\": \"name\"},"
                  "\"size\": {\"type\": \"string\", \"format\": \"size\", \"default\": \"1KiB\"},"
                  "\"fails\": {\"type\": \"boolean\"}}}",
        .make = make,
        .free = release,
        .worker_make = worker_make,
        .worker_free = worker_free,
    };
    static const weir_filter filter = {
        .size = sizeof filter, .name = "life", .life = &life, .open = on_open, .close = on_close};
    static const weir_filter guard = {
        .size = sizeof guard, .name = "guard", .flags = WEIR_FILTER_GUARDS};
    static const weir_life odd_life = {.size = sizeof odd_life, .schema = "{\"type\": \"array\"}"};
    static const weir_filter odd = {.size = sizeof odd, .name = "odd", .life = &odd_life};
    configuration = host->query(host, "weir.configuration/0");
    host->register_filter(host, &guard);
    host->register_filter(host, &odd);
    return host->register_filter(host, &filter);
}

WEIR_PLUGIN(0, 0, 1, "test.life", "1", "MIT", "weir.filter/0,weir.configuration/0", load, 0);
