/* core/host/wrong_thread.h - a plugin called from a thread that must not: its name in the log, once
 */
#ifndef CORE_HOST_WRONG_THREAD_H
#define CORE_HOST_WRONG_THREAD_H

#include "abi/weir.h"

/* [any] `caller` is an address within the plugin's code: WRONG_THREAD_CALLER in a function that the
 * plugin called. `function` is that function's name. Returns WEIR_WRONG_THREAD. */
weir_result wrong_thread(const void *caller, const char *function);

#define WRONG_THREAD_CALLER __builtin_extract_return_addr(__builtin_return_address(0))

#endif
