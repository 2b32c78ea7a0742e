/* core/base/log.h - the process's log: levels, one line a call, and the tour's trace
 *
 * Goes to standard error. A line leaves in one write, so lines of several workers do not mix.
 * Control characters in what is logged become '?': a peer's bytes cannot forge a line. [any] */
#ifndef CORE_BASE_LOG_H
#define CORE_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level {
    LOG_DEBUG,
    LOG_INFO,
    LOG_WARNING,
    LOG_ERROR,
    LOG_LEVELS,
    LOG_ALWAYS = LOG_LEVELS /* what is said at any level: where weir listens */
};

extern const char *const log_level_names[LOG_LEVELS];

void log_set_level(enum log_level level);
bool log_wanted(enum log_level level);
enum log_level log_least(void); /* that is wanted */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* WEIR_TRACE=exchange: every TRACE() names its place on standard error, "trace path.c:function".
 * docs/architecture.md's tour of one request is checked against it. */
extern uint8_t trace_on;
void trace_visit(const char *file, const char *function);

#define TRACE()                                                                                    \
    do {                                                                                           \
        if (__builtin_expect(trace_on, 0))                                                         \
            trace_visit(__FILE__, __func__);                                                       \
    } while (0)

#endif
