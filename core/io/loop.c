/* core/io/loop.c - one worker's event loop on libuv
 *
 * The turn runs in uv_prepare: libuv polls next, so whatever the last poll's callbacks marked is
 * stepped and flushed before the worker sleeps. While something stays marked a uv_idle keeps the
 * poll from sleeping. One uv_timer follows the wheel's next slot.
 *
 * Once a second the loop looks whether there is memory to give back, until nothing has happened
 * between two looks: an idle worker does not wake. */
#include "core/io/loop.h"

#include <assert.h>
#include <time.h>

#include "core/base/buffer.h"
#include "core/base/memory.h"
#include "core/io/uv_loop.h"

enum {
    LOOK_MS = 1000,
    SPARE_WHEN_QUIET = 128 * 1024,     /* bytes that are worth it when nothing happens ... */
    SPARE_WHEN_BUSY = 4 * 1024 * 1024, /* ... and otherwise, beside half of what is used */
};

struct post {
    struct post *next;
    void (*call)(void *user);
    void *user;
};

struct signal_watch {
    struct signal_watch *next;
    uv_signal_t handle;
    void (*call)(void *user, int signal);
    void *user;
};

struct loop {
    uv_loop_t uv;
    uv_prepare_t prepare;
    uv_idle_t idle;
    uv_timer_t timer;
    uv_async_t async;
    uint64_t timer_ms; /* what the timer is set to, WHEEL_NEVER: not running */
    struct turn turn;
    struct wheel wheel;
    struct wheel_entry look;
    bool looking, busy; /* it is set; something has happened since the last one */
    struct signal_watch *signals;
    uv_mutex_t posts_lock;
    struct post *posts, **posts_last;
};

static void cb_timer(uv_timer_t *timer)
{
    ((struct loop *)timer->data)->timer_ms = WHEEL_NEVER; /* the turn that follows advances */
}

static void cb_idle(uv_idle_t *idle)
{
    (void)idle; /* being there is enough */
}

static void follow_wheel(struct loop *loop)
{
    uint64_t now_ms = uv_now(&loop->uv), next_ms = loop->wheel.next_ms;
    if (next_ms == loop->timer_ms)
        return;
    loop->timer_ms = next_ms;
    if (next_ms == WHEEL_NEVER)
        uv_timer_stop(&loop->timer);
    else
        uv_timer_start(&loop->timer, cb_timer, next_ms > now_ms ? next_ms - now_ms : 0, 0);
}

static void look_again(struct loop *loop)
{
    loop->busy = false;
    loop->looking = true;
    wheel_set(&loop->wheel, &loop->look, uv_now(&loop->uv) + LOOK_MS);
}

static void on_look(struct wheel_entry *entry)
{
    struct loop *loop = CONTAINER(entry, struct loop, look);
    if (!loop->busy) { /* the next request may take a little longer */
        buffer_pool_deinit();
        arena_pool_deinit();
    }
    size_t spare = loop->busy ? SPARE_WHEN_BUSY + memory_used() / 2 : SPARE_WHEN_QUIET;
    if (memory_spare() >= spare)
        memory_trim();
    loop->looking = false;
    if (loop->busy)
        look_again(loop);
}

static void note_activity(struct loop *loop)
{
    bool marked = turn_marked(&loop->turn);
    if (!loop->looking && (marked || memory_spare() >= SPARE_WHEN_QUIET))
        look_again(loop);
    loop->busy = marked;
}

static void cb_prepare(uv_prepare_t *prepare)
{
    struct loop *loop = prepare->data;
    wheel_advance(&loop->wheel, uv_now(&loop->uv));
    if (!loop->busy)
        note_activity(loop);
    if (turn_run(&loop->turn))
        uv_idle_start(&loop->idle, cb_idle);
    else
        uv_idle_stop(&loop->idle);
    follow_wheel(loop);
}

static void cb_async(uv_async_t *async)
{
    struct loop *loop = async->data;
    uv_mutex_lock(&loop->posts_lock);
    struct post *posts = loop->posts;
    loop->posts = NULL;
    loop->posts_last = &loop->posts;
    uv_mutex_unlock(&loop->posts_lock);
    while (posts) {
        struct post *post = posts;
        posts = post->next;
        post->call(post->user);
        memory_free(post);
    }
}

struct loop *loop_new(void)
{
    struct loop *loop = memory_zeroed(sizeof *loop);
    int rc = uv_loop_init(&loop->uv);
    rc = rc ? rc : uv_async_init(&loop->uv, &loop->async, cb_async);
    rc = rc ? rc : uv_mutex_init(&loop->posts_lock);
    if (rc) { /* out of descriptors or memory before anything runs */
        memory_free(loop);
        return NULL;
    }
    uv_prepare_init(&loop->uv, &loop->prepare);
    uv_idle_init(&loop->uv, &loop->idle);
    uv_timer_init(&loop->uv, &loop->timer);
    loop->prepare.data = loop->idle.data = loop->timer.data = loop->async.data = loop;
    loop->posts_last = &loop->posts;
    loop->timer_ms = WHEEL_NEVER;
    turn_init(&loop->turn);
    wheel_init(&loop->wheel, uv_now(&loop->uv));
    wheel_entry_init(&loop->look, on_look);
    uv_prepare_start(&loop->prepare, cb_prepare);
    return loop;
}

void loop_run(struct loop *loop)
{
    uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *loop)
{
    uv_close((uv_handle_t *)&loop->prepare, NULL);
    uv_close((uv_handle_t *)&loop->idle, NULL);
    uv_close((uv_handle_t *)&loop->timer, NULL);
    uv_close((uv_handle_t *)&loop->async, NULL);
    for (struct signal_watch *watch = loop->signals; watch; watch = watch->next)
        uv_close((uv_handle_t *)&watch->handle, NULL);
}

void loop_free(struct loop *loop)
{
    int rc = uv_loop_close(&loop->uv);
    assert(rc == 0);
    (void)rc;
    while (loop->signals) {
        struct signal_watch *next = loop->signals->next;
        memory_free(loop->signals);
        loop->signals = next;
    }
    while (loop->posts) {
        struct post *next = loop->posts->next;
        memory_free(loop->posts);
        loop->posts = next;
    }
    uv_mutex_destroy(&loop->posts_lock);
    memory_free(loop);
}

struct turn *loop_turn(struct loop *loop)
{
    return &loop->turn;
}

struct wheel *loop_wheel(struct loop *loop)
{
    return &loop->wheel;
}

uint64_t loop_now_ms(struct loop *loop)
{
    return uv_now(&loop->uv);
}

uint64_t loop_now_us(struct loop *loop)
{
    (void)loop;
    return uv_hrtime() / 1000;
}

uint64_t loop_wall_us(struct loop *loop)
{
    struct timespec now;
    (void)loop;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uv_loop_t *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

void loop_post(struct loop *loop, void (*call)(void *user), void *user)
{
    struct post *post = memory_allocate(sizeof *post);
    *post = (struct post){.call = call, .user = user};
    uv_mutex_lock(&loop->posts_lock);
    *loop->posts_last = post;
    loop->posts_last = &post->next;
    uv_mutex_unlock(&loop->posts_lock);
    uv_async_send(&loop->async);
}

static void cb_signal(uv_signal_t *handle, int signal)
{
    struct signal_watch *watch = handle->data;
    watch->call(watch->user, signal);
}

void loop_on_signal(struct loop *loop, int signal, void (*call)(void *user, int signal), void *user)
{
    struct signal_watch *watch = memory_zeroed(sizeof *watch);
    watch->call = call;
    watch->user = user;
    watch->handle.data = watch;
    watch->next = loop->signals;
    loop->signals = watch;
    uv_signal_init(&loop->uv, &watch->handle);
    uv_signal_start(&watch->handle, cb_signal, signal);
}
