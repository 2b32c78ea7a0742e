/* tests/plugins/newer_minor.c - built with headers of a later minor, and able to live without them
 *
 * Its table is longer than this weir knows, and it asks whether the host's has what came later. */
#include "abi/filter.h"

#undef WEIR_ABI_MINOR
#define WEIR_ABI_MINOR 99

struct later_host {
    weir_host known;
    void (*later)(void);
};

static weir_result load(const weir_host *host)
{
    static const struct {
        weir_filter known;
        void (*later[4])(void);
    } filter = {.known = {.size = sizeof filter, .name = "newer_minor"}};
    const struct later_host *later = (const struct later_host *)host;
    if (host->size >= sizeof *later && later->later)
        later->later();
    return host->register_filter(host, &filter.known);
}

WEIR_PLUGIN(0, 0, 1, "test.newer_minor", "1", "MIT", "weir.filter/0", load, NULL);
