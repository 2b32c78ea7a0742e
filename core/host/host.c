/* core/host/host.c - the tables that plugins get from weir */
#include "core/host/host.h"

#include <assert.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/connection/connection.h"
#include "core/exchange/filter_host.h"
#include "core/host/asynchronous.h"
#include "core/host/dictionary.h"
#include "core/host/plugin_metrics.h"

enum { TABLES_MOST = 16 };

static struct {
    const char *name;
    const void *table;
} tables[TABLES_MOST] = {
    {"weir.protocol/0", &connection_protocol_host},
    {"weir.filter/0", &exchange_filter_host},
    {"weir.asynchronous/0", &asynchronous_host},
    {"weir.dictionary/0", &dictionary_host},
    {"weir.metrics/0", &metrics_host},
};

void host_provide(const char *name, const void *table)
{
    uint32_t at = 0;
    while (tables[at].name && strcmp(tables[at].name, name) != 0)
        at++;
    assert(at < TABLES_MOST - 1);
    tables[at].name = name;
    tables[at].table = table;
}

static const void *host_query(const weir_host *asking, const char *name)
{
    (void)asking;
    for (uint32_t i = 0; tables[i].name; i++)
        if (!strcmp(tables[i].name, name))
            return tables[i].table;
    return NULL;
}

/* --- buffers */

static weir_buffer *host_buffer_new(size_t capacity, uint8_t **bytes)
{
    weir_buffer *buffer = buffer_new(capacity);
    *bytes = buffer->bytes;
    return buffer;
}

static void host_buffer_reference(weir_buffer *buffer)
{
    buffer_reference(buffer);
}

static void host_buffer_release(weir_buffer *buffer)
{
    buffer_release(buffer);
}

/* --- the first table */

static weir_host host = {
    .size = sizeof host,
    .abi_major = WEIR_ABI_MAJOR,
    .abi_minor = WEIR_ABI_MINOR,
    .query = host_query,
    .buffer_new = host_buffer_new,
    .buffer_reference = host_buffer_reference,
    .buffer_release = host_buffer_release,
    .tracing = &trace_on,
    .trace = trace_visit,
};

void host_provide_buffers(weir_buffer *(*new)(size_t capacity, uint8_t **bytes),
                          void (*reference)(weir_buffer *buffer),
                          void (*release)(weir_buffer *buffer))
{
    host.buffer_new = new;
    host.buffer_reference = reference;
    host.buffer_release = release;
}

const weir_host *host_table(const char *version)
{
    host.version = version;
    return &host;
}
