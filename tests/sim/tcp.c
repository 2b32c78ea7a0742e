/* tests/sim/tcp.c - core/io/tcp.h on the simulated network: connecting, and the carrier
 *
 * Obeys carrier.h to the letter, and uses all the freedom that it leaves: reads end anywhere, a
 * write is taken in part although there is room, a half-closed connection is reset. */
#include "core/io/tcp.h"

#include <errno.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/memory.h"
#include "tests/sim/network.h"

enum {
    FLUSH_STALL_US = 30 * 1000 * 1000,
    LINGER_US = 2 * 1000 * 1000,
    LINGER_BYTES_MOST = 1024 * 1024,
    WRITE_SLICES_MOST = 64
};

enum closing { OPEN, FLUSHING, LINGERING, CLOSED };

struct tcp {
    struct carrier carrier;
    struct loop *loop;
    struct endpoint *end;
    struct mark flush;
    struct event later; /* accepted; a write failed; flushed or lingered for long enough; closed */
    struct slice_queue outgoing;
    size_t credit;
    uint64_t left_behind; /* of `outgoing`, when the limit of flushing was last set */
    uint32_t lingered;
    enum closing closing;
    bool opened, producing, want_produce, end_wanted, ended, broken, may_linger;
    bool dialled; /* by weir: a server's */
};

static struct dice *dice(void)
{
    return &simulation.dice;
}

static void proceed_to_close(struct tcp *tcp);

/* --- reading */

static void on_received(struct tcp *tcp, size_t length)
{
    weir_slice slice = receive_take(length);
    happened("weir reads", tcp->end->number, length);
    tcp->credit -= length;
    tcp->carrier.events->data(tcp->carrier.user, 0, &slice);
    buffer_release(slice.owner);
}

static void on_lingered(struct tcp *tcp, size_t length)
{
    tcp->lingered += (uint32_t)length;
    if (tcp->lingered > LINGER_BYTES_MOST)
        proceed_to_close(tcp);
}

static void on_ended(struct tcp *tcp, uint32_t how)
{
    happened(how == WEIR_END_CLEAN ? "weir sees the end" : "weir sees a reset", tcp->end->number,
             0);
    if (sabotage(TRUNCATED_NEVER_COMPLETED, 500))
        how = WEIR_END_CLEAN;
    tcp->ended = true;
    if (how == WEIR_END_RESET)
        tcp->broken = true;
    if (tcp->closing == OPEN)
        tcp->carrier.events->end(tcp->carrier.user, 0, how);
    if (tcp->closing != OPEN)
        proceed_to_close(tcp);
}

static void on_readable(void *user)
{
    struct tcp *tcp = user;
    size_t room;
    if (!tcp->opened && tcp->closing == OPEN)
        return;
    uint8_t *space = receive_space(&room);
    if (tcp->closing == OPEN && room > tcp->credit)
        room = tcp->credit;
    if (room && dice_percent(dice(), 40))
        room = dice_size(dice(), room < tcp->end->count ? room : tcp->end->count + 1);
    ptrdiff_t count = endpoint_read(tcp->end, space, room);
    if (count > 0 && tcp->closing != OPEN)
        on_lingered(tcp, (size_t)count);
    else if (count > 0)
        on_received(tcp, (size_t)count);
    else if (count != READ_NOTHING)
        on_ended(tcp, count == READ_END ? WEIR_END_CLEAN : WEIR_END_RESET);
    if (tcp->closing == OPEN)
        endpoint_pause(tcp->end, !tcp->credit);
}

/* --- writing */

/* What the peer sent before it went may still be read, and reading tells how it ended; only when
 * that is over already nobody else would. */
static void on_write_error(struct tcp *tcp)
{
    tcp->broken = true;
    slice_queue_drop(&tcp->outgoing, tcp->outgoing.bytes);
    if (tcp->closing != OPEN || tcp->ended)
        event_set(&tcp->later, 0);
}

/* How much of so many bytes is taken by one write. */
static size_t taken_at_once(size_t count)
{
    return dice_percent(dice(), 20) ? dice_size(dice(), count) : count;
}

static void on_all_sent(struct tcp *tcp)
{
    if (tcp->want_produce)
        turn_mark(loop_turn(tcp->loop), TURN_FLUSH, &tcp->flush);
    if (tcp->closing != OPEN) {
        proceed_to_close(tcp);
        return;
    }
    if (tcp->end_wanted && !tcp->outgoing.count && !tcp->broken)
        endpoint_finish(tcp->end);
    tcp->carrier.events->sent(tcp->carrier.user, 0);
}

static size_t write_slice(struct tcp *tcp, const weir_slice *slice)
{
    size_t some = taken_at_once(slice->length);
    if (sabotage(FAILURE_ANSWERED, 1000) && slice->length > 12 &&
        !memcmp(slice->bytes, "HTTP/1.1 502", 12)) {
        endpoint_finish(tcp->end); /* instead */
        return slice->length;
    }
    size_t taken = endpoint_write(tcp->end, slice->bytes, some);
    happened("weir writes", tcp->end->number, taken);
    return taken;
}

static void try_to_send(struct tcp *tcp)
{
    weir_slice slice;
    while (slice_queue_peek(&tcp->outgoing, &slice, 1, UINT64_MAX)) {
        if (tcp->broken || tcp->end->reset_come) {
            on_write_error(tcp);
            return;
        }
        size_t taken = write_slice(tcp, &slice);
        slice_queue_drop(&tcp->outgoing, taken);
        if (taken < slice.length) {
            slice_queue_settle(&tcp->outgoing);
            endpoint_want_room(tcp->end);
            if (simulation.broken == CREDIT)
                break; /* says that all has left although it has not */
            return;
        }
    }
    on_all_sent(tcp);
}

static void on_writable(void *user)
{
    struct tcp *tcp = user;
    if (tcp->closing != CLOSED)
        try_to_send(tcp);
}

static void flush(struct mark *mark)
{
    struct tcp *tcp = CONTAINER(mark, struct tcp, flush);
    if (tcp->closing > FLUSHING || (tcp->outgoing.count && simulation.broken != CREDIT))
        return;
    tcp->want_produce = false;
    tcp->producing = !sabotage(CARRIER_USE, 5);
    tcp->carrier.events->produce(tcp->carrier.user, 0, 65536);
    tcp->producing = false;
    if (tcp->closing == CLOSED)
        return;
    if (tcp->broken)
        slice_queue_drop(&tcp->outgoing, tcp->outgoing.bytes);
    try_to_send(tcp);
}

/* --- closing */

static void close_now(struct tcp *tcp, bool reset)
{
    if (tcp->closing == CLOSED)
        return;
    tcp->closing = CLOSED;
    happened(reset ? "weir resets" : "weir closes", tcp->end->number, 0);
    if (reset)
        endpoint_reset(tcp->end);
    else
        endpoint_close(tcp->end);
    event_set(&tcp->later, dice_below(dice(), 100));
}

/* Flush, then FIN, then wait for the peer's end; whatever is not needed is skipped. */
static void proceed_to_close(struct tcp *tcp)
{
    if (tcp->broken || tcp->lingered > LINGER_BYTES_MOST) {
        close_now(tcp, false);
        return;
    }
    if (tcp->closing == CLOSED || tcp->outgoing.count || tcp->want_produce)
        return;
    endpoint_finish(tcp->end);
    if (tcp->ended || (tcp->closing == FLUSHING && !tcp->may_linger)) {
        close_now(tcp, false);
    } else if (tcp->closing == FLUSHING) {
        tcp->closing = LINGERING;
        event_set(&tcp->later, LINGER_US);
    }
}

static void finish_closed(struct tcp *tcp)
{
    turn_unmark(loop_turn(tcp->loop), TURN_FLUSH, &tcp->flush);
    slice_queue_deinit(&tcp->outgoing);
    if (tcp->opened && !sabotage(NOTHING_LEFT, 5))
        tcp->carrier.events->closed(tcp->carrier.user);
    memory_free(tcp);
    loop_hold(-1);
}

static void fire_later(struct event *event)
{
    struct tcp *tcp = CONTAINER(event, struct tcp, later);
    if (tcp->closing == CLOSED) {
        finish_closed(tcp);
    } else if (tcp->closing == OPEN) {
        tcp->carrier.events->end(tcp->carrier.user, 0, WEIR_END_RESET);
    } else if (tcp->closing == FLUSHING && !tcp->broken &&
               tcp->left_behind != tcp->outgoing.bytes) {
        tcp->left_behind = tcp->outgoing.bytes;
        event_set(&tcp->later, FLUSH_STALL_US);
    } else {
        close_now(tcp, tcp->closing == FLUSHING);
    }
}

/* --- the carrier's operations */

static struct tcp *of(struct carrier *carrier)
{
    return CONTAINER(carrier, struct tcp, carrier);
}

static void tcp_open(struct carrier *carrier)
{
    struct tcp *tcp = of(carrier);
    tcp->opened = true;
    tcp->credit = WEIR_CREDIT;
    endpoint_pause(tcp->end, false);
}

static void tcp_want_produce(struct carrier *carrier, uint64_t stream)
{
    struct tcp *tcp = of(carrier);
    (void)stream;
    tcp->want_produce = true;
    if (!tcp->outgoing.count || simulation.broken == CREDIT)
        turn_mark(loop_turn(tcp->loop), TURN_FLUSH, &tcp->flush);
}

static void tcp_write(struct carrier *carrier, uint64_t stream, const weir_slice *slices,
                      uint32_t count, uint32_t flags)
{
    struct tcp *tcp = of(carrier);
    (void)stream;
    if (!tcp->producing || tcp->end_wanted)
        violated(CARRIER_USE, 0, "%s",
                 tcp->end_wanted ? "a write after the end" : "a write outside of produce()");
    for (uint32_t i = 0; i < count; i++) {
        slice_queue_push(&tcp->outgoing, slices[i]);
        if (tcp->dialled && !tcp->end->other->closed)
            network_servers.on_its_way(tcp->end->other, slices[i].bytes, slices[i].length);
    }
    if (flags & WEIR_END)
        tcp->end_wanted = true;
}

static void tcp_grant(struct carrier *carrier, uint64_t stream, size_t bytes)
{
    struct tcp *tcp = of(carrier);
    (void)stream;
    if (tcp->closing != OPEN)
        return;
    tcp->credit += bytes;
    if (tcp->credit > WEIR_CREDIT)
        violated(CREDIT, 0, "%zu bytes are granted at once on connection %llu", tcp->credit,
                 (unsigned long long)tcp->end->number);
    endpoint_pause(tcp->end, !tcp->credit);
}

static void tcp_close(struct carrier *carrier, uint32_t how)
{
    struct tcp *tcp = of(carrier);
    if (how == CARRIER_CLOSE_RESET) {
        close_now(tcp, true);
    } else if (how == CARRIER_CLOSE_NOW) {
        close_now(tcp, false);
    } else if (tcp->closing == OPEN) {
        tcp->closing = FLUSHING;
        tcp->may_linger = how == CARRIER_CLOSE_LINGER;
        tcp->left_behind = tcp->outgoing.bytes;
        event_set(&tcp->later, FLUSH_STALL_US);
        endpoint_pause(tcp->end, false);
        proceed_to_close(tcp);
    }
}

static const struct carrier_operations tcp_operations = {
    .open = tcp_open,
    .want_produce = tcp_want_produce,
    .write = tcp_write,
    .grant = tcp_grant,
    .close = tcp_close,
};

static const struct endpoint_events tcp_events = {
    .readable = on_readable,
    .writable = on_writable,
};

static struct tcp *tcp_new(struct loop *loop, const struct address *peer,
                           const struct address *local)
{
    struct tcp *tcp = memory_zeroed(sizeof *tcp);
    tcp->carrier.operations = &tcp_operations;
    tcp->carrier.facts = (struct carrier_facts){.peer = *peer, .local = *local};
    tcp->loop = loop;
    tcp->end = connection_pair_new();
    tcp->end->events = &tcp_events;
    tcp->end->user = tcp;
    endpoint_pause(tcp->end, true);
    mark_init(&tcp->flush, flush);
    event_init(&tcp->later, fire_later);
    loop_hold(1);
    return tcp;
}

/* --- accepting */

static void fire_accept(struct event *event)
{
    struct tcp *tcp = CONTAINER(event, struct tcp, later);
    event_init(&tcp->later, fire_later);
    if (!listener_accept(&tcp->carrier))
        close_now(tcp, true);
}

struct endpoint *network_connect(struct loop *loop, const struct address *to,
                                 const struct address *from, const struct endpoint_events *events,
                                 void *user)
{
    struct tcp *tcp = tcp_new(loop, from, to);
    struct endpoint *end = tcp->end->other;
    end->events = events;
    end->user = user;
    event_init(&tcp->later, fire_accept);
    event_set(&tcp->later, dice_size(dice(), 30000));
    return end;
}

/* --- connecting */

struct tcp_connect {
    struct loop *loop;
    struct address address;
    void (*on_connect)(void *user, struct carrier *carrier, int error);
    void *user;
    uint64_t number;
    struct event answered;
};

static uint64_t connects;

static void connect_free(struct tcp_connect *connect)
{
    happened("weir's dial ends", connect->number, 0);
    event_clear(&connect->answered);
    memory_free(connect);
    loop_hold(-1);
}

static void fire_accepted(struct event *event)
{
    struct tcp_connect *connect = CONTAINER(event, struct tcp_connect, answered);
    struct tcp *tcp = tcp_new(connect->loop, &connect->address, &connect->address);
    tcp->dialled = true;
    network_servers.accept(&connect->address, tcp->end->other);
    connect->on_connect(connect->user, &tcp->carrier, 0);
    connect_free(connect);
}

static void fire_refused(struct event *event)
{
    struct tcp_connect *connect = CONTAINER(event, struct tcp_connect, answered);
    connect->on_connect(connect->user, NULL, -ECONNREFUSED);
    connect_free(connect);
}

struct tcp_connect *tcp_connect(struct loop *loop, const struct address *address,
                                void (*on_connect)(void *user, struct carrier *carrier, int error),
                                void *user)
{
    struct tcp_connect *connect = memory_zeroed(sizeof *connect);
    enum reach reach = network_servers.reach(address);
    *connect = (struct tcp_connect){loop, *address, on_connect, user, ++connects, {.fire = NULL}};
    happened("weir dials", connects, address_port(address));
    if (sabotage(NO_SPURIOUS_FAILURE, 20))
        reach = REACH_REFUSES;
    event_init(&connect->answered, reach == REACH_ACCEPTS ? fire_accepted : fire_refused);
    if (reach != REACH_SILENT)
        event_set(&connect->answered, dice_size(dice(), 30000));
    loop_hold(1);
    return connect;
}

void tcp_connect_cancel(struct tcp_connect *connect)
{
    connect_free(connect);
}
