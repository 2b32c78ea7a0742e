/* core/process/access_writer.h - the access log's file: workers hand over lines, main writes them
 *
 * A slow or full disk never holds up a worker: what is not written yet waits, in order, up to a
 * limit, and lines beyond that are dropped and counted (METRIC_ACCESS_LINES_DROPPED). One warning a
 * minute says so. */
#ifndef CORE_PROCESS_ACCESS_WRITER_H
#define CORE_PROCESS_ACCESS_WRITER_H

#include "core/base/snapshot.h"
#include "core/exchange/access_lines.h"
#include "core/io/loop.h"

enum { ACCESS_BACKLOG_BYTES = 8 << 20 };

struct access_writer;

/* [main] `loop` is the main thread's, and runs while any worker does. */
struct access_writer *access_writer_new(struct loop *loop);
/* [main] Opens what the configuration names, at start or after a reload. When there is no access
 * log any more, what is open stays so for lines on their way. False, and said in the log, when it
 * cannot be opened: then nothing has changed. */
bool access_writer_open(struct access_writer *writer, const struct access_log_config *log);
/* [main] For loop_on_signal(): opens the file by its name again, which may have been moved. */
void access_writer_reopen(void *writer, int signal);
/* [main] When the workers have ended and before they are freed: writes what is left, with a
 * second's patience. NULL is ignored. */
void access_writer_free(struct access_writer *writer);

/* [worker] For access_lines_new(). */
void access_writer_take(void *writer, struct access_batch *batch);

#endif
