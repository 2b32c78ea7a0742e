/* tests/unit/core/io/turn_test.c - one turn: who is stepped, how often and in which order */
#include "core/io/turn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/list.h"
#include "tests/sim/dice.h"

static struct turn turn;
static char steps[4096]; /* the names of what was stepped, in order */
static size_t step_count;

/* A step writes its name and does one thing more. */
struct object {
    struct mark mark;
    char name;
    enum turn_phase phase;
    struct object *marks;   /* marked by the step */
    struct object *unmarks; /* unmarked by the step */
};

static void step(struct mark *mark)
{
    struct object *object = CONTAINER(mark, struct object, mark);
    assert_false(object->mark.marked); /* what happens from here on needs another step */
    assert_true(step_count < sizeof steps - 1);
    steps[step_count++] = object->name;
    if (object->marks)
        turn_mark(&turn, object->marks->phase, &object->marks->mark);
    if (object->unmarks)
        turn_unmark(&turn, object->unmarks->phase, &object->unmarks->mark);
}

static void init(struct object *object, char name, enum turn_phase phase)
{
    *object = (struct object){.name = name, .phase = phase};
    mark_init(&object->mark, step);
}

static void mark(struct object *object)
{
    turn_mark(&turn, object->phase, &object->mark);
}

static void unmark(struct object *object)
{
    turn_unmark(&turn, object->phase, &object->mark);
}

/* Runs a turn in which these are stepped, and `more` is left. */
static void turn_steps(const char *expected, bool more)
{
    step_count = 0;
    memset(steps, 0, sizeof steps);
    assert_int_equal(turn_run(&turn), more);
    assert_string_equal(steps, expected);
}

static int set_up(void **state)
{
    turn_init(&turn);
    return 0;
}

static void nothing_marked_nothing_stepped(void **state)
{
    turn_steps("", false);
    turn_steps("", false);
}

static void each_once_in_the_order_of_marks(void **state)
{
    struct object a, b, c;
    init(&a, 'a', TURN_EXCHANGES);
    init(&b, 'b', TURN_EXCHANGES);
    init(&c, 'c', TURN_EXCHANGES);
    mark(&b);
    mark(&a);
    mark(&b);
    mark(&c);
    mark(&a);
    turn_steps("bac", false);
    turn_steps("", false);
    mark(&a);
    turn_steps("a", false);
}

static void phases_follow_one_another(void **state)
{
    struct object connection, exchange, carrier, dead;
    init(&connection, 'c', TURN_CONNECTIONS);
    init(&exchange, 'e', TURN_EXCHANGES);
    init(&carrier, 'f', TURN_FLUSH);
    init(&dead, 'd', TURN_DEAD);
    mark(&dead);
    mark(&carrier);
    mark(&exchange);
    mark(&connection);
    turn_steps("cefd", false);
    connection.marks = &exchange; /* marks go down the phases within a turn */
    exchange.marks = &carrier;
    carrier.marks = &dead;
    mark(&connection);
    turn_steps("cefd", false);
    connection.marks = exchange.marks = dead.marks = NULL;
    carrier.marks = &connection; /* and up with the next */
    mark(&carrier);
    turn_steps("f", true);
    turn_steps("c", false);
}

static void marked_by_a_neighbour_in_the_same_turn(void **state)
{
    struct object a, b;
    init(&a, 'a', TURN_EXCHANGES);
    init(&b, 'b', TURN_EXCHANGES);
    a.marks = &b;
    mark(&a);
    turn_steps("ab", false);
    mark(&b);
    mark(&a); /* b has been stepped when it is marked again */
    turn_steps("ba", true);
    turn_steps("b", false);
}

static void marking_oneself_waits_for_the_next_turn(void **state)
{
    struct object a, b;
    init(&a, 'a', TURN_EXCHANGES);
    init(&b, 'b', TURN_EXCHANGES);
    a.marks = &a;
    mark(&a);
    mark(&b);
    turn_steps("ab", true);
    turn_steps("a", true);
    a.marks = NULL;
    turn_steps("a", false);
    turn_steps("", false);
}

static void mark_themselves(struct object *objects, int count, bool yes)
{
    for (int i = 0; i < count; i++)
        objects[i].marks = yes ? &objects[i] : NULL;
}

/* Several that were stepped already are marked again: each once, in order, before what comes later.
 */
static void what_is_marked_again_keeps_its_place(void **state)
{
    struct object objects[4], other, fresh, last;
    for (int i = 0; i < 4; i++) {
        init(&objects[i], (char)('a' + i), TURN_EXCHANGES);
        mark(&objects[i]);
    }
    init(&other, 'o', TURN_EXCHANGES); /* marks one behind those that are marked again */
    init(&fresh, 'f', TURN_EXCHANGES);
    init(&last, 'l', TURN_EXCHANGES);
    other.marks = &fresh;
    mark(&other);
    mark_themselves(objects, 4, true);
    turn_steps("abcdof", true);
    mark_themselves(objects, 4, false);
    mark(&objects[1]); /* is marked */
    turn_steps("abcd", false);
    for (int i = 0; i < 4; i++)
        mark(&objects[i]);
    mark_themselves(objects, 4, true);
    turn_steps("abcd", true);
    mark_themselves(objects, 4, false);
    mark(&last);
    turn_steps("abcdl", false);
    turn_steps("", false);
}

static void two_that_mark_each_other_end_the_turn(void **state)
{
    struct object a, b;
    init(&a, 'a', TURN_CONNECTIONS);
    init(&b, 'b', TURN_CONNECTIONS);
    a.marks = &b;
    b.marks = &a;
    mark(&a);
    turn_steps("ab", true);
    turn_steps("ab", true);
}

static void unmarked_is_not_stepped(void **state)
{
    struct object objects[5];
    for (int i = 0; i < 5; i++)
        init(&objects[i], (char)('a' + i), TURN_EXCHANGES);
    for (int i = 0; i < 4; i++)
        mark(&objects[i]);
    unmark(&objects[1]);
    unmark(&objects[1]); /* is not marked any more */
    turn_steps("acd", false);
    for (int i = 0; i < 4; i++)
        mark(&objects[i]);
    unmark(&objects[3]); /* the last: marks go on behind the one before it */
    mark(&objects[4]);
    unmark(&objects[0]);
    turn_steps("bce", false);
    mark(&objects[0]);
    unmark(&objects[0]); /* the only one */
    mark(&objects[1]);
    turn_steps("b", false);
    unmark(&objects[2]);
    turn_steps("", false);
}

static void the_dead_unmark_themselves(void **state)
{
    struct object exchange, dead, other;
    init(&exchange, 'e', TURN_EXCHANGES);
    init(&dead, 'd', TURN_DEAD);
    init(&other, 'o', TURN_FLUSH);
    other.marks = &exchange;
    dead.unmarks = &exchange;
    mark(&other);
    mark(&dead);
    turn_steps("od", false);
    turn_steps("", false);
}

enum { MANY = TURN_STEPS_MOST + 50 };

static void a_phase_has_a_bound(void **state)
{
    static struct object objects[MANY], last;
    for (int i = 0; i < MANY; i++) {
        init(&objects[i], 'e', TURN_EXCHANGES);
        mark(&objects[i]);
    }
    init(&last, 'f', TURN_FLUSH); /* other phases have bounds of their own */
    mark(&last);
    step_count = 0;
    assert_true(turn_run(&turn));
    assert_int_equal(step_count, TURN_STEPS_MOST + 1);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(objects[i].mark.marked, i >= TURN_STEPS_MOST);
    objects[MANY - 1].marks = &objects[0];
    step_count = 0;
    assert_false(turn_run(&turn));
    assert_int_equal(step_count, 50 + 1);
}

/* Those who mark themselves do not keep those behind the bound from their turn. */
static void nobody_is_starved(void **state)
{
    static struct object objects[MANY];
    for (int i = 0; i < MANY; i++) {
        init(&objects[i], (char)(i < TURN_STEPS_MOST ? 'e' : 'l'), TURN_EXCHANGES);
        objects[i].marks = &objects[i];
        mark(&objects[i]);
    }
    step_count = 0;
    memset(steps, 0, sizeof steps);
    turn_run(&turn);
    assert_null(strchr(steps, 'l'));
    step_count = 0;
    memset(steps, 0, sizeof steps);
    turn_run(&turn);
    assert_int_equal(strspn(steps, "l"), MANY - TURN_STEPS_MOST);
    assert_int_equal(step_count, TURN_STEPS_MOST);
}

/* The number of the turn comes back to where it was after 2^32 turns. */
static void turn_numbers_may_wrap(void **state)
{
    struct object a;
    init(&a, 'a', TURN_EXCHANGES);
    turn.number = UINT32_MAX - 1;
    for (int i = 0; i < 4; i++) {
        mark(&a);
        step_count = 0;
        for (int turns = 0; turns < 2 && !step_count; turns++)
            turn_run(&turn);
        assert_int_equal(step_count, 1);
    }
}

static void random_marks_are_all_stepped(void **state)
{
    static struct object objects[64];
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct dice dice = dice_of(seed, 0);
        turn_init(&turn);
        for (int i = 0; i < 64; i++)
            init(&objects[i], 'x', (enum turn_phase)(i % TURN_PHASES));
        for (int round = 0; round < 20; round++) {
            size_t expected = 0;
            for (int i = 0; i < 40; i++) {
                struct object *object = &objects[dice_below(&dice, 64)];
                if (dice_percent(&dice, 70))
                    mark(object);
                else
                    unmark(object);
            }
            for (int i = 0; i < 64; i++)
                expected += objects[i].mark.marked;
            step_count = 0;
            assert_false(turn_run(&turn));
            assert_int_equal(step_count, expected);
        }
    }
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_marked_nothing_stepped),
        TEST(each_once_in_the_order_of_marks),
        TEST(phases_follow_one_another),
        TEST(marked_by_a_neighbour_in_the_same_turn),
        TEST(marking_oneself_waits_for_the_next_turn),
        TEST(what_is_marked_again_keeps_its_place),
        TEST(two_that_mark_each_other_end_the_turn),
        TEST(unmarked_is_not_stepped),
        TEST(the_dead_unmark_themselves),
        TEST(a_phase_has_a_bound),
        TEST(nobody_is_starved),
        TEST(turn_numbers_may_wrap),
        TEST(random_marks_are_all_stepped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
