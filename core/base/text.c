/* core/base/text.c - text of any length that grows at its end */
#include "core/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/memory.h"

enum { LEAST_BYTES = 256, ESCAPED_MOST = 6 /* "\u0000" for one byte */ };

static char *room_for(struct text *text, size_t bytes)
{
    size_t capacity = text->capacity ? text->capacity : LEAST_BYTES;
    while (capacity - text->length < bytes)
        capacity *= 2;
    if (capacity != text->capacity)
        text->bytes = memory_resize(text->bytes, capacity);
    text->capacity = capacity;
    return text->bytes + text->length;
}

void text_add(struct text *text, weir_string string)
{
    if (!string.length)
        return;
    memcpy(room_for(text, string.length), string.bytes, string.length);
    text->length += string.length;
}

void text_format(struct text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length > 0) {
        vsnprintf(room_for(text, (size_t)length + 1), (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void text_escape(struct text *text, weir_string value, enum escape_style style)
{
    size_t most = value.length * ESCAPED_MOST;
    char *at = room_for(text, most);
    escape_put(&at, text->bytes + text->length + most, value, style);
    text->length = (size_t)(at - text->bytes);
}

void text_deinit(struct text *text)
{
    memory_free(text->bytes);
    memset(text, 0, sizeof *text);
}
