/* tests/unit/codecs/tls/tls_test.c - TLS over a wire that delivers as little at a time as one likes
 *
 * A client and a server, both of codecs/tls, on the two ends of a wire that this file makes: two
 * carriers that hand each other's bytes over in pieces, by credit. Time is virtual. */
#include "core/io/tls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "codecs/tls/context.h"
#include "codecs/tls/operations.h"
#include "core/base/buffer.h"
#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/io/loop.h"
#include "tests/unit/codecs/tls/authority.h"

enum { CLIENT, SERVER, SIDES, BYTES_MOST = 4 << 20 };

/* One end of the wire: the carrier below. */
struct end {
    struct carrier carrier;
    struct end *other;
    uint8_t *bytes; /* on their way to this end */
    size_t from, to, credit, most_waiting;
    bool want_produce, sent_due, end_due, reset_due, ended, open;
    bool closing, closed;
    uint32_t how;
    int blocked; /* turns in which nothing leaves */
};

/* Who uses the carrier above. */
struct user {
    struct tls_handshake *handshake;
    struct carrier *carrier;
    weir_result why;
    int done, ended, closed, produced, sent;
    uint32_t how;
    uint8_t *got;
    size_t got_length, to_send, sent_length, most_at_once;
    bool send_end, hoards; /* grants nothing back */
    uint32_t close_after;  /* 1 + how, once all is written */
};

static struct {
    struct worker worker;
    struct turn turn;
    struct wheel wheel;
    uint64_t now_ms;
    size_t piece;
    struct end ends[SIDES];
    struct user users[SIDES];
    struct issued root, stranger, leaf, other, wild, expired, visitor;
    char root_file[64], stranger_file[64];
} net;

uint64_t loop_now_ms(struct loop *loop)
{
    return net.now_ms;
}

/* --- the wire */

static struct end *end_of(struct carrier *carrier)
{
    return CONTAINER(carrier, struct end, carrier);
}

static void end_open(struct carrier *carrier)
{
    end_of(carrier)->open = true;
    end_of(carrier)->credit = WEIR_CREDIT;
}

static void end_want(struct carrier *carrier, uint64_t stream)
{
    end_of(carrier)->want_produce = true;
}

static void end_write(struct carrier *carrier, uint64_t stream, const weir_slice *slices,
                      uint32_t count, uint32_t flags)
{
    struct end *end = end_of(carrier), *other = end->other;
    for (uint32_t i = 0; i < count; i++) {
        assert_true(other->to + slices[i].length <= BYTES_MOST);
        memcpy(other->bytes + other->to, slices[i].bytes, slices[i].length);
        other->to += slices[i].length;
        end->sent_due = true;
    }
    if (flags & WEIR_END)
        other->end_due = true;
}

static void end_grant(struct carrier *carrier, uint64_t stream, size_t bytes)
{
    end_of(carrier)->credit += bytes;
}

static void end_close(struct carrier *carrier, uint32_t how)
{
    end_of(carrier)->closing = true;
    end_of(carrier)->how = how;
}

static const struct carrier_operations end_operations = {.open = end_open,
                                                         .want_produce = end_want,
                                                         .write = end_write,
                                                         .grant = end_grant,
                                                         .close = end_close};

static void end_produce(struct end *end)
{
    bool drops = end->closing && end->how == CARRIER_CLOSE_NOW;
    if (!end->open || !end->want_produce || drops || end->closed)
        return;
    end->want_produce = false;
    end->carrier.events->produce(end->carrier.user, 0, 65536);
}

static void end_step(struct end *end)
{
    if (!end->open || end->closed || (end->blocked && end->blocked--))
        return;
    end_produce(end);
    if (end->sent_due && !end->closing) {
        end->sent_due = false;
        end->carrier.events->sent(end->carrier.user, 0);
    }
    bool done = end->how == CARRIER_CLOSE_NOW || end->how == CARRIER_CLOSE_RESET;
    if (!end->closing || (!done && end->want_produce))
        return;
    end->closed = true;
    *(end->how == CARRIER_CLOSE_RESET ? &end->other->reset_due : &end->other->end_due) = true;
    end->carrier.events->closed(end->carrier.user);
}

static void end_deliver(struct end *end)
{
    size_t length = end->to - end->from;
    length = length < net.piece ? length : net.piece;
    length = length < end->credit ? length : end->credit;
    if (!end->open || end->closing || end->ended)
        return;
    if (length) {
        weir_buffer *buffer = buffer_new(length);
        memcpy(buffer->bytes, end->bytes + end->from, length);
        end->from += length;
        end->credit -= length;
        end->carrier.events->data(end->carrier.user, 0,
                                  &(weir_slice){buffer->bytes, length, buffer});
        buffer_release(buffer);
    } else if (end->reset_due || (end->end_due && end->from == end->to)) {
        end->ended = true;
        end->carrier.events->end(end->carrier.user, 0,
                                 end->reset_due ? WEIR_END_RESET : WEIR_END_CLEAN);
    }
}

static void turn(void)
{
    for (int i = 0; i < SIDES; i++)
        end_deliver(&net.ends[i]);
    wheel_advance(&net.wheel, net.now_ms);
    turn_run(&net.turn);
    for (int i = 0; i < SIDES; i++)
        end_step(&net.ends[i]);
}

static void turns(int count)
{
    while (count--)
        turn();
}

/* --- above */

static void user_data(void *user, uint64_t stream, const weir_slice *slice)
{
    struct user *self = user;
    assert_false(self->ended);
    assert_true(self->got_length + slice->length <= BYTES_MOST);
    memcpy(self->got + self->got_length, slice->bytes, slice->length);
    self->got_length += slice->length;
    if (!self->hoards)
        carrier_grant(self->carrier, 0, slice->length);
}

static void user_end(void *user, uint64_t stream, uint32_t how)
{
    struct user *self = user;
    self->ended++;
    self->how = how;
}

static uint8_t byte_at(size_t at)
{
    return (uint8_t)(at * 7 + at / 251);
}

static void user_produce(void *user, uint64_t stream, size_t room)
{
    struct user *self = user;
    uint8_t bytes[70000];
    assert_int_equal(room, 16384);
    size_t length = self->to_send - self->sent_length, most = self->most_at_once;
    length = length < (most ? most : room) ? length : most ? most : room;
    for (size_t i = 0; i < length; i++)
        bytes[i] = byte_at(self->sent_length + i);
    weir_buffer *buffer = buffer_new(length + 1);
    memcpy(buffer->bytes, bytes, length);
    size_t half = length / 2;
    weir_slice slices[] = {{buffer->bytes, half, buffer},
                           {buffer->bytes + half, length - half, buffer}};
    self->produced++;
    self->sent_length += length;
    bool all = self->sent_length == self->to_send;
    carrier_write(self->carrier, 0, slices, 2, all && self->send_end ? WEIR_END : 0);
    buffer_release(buffer);
    if (!all)
        carrier_want_produce(self->carrier, 0);
}

static void user_sent(void *user, uint64_t stream)
{
    ((struct user *)user)->sent++;
}

static void user_closed(void *user)
{
    ((struct user *)user)->closed++;
}

static const struct carrier_events user_events = {.data = user_data,
                                                  .end = user_end,
                                                  .produce = user_produce,
                                                  .sent = user_sent,
                                                  .closed = user_closed};

static void on_done(void *user, struct carrier *carrier, weir_result why)
{
    struct user *self = user;
    self->done++;
    self->handshake = NULL;
    self->carrier = carrier;
    self->why = why;
    assert_int_equal(carrier != NULL, why == WEIR_OK);
    if (carrier)
        carrier_open(carrier, &user_events, self);
}

static void start(int side, struct tls_context *context, const char *host, const char *const *alpn)
{
    struct tls_start wish = {.worker = &net.worker,
                             .below = &net.ends[side].carrier,
                             .context = context,
                             .limit_ms = 10000,
                             .host = string_of(host),
                             .port = 443,
                             .alpn = alpn,
                             .where = "127.0.0.1:8443",
                             .done = on_done,
                             .user = &net.users[side]};
    net.users[side].handshake = tls_operations.start(&wish);
}

static void send_bytes(int side, size_t length, bool end)
{
    struct user *user = &net.users[side];
    user->to_send += length;
    user->send_end = end;
    carrier_want_produce(user->carrier, 0);
}

static void assert_got(int side, size_t length)
{
    assert_int_equal(net.users[side].got_length, length);
    for (size_t i = 0; i < length; i++)
        assert_int_equal(net.users[side].got[i], byte_at(i));
}

/* --- contexts */

static struct tls_context *server_with(struct tls_server_settings settings)
{
    struct tls_mistake mistake = {0};
    struct tls_context *context = tls_operations.server_context(&settings, NULL, &mistake);
    if (!context)
        fail_msg("%s", mistake.text);
    return context;
}

static struct tls_context *server_of(const struct issued *issued)
{
    struct tls_pair pair = {issued->certificate_pem, issued->key_pem};
    return server_with((struct tls_server_settings){
        .certificates = &pair, .certificate_count = 1, .tickets = true});
}

static struct tls_context *client_of(const char *ca_file)
{
    struct tls_mistake mistake = {0};
    char *files[] = {(char *)(uintptr_t)ca_file};
    struct tls_client_settings settings = {.verify = true, .ca_files = files, .ca_file_count = 1};
    struct tls_context *context = tls_operations.client_context(&settings, NULL, &mistake);
    if (!context)
        fail_msg("%s", mistake.text);
    return context;
}

static void close_both(uint32_t how)
{
    for (int i = 0; i < SIDES; i++) {
        if (net.users[i].handshake)
            tls_operations.cancel(net.users[i].handshake);
        else if (net.users[i].carrier && !net.users[i].closed)
            carrier_close(net.users[i].carrier, how);
    }
    turns(3);
    for (int i = 0; i < SIDES; i++)
        assert_true(net.ends[i].closed);
}

/* A new wire. */
static void plug(size_t piece)
{
    net.piece = piece;
    for (int i = 0; i < SIDES; i++) {
        uint8_t *bytes = net.ends[i].bytes, *got = net.users[i].got;
        net.ends[i] = (struct end){.bytes = bytes, .other = &net.ends[!i]};
        net.ends[i].carrier.operations = &end_operations;
        net.users[i] = (struct user){.got = got};
    }
}

static void meet(struct tls_context *client, struct tls_context *server, const char *host)
{
    start(SERVER, server, "", NULL);
    start(CLIENT, client, host, NULL);
    for (int i = 0; i < 20000 && !(net.users[CLIENT].done && net.users[SERVER].done); i++)
        turn();
}

static struct {
    struct tls_context *client, *server;
} usual;

static void meet_as_usual(size_t piece)
{
    plug(piece);
    meet(usual.client, usual.server, "one.example");
    assert_int_equal(net.users[CLIENT].why, WEIR_OK);
    assert_int_equal(net.users[SERVER].why, WEIR_OK);
}

static void set_file(char name[64], const char *text)
{
    strcpy(name, "/tmp/weir-tls-test-XXXXXX");
    int fd = mkstemp(name);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static int set_up(void **state)
{
    (void)state;
    turn_init(&net.turn);
    wheel_init(&net.wheel, 0);
    net.worker.turn = &net.turn;
    net.worker.wheel = &net.wheel;
    for (int i = 0; i < SIDES; i++) {
        net.ends[i].bytes = memory_allocate(BYTES_MOST);
        net.users[i].got = memory_allocate(BYTES_MOST);
    }
    net.root = authority_issue("Test Root", NULL, NULL, 30);
    net.stranger = authority_issue("Strange Root", NULL, NULL, 30);
    net.leaf = authority_issue("one.example", "DNS:one.example,IP:127.0.0.1", &net.root, 30);
    net.other = authority_issue("two.example", "DNS:two.example", &net.root, 30);
    net.wild = authority_issue("wild", "DNS:*.wild.example", &net.root, 30);
    net.expired = authority_issue("one.example", "DNS:one.example", &net.root, -1);
    net.visitor = authority_issue("ann", "email:ann@example.org", &net.root, 30);
    set_file(net.root_file, net.root.certificate_pem);
    set_file(net.stranger_file, net.stranger.certificate_pem);
    usual.server = server_of(&net.leaf);
    usual.client = client_of(net.root_file);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tls_operations.context_drop(usual.server);
    tls_operations.context_drop(usual.client);
    struct issued *all[] = {&net.root, &net.stranger, &net.leaf,   &net.other,
                            &net.wild, &net.expired,  &net.visitor};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        authority_free(all[i]);
    for (int i = 0; i < SIDES; i++) {
        memory_free(net.ends[i].bytes);
        memory_free(net.users[i].got);
    }
    unlink(net.root_file);
    unlink(net.stranger_file);
    buffer_pool_deinit();
    return 0;
}

/* --- bytes */

static void test_bytes_arrive_however_they_are_split(void **state)
{
    static const size_t pieces[] = {1, 2, 3, 5, 100, 1400, 16384, 65536};
    (void)state;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        meet_as_usual(pieces[i]);
        send_bytes(CLIENT, 20000, false);
        send_bytes(SERVER, 40000, false);
        turns(80000 / (int)pieces[i] + 50);
        assert_got(SERVER, 20000);
        assert_got(CLIENT, 40000);
        assert_string_equal(net.users[CLIENT].carrier->facts.tls->version, "TLSv1.3");
        assert_string_equal(net.users[SERVER].carrier->facts.tls->group, "X25519MLKEM768");
        close_both(CARRIER_CLOSE_NOW);
        assert_int_equal(net.users[CLIENT].closed, 1);
        assert_int_equal(net.users[SERVER].closed, 1);
    }
}

static void test_each_direction_ends_by_itself(void **state)
{
    (void)state;
    meet_as_usual(1000);
    send_bytes(CLIENT, 5000, true);
    turns(30);
    assert_got(SERVER, 5000);
    assert_int_equal(net.users[SERVER].ended, 1);
    assert_int_equal(net.users[SERVER].how, WEIR_END_CLEAN);
    send_bytes(SERVER, 100000, true);
    turns(300);
    assert_got(CLIENT, 100000);
    assert_int_equal(net.users[CLIENT].how, WEIR_END_CLEAN);
    close_both(CARRIER_CLOSE_FLUSH);
}

static void test_an_end_without_close_notify_is_a_truncation(void **state)
{
    (void)state;
    meet_as_usual(1000);
    send_bytes(CLIENT, 3000, false);
    turns(20);
    net.ends[SERVER].end_due = true;
    turns(20);
    assert_got(SERVER, 3000);
    assert_int_equal(net.users[SERVER].ended, 1);
    assert_int_equal(net.users[SERVER].how, WEIR_END_TRUNCATED);
    close_both(CARRIER_CLOSE_NOW);
}

/* Cut after each byte of the last record. */
static void test_a_record_cut_anywhere_is_a_truncation(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < 60; cut++) {
        meet_as_usual(65536);
        turns(5);
        net.ends[CLIENT].blocked = 1;
        send_bytes(CLIENT, 30, true);
        net.piece = 0; /* nothing is delivered */
        turns(3);
        struct end *end = &net.ends[SERVER];
        size_t whole = end->to - end->from; /* a record of 30 bytes, and close_notify */
        if (cut >= whole) {
            close_both(CARRIER_CLOSE_NOW);
            break;
        }
        end->to = end->from + cut;
        net.piece = 65536;
        turns(5);
        assert_int_equal(net.users[SERVER].how, WEIR_END_TRUNCATED);
        assert_int_equal(net.users[SERVER].got_length, cut < 30 + 22 ? 0 : 30);
        close_both(CARRIER_CLOSE_NOW);
    }
}

static void test_a_wrong_record_is_no_clean_end(void **state)
{
    (void)state;
    meet_as_usual(65536);
    net.piece = 0;
    send_bytes(CLIENT, 100, true);
    turns(3);
    net.ends[SERVER].bytes[net.ends[SERVER].from + 20] ^= 1;
    net.piece = 65536;
    turns(5);
    assert_int_equal(net.users[SERVER].got_length, 0);
    assert_int_equal(net.users[SERVER].ended, 1);
    assert_int_equal(net.users[SERVER].how, WEIR_END_RESET);
    close_both(CARRIER_CLOSE_RESET);
}

static void test_a_reset_is_told_as_one(void **state)
{
    (void)state;
    meet_as_usual(65536);
    carrier_close(net.users[CLIENT].carrier, CARRIER_CLOSE_RESET);
    turns(5);
    assert_int_equal(net.users[SERVER].how, WEIR_END_RESET);
    close_both(CARRIER_CLOSE_NOW);
}

/* --- credit */

static void test_reading_stops_one_record_beyond_the_credit(void **state)
{
    (void)state;
    meet_as_usual(4000);
    turns(5);
    size_t before = net.ends[SERVER].from;
    net.users[SERVER].hoards = true;
    send_bytes(CLIENT, 300000, false);
    turns(500);
    assert_got(SERVER, WEIR_CREDIT);
    assert_true(net.ends[SERVER].from - before < WEIR_CREDIT + 17000);
    before = net.ends[SERVER].from;
    carrier_grant(net.users[SERVER].carrier, 0, 10);
    turns(10);
    assert_got(SERVER, WEIR_CREDIT + 10);
    assert_true(net.ends[SERVER].from <= before + 17000);
    net.users[SERVER].hoards = false;
    carrier_grant(net.users[SERVER].carrier, 0, WEIR_CREDIT);
    turns(500);
    assert_got(SERVER, 300000);
    close_both(CARRIER_CLOSE_NOW);
}

static void test_the_user_is_asked_when_the_record_before_has_left(void **state)
{
    (void)state;
    meet_as_usual(65536);
    turns(5);
    net.users[CLIENT].most_at_once = 65000;
    send_bytes(CLIENT, 300000, false);
    turn();
    assert_int_equal(net.users[CLIENT].produced, 1); /* four records: more than one write takes */
    net.ends[CLIENT].blocked = 5;
    turns(4);
    assert_int_equal(net.users[CLIENT].produced, 1);
    turns(60);
    assert_got(SERVER, 300000);
    close_both(CARRIER_CLOSE_NOW);
}

static void test_sent_comes_when_all_has_left(void **state)
{
    (void)state;
    meet_as_usual(65536);
    turns(5);
    int before = net.users[CLIENT].sent;
    net.users[CLIENT].most_at_once = 70000;
    send_bytes(CLIENT, 70000, false);
    turn();
    assert_int_equal(net.users[CLIENT].sent, before); /* not all fits into one write */
    turns(3);
    assert_true(net.users[CLIENT].sent > before);
    close_both(CARRIER_CLOSE_NOW);
}

/* --- closing */

static void test_flush_sends_what_is_wanted_and_the_last_word(void **state)
{
    static const uint32_t ways[] = {CARRIER_CLOSE_FLUSH, CARRIER_CLOSE_LINGER};
    (void)state;
    for (int i = 0; i < 2; i++) {
        meet_as_usual(3000);
        send_bytes(CLIENT, 50000, false);
        carrier_close(net.users[CLIENT].carrier, ways[i]);
        assert_int_equal(net.users[CLIENT].closed, 0);
        turns(100);
        assert_got(SERVER, 50000);
        assert_int_equal(net.users[SERVER].how, WEIR_END_CLEAN);
        assert_int_equal(net.ends[CLIENT].how, ways[i]);
        assert_int_equal(net.users[CLIENT].closed, 1);
        close_both(CARRIER_CLOSE_FLUSH);
    }
}

static void test_now_drops_and_reset_does_not_look_like_an_end(void **state)
{
    (void)state;
    meet_as_usual(65536);
    send_bytes(CLIENT, 5000, false);
    carrier_close(net.users[CLIENT].carrier, CARRIER_CLOSE_NOW);
    turns(5);
    assert_got(SERVER, 0);
    assert_int_equal(net.users[SERVER].how, WEIR_END_TRUNCATED);
    close_both(CARRIER_CLOSE_NOW);
    meet_as_usual(65536);
    send_bytes(CLIENT, 500, false);
    carrier_close(net.users[CLIENT].carrier, CARRIER_CLOSE_RESET);
    turns(5);
    assert_got(SERVER, 500); /* behind what left at once */
    assert_int_equal(net.users[SERVER].how, WEIR_END_RESET);
    close_both(CARRIER_CLOSE_NOW);
}

/* --- handshakes */

static void refuse(struct tls_context *client, struct tls_context *server, const char *host,
                   weir_result client_why)
{
    plug(65536);
    meet(client, server, host);
    turns(5);
    assert_int_equal(net.users[CLIENT].why, client_why);
    assert_null(net.users[CLIENT].carrier);
    close_both(CARRIER_CLOSE_NOW);
}

static void test_a_server_is_verified(void **state)
{
    struct tls_context *strange = client_of(net.stranger_file);
    struct tls_context *expired = server_of(&net.expired), *self = server_of(&net.stranger);
    (void)state;
    refuse(strange, usual.server, "one.example", WEIR_TLS_CERTIFICATE_ERROR);
    refuse(usual.client, usual.server, "two.example", WEIR_TLS_CERTIFICATE_ERROR);
    refuse(usual.client, usual.server, "127.0.0.2", WEIR_TLS_CERTIFICATE_ERROR);
    refuse(usual.client, expired, "one.example", WEIR_TLS_CERTIFICATE_ERROR);
    refuse(usual.client, self, "one.example", WEIR_TLS_CERTIFICATE_ERROR);
    plug(65536);
    meet(usual.client, usual.server, "127.0.0.1"); /* the address is one of its names */
    assert_int_equal(net.users[CLIENT].why, WEIR_OK);
    assert_int_equal(net.users[SERVER].carrier->facts.tls->server_name.length, 0);
    close_both(CARRIER_CLOSE_NOW);
    tls_operations.context_drop(strange);
    tls_operations.context_drop(expired);
    tls_operations.context_drop(self);
}

static void test_what_is_no_tls_is_refused(void **state)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    (void)state;
    plug(65536);
    start(SERVER, usual.server, "", NULL);
    memcpy(net.ends[SERVER].bytes, request, sizeof request);
    net.ends[SERVER].to = sizeof request - 1;
    net.ends[CLIENT].closed = true;
    turns(5);
    assert_int_equal(net.users[SERVER].done, 1);
    assert_int_equal(net.users[SERVER].why, WEIR_TLS_PROTOCOL_ERROR);
    assert_true(net.ends[SERVER].closed);
}

static void test_a_handshake_has_a_limit(void **state)
{
    (void)state;
    plug(65536);
    start(SERVER, usual.server, "", NULL);
    turn();
    net.now_ms += 9000;
    turns(3);
    assert_int_equal(net.users[SERVER].done, 0);
    net.now_ms += 2000;
    turns(3);
    assert_int_equal(net.users[SERVER].done, 1);
    assert_int_equal(net.users[SERVER].why, WEIR_CONNECTION_TIMEOUT);
    assert_int_equal(net.ends[SERVER].how, CARRIER_CLOSE_NOW);
}

static void test_cancel_tells_nobody(void **state)
{
    (void)state;
    plug(65536);
    start(CLIENT, usual.client, "one.example", NULL);
    tls_operations.cancel(net.users[CLIENT].handshake);
    turns(3);
    assert_int_equal(net.users[CLIENT].done, 0);
    assert_true(net.ends[CLIENT].closed);
}

static void test_the_first_that_both_speak_is_spoken(void **state)
{
    static const char *const ours[] = {"http/1.1", "h2", NULL};
    static const char *const theirs[] = {"h3", "h2", "http/1.1", NULL}, *const odd[] = {"odd",
                                                                                        NULL};
    (void)state;
    plug(65536);
    start(SERVER, usual.server, "", ours);
    start(CLIENT, usual.client, "one.example", theirs);
    turns(10);
    for (int i = 0; i < SIDES; i++)
        assert_true(string_equal(net.users[i].carrier->facts.tls->alpn, WEIR_STRING("h2")));
    close_both(CARRIER_CLOSE_NOW);
    plug(65536);
    start(SERVER, usual.server, "", ours);
    start(CLIENT, usual.client, "one.example", odd);
    turns(10);
    assert_int_equal(net.users[CLIENT].why, WEIR_TLS_PROTOCOL_ERROR);
    assert_int_equal(net.users[SERVER].why, WEIR_TLS_PROTOCOL_ERROR);
    plug(65536);
    start(SERVER, usual.server, "", ours);
    start(CLIENT, usual.client, "one.example", NULL);
    turns(10);
    assert_int_equal(net.users[SERVER].carrier->facts.tls->alpn.length, 0);
    close_both(CARRIER_CLOSE_NOW);
}

static void shows(struct tls_context *server, const char *name, const struct issued *wanted)
{
    SSL_CTX *found = tls_context_find(server, name);
    X509 *certificate = SSL_CTX_get0_certificate(found ? found : server->ssl);
    if (X509_cmp(certificate, wanted->certificate) != 0)
        fail_msg("%s", name);
}

static void test_the_name_chooses_the_certificate(void **state)
{
    struct tls_pair pairs[] = {{net.leaf.certificate_pem, net.leaf.key_pem},
                               {net.other.certificate_pem, net.other.key_pem},
                               {net.wild.certificate_pem, net.wild.key_pem}};
    struct tls_context *server =
        server_with((struct tls_server_settings){.certificates = pairs, .certificate_count = 3});
    (void)state;
    shows(server, "one.example", &net.leaf);
    shows(server, "TWO.example", &net.other);
    shows(server, "a.wild.example", &net.wild);
    shows(server, "b.a.wild.example", &net.leaf);
    shows(server, "wild.example", &net.leaf);
    shows(server, ".wild.example", &net.leaf);
    shows(server, "unknown.example", &net.leaf);
    plug(65536);
    meet(usual.client, server, "a.wild.example");
    assert_int_equal(net.users[CLIENT].why, WEIR_OK);
    assert_true(string_equal(net.users[SERVER].carrier->facts.tls->server_name,
                             WEIR_STRING("a.wild.example")));
    close_both(CARRIER_CLOSE_NOW);
    tls_operations.context_drop(server);
}

static void test_a_session_is_resumed_once_each(void **state)
{
    struct tls_context *client = client_of(net.root_file), *again;
    (void)state;
    for (int i = 0; i < 3; i++) {
        plug(65536);
        again = server_of(&net.leaf); /* as after a reload */
        meet(client, again, "one.example");
        turns(5);
        assert_int_equal(net.users[CLIENT].carrier->facts.tls->resumed, i > 0);
        close_both(CARRIER_CLOSE_FLUSH);
        tls_operations.context_drop(again);
    }
    plug(65536);
    meet(client, usual.server, "127.0.0.1"); /* another target */
    assert_false(net.users[CLIENT].carrier->facts.tls->resumed);
    close_both(CARRIER_CLOSE_NOW);
    tls_operations.context_drop(client);
}

/* weir shows no certificate to servers, so the client's side gets one by hand. */
static void show_certificate(struct tls_context *client, const struct issued *issued)
{
    SSL_CTX_use_certificate(client->ssl, issued->certificate);
    SSL_CTX_use_PrivateKey(client->ssl, issued->key);
}

static struct tls_context *server_that_asks(uint32_t demand, char *client_ca)
{
    struct tls_pair pair = {net.leaf.certificate_pem, net.leaf.key_pem};
    return server_with((struct tls_server_settings){.certificates = &pair,
                                                    .certificate_count = 1,
                                                    .client_certificates = demand,
                                                    .client_ca = client_ca,
                                                    .tickets = true});
}

static void test_clients_show_certificates(void **state)
{
    struct tls_context *optional = server_that_asks(TLS_CLIENTS_OPTIONAL, net.root_file);
    struct tls_context *required = server_that_asks(TLS_CLIENTS_REQUIRED, net.root_file);
    struct tls_context *ann = client_of(net.root_file), *fraud = client_of(net.root_file);
    struct issued forged = authority_issue("ann", NULL, &net.stranger, 30);
    (void)state;
    show_certificate(ann, &net.visitor);
    show_certificate(fraud, &forged);
    for (int i = 0; i < 3; i++) {
        plug(65536);
        meet(ann, i == 1 ? optional : required, "one.example");
        turns(5);
        const struct tls_peer *peer = net.users[SERVER].carrier->facts.tls->peer;
        assert_string_equal(peer->name, "ann");
        assert_string_equal(peer->subject, "CN=ann");
        assert_string_equal(peer->issuer, "CN=Test Root");
        assert_string_equal(peer->names, "ann@example.org");
        assert_int_equal(strlen(peer->fingerprint), 64);
        close_both(CARRIER_CLOSE_FLUSH);
    }
    plug(65536);
    meet(usual.client, optional, "one.example");
    assert_null(net.users[SERVER].carrier->facts.tls->peer);
    close_both(CARRIER_CLOSE_NOW);
    plug(65536);
    meet(usual.client, required, "one.example");
    assert_int_equal(net.users[SERVER].why, WEIR_TLS_CERTIFICATE_ERROR);
    close_both(CARRIER_CLOSE_NOW);
    plug(65536);
    meet(fraud, optional, "one.example");
    assert_int_equal(net.users[SERVER].why, WEIR_TLS_CERTIFICATE_ERROR);
    close_both(CARRIER_CLOSE_NOW);
    authority_free(&forged);
    tls_operations.context_drop(optional);
    tls_operations.context_drop(required);
    tls_operations.context_drop(ann);
    tls_operations.context_drop(fraud);
}

/* A ticket from where nobody is asked is none where somebody is. */
static void test_a_ticket_does_not_get_around_the_question(void **state)
{
    struct tls_context *required = server_that_asks(TLS_CLIENTS_REQUIRED, net.root_file);
    struct tls_context *client = client_of(net.root_file);
    (void)state;
    plug(65536);
    meet(client, usual.server, "one.example");
    turns(5);
    close_both(CARRIER_CLOSE_FLUSH);
    plug(65536);
    meet(client, required, "one.example");
    assert_int_equal(net.users[SERVER].why, WEIR_TLS_CERTIFICATE_ERROR);
    close_both(CARRIER_CLOSE_NOW);
    tls_operations.context_drop(required);
    tls_operations.context_drop(client);
}

/* --- settings */

static void mistake_is(struct tls_server_settings settings, enum tls_setting setting,
                       uint32_t index, const char *text)
{
    struct tls_mistake mistake;
    assert_null(tls_operations.server_context(&settings, NULL, &mistake));
    assert_int_equal(mistake.setting, setting);
    assert_int_equal(mistake.index, index);
    assert_non_null(strstr(mistake.text, text));
    assert_null(strstr(mistake.text, "BEGIN"));
}

static void test_mistakes_have_a_place(void **state)
{
    char *pem = net.leaf.certificate_pem, *key = net.leaf.key_pem;
    struct tls_pair wrong[] = {{pem, key}, {pem, net.other.key_pem}};
    (void)state;
    mistake_is((struct tls_server_settings){.certificates = wrong, .certificate_count = 2}, TLS_KEY,
               1, "is not the key of its certificate");
    wrong[0].certificate = (char[]){"/nowhere"};
    mistake_is((struct tls_server_settings){.certificates = wrong, .certificate_count = 1},
               TLS_CERTIFICATE, 0, "/nowhere cannot be read: No such file or directory");
    wrong[0] = (struct tls_pair){key, key};
    mistake_is((struct tls_server_settings){.certificates = wrong, .certificate_count = 1},
               TLS_CERTIFICATE, 0, "holds no certificate");
    wrong[0] = (struct tls_pair){pem, pem};
    mistake_is((struct tls_server_settings){.certificates = wrong, .certificate_count = 1}, TLS_KEY,
               0, "holds no key");
    wrong[0] = (struct tls_pair){pem, key};
    mistake_is((struct tls_server_settings){.certificates = wrong,
                                            .certificate_count = 1,
                                            .client_certificates = TLS_CLIENTS_REQUIRED},
               TLS_CLIENT_CA, 0, "is needed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_arrive_however_they_are_split),
        cmocka_unit_test(test_each_direction_ends_by_itself),
        cmocka_unit_test(test_an_end_without_close_notify_is_a_truncation),
        cmocka_unit_test(test_a_record_cut_anywhere_is_a_truncation),
        cmocka_unit_test(test_a_wrong_record_is_no_clean_end),
        cmocka_unit_test(test_a_reset_is_told_as_one),
        cmocka_unit_test(test_reading_stops_one_record_beyond_the_credit),
        cmocka_unit_test(test_the_user_is_asked_when_the_record_before_has_left),
        cmocka_unit_test(test_sent_comes_when_all_has_left),
        cmocka_unit_test(test_flush_sends_what_is_wanted_and_the_last_word),
        cmocka_unit_test(test_now_drops_and_reset_does_not_look_like_an_end),
        cmocka_unit_test(test_a_server_is_verified),
        cmocka_unit_test(test_what_is_no_tls_is_refused),
        cmocka_unit_test(test_a_handshake_has_a_limit),
        cmocka_unit_test(test_cancel_tells_nobody),
        cmocka_unit_test(test_the_first_that_both_speak_is_spoken),
        cmocka_unit_test(test_the_name_chooses_the_certificate),
        cmocka_unit_test(test_a_session_is_resumed_once_each),
        cmocka_unit_test(test_clients_show_certificates),
        cmocka_unit_test(test_a_ticket_does_not_get_around_the_question),
        cmocka_unit_test(test_mistakes_have_a_place),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
