/* core/process/crew.h - the workers and their threads: start, ask, end */
#ifndef CORE_PROCESS_CREW_H
#define CORE_PROCESS_CREW_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/breadcrumb.h"
#include "core/base/worker.h"

enum { CREW_ASK_SECONDS = 2 /* for what a worker does at once */ };

struct crew_member {
    struct worker *worker;
    struct crew *crew;
    pthread_t thread;
    pthread_mutex_t lock;           /* of the next one */
    const struct breadcrumb *crumb; /* the thread's; NULL: it does not run */
    bool started;                   /* its thread was */
    bool running;                   /* ... and has not been seen to end */
};

struct question;

struct crew {
    struct loop *main; /* the main thread's */
    struct crew_member *members;
    uint32_t count, running;
    struct question *late; /* answers that still may come */
    void (*on_ended)(void *user);
    void *user;
};

/* All [main]. Makes the workers, with use(i) for each. False, and the log says why, when there is
 * no room for one. on_ended() comes on `main` when the last one has ended. */
bool crew_make(struct crew *crew, uint32_t count, struct loop *main,
               struct snapshot_use *(*use)(void *user, uint32_t worker),
               void (*on_ended)(void *user), void *user);
bool crew_start(struct crew *crew);
/* Has each running worker call(its worker, its item), `items` being one of `size` bytes for each
 * member, and waits until all have: then true, and the items are the caller's as before. A worker
 * that has not done so after so many seconds will do it when it can: then false, the items are the
 * crew's, which calls release(item) on each when nobody needs them any more, and frees them. */
bool crew_ask(struct crew *crew, void (*call)(struct worker *worker, void *item),
              void (*release)(void *item), void *items, size_t size, uint32_t seconds);
/* Has each worker run call(its worker), and does not wait. */
void crew_tell(struct crew *crew, void (*call)(void *worker));
/* What a worker is doing: in which plugin's code it is, if in one, and in which turn. */
struct crew_sight {
    struct breadcrumb crumb;
    uint32_t turn;
};
struct crew_sight crew_look(struct crew *crew, uint32_t index);
/* A metric of all of them. */
uint64_t crew_sum(const struct crew *crew, enum metric metric);
/* Once on_ended() was called, or when none was started. */
void crew_free(struct crew *crew);

#endif
