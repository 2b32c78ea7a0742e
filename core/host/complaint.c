/* core/host/complaint.c - what a plugin does wrong, in the log, with the hook that it does it in */
#include "core/host/complaint.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/breadcrumb.h"
#include "core/base/log.h"

enum { LINE_BYTES = 256 };

void complain(const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    log_write(LOG_ERROR, "plugin %s, hook %s, exchange %llu: %s",
              breadcrumb.plugin ? breadcrumb.plugin : "?", breadcrumb.hook ? breadcrumb.hook : "?",
              (unsigned long long)breadcrumb.exchange, line);
}

weir_result complain_of_phase(weir_result result, const char *function)
{
    if (result == WEIR_WRONG_PHASE)
        complain("%s() is too early or too late here; it answers WEIR_WRONG_PHASE", function);
    return result;
}
