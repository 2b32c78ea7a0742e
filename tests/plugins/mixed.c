/* tests/plugins/mixed.c - a note and an entry of two builds */
#include "abi/filter.h"

static weir_result load(const weir_host *host)
{
    (void)host;
    return WEIR_OK;
}

#define weir_plugin_entry of_this_build
WEIR_PLUGIN(0, 0, 1, "test.mixed", "1", "MIT", NULL, load, NULL);
#undef weir_plugin_entry
__attribute__((visibility("default"))) extern const weir_plugin weir_plugin_entry;
const weir_plugin weir_plugin_entry = {
    .magic = WEIR_MAGIC, .size = sizeof(weir_plugin), .build = 2, .name = "other", .load = load};
