/* tests/plugins/unloadable.c - one that may be unmapped, and says so when it is */
#include "abi/filter.h"

#include "tests/plugins/marks.h"

static weir_result load(const weir_host *host)
{
    static const weir_filter filter = {.size = sizeof filter, .name = "unloadable"};
    return host->register_filter(host, &filter);
}

static void unload(void)
{
    mark("unload ran\n");
}

__attribute__((destructor)) static void on_unmapped(void)
{
    mark("unmapped\n");
}

WEIR_PLUGIN(0, WEIR_PLUGIN_UNLOADABLE, 1, "test.unloadable", "1", "MIT", "weir.filter/0", load,
            unload);
