/* core/process/notify.h - tells the service manager how the process is (sd_notify's protocol) */
#ifndef CORE_PROCESS_NOTIFY_H
#define CORE_PROCESS_NOTIFY_H

#include <stdint.h>

/* [main] All are silent when nobody wants to know (NOTIFY_SOCKET). The texts are one line. */
void notify_ready(const char *status);
void notify_reloading(uint64_t monotonic_us);
void notify_stopping(const char *status);

#endif
