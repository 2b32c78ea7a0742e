/* core/host/complaint.h - what a plugin does wrong, in the log, with the hook that it does it in */
#ifndef CORE_HOST_COMPLAINT_H
#define CORE_HOST_COMPLAINT_H

#include "abi/weir.h"

/* [any] One line about the plugin whose code runs on this thread. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The result of that function of weir's, which is said when it was called in a wrong phase. */
weir_result complain_of_phase(weir_result result, const char *function);

#endif
