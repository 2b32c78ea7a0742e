/* core/connection/head.c - a request or response head in an exchange's arena, and its fields */
#include "core/connection/head.h"

#include <string.h>

#include "core/base/string.h"

enum { FIELDS_SPARE = 4 }; /* room for what a proxy adds */

static const struct {
    weir_string name;
    enum field_id id;
} known[] = {
    {WEIR_STRING("te"), FIELD_TE},
    {WEIR_STRING("via"), FIELD_VIA},
    {WEIR_STRING("host"), FIELD_HOST},
    {WEIR_STRING("expect"), FIELD_EXPECT},
    {WEIR_STRING("trailer"), FIELD_TRAILER},
    {WEIR_STRING("upgrade"), FIELD_UPGRADE},
    {WEIR_STRING("connection"), FIELD_CONNECTION},
    {WEIR_STRING("keep-alive"), FIELD_KEEP_ALIVE},
    {WEIR_STRING("max-forwards"), FIELD_MAX_FORWARDS},
    {WEIR_STRING("content-length"), FIELD_CONTENT_LENGTH},
    {WEIR_STRING("proxy-connection"), FIELD_PROXY_CONNECTION},
    {WEIR_STRING("transfer-encoding"), FIELD_TRANSFER_ENCODING},
    {WEIR_STRING("proxy-authenticate"), FIELD_PROXY_AUTHENTICATE},
    {WEIR_STRING("proxy-authorization"), FIELD_PROXY_AUTHORIZATION},
    {WEIR_STRING("content-type"), FIELD_CONTENT_TYPE},
};

/* Length and first letter tell the known names apart; one comparison makes sure. */
static int candidate(weir_string name)
{
    char first = character_lower(name.bytes[0]);
    switch (name.length) {
    case 2:
        return 0;
    case 3:
        return 1;
    case 4:
        return 2;
    case 6:
        return 3;
    case 7:
        return first == 't' ? 4 : 5;
    case 10:
        return first == 'c' ? 6 : 7;
    case 12:
        return first == 'm' ? 8 : 14;
    case 14:
        return 9;
    case 16:
        return 10;
    case 17:
        return 11;
    case 18:
        return 12;
    case 19:
        return 13;
    default:
        return -1;
    }
}

/* Known names are lower-case letters and hyphens, and a field's name is a token: for those setting
 * bit 5 is the same as lowering. */
static bool is_known(weir_string name, weir_string lower)
{
    size_t i = 0;
    for (; i + 8 <= name.length; i += 8) {
        uint64_t some, wanted;
        memcpy(&some, name.bytes + i, 8);
        memcpy(&wanted, lower.bytes + i, 8);
        if ((some | 0x2020202020202020u) != wanted)
            return false;
    }
    while (i < name.length && (name.bytes[i] | 0x20) == lower.bytes[i])
        i++;
    return i == name.length;
}

enum field_id field_intern(weir_string name)
{
    int index = name.length ? candidate(name) : -1;
    if (index < 0 || !is_known(name, known[index].name))
        return FIELD_OTHER;
    return known[index].id;
}

bool head_is_event_stream(const struct head *head)
{
    weir_string wanted = WEIR_STRING("text/event-stream");
    int index = head_find(head, FIELD_CONTENT_TYPE, 0);
    if (index < 0 || head->fields[index].value.length < wanted.length)
        return false;
    return string_equal_nocase((weir_string){head->fields[index].value.bytes, wanted.length},
                               wanted);
}

static void sync_view(struct head *head)
{
    head->view.fields = head->fields;
    head->view.count = head->count;
}

static struct head *allocate(struct arena *arena, uint32_t capacity)
{
    struct head *head = arena_allocate(arena, sizeof *head);
    head->fields = arena_allocate(arena, capacity * sizeof *head->fields);
    head->ids = arena_allocate(arena, capacity);
    head->count = 0;
    head->capacity = (uint16_t)capacity;
    head->arena = arena;
    head->next = NULL;
    head->added = 0;
    return head;
}

struct head *head_new(struct arena *arena)
{
    struct head *head = allocate(arena, 8);
    head->view = (weir_head){.size = sizeof head->view, .content_length = -1};
    sync_view(head);
    return head;
}

/* Moves a string of the block that was copied to its place in the copy. */
static void rebase(weir_string *string, ptrdiff_t shift)
{
    string->bytes += shift;
}

static void rebase_all(struct head *head, const weir_head *from)
{
    weir_head *view = &head->view;
    const char *block = arena_copy(head->arena, from->block).bytes;
    ptrdiff_t shift = block - from->block.bytes;
    weir_string *strings[] = {&view->version, &view->method, &view->scheme,  &view->authority,
                              &view->path,    &view->reason, &view->protocol};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        if (strings[i]->bytes >= from->block.bytes &&
            strings[i]->bytes < from->block.bytes + from->block.length)
            rebase(strings[i], shift);
    for (uint32_t i = 0; i < from->count; i++) {
        head->fields[i] = from->fields[i];
        rebase(&head->fields[i].name, shift);
        rebase(&head->fields[i].value, shift);
    }
    view->block.bytes = block;
}

static void copy_each(struct head *head, const weir_head *from)
{
    weir_head *view = &head->view;
    weir_string *strings[] = {&view->version, &view->method, &view->scheme,  &view->authority,
                              &view->path,    &view->reason, &view->protocol};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        *strings[i] = arena_copy(head->arena, *strings[i]);
    for (uint32_t i = 0; i < from->count; i++) {
        head->fields[i].name = arena_copy(head->arena, from->fields[i].name);
        head->fields[i].value = arena_copy(head->arena, from->fields[i].value);
    }
    view->block = (weir_string){0};
}

struct head *head_copy(struct arena *arena, const weir_head *from)
{
    struct head *head = allocate(arena, from->count + FIELDS_SPARE);
    head->view = *from;
    if (from->block.length)
        rebase_all(head, from);
    else
        copy_each(head, from);
    head->count = from->count;
    for (uint32_t i = 0; i < head->count; i++)
        head->ids[i] = (uint8_t)field_intern(head->fields[i].name);
    sync_view(head);
    return head;
}

static void reserve(struct head *head)
{
    if (head->count < head->capacity)
        return;
    uint32_t capacity = head->capacity * 2u;
    weir_field *fields = arena_allocate(head->arena, capacity * sizeof *fields);
    uint8_t *ids = arena_allocate(head->arena, capacity);
    memcpy(fields, head->fields, head->count * sizeof *fields);
    memcpy(ids, head->ids, head->count);
    head->fields = fields;
    head->ids = ids;
    head->capacity = (uint16_t)capacity;
}

void head_append(struct head *head, weir_string name, weir_string value)
{
    reserve(head);
    head->fields[head->count] = (weir_field){name, value};
    head->ids[head->count] = (uint8_t)field_intern(name);
    head->view.block = (weir_string){0};
    head->count++;
    sync_view(head);
}

void head_prepend(struct head *head, weir_string name, weir_string value)
{
    head_append(head, name, value);
    weir_field field = head->fields[head->count - 1];
    uint8_t id = head->ids[head->count - 1];
    memmove(head->fields + 1, head->fields, (head->count - 1) * sizeof field);
    memmove(head->ids + 1, head->ids, head->count - 1);
    head->fields[0] = field;
    head->ids[0] = id;
}

void head_set_value(struct head *head, uint32_t index, weir_string value)
{
    head->fields[index].value = value;
    head->view.block = (weir_string){0};
}

void head_compact(struct head *head)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < head->count; i++) {
        if (head->ids[i] == FIELD_REMOVED)
            continue;
        if (kept != i) {
            head->fields[kept] = head->fields[i];
            head->ids[kept] = head->ids[i];
        }
        kept++;
    }
    head->count = kept;
    sync_view(head);
}
