/* tests/fuzz/config.c - any bytes as a configuration file: a snapshot or mistakes, never both
 *
 * Aborts when the two disagree, or a mistake has no place in the text. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/string.h"
#include "core/process/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_places(const struct config_errors *errors, const uint8_t *data, size_t size)
{
    uint32_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n' || data[i] == '\r';
    for (uint32_t i = 0; i < errors->kept; i++) {
        const struct config_error *error = &errors->list[i];
        /* What is missing at the end is missing after it: on the next line, or at most two on. */
        if (!error->line || error->line > lines + 1 || !error->column || error->column > size + 2)
            abort();
        if (i && error->line < errors->list[i - 1].line)
            abort();
    }
}

static void check_snapshot(const struct snapshot *snapshot)
{
    if (!snapshot->workers || !snapshot->listener_count || !snapshot->limits.header_bytes)
        abort();
    for (uint32_t i = 0; i < snapshot->listener_count; i++)
        if (value_listen_mistake(string_of(snapshot->listeners[i].address)))
            abort();
    for (uint32_t i = 0; i < snapshot->upstream_count; i++)
        if (!snapshot->upstreams[i].name || !snapshot->upstreams[i].count)
            abort();
    if (snapshot->upstream_count && !snapshot->fixed_upstream)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config_errors errors = {0};
    struct options options = {0};
    struct snapshot *snapshot =
        config_read((weir_string){(const char *)data, size}, &options, &errors);
    if (!snapshot != (errors.count > 0))
        abort();
    if (snapshot)
        check_snapshot(snapshot);
    check_places(&errors, data, size);
    config_errors_deinit(&errors);
    snapshot_free(snapshot);
    return 0;
}
