/* tests/plugins/needs_interface.c - one that needs what no weir has */
#include "abi/filter.h"

#include "tests/plugins/marks.h"

MARK_CONSTRUCTOR

static weir_result load(const weir_host *host)
{
    (void)host;
    mark("load ran\n");
    return WEIR_OK;
}

WEIR_PLUGIN(0, 0, 1, "test.needs_interface", "1", "MIT", "weir.filter/0,weir.teapot/1", load, NULL);
