/* tests/plugins/crash.c - dies in load() by the signal that TEST_SIGNAL names */
#include <signal.h>
#include <stdlib.h>

#include "abi/weir.h"

static weir_result load(const weir_host *host)
{
    const char *number = getenv("TEST_SIGNAL");
    (void)host;
    if (number)
        raise(atoi(number));
    *(volatile int *)(size_t)8 = 0;
    return WEIR_OK;
}

WEIR_PLUGIN(0, 0, 1, "test.crash", "1", "MIT", NULL, load, NULL);
