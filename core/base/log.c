/* core/base/log.c - the process's log: levels, one line a call, and the tour's trace */
#include "core/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 2048 };

const char *const log_level_names[LOG_LEVELS] = {"debug", "info", "warning", "error"};

uint8_t trace_on;
static atomic_int least = LOG_INFO;

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&least, (int)level, memory_order_relaxed);
}

enum log_level log_least(void)
{
    return (enum log_level)atomic_load_explicit(&least, memory_order_relaxed);
}

bool log_wanted(enum log_level level)
{
    return level >= log_least();
}

/* Ends the line, makes it harmless and writes it. A log that cannot be written is lost: there is
 * nobody left to tell. */
static void emit(char *line, size_t length)
{
    if (length > LINE_BYTES - 1)
        length = LINE_BYTES - 1;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    line[length++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, length);
    (void)written;
}

void log_write(enum log_level level, const char *format, ...)
{
    if (!log_wanted(level))
        return;
    char line[LINE_BYTES];
    const char *name = log_level_names[level == LOG_ALWAYS ? LOG_INFO : level];
    int prefix = snprintf(line, sizeof line, "weir: %s: ", name);
    va_list arguments;
    va_start(arguments, format);
    int text = vsnprintf(line + prefix, sizeof line - (size_t)prefix, format, arguments);
    va_end(arguments);
    emit(line, (size_t)prefix + (size_t)(text > 0 ? text : 0));
}

void trace_visit(const char *file, const char *function)
{
    char line[LINE_BYTES];
    int length = snprintf(line, sizeof line, "trace %s:%s", file, function);
    emit(line, (size_t)length);
}
