/* tests/plugins/marks.h - proof that code of a plugin ran: words on standard error */
#ifndef TESTS_PLUGINS_MARKS_H
#define TESTS_PLUGINS_MARKS_H

#include <string.h>
#include <unistd.h>

static inline void mark(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

/* A plugin that is refused by its note must not even have run this. */
#define MARK_CONSTRUCTOR                                                                           \
    __attribute__((constructor)) static void on_mapped(void)                                       \
    {                                                                                              \
        mark("a constructor ran\n");                                                               \
    }

#endif
