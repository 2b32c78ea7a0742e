/* core/base/text.h - text of any length that grows at its end */
#ifndef CORE_BASE_TEXT_H
#define CORE_BASE_TEXT_H

#include <stddef.h>

#include "abi/weir.h"
#include "core/base/escape.h"

/* Zeroed memory is an empty one. [any] */
struct text {
    char *bytes; /* not NUL-terminated; NULL while nothing was added */
    size_t length, capacity;
};

void text_add(struct text *text, weir_string string);
void text_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A value within a line or within JSON, without what surrounds it. */
void text_escape(struct text *text, weir_string value, enum escape_style style);
void text_deinit(struct text *text); /* empty again */

static inline weir_string text_string(const struct text *text)
{
    return (weir_string){text->bytes, text->length};
}

#endif
