/* tests/sim/log.h - the access log of this run, and what it must say in the end */
#ifndef TESTS_SIM_LOG_H
#define TESTS_SIM_LOG_H

#include "core/base/memory.h"
#include "core/base/snapshot.h"
#include "core/base/worker.h"

/* Sets the snapshot's access log; the arena keeps what it compiles. */
void log_configure(struct snapshot *snapshot, struct arena *arena);
void log_open(struct worker *worker);
/* The client has the head of an answer. */
void log_expect(uint64_t exchange, uint32_t status);
/* When the worker has ended: every exchange of which a client has an answer, or an origin a
 * request, is in the log once, with that status; no other is there twice. */
void log_check(void);

#endif
