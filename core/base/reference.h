/* core/base/reference.h - names of objects that stay harmless when the object is over
 *
 * A worker's table gives an object a slot. Its reference, 64 bits that may be kept anywhere and for
 * ever, says which worker, slot and generation; a slot's generation is never used twice, so that
 * what is left of an object that is over, and any number at all, names nothing. Making, ending and
 * resolving take constant time. Memory is that of the objects that live now, beside 16 bytes for
 * each 256 of the most that ever lived at once. Tables are their worker's thread's. */
#ifndef CORE_BASE_REFERENCE_H
#define CORE_BASE_REFERENCE_H

#include "abi/weir.h"
#include "core/base/list.h"

enum {
    REFERENCE_WORKER_BITS = 10,
    REFERENCE_SLOT_BITS = 22, /* how many may live on one worker at once */
    REFERENCE_GENERATION_BITS = 24
};

struct reference_chunk;
struct reference_place;

struct references {
    uint32_t worker; /* its index */
    uint32_t last_generation;
    struct reference_place *places; /* of each chunk of slots */
    uint32_t count, capacity;       /* of the places */
    uint32_t live;                  /* references */
    struct link with_room;          /* chunks that have a slot left */
    uint32_t empty;                 /* places without a chunk: the first of a list, from 1 */
};

/* The generations of a slot are 1 to last_generation; then it is not used any more. 0: as many as
 * there are. */
void references_init(struct references *references, uint32_t worker, uint32_t last_generation);
void references_deinit(struct references *references); /* whatever still lives */

/* `kind` tells objects of several types apart, 0..255. The value is 0 when there is no slot left.
 */
weir_reference reference_make(struct references *references, void *object, uint32_t kind);
void reference_end(struct references *references, weir_reference reference);
/* NULL: it is over, of another kind, another worker's, or no reference at all. */
void *reference_resolve(const struct references *references, weir_reference reference,
                        uint32_t kind);

/* The worker's index; of any number. [any] */
uint32_t reference_worker(weir_reference reference);
/* The same with a tag, 0..255, of whoever gives it away: tells parts of one object apart. [any] */
weir_reference reference_with_tag(weir_reference reference, uint32_t tag);
uint32_t reference_tag(weir_reference reference);

#endif
