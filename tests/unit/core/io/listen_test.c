/* tests/unit/core/io/listen_test.c - places as text, sockets that listen, and accepting from them
 */
#include "core/io/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/buffer.h"
#include "core/base/string.h"

enum { CLIENTS = 10 };

static struct listen_place place_of(const char *text)
{
    struct listen_place place;
    if (!listen_place_parse(string_of(text), &place))
        fail_msg("%s is no place", text);
    return place;
}

/* --- places */

static void test_texts(void **state)
{
    static const char *const good[] = {"127.0.0.1:3128", "[::1]:0", "[::]:80", "unix:/run/a.sock",
                                       "unix:a"};
    static const char *const bad[] = {"", "unix:", "127.0.0.1", "::1:80", "name:80", "/run/a.sock"};
    char text[LISTEN_TEXT_BYTES];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct listen_place place = place_of(good[i]);
        assert_string_equal(listen_place_format(&place, text), good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct listen_place place;
        assert_false(listen_place_parse(string_of(bad[i]), &place));
    }
}

static void test_longest_path(void **state)
{
    char text[LISTEN_TEXT_BYTES + 1] = "unix:/";
    struct listen_place place;
    memset(text + 6, 'x', LISTEN_PATH_BYTES - 2);
    assert_true(listen_place_parse(string_of(text), &place));
    assert_int_equal(strlen(place.path), LISTEN_PATH_BYTES - 1);
    text[6 + LISTEN_PATH_BYTES - 2] = 'x';
    assert_false(listen_place_parse((weir_string){text, LISTEN_PATH_BYTES + 5}, &place));
    assert_false(listen_place_parse((weir_string){"unix:/a\0b", 9}, &place));
}

static void test_equal(void **state)
{
    struct listen_place one = place_of("[::]:80"), other = place_of("[::]:80");
    struct listen_place a = place_of("unix:/a"), b = place_of("unix:/b"), c = place_of("unix:/a");
    assert_true(listen_place_equal(&one, &other));
    other.v6_only = true;
    assert_false(listen_place_equal(&one, &other));
    assert_true(listen_place_equal(&a, &c));
    assert_false(listen_place_equal(&a, &b));
    assert_false(listen_place_equal(&a, &one));
}

/* --- sockets */

static void close_all(const int *sockets, int count)
{
    for (int i = 0; i < count; i++)
        close(sockets[i]);
}

static void test_sockets_share_a_port(void **state)
{
    int sockets[3], more[1];
    struct listen_place place = place_of("127.0.0.1:0");
    assert_int_equal(listen_open(&place, sockets, 3), 0);
    assert_true(address_port(&place.address) != 0);
    struct listen_place again = place, adopted;
    assert_int_equal(listen_open(&again, more, 1), -EADDRINUSE);
    assert_int_equal(listen_adopt(sockets[2], &adopted), 0);
    assert_true(listen_place_equal(&adopted, &place));
    close_all(sockets, 3);
    assert_int_equal(listen_open(&again, more, 1), 0);
    close_all(more, 1);
}

static void test_what_cannot_be_adopted(void **state)
{
    struct listen_place place;
    int pipes[2], silent = socket(AF_INET, SOCK_STREAM, 0),
                  datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(listen_adopt(pipes[0], &place), -ENOTSOCK);
    assert_int_equal(listen_adopt(silent, &place), -EINVAL);
    assert_int_equal(listen_adopt(datagrams, &place), -EINVAL);
    assert_int_equal(listen_adopt(-1, &place), -EBADF);
    close_all((int[]){pipes[0], pipes[1], silent, datagrams}, 4);
}

static char directory[] = "/tmp/weir-listen-XXXXXX";

static struct listen_place place_in_directory(void)
{
    char text[64];
    snprintf(text, sizeof text, "unix:%s/a", directory);
    return place_of(text);
}

static void test_file_of_a_socket(void **state)
{
    int sockets[2], more[1];
    struct stat status;
    struct listen_place place = place_in_directory(), other = place;
    place.mode = 0620;
    assert_int_equal(listen_open(&place, sockets, 2), 0);
    assert_int_equal(stat(place.path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0620);
    assert_int_equal(listen_permit(&place, 0604), 0);
    assert_int_equal(stat(place.path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0604);
    assert_int_equal(listen_open(&other, more, 1), -EADDRINUSE);
    assert_int_equal(stat(place.path, &status), 0);
    close_all(sockets, 2); /* as if killed: the file stays */
    assert_int_equal(listen_open(&other, more, 1), 0);
    assert_int_equal(listen_unlink(&place), 0); /* it is not that one any more */
    assert_int_equal(stat(place.path, &status), 0);
    assert_int_equal(listen_unlink(&other), 0);
    assert_int_equal(stat(place.path, &status), -1);
    close_all(more, 1);
}

static void test_other_files_stay(void **state)
{
    int sockets[1];
    struct stat status;
    struct listen_place place = place_in_directory();
    close(open(place.path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(listen_open(&place, sockets, 1), -EADDRINUSE);
    assert_int_equal(stat(place.path, &status), 0);
    assert_true(S_ISREG(status.st_mode));
    unlink(place.path);
}

/* --- accepting */

static struct {
    struct loop *loop;
    struct listener *listener;
    int socket;
    uint32_t accepted, most;
    bool close_at_once;
} run;

static void stop(void *user)
{
    if (run.listener)
        listener_close(run.listener);
    run.listener = NULL;
    loop_stop(run.loop);
}

static bool may_accept(void *user)
{
    return run.accepted < run.most;
}

static void on_accepted(void *user, struct carrier *carrier)
{
    assert_ptr_equal(user, &run);
    run.accepted++;
    carrier_close(carrier, CARRIER_CLOSE_NOW);
    if (run.accepted == run.most && !run.close_at_once)
        loop_post(run.loop, stop, NULL);
}

static const struct listener_events events = {.may_accept = may_accept, .accepted = on_accepted};

static void begin(void *user)
{
    run.listener = listener_open(run.loop, run.socket, &events, &run);
    assert_non_null(run.listener);
    if (run.close_at_once)
        stop(NULL);
}

static int connect_to(const struct listen_place *place)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, &place->address.any, address_length(&place->address)), 0);
    return fd;
}

static void run_with(uint32_t most, bool close_at_once)
{
    int clients[CLIENTS];
    struct listen_place place = place_of("127.0.0.1:0");
    assert_int_equal(listen_open(&place, &run.socket, 1), 0);
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = connect_to(&place);
    run.loop = loop_new();
    run.accepted = 0;
    run.most = most;
    run.close_at_once = close_at_once;
    loop_post(run.loop, begin, NULL);
    loop_run(run.loop);
    loop_free(run.loop);
    close_all(clients, CLIENTS);
    buffer_pool_deinit();
}

static void test_who_comes_is_accepted(void **state)
{
    run_with(CLIENTS, false);
    assert_int_equal(run.accepted, CLIENTS);
}

/* Who is in the queue would be reset. */
static void test_who_waits_is_accepted_at_the_end(void **state)
{
    run_with(UINT32_MAX, true);
    assert_int_equal(run.accepted, CLIENTS);
}

static void test_nobody_more_than_may_be(void **state)
{
    run_with(3, true);
    assert_int_equal(run.accepted, 3);
}

static int make_directory(void **state)
{
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_longest_path),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_sockets_share_a_port),
        cmocka_unit_test(test_what_cannot_be_adopted),
        cmocka_unit_test(test_file_of_a_socket),
        cmocka_unit_test(test_other_files_stay),
        cmocka_unit_test(test_who_comes_is_accepted),
        cmocka_unit_test(test_who_waits_is_accepted_at_the_end),
        cmocka_unit_test(test_nobody_more_than_may_be),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
