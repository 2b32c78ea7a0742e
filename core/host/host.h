/* core/host/host.h - the tables that plugins get from weir */
#ifndef CORE_HOST_HOST_H
#define CORE_HOST_HOST_H

#include "abi/weir.h"

/* `version` is weir's, static. The table lives as long as the process. */
const weir_host *host_table(const char *version);

#endif
