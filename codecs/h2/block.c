/* codecs/h2/block.c - the fields of one header block, collected until it is whole */
#include "codecs/h2/block.h"

#include <string.h>

#include "codecs/string.h"

enum { TEXT_FIRST = 4096, FIELDS_FIRST = 32, FIELD_OVERHEAD = 32 /* RFC 9113 6.5.2 */ };

static weir_field *new_fields(const weir_host *host, struct h2_block *block, uint32_t count)
{
    uint8_t *bytes;
    block->fields_owner = host->buffer_new(count * sizeof(weir_field), &bytes);
    block->fields_room = count;
    return (weir_field *)(void *)bytes;
}

void h2_block_begin(const weir_host *host, struct h2_block *block)
{
    uint8_t *bytes;
    h2_block_clear(host, block);
    block->text_owner = host->buffer_new(TEXT_FIRST, &bytes);
    block->text = (char *)bytes;
    block->room = TEXT_FIRST;
    block->fields = new_fields(host, block, FIELDS_FIRST);
}

void h2_block_clear(const weir_host *host, struct h2_block *block)
{
    host->buffer_release(block->text_owner);
    host->buffer_release(block->fields_owner);
    *block = (struct h2_block){0};
}

/* --- growth */

static void move(weir_string *string, const char *from, const char *to)
{
    if (string->bytes)
        string->bytes = to + (string->bytes - from);
}

/* What points into the text moves with it. */
static void resize_text(const weir_host *host, struct h2_block *block, size_t room)
{
    uint8_t *bytes;
    const char *before = block->text;
    block->room = room;
    weir_buffer *owner = host->buffer_new(room, &bytes);
    memcpy(bytes, before, block->used);
    block->text = (char *)bytes;
    weir_string *pseudo[] = {&block->method, &block->scheme,   &block->authority,
                             &block->path,   &block->protocol, &block->status};
    for (size_t i = 0; i < sizeof pseudo / sizeof *pseudo; i++)
        move(pseudo[i], before, block->text);
    for (uint32_t i = 0; i < block->count; i++) {
        move(&block->fields[i].name, before, block->text);
        move(&block->fields[i].value, before, block->text);
    }
    host->buffer_release(block->text_owner);
    block->text_owner = owner;
}

static void resize_fields(const weir_host *host, struct h2_block *block, uint32_t room)
{
    weir_buffer *owner = block->fields_owner;
    const weir_field *before = block->fields;
    block->fields = new_fields(host, block, room);
    memcpy(block->fields, before, block->count * sizeof *before);
    host->buffer_release(owner);
}

/* Room for so many bytes of text behind what is there. */
static char *reserve(const weir_host *host, struct h2_block *block, size_t bytes)
{
    size_t room = block->room;
    while (room - block->used < bytes)
        room *= 2;
    if (room != block->room)
        resize_text(host, block, room);
    return block->text + block->used;
}

void h2_block_settle(const weir_host *host, struct h2_block *block)
{
    enum { TEXT_LEAST = 64, FIELDS_LEAST = 4 };
    size_t room = block->used > TEXT_LEAST ? block->used : TEXT_LEAST;
    uint32_t fields = block->count > FIELDS_LEAST ? block->count : FIELDS_LEAST;
    if (room < block->room / 2)
        resize_text(host, block, room);
    if (fields < block->fields_room / 2)
        resize_fields(host, block, fields);
}

/* --- fields */

static weir_string put(struct h2_block *block, weir_string string, const char *behind)
{
    weir_string copy = {block->text + block->used, string.length};
    if (string.length)
        memcpy(block->text + block->used, string.bytes, string.length);
    memcpy(block->text + block->used + string.length, behind, 2);
    block->used += string.length + 2;
    return copy;
}

static weir_string *pseudo_of(struct h2_block *block, weir_string name)
{
    if (string_is(name, WEIR_STRING(":method")))
        return &block->method;
    if (string_is(name, WEIR_STRING(":scheme")))
        return &block->scheme;
    if (string_is(name, WEIR_STRING(":authority")))
        return &block->authority;
    if (string_is(name, WEIR_STRING(":path")))
        return &block->path;
    if (string_is(name, WEIR_STRING(":protocol")))
        return &block->protocol;
    return string_is(name, WEIR_STRING(":status")) ? &block->status : NULL;
}

/* The target has a limit of its own, as it has in HTTP/1.1, and does not count among the fields. */
static weir_result beyond(const weir_limits *limits, struct h2_block *block, weir_string name,
                          weir_string value)
{
    if (name.length && name.bytes[0] == ':')
        return value.length > limits->request_line_bytes ? WEIR_TARGET_TOO_LONG : WEIR_OK;
    block->bytes += name.length + value.length + FIELD_OVERHEAD;
    bool too_many = block->count >= limits->header_fields + block->crumbs;
    return too_many || block->bytes > limits->header_bytes ? WEIR_HEAD_TOO_LARGE : WEIR_OK;
}

static void add_field(const weir_host *host, struct h2_block *block, weir_string name,
                      weir_string value)
{
    if (block->count == block->fields_room)
        resize_fields(host, block, block->fields_room * 4);
    weir_field *field = &block->fields[block->count++];
    field->name = put(block, name, ": ");
    field->value = put(block, value, "\r\n");
    block->crumbs += string_is(name, WEIR_STRING("cookie"));
}

void h2_block_add(const weir_host *host, const weir_limits *limits, struct h2_block *block,
                  weir_string name, weir_string value)
{
    if (block->error == WEIR_OK)
        block->error = beyond(limits, block, name, value);
    else
        block->bytes += name.length + value.length + FIELD_OVERHEAD;
    if (block->error != WEIR_OK)
        return;
    reserve(host, block, name.length + value.length + 4);
    weir_string *pseudo = name.length && name.bytes[0] == ':' ? pseudo_of(block, name) : NULL;
    if (pseudo)
        *pseudo = put(block, value, "\r\n");
    else
        add_field(host, block, name, value);
}

const weir_field *h2_block_find(const struct h2_block *block, weir_string name)
{
    for (uint32_t i = 0; i < block->count; i++)
        if (string_is(block->fields[i].name, name))
            return &block->fields[i];
    return NULL;
}

void h2_block_remove(struct h2_block *block, const weir_field *field)
{
    size_t at = (size_t)(field - block->fields);
    memmove(&block->fields[at], &block->fields[at + 1],
            (--block->count - at) * sizeof *block->fields);
}

static size_t cookie_bytes(const struct h2_block *block)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < block->count; i++)
        if (string_is(block->fields[i].name, WEIR_STRING("cookie")))
            bytes += block->fields[i].value.length + 2;
    return bytes;
}

void h2_block_join_cookies(const weir_host *host, struct h2_block *block)
{
    weir_field *first = NULL;
    uint32_t kept = 0;
    if (block->crumbs < 2)
        return;
    reserve(host, block, cookie_bytes(block));
    char *start = block->text + block->used;
    for (uint32_t i = 0; i < block->count; i++) {
        weir_field *field = &block->fields[i];
        if (!string_is(field->name, WEIR_STRING("cookie"))) {
            block->fields[kept++] = *field;
            continue;
        }
        put(block, field->value, "; ");
        if (!first) {
            first = &block->fields[kept++];
            *first = *field;
        }
    }
    block->count = kept;
    first->value = (weir_string){start, (size_t)(block->text + block->used - start) - 2};
    block->crumbs = 1;
}
