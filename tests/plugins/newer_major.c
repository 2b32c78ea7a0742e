/* tests/plugins/newer_major.c - one of a later major */
#include "abi/filter.h"

#undef WEIR_ABI_MAJOR
#define WEIR_ABI_MAJOR 2
#undef WEIR_ABI_MINOR
#define WEIR_ABI_MINOR 0
#include "tests/plugins/marks.h"

MARK_CONSTRUCTOR

static weir_result load(const weir_host *host)
{
    (void)host;
    mark("load ran\n");
    return WEIR_OK;
}

WEIR_PLUGIN(0, 0, 1, "test.newer_major", "1", "MIT", "weir.filter/0", load, NULL);
