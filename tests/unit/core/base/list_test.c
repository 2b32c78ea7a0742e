/* tests/unit/core/base/list_test.c - links keep their order wherever one goes in or out */
#include "core/base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct item {
    int number;
    struct link link;
};

/* The numbers in the list, first to last, as one decimal number; read in both directions. */
static int numbers(const struct link *list)
{
    int forwards = 0, backwards = 0, place = 1;
    for (struct link *at = list->next; at != list; at = at->next)
        forwards = forwards * 10 + CONTAINER(at, struct item, link)->number;
    for (struct link *at = list->previous; at != list; at = at->previous, place *= 10)
        backwards += CONTAINER(at, struct item, link)->number * place;
    assert_int_equal(forwards, backwards);
    return forwards;
}

static void order(void **state)
{
    struct link list;
    struct item items[5];
    link_init(&list);
    assert_true(link_alone(&list));
    for (int i = 0; i < 5; i++) {
        items[i].number = i + 1;
        link_init(&items[i].link);
    }
    link_insert(&list, &items[0].link);
    assert_false(link_alone(&list));
    link_insert(&list, &items[1].link);
    link_insert(list.next, &items[2].link); /* before the first */
    link_insert(&items[1].link, &items[3].link);
    link_insert(&list, &items[4].link);
    assert_int_equal(numbers(&list), 31425);
    link_remove(&items[2].link);
    link_remove(&items[4].link);
    link_remove(&items[3].link);
    assert_int_equal(numbers(&list), 12);
    assert_true(link_alone(&items[2].link));
    link_remove(&items[2].link); /* alone: nothing happens */
    link_insert(&list, &items[2].link);
    assert_int_equal(numbers(&list), 123);
    for (int i = 0; i < 3; i++)
        link_remove(&items[i].link);
    assert_true(link_alone(&list));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
