/* core/process/crew.c - the workers and their threads: start, ask, end */
#include "core/process/crew.h"

#include <string.h>

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/io/loop.h"
#include "core/io/turn.h"
#include "core/process/worker.h"

/* What one member is asked. */
struct task {
    struct question *question;
    struct worker *worker;
    void *item;
};

struct question {
    struct question *next;
    void (*call)(struct worker *worker, void *item);
    void (*release)(void *item);
    pthread_mutex_t lock;
    pthread_cond_t answered;
    uint32_t missing; /* answers; under the lock */
    uint32_t count;
    uint8_t *items;
    size_t size;
    struct task tasks[];
};

/* --- making and starting */

bool crew_make(struct crew *crew, uint32_t count, struct loop *main,
               struct snapshot_use *(*use)(void *user, uint32_t worker),
               void (*on_ended)(void *user), void *user)
{
    crew->main = main;
    crew->on_ended = on_ended;
    crew->user = user;
    crew->members = memory_zeroed(count * sizeof *crew->members);
    for (crew->count = 0; crew->count < count; crew->count++) {
        struct crew_member *member = &crew->members[crew->count];
        member->crew = crew;
        pthread_mutex_init(&member->lock, NULL);
        member->worker = worker_new(use(user, crew->count), crew->count);
        if (!member->worker) {
            log_write(LOG_ERROR, "cannot make worker %u: out of file descriptors?", crew->count);
            return false;
        }
    }
    return true;
}

static void on_member_ended(void *user)
{
    struct crew_member *member = user;
    struct crew *crew = member->crew;
    member->running = false;
    if (--crew->running == 0)
        crew->on_ended(crew->user);
}

/* What the thread shows of itself; it must not be looked at when the thread is gone. */
static void show(struct crew_member *member, const struct breadcrumb *crumb)
{
    pthread_mutex_lock(&member->lock);
    member->crumb = crumb;
    pthread_mutex_unlock(&member->lock);
}

struct crew_sight crew_look(struct crew *crew, uint32_t index)
{
    struct crew_member *member = &crew->members[index];
    struct crew_sight sight = {.turn = turn_number(member->worker->turn)};
    pthread_mutex_lock(&member->lock);
    if (member->crumb)
        sight.crumb = breadcrumb_of(member->crumb);
    pthread_mutex_unlock(&member->lock);
    return sight;
}

static void *run_member(void *user)
{
    struct crew_member *member = user;
    breadcrumb_watch_thread();
    show(member, &breadcrumb);
    worker_run(member->worker);
    show(member, NULL);
    loop_post(member->crew->main, on_member_ended, member);
    return NULL;
}

bool crew_start(struct crew *crew)
{
    for (uint32_t i = 0; i < crew->count; i++) {
        struct crew_member *member = &crew->members[i];
        int rc = pthread_create(&member->thread, NULL, run_member, member);
        if (rc) {
            log_write(LOG_ERROR, "cannot start worker %u: %s", i, strerror(rc));
            return false;
        }
        member->started = member->running = true;
        crew->running++;
    }
    return true;
}

/* --- asking */

static struct question *question_new(const struct crew *crew,
                                     void (*call)(struct worker *worker, void *item),
                                     void (*release)(void *item), void *items, size_t size)
{
    struct question *question =
        memory_zeroed(sizeof *question + crew->count * sizeof *question->tasks);
    pthread_condattr_t attributes;
    question->call = call;
    question->release = release;
    question->items = items;
    question->size = size;
    question->count = crew->count;
    question->missing = crew->running;
    pthread_mutex_init(&question->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&question->answered, &attributes);
    pthread_condattr_destroy(&attributes);
    return question;
}

static void question_free(struct question *question)
{
    pthread_cond_destroy(&question->answered);
    pthread_mutex_destroy(&question->lock);
    memory_free(question);
}

static void question_release(struct question *question)
{
    for (uint32_t i = 0; i < question->count; i++)
        question->release(question->items + i * question->size);
    memory_free(question->items);
    question_free(question);
}

static void answer(void *user)
{
    struct task *task = user;
    struct question *question = task->question;
    question->call(task->worker, task->item);
    pthread_mutex_lock(&question->lock);
    question->missing--;
    pthread_cond_signal(&question->answered);
    pthread_mutex_unlock(&question->lock);
}

static void pose(struct crew *crew, struct question *question)
{
    for (uint32_t i = 0; i < crew->count; i++) {
        struct crew_member *member = &crew->members[i];
        struct task *task = &question->tasks[i];
        *task = (struct task){question, member->worker, question->items + i * question->size};
        if (member->running)
            loop_post(member->worker->loop, answer, task);
    }
}

static bool wait_for_answers(struct crew *crew, struct question *question, time_t seconds)
{
    uint64_t until_us = loop_now_us(crew->main) + (uint64_t)seconds * 1000000;
    struct timespec until = {.tv_sec = (time_t)(until_us / 1000000),
                             .tv_nsec = (long)(until_us % 1000000) * 1000};
    int rc = 0;
    pthread_mutex_lock(&question->lock);
    while (question->missing && rc == 0 && seconds)
        rc = pthread_cond_timedwait(&question->answered, &question->lock, &until);
    bool all = !question->missing;
    pthread_mutex_unlock(&question->lock);
    return all;
}

static void release_answered(struct crew *crew)
{
    for (struct question **at = &crew->late, *question; (question = *at);) {
        if (wait_for_answers(crew, question, 0)) {
            *at = question->next;
            question_release(question);
        } else {
            at = &question->next;
        }
    }
}

bool crew_ask(struct crew *crew, void (*call)(struct worker *worker, void *item),
              void (*release)(void *item), void *items, size_t size, uint32_t seconds)
{
    struct question *question = question_new(crew, call, release, items, size);
    release_answered(crew);
    pose(crew, question);
    if (wait_for_answers(crew, question, seconds)) {
        question_free(question);
        return true;
    }
    question->next = crew->late;
    crew->late = question;
    return false;
}

void crew_tell(struct crew *crew, void (*call)(void *worker))
{
    for (uint32_t i = 0; i < crew->count; i++)
        if (crew->members[i].running)
            loop_post(crew->members[i].worker->loop, call, crew->members[i].worker);
}

uint64_t crew_sum(const struct crew *crew, enum metric metric)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < crew->count; i++)
        sum += metric_read(&crew->members[i].worker->metrics, metric);
    return sum;
}

/* --- the end */

void crew_free(struct crew *crew)
{
    for (uint32_t i = 0; i < crew->count; i++) {
        if (!crew->members[i].started)
            continue; /* weir fails to start, and ends */
        pthread_join(crew->members[i].thread, NULL);
        worker_free(crew->members[i].worker);
    }
    while (crew->late) { /* what was still to be asked went with the workers' loops */
        struct question *next = crew->late->next;
        question_release(crew->late);
        crew->late = next;
    }
    memory_free(crew->members);
}
