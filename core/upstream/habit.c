/* core/upstream/habit.c - what servers spoke when they were asked last: hints, no more */
#include "core/upstream/habit.h"

void habit_note(struct habits *habits, uint64_t key, const weir_protocol *protocol, uint64_t now_ms)
{
    habits->entries[key % HABITS] = (struct habit){key, now_ms + HABIT_MS, protocol};
}

const weir_protocol *habit_of(const struct habits *habits, uint64_t key, uint64_t now_ms)
{
    const struct habit *habit = &habits->entries[key % HABITS];
    return habit->key == key && now_ms < habit->until_ms ? habit->protocol : 0;
}
