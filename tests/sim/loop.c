/* tests/sim/loop.c - core/io/loop.h with virtual time: events in order instead of sockets and
 * clocks */
#include "core/io/loop.h"

#include "core/base/memory.h"
#include "tests/sim/simulation.h"

enum {
    BATCH_WINDOW_US = 200, /* events so close to each other may be reported by one poll */
    BATCH_MOST = 64,
    TURN_US_MOST = 20,       /* what a turn takes of virtual time */
    IDLE_TURNS_MOST = 100000 /* turns in a row that leave marks although nothing happens */
};

struct post {
    struct event event;
    void (*call)(void *user);
    void *user;
};

struct loop {
    struct turn turn;
    struct wheel wheel;
    bool stopping;
};

/* The events to come: a heap, the next one at index 1. */
static struct {
    struct event **at;
    uint32_t count, capacity;
    uint64_t orders;
    int64_t handles;
} events;

/* --- events */

static bool before(const struct event *a, const struct event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

static void place(struct event *event, uint32_t position)
{
    events.at[position] = event;
    event->position = position;
}

static void sift_up(struct event *event, uint32_t position)
{
    for (; position > 1 && before(event, events.at[position / 2]); position /= 2)
        place(events.at[position / 2], position);
    place(event, position);
}

static void sift_down(struct event *event, uint32_t position)
{
    for (uint32_t child; (child = position * 2) <= events.count; position = child) {
        if (child < events.count && before(events.at[child + 1], events.at[child]))
            child++;
        if (before(event, events.at[child]))
            break;
        place(events.at[child], position);
    }
    place(event, position);
}

void event_init(struct event *event, void (*fire)(struct event *event))
{
    *event = (struct event){.fire = fire};
}

void event_clear(struct event *event)
{
    uint32_t position = event->position;
    if (!position)
        return;
    event->position = 0;
    struct event *last = events.at[events.count--];
    if (last == event)
        return;
    if (position > 1 && before(last, events.at[position / 2]))
        sift_up(last, position);
    else
        sift_down(last, position);
}

void event_set(struct event *event, uint64_t delay_us)
{
    event_clear(event);
    event->at_us = simulation.now_us + delay_us;
    event->order = events.orders++;
    if (events.count + 2 > events.capacity) {
        events.capacity = events.capacity ? events.capacity * 2 : 1024;
        events.at = memory_resize(events.at, events.capacity * sizeof(struct event *));
    }
    sift_up(event, ++events.count);
}

void events_deinit(void)
{
    memory_free(events.at);
    events.at = NULL;
    events.count = events.capacity = 0;
}

void loop_hold(int32_t change)
{
    events.handles += change;
}

/* --- the loop */

struct loop *loop_new(void)
{
    struct loop *loop = memory_zeroed(sizeof *loop);
    turn_init(&loop->turn);
    wheel_init(&loop->wheel, simulation.now_us / 1000);
    return loop;
}

static uint64_t next_us(const struct loop *loop)
{
    bool timers = loop->wheel.next_ms != WHEEL_NEVER && !loop->stopping;
    uint64_t wheel_us = timers ? loop->wheel.next_ms * 1000 : UINT64_MAX;
    uint64_t event_us = events.count ? events.at[1]->at_us : UINT64_MAX;
    return wheel_us < event_us ? wheel_us : event_us;
}

/* The poll: waits for what comes next, unless marks are left, and reports what is due then. */
static uint32_t wait_and_fire(struct loop *loop, bool wait)
{
    uint32_t fired = 0;
    uint64_t next = next_us(loop);
    simulation.now_us += dice_below(&simulation.dice, TURN_US_MOST);
    if (wait && next == UINT64_MAX)
        violated(NOTHING_LEFT, 0, "%lld handles are open and nothing will ever happen",
                 (long long)events.handles);
    if (wait && next > simulation.now_us)
        simulation.now_us = next + dice_below(&simulation.dice, BATCH_WINDOW_US);
    while (fired < BATCH_MOST && events.count && events.at[1]->at_us <= simulation.now_us) {
        struct event *event = events.at[1];
        event_clear(event);
        event->fire(event);
        fired++;
    }
    return fired;
}

void loop_run(struct loop *loop)
{
    uint32_t idle_turns = 0;
    for (;;) {
        bool more = false;
        if (!loop->stopping) {
            wheel_advance(&loop->wheel, simulation.now_us / 1000);
            more = turn_run(&loop->turn);
        }
        if (loop->stopping && !events.handles)
            return;
        uint32_t fired = wait_and_fire(loop, !more);
        idle_turns = more && !fired ? idle_turns + 1 : 0;
        if (idle_turns > IDLE_TURNS_MOST)
            violated(EVERY_EXCHANGE_ENDS, 0, "something is marked again in every turn");
    }
}

void loop_stop(struct loop *loop)
{
    loop->stopping = true;
}

void loop_free(struct loop *loop)
{
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
    (void)loop;
    return simulation.now_us / 1000;
}

uint64_t loop_now_us(struct loop *loop)
{
    (void)loop;
    return simulation.now_us;
}

/* The simulated clock starts on 1 January 2026. */
uint64_t loop_wall_us(struct loop *loop)
{
    (void)loop;
    return 1767225600000000 + simulation.now_us;
}

static void fire_post(struct event *event)
{
    struct post *post = CONTAINER(event, struct post, event);
    post->call(post->user);
    memory_free(post);
    loop_hold(-1);
}

void loop_post(struct loop *loop, void (*call)(void *user), void *user)
{
    struct post *post = memory_allocate(sizeof *post);
    (void)loop;
    *post = (struct post){.call = call, .user = user};
    event_init(&post->event, fire_post);
    event_set(&post->event, dice_below(&simulation.dice, BATCH_WINDOW_US));
    loop_hold(1);
}

/* No signal is ever sent here. */
void loop_on_signal(struct loop *loop, int signal, void (*call)(void *user, int signal), void *user)
{
    (void)loop, (void)signal, (void)call, (void)user;
}
