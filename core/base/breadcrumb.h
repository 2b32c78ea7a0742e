/* core/base/breadcrumb.h - which plugin this thread is in, for whoever finds it dead
 *
 * Whoever calls a function of a plugin leaves a breadcrumb before and takes it away afterwards: a
 * few plain stores. When a fatal signal comes meanwhile, one line on standard error says whose code
 * it was, "fatal signal 11 in plugin acme.trace, hook request, exchange 42"; then the signal does
 * what it would have done: the core dump and the exit status are the same. */
#ifndef CORE_BASE_BREADCRUMB_H
#define CORE_BASE_BREADCRUMB_H

#include <stdint.h>

struct breadcrumb {
    const char *plugin; /* NULL: none of a plugin's code runs */
    const char *hook;   /* "request" */
    uint64_t exchange;  /* its number; 0: it is about none */
};

extern _Thread_local struct breadcrumb breadcrumb;

/* The parts, for who calls several plugins in a row. Plain stores to the machine; others may look
 * meanwhile (breadcrumb_of). */
static inline void breadcrumb_hook(const char *hook, uint64_t exchange)
{
    __atomic_store_n(&breadcrumb.hook, hook, __ATOMIC_RELAXED);
    __atomic_store_n(&breadcrumb.exchange, exchange, __ATOMIC_RELAXED);
}

static inline void breadcrumb_plugin(const char *plugin)
{
    __atomic_store_n(&breadcrumb.plugin, plugin, __ATOMIC_RELAXED);
}

static inline void breadcrumb_restore(struct breadcrumb crumb)
{
    breadcrumb_plugin(crumb.plugin);
    breadcrumb_hook(crumb.hook, crumb.exchange);
}

/* The texts must live until it is restored. Returns what was there, which is to be restored: a
 * plugin's code may be called from within a plugin's. [any] */
static inline struct breadcrumb breadcrumb_leave(const char *plugin, const char *hook,
                                                 uint64_t exchange)
{
    struct breadcrumb before = breadcrumb;
    breadcrumb_restore((struct breadcrumb){plugin, hook, exchange});
    return before;
}

/* That of another thread, which may be changing it: what was the same for a while is true. [any] */
static inline struct breadcrumb breadcrumb_of(const struct breadcrumb *other)
{
    return (struct breadcrumb){__atomic_load_n(&other->plugin, __ATOMIC_RELAXED),
                               __atomic_load_n(&other->hook, __ATOMIC_RELAXED),
                               __atomic_load_n(&other->exchange, __ATOMIC_RELAXED)};
}

/* [main] Once, before other threads: watches for fatal signals; with a sanitizer, which watches for
 * them itself, for what that finds. */
void breadcrumb_watch(void);
/* [any] In each thread that runs plugins: a stack of its own for that signal, so that one that ran
 * out of stack is told of too. */
void breadcrumb_watch_thread(void);

#endif
