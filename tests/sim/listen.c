/* tests/sim/listen.c - core/io/listen.h on the simulated network: places and who listens there */
#include "core/io/listen.h"

#include <errno.h>

#include "core/base/memory.h"
#include "tests/sim/network.h"

enum { SOCKETS_MOST = 16, STANDARD_PORT = 3128 };

struct listener {
    struct listener *next;
    struct address address;
    const struct listener_events *events;
    void *user;
};

static struct listener *listeners;
static struct address sockets_at[SOCKETS_MOST]; /* by the sockets' numbers */
static int sockets_made;

bool listen_place_parse(weir_string text, struct listen_place *place)
{
    *place = (struct listen_place){.v6_only = false};
    return address_parse(text, &place->address);
}

int listen_open(struct listen_place *place, int *sockets, uint32_t count)
{
    if (!address_port(&place->address))
        address_set_port(&place->address, STANDARD_PORT);
    for (uint32_t i = 0; i < count; i++) {
        if (sockets_made == SOCKETS_MOST)
            return -EMFILE;
        sockets_at[sockets_made] = place->address;
        sockets[i] = sockets_made++;
    }
    return 0;
}

struct listener *listener_open(struct loop *loop, int socket, const struct listener_events *events,
                               void *user)
{
    struct listener *listener = memory_zeroed(sizeof *listener);
    (void)loop;
    *listener = (struct listener){listeners, sockets_at[socket], events, user};
    listeners = listener;
    loop_hold(1);
    return listener;
}

void listener_close(struct listener *listener)
{
    struct listener **at = &listeners;
    while (*at != listener)
        at = &(*at)->next;
    *at = listener->next;
    memory_free(listener);
    loop_hold(-1);
}

bool listener_accept(struct carrier *carrier)
{
    struct listener *listener = listeners;
    while (listener && !address_equal(&listener->address, &carrier->facts.local))
        listener = listener->next;
    if (!listener || !listener->events->may_accept(listener->user))
        return false;
    listener->events->accepted(listener->user, carrier);
    return true;
}
