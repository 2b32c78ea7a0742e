/* tests/plugins/half.c - its load() fails when it has registered something already */
#include "abi/filter.h"

static weir_result load(const weir_host *host)
{
    static const weir_filter filter = {.size = sizeof filter, .name = "plain"};
    if (host->register_filter(host, &filter) != WEIR_OK)
        return WEIR_INTERNAL;
    host->log(host, WEIR_LOG_ERROR, WEIR_STRING("half way: no database"));
    return WEIR_DENIED;
}

WEIR_PLUGIN(0, 0, 1, "test.half", "1", "MIT", "weir.filter/0", load, NULL);
