/* core/io/post.c - messages for owners, from any thread, at any time
 *
 * A door is a lock, a list, and how many wait of each owner: those are counted outside of the
 * owners because only their worker may look at these. */
#include "core/io/post.h"

#include <pthread.h>

#include "core/base/memory.h"
#include "core/io/loop.h"
#include "core/io/owner.h"

enum { DOORS = 1 << REFERENCE_WORKER_BITS, BUCKETS = 256 };

struct post {
    struct task task;
    struct post *next;
    weir_reference owner;
    uint32_t tag;
    void *data;
    void (*drop)(void *data);
};

/* How many posts of one owner wait. */
struct waiting {
    struct waiting *next;
    uint64_t owner;
    uint32_t count;
};

struct door {
    pthread_mutex_t lock;
    struct worker *worker; /* NULL: closed */
    bool woken;            /* the worker will come */
    struct post *first, **last;
    uint32_t count;           /* of posts that wait, here or as events */
    struct waiting **buckets; /* NULL: closed, and nothing waits */
};

static struct door doors[DOORS] = {
    [0 ... DOORS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER},
};

/* --- counting; under the lock */

static struct waiting **find_waiting(struct door *door, weir_reference owner)
{
    uint64_t mixed = owner.value * 0x9e3779b97f4a7c15u;
    struct waiting **at = &door->buckets[mixed >> 56];
    while (*at && (*at)->owner != owner.value)
        at = &(*at)->next;
    return at;
}

/* Posts that are events may leave after it was closed. */
static void free_when_unused(struct door *door)
{
    if (door->worker || door->count)
        return;
    memory_free(door->buckets);
    door->buckets = NULL;
}

static bool count_in(struct door *door, weir_reference owner)
{
    struct waiting **at = find_waiting(door, owner);
    if (door->count == POSTS_MOST || (*at && (*at)->count == POSTS_OWNER_MOST))
        return false;
    if (!*at) {
        *at = memory_zeroed(sizeof **at);
        (*at)->owner = owner.value;
    }
    (*at)->count++;
    door->count++;
    return true;
}

static void count_out(struct door *door, weir_reference owner)
{
    struct waiting **at = find_waiting(door, owner), *waiting = *at;
    door->count--;
    if (!--waiting->count) {
        *at = waiting->next;
        memory_free(waiting);
    }
    free_when_unused(door);
}

/* --- in */

static void on_woken(void *worker)
{
    posts_take(worker);
}

static weir_result put_in(struct door *door, struct post *post)
{
    if (!door->worker)
        return WEIR_GONE;
    if (!count_in(door, post->owner))
        return WEIR_TOO_MUCH;
    *door->last = post;
    door->last = &post->next;
    if (!door->woken)
        loop_post(door->worker->loop, on_woken, door->worker);
    door->woken = true;
    return WEIR_OK;
}

static void drop(struct post *post)
{
    if (post->drop)
        post->drop(post->data);
    memory_free(post);
}

weir_result post(weir_reference owner, uint32_t tag, void *data, void (*drop_data)(void *data))
{
    struct door *door = &doors[reference_worker(owner)];
    struct post *post = memory_zeroed(sizeof *post);
    post->owner = owner;
    post->tag = tag;
    post->data = data;
    post->drop = drop_data;
    pthread_mutex_lock(&door->lock);
    weir_result rc = owner.value ? put_in(door, post) : WEIR_GONE;
    pthread_mutex_unlock(&door->lock);
    if (rc)
        drop(post);
    return rc;
}

/* --- out */

static void leave(struct post *post)
{
    struct door *door = &doors[reference_worker(post->owner)];
    pthread_mutex_lock(&door->lock);
    count_out(door, post->owner);
    pthread_mutex_unlock(&door->lock);
    drop(post);
}

static void end_post(struct task *task)
{
    leave(CONTAINER(task, struct post, task));
}

static const struct task_kind post_kind = {WEIR_EVENT_POST, end_post};

static void deliver(struct worker *worker, struct post *post)
{
    weir_result why;
    struct owner *owner = worker_current == worker ? owner_find(post->owner, &why) : NULL;
    if (!owner) {
        leave(post);
        return;
    }
    task_adopt(owner, post->owner, &post->task, &post_kind, post->tag);
    post->task.event.data = post->data;
    task_due(&post->task);
}

void posts_take(struct worker *worker)
{
    struct door *door = &doors[worker->index];
    pthread_mutex_lock(&door->lock);
    struct post *post = door->first;
    door->first = NULL;
    door->last = &door->first;
    door->woken = false;
    pthread_mutex_unlock(&door->lock);
    while (post) {
        struct post *next = post->next;
        deliver(worker, post);
        post = next;
    }
}

/* --- the door */

void posts_open(struct worker *worker)
{
    struct door *door = &doors[worker->index];
    pthread_mutex_lock(&door->lock);
    door->worker = worker;
    door->woken = false;
    door->last = &door->first;
    door->buckets = memory_zeroed(BUCKETS * sizeof *door->buckets);
    pthread_mutex_unlock(&door->lock);
}

void posts_close(struct worker *worker)
{
    struct door *door = &doors[worker->index];
    pthread_mutex_lock(&door->lock);
    door->worker = NULL;
    free_when_unused(door);
    pthread_mutex_unlock(&door->lock);
    posts_take(worker);
}

/* --- to each worker and back */

static void on_back(void *user)
{
    struct posts_sweep *sweep = user;
    if (--sweep->missing == 0)
        sweep->done(sweep);
}

static void on_swept(void *user)
{
    struct posts_sweep *sweep = user;
    posts_take(worker_current);
    loop_post(sweep->back, on_back, sweep);
}

static void ask(struct posts_sweep *sweep, struct door *door)
{
    pthread_mutex_lock(&door->lock);
    if (door->worker) {
        loop_post(door->worker->loop, on_swept, sweep);
        sweep->missing++;
    }
    pthread_mutex_unlock(&door->lock);
}

void posts_sweep(struct posts_sweep *sweep, void (*done)(struct posts_sweep *sweep))
{
    *sweep = (struct posts_sweep){.done = done};
    if (worker_current) { /* else none runs yet, or any more */
        sweep->back = worker_current->loop;
        for (uint32_t i = 0; i < DOORS; i++)
            ask(sweep, &doors[i]);
    }
    if (!sweep->missing)
        done(sweep);
}
