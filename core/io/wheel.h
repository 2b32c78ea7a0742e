/* core/io/wheel.h - one coarse timer wheel per worker: many deadlines, one timer
 *
 * Deadlines may come up to one tick late, never early. Moving a deadline later only stores it: the
 * entry stays in its slot and is put right when the slot comes up. Knows no clock: time comes in.
 */
#ifndef CORE_IO_WHEEL_H
#define CORE_IO_WHEEL_H

#include <stdint.h>

#include "core/base/list.h"

enum { WHEEL_TICK_MS = 32, WHEEL_SLOTS = 1024 };
#define WHEEL_NEVER UINT64_MAX

struct wheel_entry {
    struct link link;
    uint64_t deadline_ms;
    uint64_t slot_ms; /* when its slot comes up; WHEEL_NEVER: in no slot */
    void (*expired)(struct wheel_entry *entry);
};

struct wheel {
    struct link slots[WHEEL_SLOTS];
    uint64_t occupied[WHEEL_SLOTS / 64]; /* a bit per slot that may hold something */
    uint64_t now_tick;
    uint64_t next_ms; /* no slot comes up before that */
};

void wheel_init(struct wheel *wheel, uint64_t now_ms);
void wheel_entry_init(struct wheel_entry *entry, void (*expired)(struct wheel_entry *entry));
/* Calls expired() once, at that time or up to a tick later, unless set again or cleared.
 * WHEEL_NEVER switches it off but may leave the entry in its slot: wheel_clear() before its memory
 * goes. */
void wheel_set(struct wheel *wheel, struct wheel_entry *entry, uint64_t deadline_ms);
void wheel_clear(struct wheel_entry *entry);
/* Expires what is due. Entries may be set and cleared from within expired(). */
void wheel_advance(struct wheel *wheel, uint64_t now_ms);

#endif
