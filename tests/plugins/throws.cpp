// tests/plugins/throws.cpp - a filter in C++ that throws out of its hook
#include <stdexcept>

#include "abi/filter.h"

static weir_answer on_request(weir_exchange *)
{
    throw std::runtime_error("nobody catches this");
}

static weir_result load(const weir_host *host)
{
    static weir_filter filter = {};
    filter.size = sizeof filter;
    filter.name = "throws";
    filter.request = on_request;
    return host->register_filter(host, &filter);
}

WEIR_PLUGIN(0, 0, 1, "test.throws", "1", "MIT", "weir.filter/0", load, nullptr);
