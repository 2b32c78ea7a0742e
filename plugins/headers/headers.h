/* plugins/headers/headers.h - what the parts of this plugin share: the host's tables, and memory
 *
 * Set by load(), before anything else runs. */
#ifndef HEADERS_HEADERS_H
#define HEADERS_HEADERS_H

#include "abi/configuration.h"
#include "abi/filter.h"

enum { VALUE_BYTES = 16384 }; /* the longest value that is made */

extern const weir_filter_host *headers_filter;
extern const weir_configuration_host *headers_configuration;

/* Zeroed; out of memory aborts. */
void *headers_allocate(size_t count, size_t size);
/* With a NUL behind it. */
char *headers_copy(weir_string text);

/* Reports the mistake; returns WEIR_INVALID. */
weir_result headers_mistake(const weir_section *section, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
