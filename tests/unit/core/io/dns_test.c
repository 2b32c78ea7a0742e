/* tests/unit/core/io/dns_test.c - the resolver against a small name server on loopback
 *
 * The server is a thread of this test; names decide what it answers. dns.c is compiled in here with
 * a clock that can be moved on, so that nobody waits for a cache to expire. Names end in a dot: the
 * search list of whoever runs this stays out of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/io/loop.h"

static uint64_t skipped_ms;
#define loop_now_ms(loop) (loop_now_ms(loop) + skipped_ms)
#include "core/io/dns.c"

/* --- the name server */

enum { TYPE_A = 1, TYPE_CNAME = 5, TYPE_AAAA = 28 };
enum { SERVFAIL = 2, NXDOMAIN = 3, HELD_MOST = 8, PACKET_BYTES = 2048 };

struct known_name {
    const char *name;
    int four, six; /* addresses */
    int rcode;
    uint32_t ttl, alias_ttl; /* alias_ttl: a CNAME stands before the addresses */
    bool silent, held, truncated;
};

static const struct known_name known_names[] = {
    {.name = "one.test", .four = 1, .ttl = 60},
    {.name = "both.test", .four = 2, .six = 1, .ttl = 60},
    {.name = "zero.test", .four = 1, .ttl = 0},
    {.name = "long.test", .four = 1, .ttl = 1000000},
    {.name = "alias.test", .four = 1, .ttl = 300, .alias_ttl = 20},
    {.name = "many.test", .four = 20, .ttl = 60},
    {.name = "large.test", .four = 3, .ttl = 60, .truncated = true},
    {.name = "missing.test", .rcode = NXDOMAIN},
    {.name = "broken.test", .rcode = SERVFAIL},
};
static const struct known_name any_name = {.four = 1, .ttl = 60};
static const struct known_name silent_name = {.silent = true};
static const struct known_name held_name = {.four = 1, .ttl = 60, .held = true};

struct packet {
    uint8_t bytes[PACKET_BYTES];
    size_t length;
    struct sockaddr_in from;
};

static struct {
    pthread_t thread;
    int udp, tcp;
    uint16_t port;
    atomic_bool stop, release;
    atomic_int asked_four, asked_six, asked_tcp;
    struct packet held[HELD_MOST];
    int held_count;
} server;

/* The question's name as text, its type, and where it ends; -1: not a question. */
static int read_question(const struct packet *packet, char name[256], int *type)
{
    size_t at = 12, length = 0;
    while (at < packet->length && packet->bytes[at]) {
        size_t label = packet->bytes[at++];
        if (label > 63 || at + label + 5 > packet->length || length + label + 2 > 256)
            return -1;
        if (length)
            name[length++] = '.';
        memcpy(name + length, packet->bytes + at, label);
        length += label;
        at += label;
    }
    name[length] = 0;
    if (at + 5 > packet->length)
        return -1;
    *type = packet->bytes[at + 1] << 8 | packet->bytes[at + 2];
    return (int)at + 5;
}

static const struct known_name *known_name_of(const char *name)
{
    for (size_t i = 0; i < sizeof known_names / sizeof *known_names; i++)
        if (!strcmp(known_names[i].name, name))
            return &known_names[i];
    return strstr(name, "silent") ? &silent_name : strstr(name, "held") ? &held_name : &any_name;
}

static void put16(struct packet *packet, unsigned value)
{
    packet->bytes[packet->length++] = (uint8_t)(value >> 8);
    packet->bytes[packet->length++] = (uint8_t)value;
}

/* A record of the name at offset `owner`; its data follows. */
static void put_record(struct packet *packet, unsigned owner, int type, uint32_t ttl, int length)
{
    put16(packet, 0xc000u | owner);
    put16(packet, (unsigned)type);
    put16(packet, 1);
    put16(packet, ttl >> 16);
    put16(packet, ttl & 0xffff);
    put16(packet, (unsigned)length);
}

/* 192.0.2.INDEX or 2001:db8::INDEX */
static void put_address(struct packet *packet, unsigned owner, int type, uint32_t ttl, int index)
{
    static const uint8_t four[4] = {192, 0, 2}, six[16] = {0x20, 0x01, 0x0d, 0xb8};
    int length = type == TYPE_A ? 4 : 16;
    put_record(packet, owner, type, ttl, length);
    memcpy(packet->bytes + packet->length, type == TYPE_A ? four : six, (size_t)length);
    packet->length += (size_t)length;
    packet->bytes[packet->length - 1] = (uint8_t)index;
}

static void put_answers(struct packet *packet, const struct known_name *known, int type)
{
    int count = type == TYPE_A ? known->four : type == TYPE_AAAA ? known->six : 0;
    unsigned owner = 12;
    if (known->alias_ttl) {
        put_record(packet, owner, TYPE_CNAME, known->alias_ttl, 4);
        owner = (unsigned)packet->length;
        memcpy(packet->bytes + packet->length, "\1x\xc0\x0c", 4);
        packet->length += 4;
        packet->bytes[7]++;
    }
    for (int index = 1; index <= count; index++)
        put_address(packet, owner, type, known->ttl, index);
    packet->bytes[7] = (uint8_t)(packet->bytes[7] + count);
}

/* Makes the answer of the question; false: there is none, now or ever. */
static bool make_answer(struct packet *packet, bool over_tcp)
{
    char name[256];
    int type = 0, end = read_question(packet, name, &type);
    const struct known_name *known = known_name_of(name);
    if (end < 0)
        return false;
    (type == TYPE_A ? server.asked_four++ : server.asked_six++);
    if (known->silent)
        return false;
    if (known->held && !server.release) {
        if (server.held_count < HELD_MOST)
            server.held[server.held_count++] = *packet;
        return false;
    }
    packet->length = (size_t)end;
    packet->bytes[2] = 0x81;
    packet->bytes[3] = (uint8_t)(0x80 | known->rcode);
    memset(packet->bytes + 6, 0, 6); /* counts of records */
    if (known->truncated && !over_tcp)
        packet->bytes[2] |= 2;
    else
        put_answers(packet, known, type);
    return true;
}

static void answer_packet(struct packet *packet)
{
    if (make_answer(packet, false))
        sendto(server.udp, packet->bytes, packet->length, 0, (struct sockaddr *)&packet->from,
               sizeof packet->from);
}

static void serve_udp(void)
{
    struct packet packet;
    socklen_t size = sizeof packet.from;
    ssize_t length =
        recvfrom(server.udp, packet.bytes, 512, 0, (struct sockaddr *)&packet.from, &size);
    packet.length = length > 0 ? (size_t)length : 0;
    if (length > 12)
        answer_packet(&packet);
}

static void serve_tcp(void)
{
    struct packet packet = {.length = 0};
    uint8_t prefix[2];
    int connection = accept(server.tcp, NULL, NULL);
    server.asked_tcp++;
    if (recv(connection, prefix, 2, MSG_WAITALL) == 2) {
        packet.length = (size_t)(prefix[0] << 8 | prefix[1]);
        if (packet.length <= 512 &&
            recv(connection, packet.bytes, packet.length, MSG_WAITALL) == (ssize_t)packet.length &&
            make_answer(&packet, true)) {
            prefix[0] = (uint8_t)(packet.length >> 8);
            prefix[1] = (uint8_t)packet.length;
            send(connection, prefix, 2, MSG_NOSIGNAL);
            usleep(5000); /* in two parts */
            send(connection, packet.bytes, packet.length, MSG_NOSIGNAL);
        }
    }
    close(connection);
}

static void *serve(void *user)
{
    struct pollfd sockets[2] = {{server.udp, POLLIN, 0}, {server.tcp, POLLIN, 0}};
    while (!server.stop) {
        poll(sockets, 2, 5);
        if (sockets[0].revents)
            serve_udp();
        if (sockets[1].revents)
            serve_tcp();
        while (server.release && server.held_count)
            answer_packet(&server.held[--server.held_count]);
    }
    return user;
}

static int server_start(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    for (int tries = 0; tries < 20; tries++) { /* the same free port for both */
        address.sin_port = 0;
        server.udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        server.tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (!bind(server.tcp, (struct sockaddr *)&address, size) && !listen(server.tcp, 8) &&
            !getsockname(server.tcp, (struct sockaddr *)&address, &size) &&
            !bind(server.udp, (struct sockaddr *)&address, size)) {
            server.port = ntohs(address.sin_port);
            return pthread_create(&server.thread, NULL, serve, NULL);
        }
        close(server.udp);
        close(server.tcp);
    }
    return -1;
}

static int server_stop(void **state)
{
    server.stop = true;
    pthread_join(server.thread, NULL);
    close(server.udp);
    close(server.tcp);
    return 0;
}

/* --- what the tests share */

struct reply {
    int calls;
    struct dns_answer answer;
    struct dns_query *query;
    struct dns_query *cancels; /* cancelled from within the call */
    const char *asks_again;    /* resolved from within the call */
    struct reply *again;
};

static struct loop *loop;
static struct dns *dns;
static uv_timer_t ticks; /* keep uv_run() from sleeping on after the turn, where calls may come */

static char hosts_path[] = "/tmp/weir-dns-test-XXXXXX";

static int set_up(void **state)
{
    char address[32];
    skipped_ms = 0;
    server.release = false;
    server.asked_four = server.asked_six = server.asked_tcp = 0;
    loop = loop_new();
    dns = dns_new(loop);
    uv_timer_init(loop_uv(loop), &ticks);
    snprintf(address, sizeof address, "127.0.0.1:%u", server.port);
    return dns_set_servers(dns, string_of(address));
}

static int tear_down(void **state)
{
    dns_free(dns);
    uv_close((uv_handle_t *)&ticks, NULL);
    loop_stop(loop);
    loop_run(loop);
    loop_free(loop);
    return 0;
}

static void on_answer(void *user, const struct dns_answer *answer);

/* Whether the answer was there at once. */
static bool ask(const char *name, int family, struct reply *reply)
{
    memset(&reply->answer, 0xee, sizeof reply->answer);
    reply->calls = 0;
    reply->query = dns_resolve(dns, string_of(name), family, &reply->answer, on_answer, reply);
    assert_int_equal(reply->calls, 0);
    return !reply->query;
}

static void on_answer(void *user, const struct dns_answer *answer)
{
    struct reply *reply = user;
    reply->calls++;
    reply->answer = *answer;
    if (reply->cancels)
        dns_cancel(reply->cancels);
    if (reply->asks_again)
        ask(reply->asks_again, AF_INET, reply->again);
}

static void cb_tick(uv_timer_t *timer)
{
}

/* Until *value isn't 0, or that time is over. */
static void run(const int *value, uint64_t most_ms)
{
    uint64_t until_us = loop_now_us(loop) + most_ms * 1000;
    uv_timer_start(&ticks, cb_tick, 5, 5);
    while (!*value && loop_now_us(loop) < until_us)
        uv_run(loop_uv(loop), UV_RUN_ONCE);
    uv_timer_stop(&ticks);
}

static void wait_for(struct reply *reply)
{
    run(&reply->calls, 10000);
    assert_int_equal(reply->calls, 1);
}

/* Lets whatever comes come. */
static void run_for(uint64_t ms)
{
    const int nothing = 0;
    run(&nothing, ms);
}

static void wait_for_lookups(void)
{
    for (int i = 0; i < 1000 && dns->lookups; i++)
        run_for(10);
    assert_int_equal(dns->lookups, 0);
}

static void asked_are(int four, int six)
{
    assert_int_equal(server.asked_four, four);
    assert_int_equal(server.asked_six, six);
}

static void answer_is(const struct reply *reply, const char *text)
{
    uint32_t count = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        struct address expected;
        assert_true(address_from_literal((weir_string){text, length}, 0, &expected));
        assert_true(count < reply->answer.count);
        assert_true(address_equal(&reply->answer.addresses[count++], &expected));
        text += length + strspn(text + length, " ");
    }
    assert_int_equal(reply->answer.count, count);
}

static void answer_later_is(const char *name, int family, const char *text)
{
    struct reply reply = {0};
    assert_false(ask(name, family, &reply));
    wait_for(&reply);
    answer_is(&reply, text);
}

static void answer_at_once_is(const char *name, int family, const char *text)
{
    struct reply reply = {0};
    assert_true(ask(name, family, &reply));
    answer_is(&reply, text);
}

/* --- tests: answers and the cache */

static void both_families(void **state)
{
    answer_later_is("both.test.", AF_INET, "192.0.2.1 192.0.2.2");
    answer_later_is("both.test.", AF_INET6, "2001:db8::1");
    answer_at_once_is("both.test.", AF_INET, "192.0.2.1 192.0.2.2");
    answer_at_once_is("both.test.", AF_INET6, "2001:db8::1");
    asked_are(1, 1);
}

static void family_without_addresses(void **state)
{
    answer_later_is("one.test.", AF_INET6, "");
    answer_at_once_is("one.test.", AF_INET6, "");
    answer_later_is("one.test.", AF_INET, "192.0.2.1");
    asked_are(1, 1);
}

static void names_have_no_case(void **state)
{
    answer_later_is("One.TEST.", AF_INET, "192.0.2.1");
    answer_at_once_is("oNE.test.", AF_INET, "192.0.2.1");
    asked_are(1, 0);
}

/* Asked anew after ttl_ms and not before; the slack is for what the loop's clock does meanwhile. */
static void holds_for(const char *name, uint64_t ttl_ms, const char *text)
{
    enum { SLACK_MS = 500 };
    answer_later_is(name, AF_INET, text);
    skipped_ms += ttl_ms - SLACK_MS;
    answer_at_once_is(name, AF_INET, text);
    skipped_ms += SLACK_MS;
    answer_later_is(name, AF_INET, text);
}

static void answers_hold_for_their_time(void **state)
{
    holds_for("one.test.", 60000, "192.0.2.1");
    holds_for("alias.test.", 20000, "192.0.2.1"); /* the alias is what expires first */
    holds_for("long.test.", 3600000, "192.0.2.1");
    holds_for("zero.test.", 1000, "192.0.2.1");
}

static void failures_hold_for_5_s(void **state)
{
    holds_for("missing.test.", 5000, "");
    asked_are(2, 0);
    holds_for("broken.test.", 5000, "");
}

static void at_most_16_addresses(void **state)
{
    struct reply reply = {0};
    assert_false(ask("many.test.", AF_INET, &reply));
    wait_for(&reply);
    assert_int_equal(reply.answer.count, DNS_ADDRESSES_MOST);
}

static void long_answers_come_over_tcp(void **state)
{
    answer_later_is("large.test.", AF_INET, "192.0.2.1 192.0.2.2 192.0.2.3");
    assert_int_equal(server.asked_tcp, 1);
}

static void cache_is_bounded(void **state)
{
    char name[32];
    for (int i = 0; i < KEPT_MOST; i++) {
        snprintf(name, sizeof name, "n%d.test.", i);
        answer_later_is(name, AF_INET, "192.0.2.1");
    }
    answer_at_once_is("n0.test.", AF_INET, "192.0.2.1");
    answer_later_is("one-more.test.", AF_INET, "192.0.2.1");
    assert_int_equal(dns->kept_count, KEPT_MOST);
    answer_at_once_is("n0.test.", AF_INET, "192.0.2.1"); /* it was used, n1 was not */
    answer_at_once_is("n2.test.", AF_INET, "192.0.2.1");
    answer_later_is("n1.test.", AF_INET, "192.0.2.1");
}

/* --- tests: several queries, cancelling */

static void one_lookup_for_all_who_ask(void **state)
{
    struct reply replies[3] = {{0}};
    for (int i = 0; i < 3; i++)
        assert_false(ask(i == 1 ? "BOTH.test." : "both.test.", AF_INET, &replies[i]));
    for (int i = 0; i < 3; i++) {
        wait_for(&replies[i]);
        answer_is(&replies[i], "192.0.2.1 192.0.2.2");
    }
    asked_are(1, 0);
}

static void cancelled_is_not_called(void **state)
{
    struct reply first = {0}, second = {0};
    ask("one.test.", AF_INET, &first);
    ask("one.test.", AF_INET, &second);
    dns_cancel(first.query);
    wait_for(&second);
    run_for(50);
    assert_int_equal(first.calls, 0);
}

static void cancelled_answer_fills_the_cache(void **state)
{
    struct reply reply = {0};
    ask("one.test.", AF_INET, &reply);
    dns_cancel(reply.query);
    wait_for_lookups();
    assert_int_equal(reply.calls, 0);
    answer_at_once_is("one.test.", AF_INET, "192.0.2.1");
    asked_are(1, 0);
}

static void cancel_from_within_a_call(void **state)
{
    struct reply same[3] = {{0}}, other = {0}, last = {0};
    ask("silent.test.", AF_INET, &other);
    for (int i = 0; i < 3; i++)
        ask("one.test.", AF_INET, &same[i]);
    same[0].cancels = same[1].query; /* told next */
    same[2].cancels = other.query;
    ask("both.test.", AF_INET, &last);
    wait_for(&same[2]);
    wait_for(&last);
    run_for(50);
    assert_int_equal(same[0].calls, 1);
    assert_int_equal(same[1].calls + other.calls, 0);
}

static void ask_from_within_a_call(void **state)
{
    struct reply again[3] = {{0}};
    struct reply replies[3] = {
        {.asks_again = "one.test.", .again = &again[0]},  /* known by now */
        {.asks_again = "both.test.", .again = &again[1]}, /* not yet */
        {.asks_again = "both.test.", .again = &again[2]},
    };
    for (int i = 0; i < 3; i++)
        ask("one.test.", AF_INET, &replies[i]);
    wait_for(&replies[2]);
    answer_is(&again[0], "192.0.2.1");
    wait_for(&again[1]);
    wait_for(&again[2]);
    answer_is(&again[2], "192.0.2.1 192.0.2.2");
    asked_are(2, 0);
}

static void freed_with_queries_in_flight(void **state)
{
    struct reply replies[4] = {{0}};
    ask("silent.test.", AF_INET, &replies[0]);
    ask("silent.test.", AF_INET, &replies[1]);
    ask("silent.test.", AF_INET6, &replies[2]);
    ask("large.test.", AF_INET, &replies[3]);
    run_for(2); /* tear_down does the rest, in the middle of whatever goes on */
    assert_int_equal(replies[0].calls + replies[1].calls + replies[2].calls, 0);
}

/* --- tests: servers that do not answer */

static void silent_server_ends_at_the_deadline(void **state)
{
    struct reply first = {0}, second = {0};
    ask("held.test.", AF_INET, &first);
    run_for(20);
    assert_int_equal(first.calls, 0);
    skipped_ms += DEADLINE_MS;
    wait_for(&first);
    answer_is(&first, "");
    answer_at_once_is("held.test.", AF_INET, "");
    assert_int_equal(dns->lookups, 1); /* c-ares has not given up */
    skipped_ms += FAILURE_TTL_MS;
    assert_false(ask("held.test.", AF_INET, &second));
    server.release = true; /* both lookups end, one has no entry any more */
    wait_for(&second);
    answer_is(&second, "192.0.2.1");
    wait_for_lookups();
}

/* The deadline has passed for all that is in flight: what the timer does then. */
static void overdue(void)
{
    skipped_ms += DEADLINE_MS;
    process(dns, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

static void late_answer_changes_nothing(void **state)
{
    struct reply reply = {0};
    ask("held.test.", AF_INET, &reply);
    overdue();
    assert_int_equal(reply.calls, 1);
    server.release = true;
    wait_for_lookups();
    answer_at_once_is("held.test.", AF_INET, "");
    assert_int_equal(reply.calls, 1);
}

static void overdue_is_joined_not_asked_again(void **state)
{
    struct reply first = {0}, second = {0};
    ask("held.test.", AF_INET, &first);
    skipped_ms += DEADLINE_MS;
    assert_false(ask("held.test.", AF_INET, &second));
    assert_int_equal(dns->lookups, 1);
    overdue();
    assert_int_equal(first.calls + second.calls, 2);
}

static void known_at_once_before_others_are_told(void **state)
{
    struct reply again = {0}, second = {0};
    struct reply first = {.asks_again = "held-too.test.", .again = &again};
    ask("held.test.", AF_INET, &first);
    ask("held-too.test.", AF_INET, &second);
    overdue();
    assert_null(again.query);
    answer_is(&again, "");
    assert_int_equal(first.calls + second.calls, 2);
}

static void closed_port_fails_soon(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    char text[32];
    int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_return_code(bind(udp, (struct sockaddr *)&address, size), 0);
    assert_return_code(getsockname(udp, (struct sockaddr *)&address, &size), 0);
    close(udp);
    snprintf(text, sizeof text, "127.0.0.1:%u", ntohs(address.sin_port));
    assert_int_equal(dns_set_servers(dns, string_of(text)), WEIR_OK);
    answer_later_is("one.test.", AF_INET, "");
}

static void lookups_in_flight_are_bounded(void **state)
{
    static struct reply replies[LOOKUPS_MOST];
    char name[32];
    answer_later_is("one.test.", AF_INET, "192.0.2.1");
    for (int i = 0; i < LOOKUPS_MOST; i++) {
        snprintf(name, sizeof name, "silent%d.test.", i);
        assert_false(ask(name, AF_INET, &replies[i]));
    }
    answer_at_once_is("both.test.", AF_INET, "");
    answer_at_once_is("one.test.", AF_INET, "192.0.2.1");
    assert_false(ask("silent7.test.", AF_INET, &replies[0])); /* joins the one in flight */
}

/* --- tests: names that no server is asked for */

static void localhost_is_loopback(void **state)
{
    answer_at_once_is("localhost", AF_INET, "127.0.0.1");
    answer_at_once_is("localhost", AF_INET6, "::1");
    answer_at_once_is("LocalHost.", AF_INET, "127.0.0.1");
    answer_at_once_is("app.localhost", AF_INET6, "::1");
    answer_at_once_is("a.b.LOCALHOST.", AF_INET, "127.0.0.1");
    asked_are(0, 0);
    answer_later_is("notlocalhost.", AF_INET, "192.0.2.1");
    answer_later_is("localhost.test.", AF_INET, "192.0.2.1");
}

static void impossible_names_fail(void **state)
{
    struct reply reply = {0};
    char name[301];
    memset(name, 'a', sizeof name);
    for (size_t i = 50; i < sizeof name; i += 51)
        name[i] = '.';
    name[256] = 0;
    answer_at_once_is(name, AF_INET, ""); /* 256 bytes */
    name[70] = 'a';
    name[50] = 'a';
    name[200] = 0;
    answer_at_once_is(name, AF_INET, ""); /* a label of 101 */
    answer_at_once_is("", AF_INET, "");
    answer_at_once_is("a..test.", AF_INET, "");
    answer_at_once_is("192.0.2.1", AF_INET, "");
    answer_at_once_is("192.0.2.1", AF_INET6, "");
    answer_at_once_is("::1", AF_INET6, "");
    answer_at_once_is("example.onion", AF_INET, "");
    reply.query = dns_resolve(dns, WEIR_STRING("one.test.\0.test."), AF_INET, &reply.answer,
                              on_answer, &reply);
    assert_null(reply.query);
    answer_is(&reply, "");
    asked_are(0, 0);
}

static void longest_name(void **state)
{
    char name[256] = "";
    for (int i = 0; i < 5; i++) /* 5 * 50 bytes and the dots: 254 and the root's */
        snprintf(name + strlen(name), sizeof name - strlen(name), "%049d.", i);
    answer_later_is(name, AF_INET, "192.0.2.1");
}

static void write_hosts(const char *text)
{
    FILE *file = fopen(hosts_path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void hosts_file_comes_first(void **state)
{
    write_hosts(
        "10.0.0.1 both.test # 10.0.0.9 no\n::2 six\n10.0.0.2 both.test\n10.0.0.4 name alias\n");
    answer_at_once_is("both.test", AF_INET, "10.0.0.1 10.0.0.2");
    answer_at_once_is("Both.Test", AF_INET6, ""); /* not the server's */
    answer_at_once_is("alias", AF_INET, "10.0.0.4");
    answer_at_once_is("six", AF_INET6, "::2");
    answer_at_once_is("six", AF_INET, "");
    asked_are(0, 0);
    write_hosts("10.0.0.3 both.test\n");
    skipped_ms += HOSTS_TTL_MS - 500;
    answer_at_once_is("both.test", AF_INET, "10.0.0.1 10.0.0.2");
    skipped_ms += 500;
    answer_at_once_is("both.test", AF_INET, "10.0.0.3");
    write_hosts("");
}

/* --- tests: choosing the servers */

static void server_lists(void **state)
{
    static const char *const wrong[] = {"",
                                        ",",
                                        "nonsense",
                                        "127.0.0.1:0",
                                        "127.0.0.1:x",
                                        "127.0.0.1,dns.test",
                                        "[::1]:99999",
                                        "::1:53:",
                                        "::,::,::,::,::,::,::,::,::"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(dns_set_servers(dns, string_of(wrong[i])), WEIR_INVALID);
    answer_later_is("one.test.", AF_INET, "192.0.2.1"); /* still the one of set_up */
    assert_int_equal(dns_set_servers(dns, WEIR_STRING("127.0.0.1, ::1 ,[::1]:5353")), WEIR_OK);
    assert_string_equal(dns->server_list, "127.0.0.1:53,[::1]:53,[::1]:5353");
}

static void changing_servers_ends_what_is_in_flight(void **state)
{
    struct reply first = {0}, second = {0};
    char list[32];
    snprintf(list, sizeof list, "127.0.0.1:%u", server.port);
    ask("held.test.", AF_INET, &first);
    ask("one.test.", AF_INET, &second);
    assert_int_equal(dns_set_servers(dns, string_of(list)), WEIR_OK);
    assert_int_equal(first.calls + second.calls, 0);
    dns_cancel(second.query); /* between its end and its call */
    wait_for(&first);
    answer_is(&first, "");
    answer_later_is("one.test.", AF_INET, "192.0.2.1"); /* that was no answer to keep */
    assert_int_equal(second.calls, 0);
}

static void waits_on_when_asked_again_between_end_and_call(void **state)
{
    struct reply first = {0}, second = {0};
    char list[32];
    snprintf(list, sizeof list, "127.0.0.1:%u", server.port);
    ask("one.test.", AF_INET, &first);
    assert_int_equal(dns_set_servers(dns, string_of(list)), WEIR_OK);
    assert_false(ask("one.test.", AF_INET, &second));
    wait_for(&second);
    wait_for(&first);
    answer_is(&first, "192.0.2.1");
}

static int group_set_up(void **state)
{
    int file = mkstemp(hosts_path);
    if (file < 0 || close(file) || setenv("CARES_HOSTS", hosts_path, 1))
        return -1;
    return server_start(state);
}

static int group_tear_down(void **state)
{
    unlink(hosts_path);
    return server_stop(state);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(both_families),
        TEST(family_without_addresses),
        TEST(names_have_no_case),
        TEST(answers_hold_for_their_time),
        TEST(failures_hold_for_5_s),
        TEST(at_most_16_addresses),
        TEST(long_answers_come_over_tcp),
        TEST(cache_is_bounded),
        TEST(one_lookup_for_all_who_ask),
        TEST(cancelled_is_not_called),
        TEST(cancelled_answer_fills_the_cache),
        TEST(cancel_from_within_a_call),
        TEST(ask_from_within_a_call),
        TEST(freed_with_queries_in_flight),
        TEST(silent_server_ends_at_the_deadline),
        TEST(late_answer_changes_nothing),
        TEST(overdue_is_joined_not_asked_again),
        TEST(known_at_once_before_others_are_told),
        TEST(closed_port_fails_soon),
        TEST(lookups_in_flight_are_bounded),
        TEST(localhost_is_loopback),
        TEST(impossible_names_fail),
        TEST(longest_name),
        TEST(hosts_file_comes_first),
        TEST(server_lists),
        TEST(changing_servers_ends_what_is_in_flight),
        TEST(waits_on_when_asked_again_between_end_and_call),
    };
    return cmocka_run_group_tests(tests, group_set_up, group_tear_down);
}
