/* core/base/reference.c - names of objects that stay harmless when the object is over
 *
 * value: tag, worker, slot, generation, from the top. Slots come in chunks. A chunk that nothing
 * lives in is freed, unless it is the only one with room; its place remembers the highest
 * generation that any of its slots had, and the next chunk there goes on from that. */
#include "core/base/reference.h"

#include <stdbool.h>

#include "core/base/memory.h"

enum {
    CHUNK_SLOTS = 256,
    PLACES_MOST = (1 << REFERENCE_SLOT_BITS) / CHUNK_SLOTS,
    GENERATIONS = (1 << REFERENCE_GENERATION_BITS) - 1,
    WORKER_SHIFT = REFERENCE_SLOT_BITS + REFERENCE_GENERATION_BITS,
    TAG_SHIFT = WORKER_SHIFT + REFERENCE_WORKER_BITS
};

struct slot {
    void *object;        /* NULL: free */
    uint32_t generation; /* of the object, or of the last one */
    uint16_t kind;
    uint16_t next_free; /* from 1; 0: none */
};

struct reference_chunk {
    struct link link; /* in with_room, or alone */
    uint32_t place;
    uint16_t live, first_free;
    struct slot slots[CHUNK_SLOTS];
};

struct reference_place {
    struct reference_chunk *chunk; /* NULL: all its slots are free */
    uint32_t generation;           /* no slot without a chunk had a higher one */
    uint32_t next_empty;           /* from 1 */
};

void references_init(struct references *references, uint32_t worker, uint32_t last_generation)
{
    *references = (struct references){
        .worker = worker,
        .last_generation = last_generation ? last_generation : GENERATIONS,
    };
    link_init(&references->with_room);
}

void references_deinit(struct references *references)
{
    for (uint32_t i = 0; i < references->count; i++)
        memory_free(references->places[i].chunk);
    memory_free(references->places);
    references_init(references, references->worker, references->last_generation);
}

/* --- chunks */

static bool add_place(struct references *references)
{
    if (references->count == PLACES_MOST)
        return false;
    if (references->count == references->capacity) {
        references->capacity = references->capacity ? references->capacity * 2 : 4;
        references->places = memory_resize(references->places,
                                           references->capacity * sizeof(struct reference_place));
    }
    references->places[references->count++] = (struct reference_place){0};
    references->empty = references->count;
    return true;
}

static struct reference_chunk *chunk_new(struct references *references)
{
    if (!references->empty && !add_place(references))
        return NULL;
    uint32_t index = references->empty - 1;
    struct reference_place *place = &references->places[index];
    struct reference_chunk *chunk = memory_zeroed(sizeof *chunk);
    references->empty = place->next_empty;
    place->chunk = chunk;
    chunk->place = index;
    chunk->first_free = 1;
    for (uint16_t i = 0; i < CHUNK_SLOTS; i++) {
        chunk->slots[i].generation = place->generation;
        chunk->slots[i].next_free = i + 1 < CHUNK_SLOTS ? (uint16_t)(i + 2) : 0;
    }
    link_insert(&references->with_room, &chunk->link);
    return chunk;
}

static void chunk_free(struct references *references, struct reference_chunk *chunk)
{
    struct reference_place *place = &references->places[chunk->place];
    for (uint32_t i = 0; i < CHUNK_SLOTS; i++)
        if (chunk->slots[i].generation > place->generation)
            place->generation = chunk->slots[i].generation;
    place->chunk = NULL;
    if (place->generation < references->last_generation) {
        place->next_empty = references->empty;
        references->empty = chunk->place + 1;
    }
    link_remove(&chunk->link);
    memory_free(chunk);
}

/* Frees it when nothing lives in it, unless no other has room: the next one would be made at once.
 */
static void consider_freeing(struct references *references, struct reference_chunk *chunk)
{
    bool only = references->with_room.next == references->with_room.previous;
    if (!chunk->live && (!only || !chunk->first_free))
        chunk_free(references, chunk);
}

/* --- references */

static struct slot *find_slot(const struct references *references, weir_reference reference)
{
    uint32_t number = (uint32_t)(reference.value >> REFERENCE_GENERATION_BITS) &
                      ((1u << REFERENCE_SLOT_BITS) - 1);
    uint32_t generation = (uint32_t)reference.value & GENERATIONS, place = number / CHUNK_SLOTS;
    if (reference_worker(reference) != references->worker || place >= references->count ||
        !references->places[place].chunk)
        return NULL;
    struct slot *slot = &references->places[place].chunk->slots[number % CHUNK_SLOTS];
    return slot->object && slot->generation == generation ? slot : NULL;
}

weir_reference reference_make(struct references *references, void *object, uint32_t kind)
{
    struct reference_chunk *chunk =
        link_alone(&references->with_room)
            ? chunk_new(references)
            : CONTAINER(references->with_room.next, struct reference_chunk, link);
    if (!chunk)
        return (weir_reference){0};
    uint32_t index = chunk->first_free - 1u;
    struct slot *slot = &chunk->slots[index];
    chunk->first_free = slot->next_free;
    if (!chunk->first_free)
        link_remove(&chunk->link);
    slot->object = object;
    slot->kind = (uint16_t)kind;
    slot->generation++;
    chunk->live++;
    references->live++;
    return (weir_reference){(uint64_t)references->worker << WORKER_SHIFT |
                            (uint64_t)(chunk->place * CHUNK_SLOTS + index)
                                << REFERENCE_GENERATION_BITS |
                            slot->generation};
}

/* A slot whose generations are used up stays out of the list of free ones. */
void reference_end(struct references *references, weir_reference reference)
{
    struct slot *slot = find_slot(references, reference);
    if (!slot)
        return;
    uint32_t number = (uint32_t)(reference.value >> REFERENCE_GENERATION_BITS) &
                      ((1u << REFERENCE_SLOT_BITS) - 1);
    struct reference_chunk *chunk = references->places[number / CHUNK_SLOTS].chunk;
    slot->object = NULL;
    if (slot->generation < references->last_generation) {
        if (!chunk->first_free)
            link_insert(&references->with_room, &chunk->link);
        slot->next_free = chunk->first_free;
        chunk->first_free = (uint16_t)(number % CHUNK_SLOTS + 1);
    }
    chunk->live--;
    references->live--;
    consider_freeing(references, chunk);
}

void *reference_resolve(const struct references *references, weir_reference reference,
                        uint32_t kind)
{
    const struct slot *slot = find_slot(references, reference);
    return slot && slot->kind == kind ? slot->object : NULL;
}

uint32_t reference_worker(weir_reference reference)
{
    return (uint32_t)(reference.value >> WORKER_SHIFT) & ((1u << REFERENCE_WORKER_BITS) - 1);
}

weir_reference reference_with_tag(weir_reference reference, uint32_t tag)
{
    uint64_t rest = reference.value & ((1ull << TAG_SHIFT) - 1);
    return (weir_reference){rest | (uint64_t)tag << TAG_SHIFT};
}

uint32_t reference_tag(weir_reference reference)
{
    return (uint32_t)(reference.value >> TAG_SHIFT);
}
