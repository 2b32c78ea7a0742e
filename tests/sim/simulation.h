/* tests/sim/simulation.h - virtual time, events, and what must always hold
 *
 * Everything happens in events, in the order (time, order of setting); nothing depends on anything
 * but the seed. */
#ifndef TESTS_SIM_SIMULATION_H
#define TESTS_SIM_SIMULATION_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/dice.h"

/* What must always hold; simulation.c has the names and what they mean. */
enum invariant {
    BYTES_EXACT,
    FIELDS_KEPT,
    OWN_ANSWER,
    NO_SPURIOUS_FAILURE,
    FAILURE_ANSWERED,
    TRUNCATED_NEVER_COMPLETED,
    NO_REPEAT_OF_PROCESSED,
    CREDIT,
    CARRIER_USE,
    LOGGED_ONCE,
    EVERY_EXCHANGE_ENDS,
    NOTHING_LEFT,
    INVARIANTS
};

struct invariant_text {
    const char *name, *meaning;
};
extern const struct invariant_text invariant_texts[INVARIANTS];

struct simulation {
    uint64_t seed, exchanges;
    bool faults, filters, verbose;
    bool h1[2], h2[2]; /* what clients, and origins, may speak */
    int broken;        /* the invariant to break on purpose, or -1 */
    uint64_t now_us;
    struct dice dice; /* of the network and of time */
    uint64_t hash;    /* of everything that happened, in order */
};
extern struct simulation simulation;

/* Prints what was violated, where, and how to run it again; exits. exchange 0: none in particular.
 */
void violated(enum invariant invariant, uint64_t exchange, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));
/* Whether to break this invariant now: in so many of a thousand cases, when --break says so. */
bool sabotage(enum invariant invariant, uint32_t per_thousand);
/* Goes into the hash; printed with --verbose. `who`: a connection or an exchange. */
void happened(const char *what, uint64_t who, uint64_t value);

/* One thing that will happen; part of the object that it happens to. */
struct event {
    uint64_t at_us, order;
    void (*fire)(struct event *event);
    uint32_t position; /* among the events to come; 0: not set */
};

void event_init(struct event *event, void (*fire)(struct event *event));
void event_set(struct event *event, uint64_t delay_us); /* moves it when it was set */
void event_clear(struct event *event);
static inline bool event_is_set(const struct event *event)
{
    return event->position != 0;
}

/* Handles keep loop_run() from returning, as libuv's do. */
void loop_hold(int32_t change);
/* Without loop_run(): what is due happens, and frees what it can. For the end of a run. */
void events_deinit(void);

#endif
