/* core/connection/head.h - a request or response head in an exchange's arena, and its fields
 *
 * Copied once from what the protocol delivered; well-known names are interned to small ids, so that
 * looking for one compares bytes of an array. Order, case and duplicates are kept. */
#ifndef CORE_CONNECTION_HEAD_H
#define CORE_CONNECTION_HEAD_H

#include <stdbool.h>

#include "abi/weir.h"
#include "core/base/memory.h"

enum field_id {
    FIELD_OTHER,
    FIELD_CONNECTION,
    FIELD_CONTENT_LENGTH,
    FIELD_CONTENT_TYPE,
    FIELD_EXPECT,
    FIELD_HOST,
    FIELD_KEEP_ALIVE,
    FIELD_MAX_FORWARDS,
    FIELD_PROXY_AUTHENTICATE,
    FIELD_PROXY_AUTHORIZATION,
    FIELD_PROXY_CONNECTION,
    FIELD_TE,
    FIELD_TRAILER,
    FIELD_TRANSFER_ENCODING,
    FIELD_UPGRADE,
    FIELD_VIA,
    FIELD_REMOVED, /* only between head_remove() and head_compact() */
    FIELD_IDS
};

struct head {
    weir_head view; /* what protocols and filters see; fields and count kept in step */
    weir_field *fields;
    uint8_t *ids; /* enum field_id, one per field */
    uint16_t count, capacity;
    uint32_t added; /* bytes that filters put there */
    struct arena *arena;
    struct head *next; /* interim heads waiting */
};

enum field_id field_intern(weir_string name);
bool head_is_event_stream(const struct head *head); /* a response of type text/event-stream */

struct head *head_copy(struct arena *arena, const weir_head *head);
/* Trailers and heads made by weir begin empty. */
struct head *head_new(struct arena *arena);
/* Strings are borrowed; the head is no single block of bytes any more. */
void head_append(struct head *head, weir_string name, weir_string value);
void head_prepend(struct head *head, weir_string name, weir_string value);

/* The next field with that id from index `from` on; -1: none. */
static inline int head_find(const struct head *head, enum field_id id, uint32_t from)
{
    for (uint32_t i = from; i < head->count; i++)
        if (head->ids[i] == id)
            return (int)i;
    return -1;
}

void head_set_value(struct head *head, uint32_t index, weir_string value); /* borrowed bytes */
/* Marks; the indexes of the others stay valid until head_compact() closes the gaps. */
static inline void head_remove(struct head *head, uint32_t index)
{
    head->ids[index] = FIELD_REMOVED;
}
void head_compact(struct head *head);

#endif
