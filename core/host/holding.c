/* core/host/holding.c - the buffers that plugins hold, under --check-plugins */
#include "core/host/holding.h"

#include <stdio.h>
#include <string.h>

#include "core/base/breadcrumb.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/host/complaint.h"
#include "core/host/retired.h"

enum { PLACES = 256, NAME_BYTES = 64 };

/* One buffer that a plugin holds or is lent. */
struct holding {
    struct holding *next;
    weir_buffer *buffer;
    uint32_t references;     /* a plugin's */
    bool lent;               /* and one more, which ends with the hook */
    char plugin[NAME_BYTES]; /* a copy: it may be gone before its buffers are */
};

static _Thread_local struct holding *places[PLACES];

static struct holding **place_of(const weir_buffer *buffer)
{
    uintptr_t number = (uintptr_t)buffer;
    struct holding **at = &places[(number >> 4 ^ number >> 12) % PLACES];
    while (*at && (*at)->buffer != buffer)
        at = &(*at)->next;
    return at;
}

static struct holding *begin(weir_buffer *buffer)
{
    struct holding *holding = memory_zeroed(sizeof *holding), **at = place_of(buffer);
    holding->buffer = buffer;
    snprintf(holding->plugin, sizeof holding->plugin, "%s",
             breadcrumb.plugin ? breadcrumb.plugin : "?");
    *at = holding;
    return holding;
}

/* One reference less; nobody looks at a buffer without any. */
static void let_go(weir_buffer *buffer)
{
    if (buffer->references > 1)
        buffer_release(buffer);
    else
        retire(buffer, buffer->bytes, buffer->capacity);
}

static void end_if_unused(struct holding **at)
{
    struct holding *holding = *at;
    if (holding->references || holding->lent)
        return;
    *at = holding->next;
    memory_free(holding);
}

/* --- what plugins call. What runs without a breadcrumb is a protocol: it gets buffers in ways that
 * are not watched */

weir_buffer *holding_buffer_new(size_t capacity, uint8_t **bytes)
{
    weir_buffer *buffer = buffer_new(capacity);
    *bytes = buffer->bytes;
    if (breadcrumb.plugin)
        begin(buffer)->references = 1;
    return buffer;
}

void holding_buffer_reference(weir_buffer *buffer)
{
    struct holding *holding = *place_of(buffer);
    if (!buffer)
        return;
    if (!holding && breadcrumb.plugin) {
        complain("buffer_reference() of %p, which is no buffer that it was lent or holds",
                 (void *)buffer);
        return;
    }
    if (holding)
        holding->references++;
    buffer_reference(buffer);
}

void holding_buffer_release(weir_buffer *buffer)
{
    struct holding **at = place_of(buffer);
    if (!buffer)
        return;
    if (!*at && !breadcrumb.plugin) {
        buffer_release(buffer);
        return;
    }
    if (!*at || !(*at)->references) {
        complain("buffer_release() of %p, to which it has no reference", (void *)buffer);
        return;
    }
    (*at)->references--;
    end_if_unused(at);
    let_go(buffer);
}

/* --- lending */

static weir_buffer *copy_of(weir_slice slice)
{
    weir_buffer *buffer = memory_allocate(sizeof *buffer + slice.length); /* not a byte more */
    buffer->capacity = (uint32_t)slice.length;
    buffer->references = 1;
    memcpy(buffer->bytes, slice.bytes, slice.length);
    return buffer;
}

weir_slice holding_lend(weir_slice slice)
{
    if (!slice.owner)
        return slice;
    weir_buffer *buffer = copy_of(slice);
    begin(buffer)->lent = true;
    return (weir_slice){buffer->bytes, slice.length, buffer};
}

void holding_lent_back(weir_buffer *buffer)
{
    struct holding **at = place_of(buffer);
    (*at)->lent = false;
    end_if_unused(at);
    let_go(buffer);
}

static bool lies_within(const weir_slice *slice)
{
    const weir_buffer *owner = slice->owner;
    return slice->bytes >= owner->bytes && slice->length <= owner->capacity &&
           slice->bytes <= owner->bytes + owner->capacity - slice->length;
}

bool holding_may_give(const weir_slice *slices, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!slices[i].owner)
            continue;
        if (!*place_of(slices[i].owner)) {
            complain("a slice of buffer %p, which it was not lent and does not hold",
                     (void *)slices[i].owner);
            return false;
        }
        if (!lies_within(&slices[i])) {
            complain("a slice that is not within its buffer %p", (void *)slices[i].owner);
            return false;
        }
    }
    return true;
}

/* --- the end */

static void give_back(struct holding *holding)
{
    for (; holding->references; holding->references--)
        buffer_release(holding->buffer);
    memory_free(holding);
}

/* Takes all of that plugin's out of one place. */
static void collect(struct holding **at, const char *plugin, struct holding **found)
{
    while (*at) {
        struct holding *holding = *at;
        if (strcmp(holding->plugin, plugin) != 0) {
            at = &holding->next;
            continue;
        }
        *at = holding->next;
        holding->next = *found;
        *found = holding;
    }
}

static void settle(uint32_t worker, const char *name)
{
    char plugin[NAME_BYTES];
    struct holding *found = NULL;
    uint64_t count = 0, references = 0, bytes = 0;
    memcpy(plugin, name, sizeof plugin);
    for (uint32_t i = 0; i < PLACES; i++)
        collect(&places[i], plugin, &found);
    for (struct holding *next; found; found = next) {
        next = found->next;
        count++;
        references += found->references;
        bytes += found->buffer->capacity;
        give_back(found);
    }
    log_write(LOG_ERROR,
              "plugin %s, worker %u: %llu buffers of %llu bytes were never given back, with %llu "
              "references",
              plugin, worker, (unsigned long long)count, (unsigned long long)bytes,
              (unsigned long long)references);
}

void holding_end(uint32_t worker)
{
    for (uint32_t i = 0; i < PLACES; i++)
        while (places[i])
            settle(worker, places[i]->plugin);
    retired_free();
}
