/* core/host/checked_filter_host.h - query("weir.filter/0") under --check-plugins */
#ifndef CORE_HOST_CHECKED_FILTER_HOST_H
#define CORE_HOST_CHECKED_FILTER_HOST_H

#include "abi/filter.h"

extern const weir_filter_host checked_filter_host;

#endif
