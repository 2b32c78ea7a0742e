/* core/exchange/access_lines.c - one worker's lines of the access log, collected until it pays */
#include "core/exchange/access_lines.h"

#include "core/io/loop.h"

enum { FLUSH_MS = 1000 };

struct access_lines {
    struct worker *worker;
    struct access_batch *batch; /* NULL: no line waits */
    struct access_clock clock;
    struct wheel_entry flush;
    uint64_t ordinary; /* exchanges that did not fail */
    void (*hand)(void *user, struct access_batch *batch);
    void *user;
};

static void on_flush(struct wheel_entry *entry)
{
    access_lines_flush(CONTAINER(entry, struct access_lines, flush));
}

struct access_lines *access_lines_new(struct worker *worker,
                                      void (*hand)(void *user, struct access_batch *batch),
                                      void *user)
{
    struct access_lines *lines = memory_zeroed(sizeof *lines);
    lines->worker = worker;
    lines->hand = hand;
    lines->user = user;
    wheel_entry_init(&lines->flush, on_flush);
    return lines;
}

void access_lines_free(struct access_lines *lines)
{
    if (lines)
        memory_free(lines->batch);
    memory_free(lines);
}

bool access_lines_wanted(struct access_lines *lines, uint32_t sample, bool failed)
{
    return failed || sample <= 1 || lines->ordinary++ % sample == 0;
}

static struct access_batch *begin_batch(struct access_lines *lines)
{
    struct worker *worker = lines->worker;
    struct access_batch *batch =
        memory_allocate(sizeof *batch + ACCESS_BATCH_BYTES + ACCESS_LINE_BYTES);
    *batch = (struct access_batch){.worker = worker};
    wheel_set(worker->wheel, &lines->flush, loop_now_ms(worker->loop) + FLUSH_MS);
    return batch;
}

void access_lines_add(struct access_lines *lines, const struct access_format *format,
                      const struct access_record *record)
{
    if (!lines->batch)
        lines->batch = begin_batch(lines);
    struct access_batch *batch = lines->batch;
    batch->length +=
        (uint32_t)access_format_render(format, record, &lines->clock, batch->bytes + batch->length);
    batch->lines++;
    if (batch->length >= ACCESS_BATCH_BYTES)
        access_lines_flush(lines);
}

void access_lines_flush(struct access_lines *lines)
{
    struct access_batch *batch = lines ? lines->batch : NULL;
    if (!batch)
        return;
    lines->batch = NULL;
    lines->hand(lines->user, memory_resize(batch, sizeof *batch + batch->length));
}
