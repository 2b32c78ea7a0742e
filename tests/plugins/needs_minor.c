/* tests/plugins/needs_minor.c - one that needs a newer weir */
#include "abi/filter.h"

#include "tests/plugins/marks.h"

MARK_CONSTRUCTOR

static weir_result load(const weir_host *host)
{
    (void)host;
    mark("load ran\n");
    return WEIR_OK;
}

WEIR_PLUGIN(9, 0, 1, "test.needs_minor", "1", "MIT", "weir.filter/0", load, NULL);
