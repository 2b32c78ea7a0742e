/* bench/mark.c - marks and steps one exchange so many times, each in a turn of its own */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/io/turn.h"

/* The dearest case: what a turn costs by itself is shared by nobody. */

static uint64_t steps;

static void step(struct mark *mark)
{
    (void)mark;
    steps++;
}

int main(int count, char **arguments)
{
    struct turn turn;
    struct mark mark;
    uint64_t wanted = count == 2 ? strtoull(arguments[1], NULL, 10) : 0;
    if (!wanted) {
        fprintf(stderr, "usage: mark TIMES\n");
        return 2;
    }
    turn_init(&turn);
    mark_init(&mark, step);
    for (uint64_t i = 0; i < wanted; i++) {
        turn_mark(&turn, TURN_EXCHANGES, &mark);
        turn_run(&turn);
    }
    printf("%" PRIu64 " steps\n", steps);
    return steps == wanted ? 0 : 1;
}
