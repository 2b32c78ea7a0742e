/* tests/unit/core/host/asynchronous_test.c - timers, posts and work, as plugins call them
 *
 * The first tests run one worker's loop on this thread; the last one has two workers with owners
 * that come and go, and eight threads that post to them. Also run under ThreadSanitizer. */
#include "core/host/asynchronous.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "core/base/snapshot.h"
#include "core/io/loop.h"
#include "core/io/owner.h"
#include "core/io/post.h"
#include "tests/sim/dice.h"

#define HOST (&asynchronous_host)

enum { EVENTS_MOST = 64 };

struct place { /* one worker */
    struct worker worker;
    struct wheel_entry stop;
    pthread_t thread;
};

static struct place place;
static struct owner owner;
static uint32_t indexes; /* of workers: none is used twice */
static weir_event events[EVENTS_MOST];
static uint32_t event_count;
static atomic_int drops;

static void drop(void *data)
{
    (void)data;
    atomic_fetch_add(&drops, 1);
}

static void make_place(struct place *made)
{
    struct loop *loop = loop_new();
    *made = (struct place){
        .worker = {
            .index = indexes++, .loop = loop, .turn = loop_turn(loop), .wheel = loop_wheel(loop)}};
    owners_new(&made->worker);
}

static void on_event(struct owner *of)
{
    for (struct task *task; (task = owner_next_event(of));) {
        assert_true(event_count < EVENTS_MOST);
        events[event_count++] = task->event;
        owner_event_done(task);
    }
}

static int set_up(void **state)
{
    (void)state;
    make_place(&place);
    worker_current = &place.worker;
    owner_init(&owner, &place.worker, NULL, on_event);
    event_count = 0;
    atomic_store(&drops, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    owners_free(&place.worker);
    loop_free(place.worker.loop);
    worker_current = NULL;
    return 0;
}

static void stop(struct wheel_entry *entry)
{
    struct worker *worker = &CONTAINER(entry, struct place, stop)->worker;
    owners_stop(worker);
    owner_end(&owner);
    loop_stop(worker->loop);
}

/* Runs the loop for so long; the owner ends with it. */
static void run(uint32_t milliseconds)
{
    wheel_entry_init(&place.stop, stop);
    wheel_set(place.worker.wheel, &place.stop, loop_now_ms(place.worker.loop) + milliseconds);
    loop_run(place.worker.loop);
}

static weir_reference me(void)
{
    return owner_reference(&owner, 0);
}

/* --- timers */

static void timers_come_in_time_and_once(void **state)
{
    weir_reference late, early;
    (void)state;
    assert_int_equal(HOST->timer(me(), 150, 1, &late), WEIR_OK);
    assert_int_equal(HOST->timer(me(), 0, 2, &early), WEIR_OK);
    assert_int_equal(HOST->timer(me(), 100000, 3, NULL), WEIR_OK);
    assert_int_equal(event_count, 0);
    run(400);
    assert_int_equal(event_count, 2);
    assert_int_equal(events[0].tag, 2);
    assert_int_equal(events[0].reference.value, early.value);
    assert_int_equal(events[1].tag, 1);
    assert_int_equal(events[1].kind, WEIR_EVENT_TIMER);
    assert_int_equal(events[1].reference.value, late.value);
    assert_int_equal(HOST->cancel(late), WEIR_GONE);
}

static void a_cancelled_timer_never_comes(void **state)
{
    weir_reference timer;
    (void)state;
    assert_int_equal(HOST->timer(me(), 0, 1, &timer), WEIR_OK);
    assert_int_equal(HOST->cancel(timer), WEIR_OK);
    assert_int_equal(HOST->cancel(timer), WEIR_GONE);
    run(100);
    assert_int_equal(event_count, 0);
}

static void nobody_gets_no_timer(void **state)
{
    (void)state;
    weir_reference gone = me();
    owner_end(&owner);
    assert_int_equal(HOST->timer(gone, 0, 1, NULL), WEIR_GONE);
    assert_int_equal(HOST->timer((weir_reference){0}, 0, 1, NULL), WEIR_GONE);
    run(60);
    assert_int_equal(event_count, 0);
}

/* --- work */

static sem_t began, gate;

static weir_result add_one(void *data)
{
    return *(int *)data + 1;
}

static weir_result wait_at_gate(void *data)
{
    (void)data;
    assert_int_equal(HOST->thread(), WEIR_THREAD_OTHER);
    sem_post(&began);
    sem_wait(&gate);
    return WEIR_OK;
}

static void work_runs_elsewhere_and_comes_back(void **state)
{
    int data = 41;
    weir_reference work;
    (void)state;
    assert_int_equal(HOST->work(me(), add_one, 5, &data, drop, &work), WEIR_OK);
    run(100);
    assert_int_equal(event_count, 1);
    assert_int_equal(events[0].kind, WEIR_EVENT_WORK);
    assert_int_equal(events[0].tag, 5);
    assert_int_equal(events[0].result, 42);
    assert_ptr_equal(events[0].data, &data);
    assert_int_equal(events[0].reference.value, work.value);
    assert_int_equal(drops, 1);
}

static void refused_work_is_dropped(void **state)
{
    (void)state;
    assert_int_equal(HOST->work((weir_reference){0}, add_one, 0, NULL, drop, NULL), WEIR_GONE);
    assert_int_equal(drops, 1);
    run(60);
}

/* Many more than the pool has threads: some run, most have not begun. */
static void start_at_gate(weir_reference *works, int count)
{
    sem_init(&began, 0, 0);
    sem_init(&gate, 0, 0);
    for (int i = 0; i < count; i++)
        assert_int_equal(HOST->work(me(), wait_at_gate, 0, NULL, drop, &works[i]), WEIR_OK);
    sem_wait(&began);
}

static void open_gate(int count)
{
    for (int i = 0; i < count; i++)
        sem_post(&gate);
}

static void nothing_comes_of_cancelled_work(void **state)
{
    enum { WORKS = 20 };
    weir_reference works[WORKS];
    (void)state;
    start_at_gate(works, WORKS);
    for (int i = 0; i < WORKS; i++)
        assert_int_equal(HOST->cancel(works[i]), WEIR_OK);
    open_gate(WORKS);
    run(60);
    assert_int_equal(event_count, 0);
    assert_int_equal(drops, WORKS);
}

static void the_owners_end_kills_timers_and_work(void **state)
{
    enum { WORKS = 20 };
    weir_reference works[WORKS];
    (void)state;
    start_at_gate(works, WORKS);
    HOST->timer(me(), 0, 0, NULL);
    HOST->post(me(), 0, NULL, drop);
    owner_end(&owner);
    assert_int_equal(place.worker.owners->tasks, 0);
    open_gate(WORKS);
    run(60);
    assert_int_equal(event_count, 0);
    assert_int_equal(drops, WORKS + 1);
}

static uint32_t unused;

static void on_unused(struct snapshot_use *use)
{
    (void)use;
    assert_int_equal(drops, 1); /* whose code belongs to it */
    unused++;
}

static void an_instance_that_is_retired_starts_no_work(void **state)
{
    (void)state;
    struct snapshot_use use = {.count = 1, .retired = true};
    int data = 0;
    owner.use = &use;
    assert_int_equal(HOST->work(me(), add_one, 0, &data, drop, NULL), WEIR_STOPPING);
    assert_int_equal(atomic_load(&drops), 1);
    assert_int_equal(use.count, 1);
    use.retired = false;
    assert_int_equal(HOST->work(me(), add_one, 0, &data, drop, NULL), WEIR_OK);
    run(100);
    assert_int_equal(event_count, 1);
    assert_int_equal(use.count, 1);
}

static void work_holds_the_snapshot_that_its_code_belongs_to(void **state)
{
    weir_reference work;
    struct snapshot_use use = {.count = 1, .on_unused = on_unused};
    (void)state;
    owner.use = &use;
    start_at_gate(&work, 1);
    assert_int_equal(use.count, 2);
    owner_end(&owner);
    snapshot_drop(&use);
    assert_int_equal(unused, 0);
    open_gate(1);
    run(60);
    assert_int_equal(unused, 1);
}

static void too_much_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < OWNER_TASKS_MOST; i++)
        assert_int_equal(HOST->timer(me(), 1000000, 0, NULL), WEIR_OK);
    assert_int_equal(HOST->timer(me(), 0, 0, NULL), WEIR_TOO_MUCH);
    assert_int_equal(HOST->work(me(), add_one, 0, NULL, drop, NULL), WEIR_TOO_MUCH);
    assert_int_equal(drops, 1);
    run(60);
    assert_int_equal(event_count, 0);
}

/* --- threads */

static void *call_everything(void *user)
{
    weir_reference reference = *(weir_reference *)user, name = {0};
    struct weir_worker worker = {.owner = owner};
    assert_int_equal(HOST->thread(), WEIR_THREAD_OTHER);
    assert_int_equal(HOST->timer(reference, 0, 0, &name), WEIR_WRONG_THREAD);
    assert_int_equal(HOST->work(reference, add_one, 0, NULL, drop, &name), WEIR_WRONG_THREAD);
    assert_int_equal(HOST->cancel(reference), WEIR_WRONG_THREAD);
    assert_int_equal(HOST->now_ms(), 0);
    assert_int_equal(HOST->worker_reference(&worker).value, 0);
    assert_int_equal(name.value, 0);
    assert_true(HOST->wall_us() > 1700000000000000);
    return NULL;
}

static void other_threads_are_refused(void **state)
{
    pthread_t thread;
    weir_reference reference = me();
    (void)state;
    pthread_create(&thread, NULL, call_everything, &reference);
    pthread_join(thread, NULL);
    assert_int_equal(drops, 1);
    assert_int_equal(HOST->thread(), WEIR_THREAD_WORKER);
    assert_int_equal(HOST->now_ms(), loop_now_ms(place.worker.loop));
    thread_is_main = true;
    assert_int_equal(HOST->thread(), WEIR_THREAD_MAIN);
    thread_is_main = false;
    run(60);
    assert_int_equal(event_count, 0);
}

/* --- posts to the dying: owners of two workers come and go while eight threads post to them */

enum { THREADS = 8, POSTS_EACH = 125000, OWNERS = 16, PLACES = 2 };

static struct place places[PLACES];
static struct owner mortals[PLACES][OWNERS];
static _Atomic uint64_t names[PLACES][OWNERS]; /* also long after their owners' ends */
static atomic_bool posters_gone;
static atomic_int hooks, results[3];

static void on_mortal_event(struct owner *mortal)
{
    assert_ptr_equal(mortal->worker, worker_current);
    for (struct task *task; (task = owner_next_event(mortal));) {
        atomic_fetch_add(&hooks, 1);
        owner_event_done(task);
    }
}

static void begin_mortal(struct place *where, uint32_t index)
{
    size_t which = (size_t)(where - places);
    owner_init(&mortals[which][index], &where->worker, NULL, on_mortal_event);
    atomic_store(&names[which][index], owner_reference(&mortals[which][index], 0).value);
}

static void end_mortals(struct place *where)
{
    for (uint32_t i = 0; i < OWNERS; i++)
        owner_end(&mortals[where - places][i]);
}

/* Again and again, each time from the loop. */
static void replace_one(void *user)
{
    static _Thread_local struct dice dice = {99};
    struct place *where = user;
    if (atomic_load(&posters_gone)) {
        owners_stop(&where->worker);
        end_mortals(where);
        loop_stop(where->worker.loop);
        return;
    }
    uint32_t index = (uint32_t)dice_below(&dice, OWNERS);
    owner_end(&mortals[where - places][index]);
    begin_mortal(where, index);
    loop_post(where->worker.loop, replace_one, where);
}

static void *run_place(void *user)
{
    struct place *where = user;
    worker_current = &where->worker;
    for (uint32_t i = 0; i < OWNERS; i++)
        begin_mortal(where, i);
    loop_post(where->worker.loop, replace_one, where);
    loop_run(where->worker.loop);
    owners_free(&where->worker);
    return NULL;
}

static weir_reference somebody(struct dice *dice)
{
    if (!dice_below(dice, 100)) /* a worker that never was, or nobody at all */
        return (weir_reference){dice_roll(dice) | 1ull << 55};
    uint64_t where = dice_below(dice, PLACES);
    return (weir_reference){atomic_load(&names[where][dice_below(dice, OWNERS)])};
}

static void *post_many(void *user)
{
    struct dice dice = {(uint64_t)(uintptr_t)user};
    for (int i = 0; i < POSTS_EACH; i++) {
        weir_result rc = HOST->post(somebody(&dice), 0, NULL, drop);
        atomic_fetch_add(&results[rc == WEIR_OK ? 0 : rc == WEIR_GONE ? 1 : 2], 1);
        assert_true(rc == WEIR_OK || rc == WEIR_GONE || rc == WEIR_TOO_MUCH);
    }
    return NULL;
}

static void every_post_is_dropped_once(void **state)
{
    pthread_t posters[THREADS];
    (void)state;
    worker_current = NULL;
    atomic_store(&drops, 0);
    for (int i = 0; i < PLACES; i++) {
        make_place(&places[i]);
        pthread_create(&places[i].thread, NULL, run_place, &places[i]);
    }
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&posters[i], NULL, post_many, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(posters[i], NULL);
    atomic_store(&posters_gone, true);
    for (int i = 0; i < PLACES; i++) {
        pthread_join(places[i].thread, NULL);
        assert_int_equal(HOST->post((weir_reference){names[i][0]}, 0, NULL, drop), WEIR_GONE);
        loop_free(places[i].worker.loop);
    }
    print_message("# posts: %d taken, %d to nobody, %d too many; %d hooks\n", results[0],
                  results[1], results[2], hooks);
    assert_int_equal(drops, THREADS * POSTS_EACH + PLACES);
    assert_true(results[1] > 0);
    assert_true(hooks > 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(timers_come_in_time_and_once),
        TEST(a_cancelled_timer_never_comes),
        TEST(nobody_gets_no_timer),
        TEST(work_runs_elsewhere_and_comes_back),
        TEST(refused_work_is_dropped),
        TEST(nothing_comes_of_cancelled_work),
        TEST(the_owners_end_kills_timers_and_work),
        TEST(an_instance_that_is_retired_starts_no_work),
        TEST(work_holds_the_snapshot_that_its_code_belongs_to),
        TEST(too_much_is_refused),
        TEST(other_threads_are_refused),
        cmocka_unit_test(every_post_is_dropped_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
