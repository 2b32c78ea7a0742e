/* core/exchange/access_lines.h - one worker's lines of the access log, collected until it pays
 *
 * A batch is handed on when it has 32 KiB or its first line is a second old. [worker] */
#ifndef CORE_EXCHANGE_ACCESS_LINES_H
#define CORE_EXCHANGE_ACCESS_LINES_H

#include "core/base/access_format.h"
#include "core/base/worker.h"

enum { ACCESS_BATCH_BYTES = 32768 };

/* Whole lines. Whoever it is handed to frees it (memory_free). */
struct access_batch {
    struct worker *worker;
    struct access_batch *next; /* the taker's own */
    void *taker;               /* likewise */
    uint32_t lines;
    uint32_t length;
    char bytes[];
};

struct access_lines;

/* [main] hand() is called on the worker's thread and must not block it. */
struct access_lines *access_lines_new(struct worker *worker,
                                      void (*hand)(void *user, struct access_batch *batch),
                                      void *user);
void access_lines_free(struct access_lines *lines); /* [main] when its worker has ended; or NULL */

/* Whether this exchange is one of those that are logged: each that failed, and of the others every
 * `sample`th. */
bool access_lines_wanted(struct access_lines *lines, uint32_t sample, bool failed);
void access_lines_add(struct access_lines *lines, const struct access_format *format,
                      const struct access_record *record);
void access_lines_flush(struct access_lines *lines); /* hands on what there is; lines may be NULL */

#endif
