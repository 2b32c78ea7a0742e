/* tests/plugins/older_minor.c - one of an earlier draft */
#include "abi/filter.h"

#undef WEIR_ABI_MINOR
#define WEIR_ABI_MINOR 2 /* there was one, and it was another */
#include "tests/plugins/marks.h"

MARK_CONSTRUCTOR

static weir_result load(const weir_host *host)
{
    (void)host;
    mark("load ran\n");
    return WEIR_OK;
}

WEIR_PLUGIN(0, 0, 1, "test.older_minor", "1", "MIT", "weir.filter/0", load, NULL);
