/* core/host/wrong_thread.c - a plugin called from a thread that must not: its name in the log, once
 *
 * On such a thread nothing says which plugin runs, but its code does: it is in the plugin's file.
 */
#include "core/host/wrong_thread.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

#include "core/base/breadcrumb.h"
#include "core/base/log.h"

enum { FILES_MOST = 64 };

/* Whether that file is the culprit for the first time. */
static bool is_first(const void *file)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const void *files[FILES_MOST];
    static size_t count;
    bool known = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++)
        known |= files[i] == file;
    bool first = !known && count < FILES_MOST;
    if (first)
        files[count++] = file;
    pthread_mutex_unlock(&lock);
    return first;
}

weir_result wrong_thread(const void *caller, const char *function)
{
    Dl_info info = {0};
    if (!dladdr(caller, &info) || !is_first(info.dli_fbase))
        return WEIR_WRONG_THREAD;
    log_write(LOG_ERROR,
              "plugin %s: %s() is called on a thread other than the worker's that it is about; it "
              "does nothing there, and this is said once",
              breadcrumb.plugin ? breadcrumb.plugin : info.dli_fname, function);
    return WEIR_WRONG_THREAD;
}
