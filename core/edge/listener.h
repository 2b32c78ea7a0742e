/* core/edge/listener.h - where clients come in: accept, choose the protocol, start it */
#ifndef CORE_EDGE_LISTENER_H
#define CORE_EDGE_LISTENER_H

#include "core/base/worker.h"

struct filter_chain;
struct listener_config;

/* A place where clients come in, as the main thread hands it to a worker. */
struct edge_place {
    uint32_t id; /* the same id: the same listening socket */
    int socket;  /* of an id that was not open before: the edge's from now on */
    const struct listener_config
        *config;                      /* of the snapshot; NULL: everybody is let in, uncounted */
    const struct filter_chain *chain; /* of its exchanges */
};

void edge_new(struct worker *worker);
/* From now on these places are open, with the worker's snapshot: new ones begin, others go on
 * without a gap, those that are missing accept nobody more, and their connections end when what
 * runs on them does. */
void edge_set_places(struct worker *worker, const struct edge_place *places, uint32_t count);
/* Stops accepting; connections that do not say anything within a moment are closed. */
void edge_stop(struct worker *worker);
bool edge_empty(const struct worker *worker); /* nobody is there who has not said anything */
void edge_free(struct worker *worker);        /* once the loop has ended */

#endif
