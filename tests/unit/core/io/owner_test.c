/* tests/unit/core/io/owner_test.c - owners, tasks, events and posts of one worker, on its own loop
 *
 * Tasks here count how often they were ended: once, whatever happens. */
#include "core/io/owner.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "core/io/loop.h"
#include "core/io/post.h"

enum { TASKS = 8 };

static struct worker worker;
static struct owner owner;
static int notified, drops;

static struct counted_task {
    struct task task;
    int ended;
} tasks[TASKS];

static void end_counted(struct task *task)
{
    assert_null(task->owner);
    CONTAINER(task, struct counted_task, task)->ended++;
}

static const struct task_kind counted_kind = {WEIR_EVENT_WORK, end_counted};

static void on_event(struct owner *of)
{
    assert_ptr_equal(of, &owner);
    notified++;
}

static int set_up(void **state)
{
    static uint32_t index;
    (void)state;
    struct loop *loop = loop_new();
    worker = (struct worker){
        .index = index++ % 1000, .loop = loop, .turn = loop_turn(loop), .wheel = loop_wheel(loop)};
    worker_current = &worker;
    owners_new(&worker);
    owner_init(&owner, &worker, NULL, on_event);
    notified = drops = 0;
    for (int i = 0; i < TASKS; i++)
        tasks[i].ended = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    owners_stop(&worker);
    owner_end(&owner);
    loop_stop(worker.loop);
    loop_run(worker.loop);
    owners_free(&worker);
    loop_free(worker.loop);
    worker_current = NULL;
    return 0;
}

static weir_reference begin(int index, uint32_t tag)
{
    weir_reference reference = owner_reference(&owner, 9);
    assert_int_equal(task_begin(&owner, reference, &tasks[index].task, &counted_kind, tag),
                     WEIR_OK);
    return tasks[index].task.event.reference;
}

static void drop(void *data)
{
    (void)data;
    drops++;
}

/* --- tasks */

static void an_owner_is_named_when_asked_and_until_its_end(void **state)
{
    weir_result why;
    (void)state;
    assert_int_equal(worker.owners->references.live, 0);
    weir_reference a = owner_reference(&owner, 0), b = owner_reference(&owner, 31);
    assert_int_equal(worker.owners->references.live, 1);
    assert_int_not_equal(a.value, b.value);
    assert_ptr_equal(owner_find(a, &why), &owner);
    assert_ptr_equal(owner_find(b, &why), &owner);
    owner_end(&owner);
    assert_null(owner_find(b, &why));
    assert_int_equal(why, WEIR_GONE);
    assert_int_equal(worker.owners->references.live, 0);
    owner_end(&owner);
}

static void events_come_in_order_with_their_tags(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        begin(i, 100 + (uint32_t)i);
    assert_null(owner_next_event(&owner));
    task_due(&tasks[2].task);
    task_due(&tasks[0].task);
    assert_int_equal(notified, 1); /* once for both */
    struct task *task = owner_next_event(&owner);
    assert_ptr_equal(task, &tasks[2].task);
    assert_int_equal(task->event.tag, 102);
    assert_int_equal(task->event.kind, WEIR_EVENT_WORK);
    assert_int_equal(task->tag, 9);
    assert_int_equal(tasks[2].ended, 0);
    owner_event_done(task);
    assert_int_equal(tasks[2].ended, 1);
    task = owner_next_event(&owner);
    assert_ptr_equal(task, &tasks[0].task);
    owner_event_done(task);
    assert_null(owner_next_event(&owner));
    task_due(&tasks[1].task);
    assert_int_equal(notified, 2);
}

static void nothing_comes_of_what_was_cancelled(void **state)
{
    (void)state;
    weir_reference running = begin(0, 0), over = begin(1, 0), given = begin(2, 0);
    task_due(&tasks[2].task);
    task_due(&tasks[1].task);
    assert_ptr_equal(owner_next_event(&owner), &tasks[2].task);
    assert_int_equal(task_cancel(given), WEIR_GONE); /* its hook runs */
    owner_event_done(&tasks[2].task);
    assert_int_equal(task_cancel(running), WEIR_OK);
    assert_int_equal(task_cancel(over), WEIR_OK);
    assert_null(owner_next_event(&owner));
    assert_int_equal(task_cancel(running), WEIR_GONE);
    assert_int_equal(task_cancel(over), WEIR_GONE);
    assert_int_equal(task_cancel(owner_reference(&owner, 0)), WEIR_GONE); /* no task */
    for (int i = 0; i < 3; i++)
        assert_int_equal(tasks[i].ended, 1);
    assert_int_equal(worker.owners->tasks, 0);
}

static void the_owners_end_is_that_of_its_tasks(void **state)
{
    (void)state;
    weir_reference running = begin(0, 0), over = begin(1, 0);
    task_due(&tasks[1].task);
    owner_end(&owner);
    assert_int_equal(tasks[0].ended, 1);
    assert_int_equal(tasks[1].ended, 1);
    assert_int_equal(task_cancel(running), WEIR_GONE);
    assert_int_equal(task_cancel(over), WEIR_GONE);
    assert_int_equal(worker.owners->references.live, 0);
    assert_int_equal(worker.owners->tasks, 0);
}

static void an_owner_has_only_so_many(void **state)
{
    struct counted_task *many = memory_zeroed((OWNER_TASKS_MOST + 1) * sizeof *many);
    weir_reference reference = owner_reference(&owner, 0);
    (void)state;
    for (uint32_t i = 0; i <= OWNER_TASKS_MOST; i++)
        assert_int_equal(task_begin(&owner, reference, &many[i].task, &counted_kind, 0),
                         i < OWNER_TASKS_MOST ? WEIR_OK : WEIR_TOO_MUCH);
    assert_int_equal(task_cancel(many[0].task.event.reference), WEIR_OK);
    assert_int_equal(task_begin(&owner, reference, &many[OWNER_TASKS_MOST].task, &counted_kind, 0),
                     WEIR_OK);
    owner_end(&owner);
    for (uint32_t i = 0; i <= OWNER_TASKS_MOST; i++)
        assert_int_equal(many[i].ended, 1);
    memory_free(many);
}

static void *look_from_elsewhere(void *reference)
{
    weir_result why;
    assert_null(owner_find(*(weir_reference *)reference, &why));
    assert_int_equal(why, WEIR_WRONG_THREAD);
    assert_int_equal(task_cancel(*(weir_reference *)reference), WEIR_WRONG_THREAD);
    return NULL;
}

static void other_threads_find_nothing(void **state)
{
    pthread_t thread;
    struct worker another = {.index = worker.index + 1};
    weir_reference reference = owner_reference(&owner, 0);
    (void)state;
    pthread_create(&thread, NULL, look_from_elsewhere, &reference);
    pthread_join(thread, NULL);
    worker_current = &another;
    look_from_elsewhere(&reference);
    worker_current = &worker;
}

/* --- posts, from this thread: those of others are in post_test.c */

static void a_post_comes_later_and_is_dropped_after_its_hook(void **state)
{
    int data = 0;
    (void)state;
    assert_int_equal(post(owner_reference(&owner, 7), 55, &data, drop), WEIR_OK);
    assert_null(owner_next_event(&owner));
    posts_take(&worker);
    assert_int_equal(notified, 1);
    struct task *task = owner_next_event(&owner);
    assert_int_equal(task->event.kind, WEIR_EVENT_POST);
    assert_int_equal(task->event.tag, 55);
    assert_int_equal(task->tag, 7);
    assert_ptr_equal(task->event.data, &data);
    assert_int_equal(drops, 0);
    owner_event_done(task);
    assert_int_equal(drops, 1);
    assert_null(owner_next_event(&owner));
}

static void posts_to_nobody_are_dropped(void **state)
{
    weir_reference reference = owner_reference(&owner, 0);
    (void)state;
    assert_int_equal(post((weir_reference){0}, 0, NULL, drop), WEIR_GONE);
    assert_int_equal(post((weir_reference){UINT64_MAX}, 0, NULL, drop), WEIR_GONE);
    assert_int_equal(drops, 2);
    assert_int_equal(post(reference, 0, NULL, drop), WEIR_OK);
    assert_int_equal(post(reference, 0, NULL, NULL), WEIR_OK);
    owner_end(&owner);                                         /* with these on their way */
    assert_int_equal(post(reference, 0, NULL, drop), WEIR_OK); /* nobody knows here */
    posts_take(&worker);
    assert_int_equal(drops, 4);
    assert_int_equal(notified, 0);
}

static int sweeps, drops_at_sweep;

static void on_swept(struct posts_sweep *sweep)
{
    assert_int_equal(sweep->missing, 0);
    drops_at_sweep = drops;
    sweeps++;
    owners_stop(&worker);
    loop_stop(worker.loop);
}

static void on_nobody_swept(struct posts_sweep *sweep)
{
    assert_null(sweep->back);
    sweeps++;
}

/* Runs the loop, so it has one of its own. */
static void a_sweep_is_over_when_what_waited_is_dropped(void **state)
{
    struct posts_sweep sweep, none;
    set_up(state);
    weir_reference reference = owner_reference(&owner, 0);
    owner_end(&owner);
    assert_int_equal(post(reference, 0, NULL, drop), WEIR_OK);
    posts_sweep(&sweep, on_swept);
    assert_int_equal(sweeps, 0);
    loop_run(worker.loop);
    assert_int_equal(sweeps, 1);
    assert_int_equal(drops_at_sweep, 1);
    worker_current = NULL;
    posts_sweep(&none, on_nobody_swept); /* no worker: at once */
    assert_int_equal(sweeps, 2);
    owners_free(&worker);
    loop_free(worker.loop);
}

static void the_owners_end_drops_its_posts(void **state)
{
    (void)state;
    post(owner_reference(&owner, 0), 0, NULL, drop);
    post(owner_reference(&owner, 0), 0, NULL, drop);
    posts_take(&worker);
    owner_end(&owner);
    assert_int_equal(drops, 2);
}

static void too_many_posts_are_dropped(void **state)
{
    weir_reference reference = owner_reference(&owner, 0);
    (void)state;
    for (int i = 0; i < POSTS_OWNER_MOST; i++)
        assert_int_equal(post(reference, 0, NULL, drop), WEIR_OK);
    assert_int_equal(post(reference, 0, NULL, drop), WEIR_TOO_MUCH);
    assert_int_equal(drops, 1);
    assert_int_equal(post(owner_reference(&owner, 1), 0, NULL, drop), WEIR_OK); /* its neighbour */
    posts_take(&worker);
    assert_int_equal(post(reference, 0, NULL, drop), WEIR_TOO_MUCH); /* no hook has run */
    owner_event_done(owner_next_event(&owner));
    assert_int_equal(drops, 3);
    assert_int_equal(post(reference, 0, NULL, drop), WEIR_OK);
    owner_end(&owner);
    posts_take(&worker);
    assert_int_equal(drops, POSTS_OWNER_MOST + 4);
}

static void a_worker_takes_only_so_many(void **state)
{
    static struct owner many[POSTS_MOST / POSTS_OWNER_MOST];
    (void)state;
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        owner_init(&many[i], &worker, NULL, on_event);
        for (int j = 0; j < POSTS_OWNER_MOST; j++)
            assert_int_equal(post(owner_reference(&many[i], 0), 0, NULL, drop), WEIR_OK);
    }
    assert_int_equal(post(owner_reference(&owner, 0), 0, NULL, drop), WEIR_TOO_MUCH);
    for (size_t i = 0; i < sizeof many / sizeof *many; i++)
        owner_end(&many[i]);
    posts_take(&worker);
    assert_int_equal(drops, POSTS_MOST + 1);
    assert_int_equal(post(owner_reference(&owner, 0), 0, NULL, drop), WEIR_OK);
}

static void after_the_stop_nothing_comes(void **state)
{
    weir_reference reference = owner_reference(&owner, 0);
    (void)state;
    begin(0, 0);
    post(reference, 0, NULL, drop);
    owners_stop(&worker);
    assert_int_equal(drops, 1);
    assert_int_equal(post(reference, 0, NULL, drop), WEIR_GONE);
    assert_int_equal(drops, 2);
    task_due(&tasks[0].task);
    assert_int_equal(tasks[0].ended, 1);
    assert_null(owner_next_event(&owner));
    assert_int_equal(notified, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_owner_is_named_when_asked_and_until_its_end),
        TEST(events_come_in_order_with_their_tags),
        TEST(nothing_comes_of_what_was_cancelled),
        TEST(the_owners_end_is_that_of_its_tasks),
        TEST(an_owner_has_only_so_many),
        TEST(other_threads_find_nothing),
        TEST(a_post_comes_later_and_is_dropped_after_its_hook),
        TEST(posts_to_nobody_are_dropped),
        cmocka_unit_test(a_sweep_is_over_when_what_waited_is_dropped),
        TEST(the_owners_end_drops_its_posts),
        TEST(too_many_posts_are_dropped),
        TEST(a_worker_takes_only_so_many),
        TEST(after_the_stop_nothing_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
