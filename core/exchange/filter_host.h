/* core/exchange/filter_host.h - the table that filters call */
#ifndef CORE_EXCHANGE_FILTER_HOST_H
#define CORE_EXCHANGE_FILTER_HOST_H

#include "abi/filter.h"

/* The table behind query("weir.filter/0"). */
extern const weir_filter_host exchange_filter_host;

#endif
