/* core/base/breadcrumb.c - which plugin this thread is in, for whoever finds it dead */
#include "core/base/breadcrumb.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

_Thread_local struct breadcrumb breadcrumb;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#ifdef SANITIZED

void breadcrumb_watch(void)
{
}

void breadcrumb_watch_thread(void)
{
}

#else

enum { STACK_BYTES = 32 << 10, LINE_BYTES = 256, NUMBER_BYTES = 24 };

static _Thread_local char stack[STACK_BYTES]; /* pages that nobody touches until then */

/* --- only what is safe in a signal's handler */

struct line {
    char bytes[LINE_BYTES];
    size_t length;
};

static void add(struct line *line, const char *text)
{
    while (*text && line->length < LINE_BYTES - 1)
        line->bytes[line->length++] = *text++;
}

static void add_number(struct line *line, uint64_t number)
{
    char digits[NUMBER_BYTES], *at = digits + sizeof digits - 1;
    *at = 0;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    add(line, at);
}

static void describe(struct line *line, int number)
{
    add(line, "weir: error: fatal signal ");
    add_number(line, (uint64_t)number);
    if (breadcrumb.plugin) {
        add(line, " in plugin ");
        add(line, breadcrumb.plugin);
        add(line, ", hook ");
        add(line, breadcrumb.hook);
    }
    if (breadcrumb.plugin && breadcrumb.exchange) {
        add(line, ", exchange ");
        add_number(line, breadcrumb.exchange);
    }
    line->bytes[line->length++] = '\n';
}

/* The signal waits until this returns, and then finds no handler any more. */
static void on_fatal(int number)
{
    struct line line = {.length = 0};
    describe(&line, number);
    ssize_t written = write(STDERR_FILENO, line.bytes, line.length);
    (void)written;
    raise(number);
}

/* --- installing it, where no sanitizer is that was loaded first */

void breadcrumb_watch_thread(void)
{
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack}, before;
    if (!sigaltstack(NULL, &before) && before.ss_flags & SS_DISABLE)
        sigaltstack(&own, NULL);
}

static void watch(int number, const struct sigaction *action)
{
    struct sigaction before;
    if (!sigaction(number, NULL, &before) && before.sa_handler == SIG_DFL)
        sigaction(number, action, NULL);
}

void breadcrumb_watch(void)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    struct sigaction action = {.sa_handler = on_fatal,
                               .sa_flags = (int)(SA_ONSTACK | SA_RESETHAND)};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        watch(fatal[i], &action);
    breadcrumb_watch_thread();
}

#endif
