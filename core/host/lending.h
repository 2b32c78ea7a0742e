/* core/host/lending.h - what a hook sees under --check-plugins: copies that end when it does
 *
 * A lending lasts as long as one call of a hook. What is lent belongs to the hook, or to one of the
 * heads and trailers (WEIR_REQUEST_HEAD .. WEIR_INTERIM_HEAD) and ends earlier when that is
 * changed. Of each thread its own. */
#ifndef CORE_HOST_LENDING_H
#define CORE_HOST_LENDING_H

#include "abi/filter.h"

enum { LENT_TO_HOOK = WEIR_INTERIM_HEAD + 1, LENT_GROUPS };

struct loan;

struct lending {
    struct lending *before;        /* the hook that this one was called from within */
    const weir_exchange *exchange; /* NULL: it is about none */
    struct loan *loans[LENT_GROUPS];
    struct {
        weir_head *view;       /* stays at its address; NULL: not asked for */
        const weir_head *head; /* what it shows */
    } heads[2];                /* of the request and the response */
};

void lending_begin(struct lending *lending, const weir_exchange *exchange);
void lending_end(struct lending *lending);
/* The exchange whose hook runs on this thread; NULL: none. */
const weir_exchange *lending_exchange(void);

/* All inside a hook. */
void *lend_bytes(uint32_t group, const void *bytes, size_t size);
weir_string lend_string(uint32_t group, weir_string string);
const weir_head *lend_head(const weir_head *head);                     /* to the hook */
const weir_head *lend_own_head(uint32_t which, const weir_head *head); /* NULL stays NULL */
/* Of an event or a hook's argument: the struct and all it points at. */
const weir_event *lend_event(const weir_event *event);
/* Those fields were changed: what was read of them is over. */
void lending_changed(uint32_t which);

#endif
