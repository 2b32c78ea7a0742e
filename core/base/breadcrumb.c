/* core/base/breadcrumb.c - which plugin this thread is in, for whoever finds it dead */
#include "core/base/breadcrumb.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Thread_local struct breadcrumb breadcrumb;

enum { LINE_BYTES = 256, NUMBER_BYTES = 24 };

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

static void add_breadcrumb(struct line *line)
{
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
}

static void print(struct line *line)
{
    line->bytes[line->length++] = '\n';
    ssize_t written = write(STDERR_FILENO, line->bytes, line->length);
    (void)written;
}

/* What a sanitizer finds it reports itself; this says in which hook that was. */
static void on_finding(void)
{
    struct line line = {.length = 0};
    if (!breadcrumb.plugin)
        return;
    add(&line, "weir: error: a sanitizer ended it");
    add_breadcrumb(&line);
    print(&line);
}

/* The signal waits until this returns, and then finds no handler any more. */
static void on_fatal(int number)
{
    struct line line = {.length = 0};
    add(&line, "weir: error: fatal signal ");
    add_number(&line, (uint64_t)number);
    add_breadcrumb(&line);
    print(&line);
    raise(number);
}

/* --- installing it, where no sanitizer is that was loaded first */

enum { STACK_BYTES = 32 << 10 };

static bool watches; /* no sanitizer does */

/* Pages that nobody touches until then; they are there until weir ends, as its threads are. */
static void give_stack(void)
{
    stack_t own = {.ss_size = STACK_BYTES};
    own.ss_sp = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own.ss_sp != MAP_FAILED)
        sigaltstack(&own, NULL);
}

void breadcrumb_watch_thread(void)
{
    stack_t before;
    if (watches && !sigaltstack(NULL, &before) && before.ss_flags & SS_DISABLE)
        give_stack();
}

static void watch(int number, const struct sigaction *action)
{
    struct sigaction before;
    if (!sigaction(number, NULL, &before) && before.sa_handler == SIG_DFL)
        sigaction(number, action, NULL);
}

static void watch_signals(void)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    struct sigaction action = {.sa_handler = on_fatal,
                               .sa_flags = (int)(SA_ONSTACK | SA_RESETHAND)};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        watch(fatal[i], &action);
    watches = true;
    breadcrumb_watch_thread();
}

/* A sanitizer may be of this build, or loaded with a plugin's. */
void breadcrumb_watch(void)
{
    void (*on_death)(void (*callback)(void));
    *(void **)&on_death = dlsym(RTLD_DEFAULT, "__sanitizer_set_death_callback");
    if (on_death)
        on_death(on_finding);
    else
        watch_signals();
}
