/* core/host/asynchronous.h - query("weir.asynchronous/0"): timers, posts, work, requests */
#ifndef CORE_HOST_ASYNCHRONOUS_H
#define CORE_HOST_ASYNCHRONOUS_H

#include "abi/services.h"

extern const weir_asynchronous_host asynchronous_host;

#endif
