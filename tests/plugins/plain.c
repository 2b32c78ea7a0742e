/* tests/plugins/plain.c - the least that is a plugin: a filter without hooks */
#include "abi/filter.h"

static weir_result load(const weir_host *host)
{
    static const weir_filter filter = {.size = sizeof filter, .name = "plain"};
    host->log(host, WEIR_LOG_INFO, WEIR_STRING("plain is loaded"));
    return host->register_filter(host, &filter);
}

static void unload(void)
{
}

WEIR_PLUGIN(0, 0, 1, "test.plain", "1", "MIT", "weir.filter/0", load, unload);
