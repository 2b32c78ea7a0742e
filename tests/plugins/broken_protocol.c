/* tests/plugins/broken_protocol.c - a protocol without functions; its refusal is not noticed */
#include "abi/protocol.h"

static weir_result load(const weir_host *host)
{
    static const weir_connection_operations connection = {.size = sizeof connection};
    static const weir_channel_operations server = {.size = sizeof server};
    static const weir_protocol protocol = {
        .size = sizeof protocol, .name = "broken", .connection = &connection, .server = &server};
    host->register_protocol(host, &protocol);
    return WEIR_OK;
}

WEIR_PLUGIN(0, 0, 1, "test.broken_protocol", "1", "MIT", "weir.protocol/0", load, NULL);
