/* tests/plugins/undefined.c - one that was linked without something that it uses */
#include "abi/filter.h"

void nobody_has_this(void);

static weir_result load(const weir_host *host)
{
    (void)host;
    nobody_has_this();
    return WEIR_OK;
}

WEIR_PLUGIN(0, 0, 1, "test.undefined", "1", "MIT", NULL, load, NULL);
