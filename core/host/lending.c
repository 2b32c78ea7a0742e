/* core/host/lending.c - what a hook sees under --check-plugins: copies that end when it does */
#include "core/host/lending.h"

#include <string.h>

#include "core/base/memory.h"
#include "core/host/retired.h"

struct loan {
    struct loan *next;
    size_t size;
    char bytes[];
};

static _Thread_local struct lending *current;

void lending_begin(struct lending *lending, const weir_exchange *exchange)
{
    *lending = (struct lending){.before = current, .exchange = exchange};
    current = lending;
}

static void end_group(struct lending *lending, uint32_t group)
{
    for (struct loan *next, *loan = lending->loans[group]; loan; loan = next) {
        next = loan->next;
        retire(loan, loan->bytes, loan->size);
    }
    lending->loans[group] = NULL;
}

void lending_end(struct lending *lending)
{
    current = lending->before;
    for (uint32_t group = 0; group < LENT_GROUPS; group++)
        end_group(lending, group);
}

const weir_exchange *lending_exchange(void)
{
    return current ? current->exchange : NULL;
}

void *lend_bytes(uint32_t group, const void *bytes, size_t size)
{
    struct loan *loan = memory_allocate(sizeof *loan + size);
    loan->next = current->loans[group];
    loan->size = size;
    current->loans[group] = loan;
    if (size)
        memcpy(loan->bytes, bytes, size);
    return loan->bytes;
}

weir_string lend_string(uint32_t group, weir_string string)
{
    return (weir_string){lend_bytes(group, string.bytes, string.length), string.length};
}

/* --- heads */

static const weir_field *lend_fields(uint32_t group, const weir_field *fields, uint32_t count)
{
    weir_field *copy = lend_bytes(group, fields, count * sizeof *fields);
    for (uint32_t i = 0; i < count; i++) {
        copy[i].name = lend_string(group, fields[i].name);
        copy[i].value = lend_string(group, fields[i].value);
    }
    return copy;
}

static void fill(weir_head *view, uint32_t group, const weir_head *head)
{
    *view = *head;
    weir_string *const strings[] = {&view->version, &view->method, &view->scheme,  &view->authority,
                                    &view->path,    &view->reason, &view->protocol};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        *strings[i] = lend_string(group, *strings[i]);
    view->fields = lend_fields(group, head->fields, head->count);
    view->block = (weir_string){0};
}

const weir_head *lend_head(const weir_head *head)
{
    weir_head *view = lend_bytes(LENT_TO_HOOK, head, sizeof *head);
    fill(view, LENT_TO_HOOK, head);
    return view;
}

const weir_head *lend_own_head(uint32_t which, const weir_head *head)
{
    if (!head)
        return NULL;
    if (!current->heads[which].view) {
        current->heads[which].view = lend_bytes(LENT_TO_HOOK, head, sizeof *head);
        fill(current->heads[which].view, which, head);
    }
    current->heads[which].head = head;
    return current->heads[which].view;
}

void lending_changed(uint32_t which)
{
    end_group(current, which);
    if (which <= WEIR_RESPONSE_HEAD && current->heads[which].view)
        fill(current->heads[which].view, which, current->heads[which].head);
}

const weir_event *lend_event(const weir_event *event)
{
    weir_event *copy = lend_bytes(LENT_TO_HOOK, event, sizeof *event);
    copy->body = lend_string(LENT_TO_HOOK, event->body);
    if (event->head)
        copy->head = lend_head(event->head);
    return copy;
}
