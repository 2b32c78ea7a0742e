/* core/io/wheel.c - one coarse timer wheel per worker: many deadlines, one timer */
#include "core/io/wheel.h"

void wheel_init(struct wheel *wheel, uint64_t now_ms)
{
    for (int i = 0; i < WHEEL_SLOTS; i++)
        link_init(&wheel->slots[i]);
    for (int i = 0; i < WHEEL_SLOTS / 64; i++)
        wheel->occupied[i] = 0;
    wheel->now_tick = now_ms / WHEEL_TICK_MS;
    wheel->next_ms = WHEEL_NEVER;
}

void wheel_entry_init(struct wheel_entry *entry, void (*expired)(struct wheel_entry *entry))
{
    link_init(&entry->link);
    entry->deadline_ms = WHEEL_NEVER;
    entry->slot_ms = WHEEL_NEVER;
    entry->expired = expired;
}

static void insert(struct wheel *wheel, struct wheel_entry *entry)
{
    uint64_t tick = entry->deadline_ms / WHEEL_TICK_MS + 1; /* late rather than early */
    if (tick <= wheel->now_tick)
        tick = wheel->now_tick + 1;
    if (tick >= wheel->now_tick + WHEEL_SLOTS)
        tick = wheel->now_tick + WHEEL_SLOTS - 1;
    unsigned slot = (unsigned)(tick % WHEEL_SLOTS);
    link_insert(&wheel->slots[slot], &entry->link);
    wheel->occupied[slot / 64] |= 1ull << slot % 64;
    entry->slot_ms = tick * WHEEL_TICK_MS;
    if (entry->slot_ms < wheel->next_ms)
        wheel->next_ms = entry->slot_ms;
}

void wheel_set(struct wheel *wheel, struct wheel_entry *entry, uint64_t deadline_ms)
{
    entry->deadline_ms = deadline_ms;
    if (deadline_ms == WHEEL_NEVER ||
        (deadline_ms >= entry->slot_ms && entry->slot_ms != WHEEL_NEVER))
        return;
    link_remove(&entry->link);
    insert(wheel, entry);
}

void wheel_clear(struct wheel_entry *entry)
{
    link_remove(&entry->link);
    entry->deadline_ms = WHEEL_NEVER;
    entry->slot_ms = WHEEL_NEVER;
}

static void expire_slot(struct wheel *wheel, unsigned slot, uint64_t now_ms)
{
    struct link due; /* its own list: an entry that is set again may land in this slot */
    link_init(&due);
    while (!link_alone(&wheel->slots[slot])) {
        struct link *link = wheel->slots[slot].next;
        link_remove(link);
        link_insert(&due, link);
    }
    wheel->occupied[slot / 64] &= ~(1ull << slot % 64);
    while (!link_alone(&due)) {
        struct wheel_entry *entry = CONTAINER(due.next, struct wheel_entry, link);
        link_remove(&entry->link);
        entry->slot_ms = WHEEL_NEVER;
        if (entry->deadline_ms <= now_ms)
            entry->expired(entry);
        else if (entry->deadline_ms != WHEEL_NEVER)
            insert(wheel, entry);
    }
}

static uint64_t next_occupied_ms(const struct wheel *wheel)
{
    for (uint64_t ahead = 1; ahead < WHEEL_SLOTS;) {
        uint64_t tick = wheel->now_tick + ahead;
        unsigned slot = (unsigned)(tick % WHEEL_SLOTS);
        uint64_t bits = wheel->occupied[slot / 64] >> slot % 64;
        if (bits)
            return (tick + (unsigned)__builtin_ctzll(bits)) * WHEEL_TICK_MS;
        ahead += 64 - slot % 64;
    }
    return WHEEL_NEVER;
}

void wheel_advance(struct wheel *wheel, uint64_t now_ms)
{
    uint64_t target = now_ms / WHEEL_TICK_MS;
    wheel->now_tick = target;
    if (now_ms < wheel->next_ms)
        return;
    uint64_t first = wheel->next_ms / WHEEL_TICK_MS;
    uint64_t last = target - first < WHEEL_SLOTS ? target : first + WHEEL_SLOTS - 1;
    for (uint64_t tick = first; tick <= last; tick++)
        expire_slot(wheel, (unsigned)(tick % WHEEL_SLOTS), now_ms);
    wheel->next_ms = next_occupied_ms(wheel);
}
