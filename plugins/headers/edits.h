/* plugins/headers/edits.h - what is done to the fields of one head
 *
 * In this order, however it is written: remove, rewrite, set, default, add. */
#ifndef HEADERS_EDITS_H
#define HEADERS_EDITS_H

#include "plugins/headers/headers.h"

struct edit;

struct edits {
    struct edit *list;
    uint32_t count;
};

/* [main] Of the section `request` or `response`, which may be NULL; mistakes are reported: less
 * than 0. To be freed in any case. */
weir_result edits_make(const weir_section *section, struct edits *edits);
void edits_free(struct edits *edits);

/* Less than 0: the head has less room than all of it takes, or a pattern took too long. */
weir_result edits_apply(const struct edits *edits, weir_exchange *exchange, uint32_t which);

#endif
