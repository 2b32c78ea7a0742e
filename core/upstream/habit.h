/* core/upstream/habit.h - what servers spoke when they were asked last: hints, no more
 *
 * A bounded table that forgets: a hint that is gone or another's costs a dial more or some waiting,
 * never a wrong answer. [worker] */
#ifndef CORE_UPSTREAM_HABIT_H
#define CORE_UPSTREAM_HABIT_H

#include "abi/protocol.h"

enum { HABITS = 256, HABIT_MS = 10 * 60 * 1000 };

struct habits {
    struct habit {
        uint64_t key;
        uint64_t until_ms;
        const weir_protocol *protocol; /* NULL: nothing is known */
    } entries[HABITS];
};

/* `key`: a hash of who it is. */
void habit_note(struct habits *habits, uint64_t key, const weir_protocol *protocol,
                uint64_t now_ms);
/* NULL: nobody knows, or it is too long ago. */
const weir_protocol *habit_of(const struct habits *habits, uint64_t key, uint64_t now_ms);

#endif
