/* tests/sim/message.c - HTTP/1.1 messages as bytes: written piece by piece, read from any pieces */
#include "tests/sim/message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- writing */

void writer_start(struct writer *writer, struct plan *plan, enum way way, bool with_head)
{
    writer->plan = plan;
    writer->direction = &plan->ways[way];
    writer->way = way;
    writer->text.length = writer->text_at = 0;
    writer->run = 0;
    writer->held = writer->complete = false;
    writer->dice = dice_of(simulation.seed + plan->number, 0x2000 + (uint64_t)way);
    writer->direction->sent = 0;
    writer->direction->ended = false;
    if (with_head)
        plan_head(plan, way, &writer->text);
}

static void add_chunk_head(struct writer *writer)
{
    struct direction *direction = writer->direction;
    struct text trailers = {.length = 0};
    uint32_t left = direction->length - (uint32_t)direction->sent;
    if (direction->sent)
        text_write(&writer->text, "\r\n");
    writer->run = left ? (uint32_t)dice_size(&writer->dice, left) : 0;
    if (left > 8192 && writer->run < left / 64)
        writer->run = left / 64; /* large bodies do not come in millions of chunks */
    text_write(&writer->text, writer->run % 2 ? "%x\r\n" : "%X\r\n", writer->run);
    if (left)
        return;
    plan_trailers(writer->plan, writer->way, &trailers);
    text_write(&writer->text, "%s\r\n", trailers.length ? trailers.bytes : "");
    writer->complete = true;
}

/* What comes when text and run are used up. */
static void go_on(struct writer *writer)
{
    writer->text.length = writer->text_at = 0;
    if (writer->direction->delivery == BODY_CHUNKED) {
        add_chunk_head(writer);
    } else {
        writer->run = writer->direction->length - (uint32_t)writer->direction->sent;
        writer->complete = true;
    }
}

bool writer_done(const struct writer *writer)
{
    return writer->complete && writer->text_at == writer->text.length && !writer->run;
}

static size_t write_text(struct writer *writer, uint8_t *bytes, size_t most)
{
    size_t count = writer->text.length - writer->text_at;
    count = count < most ? count : most;
    memcpy(bytes, writer->text.bytes + writer->text_at, count);
    writer->text_at += (uint32_t)count;
    return count;
}

static size_t write_run(struct writer *writer, uint8_t *bytes, size_t most)
{
    size_t count = writer->run < most ? writer->run : most;
    pattern_fill(writer->plan->number, writer->way, writer->direction->sent, bytes, count);
    if (sabotage(BYTES_EXACT, 5))
        bytes[0] ^= 1;
    writer->direction->sent += count;
    writer->run -= (uint32_t)count;
    return count;
}

size_t writer_next(struct writer *writer, uint8_t *bytes, size_t most)
{
    size_t count = 0;
    while (!writer_done(writer)) {
        bool in_text = writer->text_at < writer->text.length;
        if (!in_text && writer->held)
            break;
        if (!in_text && !writer->run) {
            go_on(writer);
            continue;
        }
        if (count == most)
            break;
        count += in_text ? write_text(writer, bytes + count, most - count)
                         : write_run(writer, bytes + count, most - count);
    }
    return count;
}

/* --- reading */

void reader_start(struct reader *reader)
{
    reader->state = READ_HEAD;
    reader->line.length = 0;
}

void reader_expect(struct reader *reader, enum delivery delivery, uint64_t length)
{
    reader->left = delivery == BODY_UNTIL_CLOSE ? UINT64_MAX : length;
    reader->line.length = 0;
    if (delivery == BODY_CHUNKED)
        reader->state = READ_CHUNK_SIZE;
    else
        reader->state = reader->left && delivery != BODY_NONE ? READ_BODY : READ_DONE;
}

enum delivery reader_delivery(const struct reader *reader, bool is_request, uint64_t *length)
{
    char value[64];
    *length = 0;
    text_field(&reader->line, "Transfer-Encoding", value);
    if (!strcasecmp(value, "chunked"))
        return BODY_CHUNKED;
    text_field(&reader->line, "Content-Length", value);
    *length = strtoull(value, NULL, 10);
    if (value[0])
        return BODY_LENGTH;
    return is_request ? BODY_NONE : BODY_UNTIL_CLOSE;
}

/* Collects up to and with the ending; false: more is needed, or it is too long. */
static bool collect(struct text *text, const char *ending, const uint8_t **bytes, size_t *left)
{
    uint32_t length = (uint32_t)strlen(ending);
    while (*left && text->length < sizeof text->bytes - 1) {
        text->bytes[text->length++] = (char)*(*bytes)++;
        (*left)--;
        if (text->length >= length &&
            !memcmp(text->bytes + text->length - length, ending, length)) {
            text->bytes[text->length] = 0;
            return true;
        }
    }
    return false;
}

static void use_body(struct reader *reader, const uint8_t **bytes, size_t *left,
                     const uint8_t **body, size_t *count)
{
    *body = *bytes;
    *count = *left < reader->left ? *left : (size_t)reader->left;
    *bytes += *count;
    *left -= *count;
    if (reader->left != UINT64_MAX)
        reader->left -= *count;
}

/* A chunk's size, its end, or the trailers' next line is in `line`. False: it is nonsense. */
static bool use_line(struct reader *reader)
{
    char *end;
    switch (reader->state) {
    case READ_CHUNK_SIZE:
        reader->left = strtoull(reader->line.bytes, &end, 16);
        if (end == reader->line.bytes || *end != '\r')
            return false;
        reader->state = reader->left ? READ_CHUNK_BODY : READ_TRAILERS;
        reader->line.length = 0;
        return true;
    case READ_CHUNK_END:
        reader->state = READ_CHUNK_SIZE;
        bool empty = reader->line.length == 2;
        reader->line.length = 0;
        return empty;
    default: /* trailers: an empty line ends them */
        if (reader->line.length == 2 ||
            !memcmp(reader->line.bytes + reader->line.length - 4, "\r\n", 2)) {
            reader->line.length -= 2;
            reader->line.bytes[reader->line.length] = 0;
            reader->state = READ_DONE;
        }
        return true;
    }
}

enum reader_found reader_next(struct reader *reader, const uint8_t **bytes, size_t *left,
                              const uint8_t **body, size_t *count)
{
    for (;;) {
        if (reader->state == READ_DONE)
            return FOUND_END;
        if (!*left)
            return FOUND_NOTHING;
        if (reader->state == READ_BODY || reader->state == READ_CHUNK_BODY) {
            use_body(reader, bytes, left, body, count);
            if (!reader->left)
                reader->state = reader->state == READ_BODY ? READ_DONE : READ_CHUNK_END;
            return FOUND_BODY;
        }
        bool is_head = reader->state == READ_HEAD;
        if (!collect(&reader->line, is_head ? "\r\n\r\n" : "\r\n", bytes, left))
            return *left ? FOUND_NONSENSE : FOUND_NOTHING;
        if (is_head)
            return FOUND_HEAD;
        if (!use_line(reader))
            return FOUND_NONSENSE;
    }
}
