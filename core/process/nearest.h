/* core/process/nearest.h - "did you mean": the known word that is closest to a mistyped one
 *
 *     struct nearest nearest = nearest_to(word);
 *     for (each known word)
 *         nearest_consider(&nearest, known);
 *     nearest.best is it, or NULL when none is close enough to be meant. */
#ifndef CORE_PROCESS_NEAREST_H
#define CORE_PROCESS_NEAREST_H

#include <stdint.h>

#include "abi/weir.h"

enum { NEAREST_WORD_BYTES = 32 /* longer words have no nearest one */, NEAREST_HINT_BYTES = 64 };

struct nearest {
    weir_string word;
    const char *best;  /* as passed to nearest_consider() */
    uint32_t distance; /* what a better one must fall below */
};

struct nearest nearest_to(weir_string word);
void nearest_consider(struct nearest *nearest, const char *known);
/* What ends a message: "; did you mean \"listen\"?", or "". Returns `text`. */
const char *nearest_hint(const struct nearest *nearest, char text[NEAREST_HINT_BYTES]);

#endif
