/* tests/plugins/reloaded.c - a filter that says of which version it is, for tests of reloading
 *
 * Compiled with other VERSION, FLAGS, LOAD_MS, and BROKEN to have a load() that fails. Marks what
 * happens to it as "reloaded VERSION: WHAT"; every response has an X-Version. */
#include <stdatomic.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>

#include "abi/filter.h"
#include "tests/plugins/marks.h"

#ifndef VERSION
#define VERSION "1"
#endif
#ifndef FLAGS
#define FLAGS WEIR_PLUGIN_UNLOADABLE
#endif
#ifndef LOAD_MS
#define LOAD_MS 0
#endif
#ifndef BROKEN
#define BROKEN 0
#endif

static const weir_configuration_host *configuration;
static const weir_filter_host *host_of_filters;

static struct instance {
    int refuses_on; /* that call of worker_make(), from 1 */
    int sleeps_ms;  /* in worker_make() */
    atomic_int made;
} instances[8]; /* static: what a version forgets goes with it */
static int instance_count;

static void say(const char *what)
{
    char line[80];
    snprintf(line, sizeof line, "reloaded " VERSION ": %s\n", what);
    mark(line);
}

static void sleep_ms(int milliseconds)
{
    struct timespec span = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    thrd_sleep(&span, NULL);
}

static int number(const weir_section *with, const char *path)
{
    return (int)configuration->number(configuration->find(with, path));
}

static weir_result make(const weir_section *with, void **made)
{
    struct instance *instance = &instances[instance_count++ % 8];
    instance->refuses_on = number(with, "refuses_on");
    instance->sleeps_ms = number(with, "sleeps_ms");
    instance->made = 0;
    *made = instance;
    return WEIR_OK;
}

static void release(void *instance)
{
    (void)instance;
    say("free");
}

static weir_result worker_make(const void *made, weir_worker *worker, void **state)
{
    struct instance *instance = (struct instance *)made;
    (void)worker;
    (void)state;
    sleep_ms(instance->sleeps_ms);
    if (++instance->made == instance->refuses_on)
        return WEIR_LIMIT_REACHED;
    say("worker_make");
    return WEIR_OK;
}

static void worker_free(const void *instance, void *state)
{
    (void)instance;
    (void)state;
    say("worker_free");
}

__attribute__((noinline)) static weir_answer on_response_of_this_version(weir_exchange *exchange)
{
    char code[40];
    int length = snprintf(code, sizeof code, "%zx", (size_t)on_response_of_this_version);
    host_of_filters->set_field(exchange, WEIR_RESPONSE_HEAD, WEIR_STRING("X-Version"),
                               WEIR_STRING(VERSION));
    host_of_filters->set_field(exchange, WEIR_RESPONSE_HEAD, WEIR_STRING("X-Code"),
                               (weir_string){code, (size_t)length});
    return WEIR_CONTINUE;
}

static weir_result load(const weir_host *host)
{
    static const weir_life life = {
        .size = sizeof life,
        .schema =
            "{\"type\": \"object\", \"properties\": {"
            "\"refuses_on\": {\"type\": \"integer\"}, \"sleeps_ms\": {\"type\": \"integer\"}}}",
        .make = make,
        .free = release,
        .worker_make = worker_make,
        .worker_free = worker_free,
    };
    static const weir_filter filter = {.size = sizeof filter,
                                       .name = "reloaded",
                                       .life = &life,
                                       .response = on_response_of_this_version};
    sleep_ms(LOAD_MS);
    configuration = host->query(host, "weir.configuration/0");
    host_of_filters = host->query(host, "weir.filter/0");
    say("load");
    if (BROKEN) {
        host->log(host, WEIR_LOG_ERROR, WEIR_STRING("there is no database"));
        return WEIR_INTERNAL;
    }
    return host->register_filter(host, &filter);
}

static void unload(void)
{
    say("unload");
}

__attribute__((destructor)) static void on_unmapped(void)
{
    say("unmapped");
}

WEIR_PLUGIN(0, FLAGS, 1, "test.reloaded", VERSION, "MIT", "weir.filter/0,weir.configuration/0",
            load, unload);
