/* codecs/h1/plugin.c - h1 as a plugin of its own, for programs that do not have it built in */
#include "codecs/h1/h1.h"

static weir_result load(const weir_host *host)
{
    return host->register_protocol(host, h1_protocol(host));
}

WEIR_PLUGIN(0, 0, 0, "weir.h1", "0.1.0", "MIT", "weir.protocol/0", load, NULL);
