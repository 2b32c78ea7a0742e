/* tests/plugins/optional.c - uses an optional interface when there is one, and says so when not */
#include "abi/filter.h"

static weir_result load(const weir_host *host)
{
    if (!host->query(host, "weir.filter/0")) {
        host->log(host, WEIR_LOG_ERROR, WEIR_STRING("there are no filters in this weir"));
        return WEIR_UNSUPPORTED;
    }
    return WEIR_OK;
}

WEIR_PLUGIN(0, 0, 1, "test.optional", "1", "MIT", NULL, load, NULL);
