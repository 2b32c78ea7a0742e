/* core/base/list.h - intrusive doubly linked list; an unlinked link points to itself */
#ifndef CORE_BASE_LIST_H
#define CORE_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct link {
    struct link *next, *previous;
};

/* The object that `pointer` is the `member` of. */
#define CONTAINER(pointer, type, member)                                                           \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static inline void link_init(struct link *link)
{
    link->next = link->previous = link;
}

static inline bool link_alone(const struct link *link)
{
    return link->next == link;
}

/* Inserts `link` before `where`: at the end when `where` is the list's head. */
static inline void link_insert(struct link *where, struct link *link)
{
    link->next = where;
    link->previous = where->previous;
    where->previous->next = link;
    where->previous = link;
}

static inline void link_remove(struct link *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    link_init(link);
}

#endif
