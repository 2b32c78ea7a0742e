/* core/edge/listener.h - where clients come in: listen, accept, choose the protocol, start it */
#ifndef CORE_EDGE_LISTENER_H
#define CORE_EDGE_LISTENER_H

#include "core/base/worker.h"

/* Listens on every address of the worker's snapshot; `share`: other workers do so too. 0, or a
 * negative errno with the address in *failed (for the log). */
int edge_start(struct worker *worker, bool share, const char **failed);
/* Stops accepting; connections that have not said anything yet are closed. */
void edge_stop(struct worker *worker);
void edge_free(struct worker *worker); /* once the loop has ended */

#endif
