/* tests/sim/dns.c - core/io/dns.h with the simulated network's names */
#include "core/io/dns.h"

#include <string.h>

#include "core/base/memory.h"
#include "tests/sim/network.h"

struct dns {
    struct loop *loop;
};

struct dns_query {
    struct event event;
    struct dns_answer answer;
    void (*on_answer)(void *user, const struct dns_answer *answer);
    void *user;
};

struct dns *dns_new(struct loop *loop)
{
    struct dns *dns = memory_zeroed(sizeof *dns);
    dns->loop = loop;
    return dns;
}

void dns_free(struct dns *dns)
{
    memory_free(dns);
}

void dns_cancel(struct dns_query *query)
{
    event_clear(&query->event);
    memory_free(query);
    loop_hold(-1);
}

static void fire_answer(struct event *event)
{
    struct dns_query *query = CONTAINER(event, struct dns_query, event);
    query->on_answer(query->user, &query->answer);
    dns_cancel(query);
}

static void look_up(weir_string host, int family, struct dns_answer *answer)
{
    char name[256];
    memcpy(name, host.bytes, host.length);
    name[host.length] = 0;
    answer->count = network_servers.resolve(name, family, &answer->addresses[0]);
}

/* The dice decide whether the answer is in the cache. */
struct dns_query *dns_resolve(struct dns *dns, weir_string host, int family,
                              struct dns_answer *answer,
                              void (*on_answer)(void *user, const struct dns_answer *answer),
                              void *user)
{
    (void)dns;
    if (dice_percent(&simulation.dice, 50)) {
        look_up(host, family, answer);
        return NULL;
    }
    struct dns_query *query = memory_zeroed(sizeof *query);
    look_up(host, family, &query->answer);
    query->on_answer = on_answer;
    query->user = user;
    event_init(&query->event, fire_answer);
    event_set(&query->event, dice_size(&simulation.dice, 100000));
    loop_hold(1);
    return query;
}
