/* plugins/headers/template.h - values with placeholders, such as "{client}"
 *
 * {{ and }} are braces. What a placeholder stands for is empty when there is none. */
#ifndef HEADERS_TEMPLATE_H
#define HEADERS_TEMPLATE_H

#include "plugins/headers/headers.h"

struct template_part;

struct template
{
    struct template_part *parts;
    uint32_t count;
};

/* [main] Of the section's text; a mistake is reported: less than 0. */
weir_result template_make(const weir_section *section, struct template *template);
void template_free(struct template *template);

/* The value as it is now, in `to`, which has VALUE_BYTES. WEIR_TOO_MUCH: it does not fit. */
weir_result template_fill(const struct template *template, weir_exchange *exchange, char *to,
                          weir_string *value);

#endif
