/* tests/plugins/states.c - whether `state` is what the contract says, in every hook
 *
 * Two filters with sizes that are no multiple of anything. In open() a state must be zeroed,
 * aligned and part of no other's that lives; then it is filled, and must be as it was in every
 * later hook. At close() a line says which hooks there were, as bits in the order below. */
#include "abi/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/plugins/marks.h"

enum { SMALL = 33, LARGE = 5001, ALIVE_MOST = 64 };
enum {
    OPEN,
    AUTHENTICATE,
    REQUEST,
    ROUTE,
    ADDRESS,
    UPSTREAM,
    RESPONSE,
    REQUEST_BODY,
    RESPONSE_BODY,
    TRAILERS,
    LOG,
    CLOSE
};

/* Of this process; its tests have one worker. */
static struct alive {
    const uint8_t *state;
    uint32_t size;
    uint32_t hooks;
    uint8_t filling;
} alive[ALIVE_MOST];
static uint8_t fillings;

static void fail(const char *what)
{
    fprintf(stderr, "states: %s\n", what);
    abort();
}

static struct alive *find(const uint8_t *state)
{
    for (struct alive *at = alive; at < alive + ALIVE_MOST; at++)
        if (at->state == state)
            return at;
    return NULL;
}

static weir_answer begin(const weir_exchange *exchange, uint32_t size)
{
    uint8_t *state = exchange->state;
    if ((uintptr_t)state % 16)
        fail("not aligned");
    for (uint32_t i = 0; i < size; i++)
        if (state[i])
            fail("not zeroed");
    for (const struct alive *at = alive; at < alive + ALIVE_MOST; at++)
        if (at->state && state < at->state + at->size && at->state < state + size)
            fail("part of another one");
    struct alive *own = find(NULL);
    if (!own)
        fail("too many, or one was never closed");
    *own = (struct alive){state, size, 1u << OPEN, (uint8_t)(++fillings | 1)};
    memset(state, own->filling, size);
    return WEIR_CONTINUE;
}

static struct alive *look(const weir_exchange *exchange, uint32_t hook)
{
    struct alive *own = find(exchange->state);
    if (!own)
        fail("another one than in open()");
    for (uint32_t i = 0; i < own->size; i++)
        if (own->state[i] != own->filling)
            fail("changed by somebody else");
    own->hooks |= 1u << hook;
    return own;
}

static weir_answer small_open(weir_exchange *exchange)
{
    return begin(exchange, SMALL);
}

static weir_answer large_open(weir_exchange *exchange)
{
    return begin(exchange, LARGE);
}

static weir_answer on_authenticate(weir_exchange *exchange, const weir_credentials *credentials)
{
    (void)credentials;
    look(exchange, AUTHENTICATE);
    return WEIR_CONTINUE;
}

static weir_answer on_request(weir_exchange *exchange)
{
    look(exchange, REQUEST);
    return WEIR_CONTINUE;
}

static weir_answer on_route(weir_exchange *exchange)
{
    look(exchange, ROUTE);
    return WEIR_CONTINUE;
}

static weir_answer on_address(weir_exchange *exchange, const weir_address *address)
{
    (void)address;
    look(exchange, ADDRESS);
    return WEIR_CONTINUE;
}

static weir_answer on_upstream(weir_exchange *exchange)
{
    look(exchange, UPSTREAM);
    return WEIR_CONTINUE;
}

static weir_answer on_response(weir_exchange *exchange)
{
    look(exchange, RESPONSE);
    return WEIR_CONTINUE;
}

static weir_answer on_request_body(weir_exchange *exchange, const weir_data *data)
{
    (void)data;
    look(exchange, REQUEST_BODY);
    return WEIR_CONTINUE;
}

static weir_answer on_response_body(weir_exchange *exchange, const weir_data *data)
{
    (void)data;
    look(exchange, RESPONSE_BODY);
    return WEIR_CONTINUE;
}

static weir_answer on_trailers(weir_exchange *exchange, uint32_t direction)
{
    (void)direction;
    look(exchange, TRAILERS);
    return WEIR_CONTINUE;
}

static void on_log(weir_exchange *exchange)
{
    look(exchange, LOG);
}

static void on_close(weir_exchange *exchange)
{
    char line[64];
    struct alive *own = look(exchange, CLOSE);
    snprintf(line, sizeof line, "states: %u bytes, hooks %x\n", own->size, own->hooks);
    mark(line);
    *own = (struct alive){0};
}

static weir_result load(const weir_host *host)
{
    static weir_filter small = {.size = sizeof small,
                                .name = "small_state",
                                .state_size = SMALL,
                                .open = small_open,
                                .authenticate = on_authenticate,
                                .request = on_request,
                                .route = on_route,
                                .address = on_address,
                                .upstream = on_upstream,
                                .response = on_response,
                                .request_body = on_request_body,
                                .response_body = on_response_body,
                                .trailers = on_trailers,
                                .log = on_log,
                                .close = on_close};
    static weir_filter large;
    large = small;
    large.name = "large_state";
    large.state_size = LARGE;
    large.open = large_open;
    weir_result rc = host->register_filter(host, &small);
    return rc < 0 ? rc : host->register_filter(host, &large);
}

WEIR_PLUGIN(0, 0, 1, "test.states", "1", "MIT", "weir.filter/0", load, 0);
