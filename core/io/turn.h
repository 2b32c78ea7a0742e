/* core/io/turn.h - events mark, the step decides: what one turn of a worker does, in which order
 *
 * Callbacks only store what happened and mark. Then, once per turn: each marked connection is
 * stepped once, then each marked exchange, then each dirty carrier is flushed once, then what died
 * is freed. What is marked after its own step waits for the next turn. Marks are intrusive: no
 * allocation. Knows no clock and no library; the simulator runs it as it is. */
#ifndef CORE_IO_TURN_H
#define CORE_IO_TURN_H

#include <stdbool.h>
#include <stdint.h>

enum turn_phase { TURN_CONNECTIONS, TURN_EXCHANGES, TURN_FLUSH, TURN_DEAD, TURN_PHASES };

enum { TURN_STEPS_MOST = 256 }; /* per phase and turn; the rest stays marked */

struct mark {
    struct mark *next;
    void (*step)(struct mark *mark);
    uint32_t stepped; /* number of the turn that stepped it last */
    bool marked;
};

struct mark_list {
    struct mark *first, **last;
};

struct turn {
    struct mark_list lists[TURN_PHASES];
    uint32_t number; /* other threads may look at it: turn_number() */
};

void turn_init(struct turn *turn);
void mark_init(struct mark *mark, void (*step)(struct mark *mark));

static inline void mark_list_append(struct mark_list *list, struct mark *mark)
{
    mark->marked = true;
    mark->next = 0;
    *list->last = mark;
    list->last = &mark->next;
}

/* Idempotent. */
static inline void turn_mark(struct turn *turn, enum turn_phase phase, struct mark *mark)
{
    if (!mark->marked)
        mark_list_append(&turn->lists[phase], mark);
}

/* For an object that goes away while marked: only from a TURN_DEAD step or between turns. Walks the
 * list: rare. */
void turn_unmark(struct turn *turn, enum turn_phase phase, struct mark *mark);

static inline bool turn_marked(const struct turn *turn) /* whether anything is */
{
    bool marked = false;
    for (int phase = 0; phase < TURN_PHASES; phase++)
        marked |= turn->lists[phase].first != 0;
    return marked;
}

/* [any] Which turn it is; the same for as long as one thing keeps the worker busy. */
static inline uint32_t turn_number(const struct turn *turn)
{
    return __atomic_load_n(&turn->number, __ATOMIC_RELAXED);
}

/* One turn. Returns whether anything is still marked. */
bool turn_run(struct turn *turn);

#endif
