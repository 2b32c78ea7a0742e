/* core/host/host.h - the tables that plugins get from weir */
#ifndef CORE_HOST_HOST_H
#define CORE_HOST_HOST_H

#include "abi/weir.h"

/* `version` is weir's, static. The table lives as long as the process. */
const weir_host *host_table(const char *version);

/* [main] At start, before a plugin asks: query(name) finds that table, which lives as long as the
 * process. For tables of the rooms above. */
void host_provide(const char *name, const void *table);
/* [main] Likewise, before host_table(): what plugins call for buffers. */
void host_provide_buffers(weir_buffer *(*new)(size_t capacity, uint8_t **bytes),
                          void (*reference)(weir_buffer *buffer),
                          void (*release)(weir_buffer *buffer));

#endif
