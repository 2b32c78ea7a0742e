/* tests/sim/mux.h - HTTP/2 as bytes: one connection of a client's or origin's, many exchanges
 *
 * On nghttp2, and shares nothing else with weir's own codec. Heads and trailers are text as
 * HTTP/1.1 has it, which plans know how to make and to judge. Whoever embeds a mux is told of what
 * comes from inside its reading and writing, and must not close it there; in act() and before() it
 * may. */
#ifndef TESTS_SIM_MUX_H
#define TESTS_SIM_MUX_H

#include <nghttp2/nghttp2.h>

#include "tests/sim/plan.h"

struct mux;

/* One exchange on it. */
struct mux_stream {
    struct mux *mux;
    struct mux_stream *next;
    int32_t id;
    struct plan *plan; /* NULL: nobody has anything to do with it any more */
    void *user;
    struct text in;   /* the head that came; later the trailers */
    uint64_t moved;   /* bytes of it: read and written */
    uint64_t head_to; /* where in all that was made its head ends; UINT64_MAX: nowhere yet */
    uint32_t owed;    /* bytes that came and for which no others are let in */
    bool head_come, writing;
    bool held;            /* nothing behind the head yet */
    bool hangs, has_hung; /* neither reads nor writes */
    bool stalled;         /* once is enough */
    bool cut_short;       /* ends its direction too early, and says that it is complete */
    bool pausing, deferred;
    struct event act;    /* its user's */
    struct event go_on;  /* a pause between two pieces is over */
    struct event resume; /* a stall or hanging is over */
};

struct mux_events {
    /* Before anything is read or written: true: it has gone. */
    bool (*before)(struct mux *mux);
    void (*head)(struct mux_stream *stream);
    void (*body)(struct mux_stream *stream, const uint8_t *bytes, size_t count);
    void (*end)(struct mux_stream *stream); /* of the other side's direction */
    /* Then there is no such stream any more. */
    void (*closed)(struct mux_stream *stream, uint32_t code);
    void (*act)(struct mux_stream *stream);
    /* The connection ended. */
    void (*lost)(struct mux *mux, bool clean);
};

struct mux {
    const struct mux_events *events;
    struct endpoint *end;
    nghttp2_session *session;
    enum way out;
    struct mux_stream *streams;
    struct text block, method, path, status; /* of the head that comes */
    const uint8_t *bytes;                    /* to be written */
    size_t left;
    uint64_t made;     /* bytes, with those that are left */
    uint64_t ended_at; /* so many when the last exchange was over */
    struct event act;
    uint64_t
        settled_at; /* one more than there were when the other side's settings came; 0: never */
    bool ends;      /* one is just over */
    bool finished;  /* it will send no more */
    bool goes_away; /* the other side says so */
};

void mux_start(void); /* once, before there is one */

/* Takes the end; its settings are random. */
void mux_init(struct mux *mux, struct endpoint *end, enum way out, const struct mux_events *events);
/* Sends what there is to send. To be called when something was done to it outside of an event. */
void mux_pump(struct mux *mux);
/* A request's head, or an answer's. NULL: none may be sent any more. */
struct mux_stream *mux_request(struct mux *mux, struct plan *plan);
void mux_answer(struct mux_stream *stream, const struct text *head);
void mux_go_on(struct mux_stream *stream); /* what held it back does not any more */
void mux_stall(struct mux_stream *stream); /* if that is the plan */
void mux_hang(struct mux_stream *stream);  /* for very long */
void mux_reset_stream(struct mux_stream *stream, uint32_t code);
void mux_go_away(struct mux *mux, int32_t last_stream);
bool mux_is_quiet(const struct mux *mux); /* there is nothing to be sent */
void mux_finish(struct mux *mux);         /* nor will there be */
/* How many bytes of what it made the other side has read. */
uint64_t mux_passed(const struct mux *mux);
/* Closes the end, by a reset or cleanly if it can, in the middle of what is to be written. Returns
 * how many bytes of all the other side reads at most. Then only mux_deinit() is left to do. */
uint64_t mux_close(struct mux *mux, bool reset);
void mux_deinit(struct mux *mux);

#endif
