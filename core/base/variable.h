/* core/base/variable.h - names and values that filters give one exchange
 *
 * Few and small: they live as long as the exchange, in its arena, and are found by looking at each.
 * Names are tokens and tell cases apart; values are any bytes. */
#ifndef CORE_BASE_VARIABLE_H
#define CORE_BASE_VARIABLE_H

#include "core/base/memory.h"

enum {
    VARIABLES_MOST = 64,
    VARIABLE_NAME_BYTES = 128,
    VARIABLES_BYTES = 16384 /* of all names and values together, with what was overwritten */
};

struct variable {
    weir_string name, value;
    size_t room; /* what the value's place holds */
    struct variable *next;
};

struct variables { /* zeroed: none */
    struct variable *first;
    uint32_t count, bytes;
};

const struct variable *variable_find(const struct variables *variables, weir_string name);
/* Copies both. A value that fits takes the place of the one before, so that a counter may be set as
 * often as one likes. WEIR_INVALID: the name; WEIR_TOO_MUCH: nothing was changed. */
weir_result variable_set(struct variables *variables, struct arena *arena, weir_string name,
                         weir_string value);

#endif
