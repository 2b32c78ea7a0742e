/* core/process/access_writer.c - the access log's file: workers hand over lines, main writes them
 *
 * Regular files are written in one go. Anything else, a pipe or a terminal, only while it says that
 * it has room: a reader that stops must not stop the main thread. */
#include "core/process/access_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/string.h"

enum { BUSY_MS = 50, BROKEN_MS = 1000, WARNING_MS = 60000, END_MS = 1000 };

struct access_writer {
    struct loop *loop;
    int file; /* -1: none yet */
    bool regular;
    char *name; /* NULL: standard output */
    int error;  /* of the last try to write; 0: it was written or had no room */
    struct access_batch *first, **last;
    uint32_t written; /* bytes of the first batch */
    struct wheel_entry retry;
    uint64_t warned_ms;       /* 0: never */
    _Atomic uint64_t backlog; /* bytes of memory handed over and not written */
    _Atomic uint64_t dropped; /* lines, not told yet */
};

/* --- what is lost */

static uint64_t weight(const struct access_batch *batch)
{
    return sizeof *batch + batch->length;
}

static void warn(struct access_writer *writer)
{
    uint64_t dropped = atomic_exchange_explicit(&writer->dropped, 0, memory_order_relaxed);
    log_write(LOG_WARNING, "access log %s: %s, %llu lines dropped",
              writer->name ? writer->name : "on standard output",
              writer->error ? strerror(writer->error) : "too slow", (unsigned long long)dropped);
    writer->warned_ms = loop_now_ms(writer->loop);
}

static void warn_when_due(struct access_writer *writer)
{
    bool wrong = writer->error || atomic_load_explicit(&writer->dropped, memory_order_relaxed);
    uint64_t now_ms = loop_now_ms(writer->loop);
    if (wrong && (!writer->warned_ms || now_ms - writer->warned_ms >= WARNING_MS))
        warn(writer);
}

static void drop(struct access_writer *writer, struct access_batch *batch)
{
    metric_add(&batch->worker->metrics, METRIC_ACCESS_LINES_DROPPED, batch->lines);
    atomic_fetch_add_explicit(&writer->dropped, batch->lines, memory_order_relaxed);
    atomic_fetch_sub_explicit(&writer->backlog, weight(batch), memory_order_relaxed);
    memory_free(batch);
}

/* --- writing */

static struct access_batch *pop(struct access_writer *writer)
{
    struct access_batch *batch = writer->first;
    writer->first = batch->next;
    if (!writer->first)
        writer->last = &writer->first;
    writer->written = 0;
    return batch;
}

/* What else than a regular file says that it is ready takes that much without waiting. */
static bool has_room(const struct access_writer *writer)
{
    struct pollfd file = {.fd = writer->file, .events = POLLOUT};
    return writer->regular || poll(&file, 1, 0) != 0;
}

/* A part of the first batch. False when that is impossible now. */
static bool write_some(struct access_writer *writer)
{
    struct access_batch *batch = writer->first;
    size_t left = batch->length - writer->written;
    writer->error = 0;
    if (!has_room(writer))
        return false;
    size_t most = writer->regular || left < PIPE_BUF ? left : PIPE_BUF;
    ssize_t written = write(writer->file, batch->bytes + writer->written, most);
    if (written < 0) {
        writer->error = errno == EAGAIN || errno == EINTR ? 0 : errno;
        return errno == EINTR;
    }
    writer->written += (uint32_t)written;
    if (writer->written == batch->length) {
        atomic_fetch_sub_explicit(&writer->backlog, weight(batch), memory_order_relaxed);
        memory_free(pop(writer));
    }
    return true;
}

static void write_waiting(struct access_writer *writer)
{
    while (writer->first && write_some(writer))
        ;
    if (writer->first)
        wheel_set(loop_wheel(writer->loop), &writer->retry,
                  loop_now_ms(writer->loop) + (writer->error ? BROKEN_MS : BUSY_MS));
    warn_when_due(writer);
}

static void on_retry(struct wheel_entry *entry)
{
    write_waiting(CONTAINER(entry, struct access_writer, retry));
}

static void on_batch(void *user)
{
    struct access_batch *batch = user;
    struct access_writer *writer = batch->taker;
    batch->next = NULL;
    *writer->last = batch;
    writer->last = &batch->next;
    write_waiting(writer);
}

void access_writer_take(void *user, struct access_batch *batch)
{
    struct access_writer *writer = user;
    uint64_t before =
        atomic_fetch_add_explicit(&writer->backlog, weight(batch), memory_order_relaxed);
    if (before + weight(batch) > ACCESS_BACKLOG_BYTES) {
        drop(writer, batch);
        return;
    }
    batch->taker = writer;
    loop_post(writer->loop, on_batch, batch);
}

/* --- its file */

/* Not blocking: of a pipe that nobody reads it is an error, and of a slow one no reason to wait. */
static int open_file(const char *name)
{
    int file = name ? open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0640)
                    : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (file < 0)
        log_write(LOG_ERROR, "cannot open the access log %s: %s",
                  name ? name : "on standard output", strerror(errno));
    return file;
}

/* A line that the file before got a part of is whole in the new one. */
static void rewind_line(struct access_writer *writer)
{
    while (writer->written && writer->first->bytes[writer->written - 1] != '\n')
        writer->written--;
}

static void leave_file(struct access_writer *writer, const struct stat *now)
{
    struct stat before = {0};
    write_waiting(writer);
    fstat(writer->file, &before);
    if (before.st_dev != now->st_dev || before.st_ino != now->st_ino)
        rewind_line(writer);
    close(writer->file);
}

static bool take_file(struct access_writer *writer, const char *name)
{
    struct stat status = {0};
    int file = open_file(name);
    if (file < 0)
        return false;
    fstat(file, &status);
    if (writer->file >= 0)
        leave_file(writer, &status);
    writer->file = file;
    writer->regular = S_ISREG(status.st_mode);
    return true;
}

bool access_writer_open(struct access_writer *writer, const struct access_log_config *log)
{
    if (!log->on)
        return true;
    if (!take_file(writer, log->file))
        return false;
    memory_free(writer->name);
    writer->name = log->file ? memory_copy_string(string_of(log->file)) : NULL;
    return true;
}

void access_writer_reopen(void *user, int signal)
{
    struct access_writer *writer = user;
    (void)signal;
    if (writer->name && take_file(writer, writer->name))
        log_write(LOG_INFO, "access log %s: opened again", writer->name);
}

/* --- begin and end */

struct access_writer *access_writer_new(struct loop *loop)
{
    struct access_writer *writer = memory_zeroed(sizeof *writer);
    writer->loop = loop;
    writer->file = -1;
    writer->last = &writer->first;
    wheel_entry_init(&writer->retry, on_retry);
    return writer;
}

/* The loop has ended: waits itself. */
static void write_rest(struct access_writer *writer)
{
    uint64_t end_us = loop_now_us(writer->loop) + END_MS * 1000;
    while (writer->first && !writer->error && loop_now_us(writer->loop) < end_us) {
        struct pollfd file = {.fd = writer->file, .events = POLLOUT};
        if (!write_some(writer))
            poll(&file, 1, BUSY_MS);
    }
}

void access_writer_free(struct access_writer *writer)
{
    if (!writer)
        return;
    writer->error = 0; /* a last try */
    write_rest(writer);
    while (writer->first)
        drop(writer, pop(writer));
    if (atomic_load(&writer->dropped))
        warn(writer);
    wheel_clear(&writer->retry);
    if (writer->file >= 0)
        close(writer->file);
    memory_free(writer->name);
    memory_free(writer);
}
