/* core/edge/sniff.c - which protocol do a connection's first bytes belong to? */
#include "core/edge/sniff.h"

enum { SNIFF_BYTES_MOST = 256 };

bool sniff(const weir_protocol *const *protocols, const uint8_t *bytes, size_t count, bool end,
           const weir_protocol **result)
{
    const weir_protocol *protocol, *fallback = NULL;
    bool more = false;
    end |= count >= SNIFF_BYTES_MOST;
    for (uint32_t i = 0; (protocol = protocols[i]); i++) {
        if (!protocol->connection->sniff)
            continue;
        int32_t answer = protocol->connection->sniff(bytes, count, end);
        if (answer == WEIR_SNIFF_YES) {
            *result = protocol;
            return true;
        }
        more |= answer == WEIR_SNIFF_MORE;
        fallback = fallback ? fallback : protocol;
    }
    *result = fallback;
    return !more || end;
}
