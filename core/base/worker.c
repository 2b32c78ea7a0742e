/* core/base/worker.c - which worker and which kind of thread this thread is */
#include "core/base/worker.h"

_Thread_local struct worker *worker_current;
_Thread_local bool thread_is_main;
