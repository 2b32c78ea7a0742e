/* core/io/turn.c - events mark, the step decides: what one turn of a worker does, in which order */
#include "core/io/turn.h"

#include <stddef.h>

static void list_init(struct mark_list *list)
{
    list->first = NULL;
    list->last = &list->first;
}

void turn_init(struct turn *turn)
{
    turn->number = 1;
    for (int phase = 0; phase < TURN_PHASES; phase++)
        list_init(&turn->lists[phase]);
}

void mark_init(struct mark *mark, void (*step)(struct mark *mark))
{
    *mark = (struct mark){.step = step};
}

static struct mark *list_take(struct mark_list *list)
{
    struct mark *mark = list->first;
    list->first = mark->next;
    if (!list->first)
        list->last = &list->first;
    mark->marked = false;
    return mark;
}

void turn_unmark(struct turn *turn, enum turn_phase phase, struct mark *mark)
{
    struct mark_list *list = &turn->lists[phase];
    if (!mark->marked)
        return;
    struct mark **at = &list->first;
    while (*at != mark)
        at = &(*at)->next;
    *at = mark->next;
    if (!*at)
        list->last = at;
    mark->marked = false;
}

/* Steps each mark of the phase once, also those marked meanwhile by others; what was already
 * stepped in this turn goes back for the next one. */
static void run_phase(struct turn *turn, enum turn_phase phase)
{
    struct mark_list again;
    struct mark_list *list = &turn->lists[phase];
    list_init(&again);
    for (int steps = 0; list->first && steps < TURN_STEPS_MOST;) {
        struct mark *mark = list_take(list);
        if (mark->stepped == turn->number) {
            mark_list_append(&again, mark);
            continue;
        }
        mark->stepped = turn->number;
        mark->step(mark);
        steps++;
    }
    if (again.first) {
        *list->last = again.first;
        list->last = again.last;
    }
}

bool turn_run(struct turn *turn)
{
    __atomic_store_n(&turn->number, turn->number + 1, __ATOMIC_RELAXED); /* others may look */
    for (int phase = 0; phase < TURN_PHASES; phase++)
        run_phase(turn, (enum turn_phase)phase);
    return turn_marked(turn);
}
