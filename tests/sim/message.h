/* tests/sim/message.h - HTTP/1.1 messages as bytes: written piece by piece, read from any pieces
 *
 * Shares nothing with weir's own codec. A tunnel's bytes are a message without a head. */
#ifndef TESTS_SIM_MESSAGE_H
#define TESTS_SIM_MESSAGE_H

#include "tests/sim/plan.h"

struct writer {
    struct plan *plan;
    struct direction *direction; /* of the plan: `sent` counts the body's bytes */
    enum way way;
    struct text text; /* head or framing that goes before the next bytes of the body */
    uint32_t text_at;
    uint32_t run;  /* bytes of the body before the next framing */
    bool held;     /* nothing behind the head yet */
    bool complete; /* all framing was made */
    struct dice dice;
};

/* The head of `plan` (none: with_head false) and its body. */
void writer_start(struct writer *writer, struct plan *plan, enum way way, bool with_head);
/* The next bytes, at most so many; 0: all that there is was written. */
size_t writer_next(struct writer *writer, uint8_t *bytes, size_t most);
bool writer_done(const struct writer *writer);

enum reader_state {
    READ_HEAD,
    READ_BODY,       /* `left` bytes, or what comes */
    READ_CHUNK_SIZE, /* a line */
    READ_CHUNK_BODY,
    READ_CHUNK_END, /* an empty line */
    READ_TRAILERS,
    READ_DONE
};

struct reader {
    enum reader_state state;
    struct text line; /* the head, the line or the trailers so far */
    uint64_t left;
};

enum reader_found {
    FOUND_NOTHING, /* all bytes were used */
    FOUND_HEAD,    /* in `line`: say how the body comes by reader_expect() */
    FOUND_BODY,    /* `count` bytes from `body` on */
    FOUND_END,     /* the message is complete; trailers are in `line` */
    FOUND_NONSENSE
};

void reader_start(struct reader *reader);
void reader_expect(struct reader *reader, enum delivery delivery, uint64_t length);
/* How the head in `line` says that the body comes. */
enum delivery reader_delivery(const struct reader *reader, bool is_request, uint64_t *length);
/* Takes bytes off *bytes and *left until something is found. */
enum reader_found reader_next(struct reader *reader, const uint8_t **bytes, size_t *left,
                              const uint8_t **body, size_t *count);

#endif
