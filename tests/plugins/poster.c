/* tests/plugins/poster.c - threads of its own post to exchanges that come and go
 *
 * Eight threads post to the exchanges that were seen last, whether they live or not. Every second
 * exchange waits for one of these posts. Each post must be dropped once: when the plugin is
 * unmapped it says whether that was so. Threads begin in load() and are joined in unload(). */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

#include "abi/filter.h"
#include "abi/services.h"
#include "tests/plugins/marks.h"

#ifndef VERSION
#define VERSION "1"
#endif

enum { THREADS = 8, SEEN = 256 };

static const weir_filter_host *filters;
static const weir_asynchronous_host *asynchronous;
static pthread_t threads[THREADS];
static atomic_bool stops;
static _Atomic uint64_t seen[SEEN]; /* references */
static atomic_uint seen_count;
static atomic_ulong posted, delivered, dropped, refused;

struct state {
    uint32_t waits;
};

static void drop(void *data)
{
    free(data);
    dropped++;
}

/* Data of its own for each, so that a wrong drop is seen. */
static void post_to(uint64_t reference)
{
    int *data = malloc(sizeof *data);
    *data = 4711;
    posted++;
    if (asynchronous->post((weir_reference){reference}, 1, data, drop) != WEIR_OK)
        refused++;
}

static void *run(void *argument)
{
    unsigned int at = (unsigned int)(size_t)argument * (SEEN / THREADS);
    struct timespec pause = {0, 2000000};
    while (!stops) {
        for (int i = 0; i < 8; i++) {
            uint64_t reference = seen[at++ % SEEN];
            if (reference)
                post_to(reference);
        }
        thrd_sleep(&pause, NULL);
    }
    return NULL;
}

static weir_answer on_request(weir_exchange *exchange)
{
    struct state *state = exchange->state;
    unsigned int number = seen_count++;
    weir_reference reference = filters->reference(exchange);
    seen[number % SEEN] = reference.value;
    state->waits = number % 2 && reference.value;
    return state->waits ? WEIR_PAUSE : WEIR_CONTINUE;
}

static weir_answer on_event(weir_exchange *exchange, const weir_event *event)
{
    struct state *state = exchange->state;
    if (event->kind == WEIR_EVENT_POST && *(int *)event->data == 4711)
        delivered++;
    if (state->waits)
        filters->resume(exchange, WEIR_REQUEST_DIRECTION);
    state->waits = 0;
    return WEIR_CONTINUE;
}

static weir_result load(const weir_host *host)
{
    static const weir_filter filter = {.size = sizeof filter,
                                       .name = "poster",
                                       .state_size = sizeof(struct state),
                                       .request = on_request,
                                       .event = on_event};
    filters = host->query(host, "weir.filter/0");
    asynchronous = host->query(host, "weir.asynchronous/0");
    if (host->register_filter(host, &filter) < 0)
        return WEIR_ALREADY;
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    return WEIR_OK;
}

static void unload(void)
{
    stops = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

__attribute__((destructor)) static void on_unmapped(void)
{
    char line[160];
    snprintf(line, sizeof line,
             "poster " VERSION ": %lu posted, %lu delivered, %lu refused, %lu dropped: %s\n",
             posted, delivered, refused, dropped, posted == dropped ? "each once" : "WRONG");
    mark(line);
}

WEIR_PLUGIN(0, WEIR_PLUGIN_UNLOADABLE, 1, "test.poster", VERSION, "MIT",
            "weir.filter/0,weir.asynchronous/0", load, unload);
