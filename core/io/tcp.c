/* core/io/tcp.c - connecting, and the carrier: TCP, or any other stream socket, on libuv
 *
 * Reading stays on while there is credit, and a little longer: it is stopped only when bytes wait
 * and two polls in a row found no credit, because stopping and starting costs a system call each.
 * Writing is one uv_try_write per turn; what the kernel does not take waits in `outgoing` behind
 * one uv_write, and produce() is not called again before it has left. */
#include "core/io/tcp.h"

#include <string.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/memory.h"
#include "core/io/uv_loop.h"

enum {
    PRODUCE_ROOM = 65536,
    WRITE_SLICES_MOST = 64,         /* in one writev */
    FLUSH_STALL_MS = 30000,         /* a closing carrier's peer must read something that often */
    LINGER_MS = 2000,               /* after our FIN, for what the peer still sends ... */
    LINGER_BYTES_MOST = 1024 * 1024 /* ... and at most so much of it */
};

enum closing { OPEN, FLUSHING, LINGERING, RESETTING, CLOSED };

/* What libuv works on. One at a time, since a shutdown waits for the write before it, and seldom,
 * since most of what is written is taken at once. */
union request {
    uv_write_t write;
    uv_shutdown_t shutdown;
};

struct tcp {
    struct carrier carrier;
    struct loop *loop;
    uv_tcp_t handle;
    union request *request; /* NULL: none */
    struct mark flush;
    struct wheel_entry linger;
    struct slice_queue outgoing;
    size_t credit;
    uint64_t writing_bytes; /* of the uv_write in flight */
    uint64_t unsent_bytes;  /* when the flush's stall limit was last set */
    uint32_t linger_bytes;
    uint8_t closing;
    bool opened, reading, starved, ended;
    bool end_wanted, shut; /* half-close asked for, done */
    bool write_broken, was_reset, want_produce, may_linger;
};

static void try_to_send(struct tcp *tcp);
static void proceed_to_close(struct tcp *tcp);
static void close_with_reset(struct tcp *tcp);

/* --- reading */

static void cb_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct tcp *tcp = handle->data;
    size_t room;
    (void)suggested;
    buffer->base = (char *)receive_space(&room);
    if (tcp->closing == OPEN && room > tcp->credit) /* while lingering what comes is dropped */
        room = tcp->credit;
    buffer->len = room; /* 0: libuv answers UV_ENOBUFS and does not read */
}

static void stop_reading(struct tcp *tcp)
{
    if (tcp->reading)
        uv_read_stop((uv_stream_t *)&tcp->handle);
    tcp->reading = false;
}

static void on_no_credit(struct tcp *tcp)
{
    if (tcp->starved)
        stop_reading(tcp);
    tcp->starved = true;
}

static void on_received(struct tcp *tcp, size_t length)
{
    weir_slice slice = receive_take(length);
    if (tcp->closing == OPEN) {
        tcp->credit -= length;
        tcp->carrier.events->data(tcp->carrier.user, 0, &slice);
    } else {
        tcp->linger_bytes += (uint32_t)length;
        if (tcp->linger_bytes > LINGER_BYTES_MOST)
            proceed_to_close(tcp);
    }
    buffer_release(slice.owner);
}

static void on_ended(struct tcp *tcp, uint32_t how)
{
    tcp->ended = true;
    stop_reading(tcp);
    if (tcp->closing == OPEN)
        tcp->carrier.events->end(tcp->carrier.user, 0, how);
    else if (how == WEIR_END_RESET)
        tcp->write_broken = true;
    if (tcp->closing != OPEN)
        proceed_to_close(tcp);
}

/* When a reset is behind the last bytes that were read libuv says that they are the end, without
 * having asked. */
static bool ended_cleanly(const struct tcp *tcp)
{
    uint8_t byte;
    uv_os_fd_t fd;
    return !tcp->was_reset && uv_fileno((const uv_handle_t *)&tcp->handle, &fd) == 0 &&
           recv(fd, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void cb_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct tcp *tcp = stream->data;
    (void)buffer;
    if (count > 0)
        on_received(tcp, (size_t)count);
    else if (count == UV_ENOBUFS)
        on_no_credit(tcp);
    else if (count < 0)
        on_ended(tcp, count == UV_EOF && ended_cleanly(tcp) ? WEIR_END_CLEAN : WEIR_END_RESET);
}

static void start_reading(struct tcp *tcp)
{
    if (tcp->reading || tcp->ended || tcp->closing == CLOSED)
        return;
    tcp->starved = false;
    tcp->reading = uv_read_start((uv_stream_t *)&tcp->handle, cb_allocate, cb_read) == 0;
}

/* --- writing */

/* The kernel refused for good. What the peer sent before may still be read, and reading tells the
 * user how it ended; only when that is over already nobody else would. Linux tells of a reset only
 * once: after a write that failed with it reading ends as if cleanly. With EPIPE it does so
 * rightly, the peer's FIN came before. */
static void on_write_error(struct tcp *tcp, int error)
{
    tcp->write_broken = true;
    tcp->was_reset |= error != UV_EPIPE;
    tcp->writing_bytes = 0;
    slice_queue_drop(&tcp->outgoing, tcp->outgoing.bytes);
    if (tcp->closing != OPEN)
        proceed_to_close(tcp);
    else if (tcp->ended)
        tcp->carrier.events->end(tcp->carrier.user, 0, WEIR_END_RESET);
    else
        start_reading(tcp);
}

static void on_all_sent(struct tcp *tcp);

static union request *request_new(struct tcp *tcp)
{
    tcp->request = memory_allocate(sizeof *tcp->request);
    return tcp->request;
}

static void request_over(struct tcp *tcp)
{
    memory_free(tcp->request);
    tcp->request = NULL;
}

static void cb_written(uv_write_t *request, int status)
{
    struct tcp *tcp = request->data;
    request_over(tcp);
    if (tcp->closing == CLOSED)
        return;
    if (status < 0) {
        on_write_error(tcp, status);
        return;
    }
    slice_queue_drop(&tcp->outgoing, tcp->writing_bytes);
    tcp->writing_bytes = 0;
    try_to_send(tcp);
}

static uint32_t gather(struct tcp *tcp, uv_buf_t *buffers, uint64_t *bytes)
{
    weir_slice slices[WRITE_SLICES_MOST];
    uint32_t count = slice_queue_peek(&tcp->outgoing, slices, WRITE_SLICES_MOST, UINT64_MAX);
    *bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        buffers[i].base = (char *)slices[i].bytes;
        buffers[i].len = slices[i].length;
        *bytes += slices[i].length;
    }
    return count;
}

/* The kernel is full: keep what is left in buffers of the right size and wait. */
static void wait_for_room(struct tcp *tcp)
{
    uv_buf_t buffers[WRITE_SLICES_MOST];
    slice_queue_settle(&tcp->outgoing);
    uint32_t count = gather(tcp, buffers, &tcp->writing_bytes);
    uv_write_t *write = &request_new(tcp)->write;
    write->data = tcp;
    int rc = uv_write(write, (uv_stream_t *)&tcp->handle, buffers, count, cb_written);
    if (rc < 0) {
        request_over(tcp);
        on_write_error(tcp, rc);
    }
}

static void try_to_send(struct tcp *tcp)
{
    uv_buf_t buffers[WRITE_SLICES_MOST];
    while (tcp->outgoing.count) {
        uint64_t bytes;
        uint32_t count = gather(tcp, buffers, &bytes);
        int sent = uv_try_write((uv_stream_t *)&tcp->handle, buffers, count);
        if (sent < 0 && sent != UV_EAGAIN) {
            on_write_error(tcp, sent);
            return;
        }
        if (sent > 0)
            slice_queue_drop(&tcp->outgoing, (uint64_t)sent);
        if (sent < 0 || (uint64_t)sent < bytes) {
            wait_for_room(tcp);
            return;
        }
    }
    on_all_sent(tcp);
}

/* What does not leave at once is lost. */
static void send_once(struct tcp *tcp)
{
    uv_buf_t buffers[WRITE_SLICES_MOST];
    uint64_t bytes;
    int sent;
    while (tcp->outgoing.count && !tcp->write_broken) {
        uint32_t count = gather(tcp, buffers, &bytes);
        sent = uv_try_write((uv_stream_t *)&tcp->handle, buffers, count);
        if (sent < 0 || (uint64_t)sent < bytes)
            return;
        slice_queue_drop(&tcp->outgoing, bytes);
    }
}

static void cb_shutdown(uv_shutdown_t *request, int status)
{
    struct tcp *tcp = request->data;
    (void)status; /* a peer that is gone shows itself in reading */
    request_over(tcp);
    if (tcp->closing == FLUSHING)
        proceed_to_close(tcp);
}

static void shut(struct tcp *tcp)
{
    tcp->shut = true;
    uv_shutdown_t *shutdown = &request_new(tcp)->shutdown;
    shutdown->data = tcp;
    if (uv_shutdown(shutdown, (uv_stream_t *)&tcp->handle, cb_shutdown) != 0)
        request_over(tcp);
}

static void on_all_sent(struct tcp *tcp)
{
    if (tcp->want_produce)
        turn_mark(loop_turn(tcp->loop), TURN_FLUSH, &tcp->flush);
    if (tcp->closing != OPEN) {
        proceed_to_close(tcp);
        return;
    }
    if (tcp->end_wanted && !tcp->shut)
        shut(tcp);
    tcp->carrier.events->sent(tcp->carrier.user, 0);
}

/* The turn's flush: one produce(), one write. */
static void flush(struct mark *mark)
{
    struct tcp *tcp = CONTAINER(mark, struct tcp, flush);
    if (tcp->closing == LINGERING || tcp->closing == CLOSED || tcp->outgoing.count)
        return; /* asked again when what is left over has gone */
    tcp->want_produce = false;
    tcp->carrier.events->produce(tcp->carrier.user, 0, PRODUCE_ROOM);
    if (tcp->closing == CLOSED)
        return;
    if (tcp->closing == RESETTING) {
        send_once(tcp);
        close_with_reset(tcp);
        return;
    }
    if (tcp->write_broken)
        slice_queue_drop(&tcp->outgoing, tcp->outgoing.bytes);
    try_to_send(tcp);
}

/* --- closing */

static void cb_closed(uv_handle_t *handle)
{
    struct tcp *tcp = handle->data;
    turn_unmark(loop_turn(tcp->loop), TURN_FLUSH, &tcp->flush);
    slice_queue_deinit(&tcp->outgoing);
    if (tcp->opened)
        tcp->carrier.events->closed(tcp->carrier.user);
    memory_free(tcp);
}

static void close_now(struct tcp *tcp)
{
    if (tcp->closing == CLOSED)
        return;
    tcp->closing = CLOSED;
    wheel_clear(&tcp->linger);
    if (!uv_is_closing((uv_handle_t *)&tcp->handle))
        uv_close((uv_handle_t *)&tcp->handle, cb_closed);
}

/* Flush, then FIN, then wait for the peer's end; whatever is not needed is skipped. */
static void proceed_to_close(struct tcp *tcp)
{
    if (tcp->closing == CLOSED)
        return;
    if (tcp->write_broken || tcp->linger_bytes > LINGER_BYTES_MOST) {
        close_now(tcp);
        return;
    }
    if (tcp->request || tcp->outgoing.count || tcp->want_produce)
        return;
    if (tcp->ended) {
        close_now(tcp);
        return;
    }
    if (!tcp->shut) {
        shut(tcp);
        if (tcp->request)
            return;
    }
    if (tcp->closing == FLUSHING && !tcp->may_linger) {
        close_now(tcp);
    } else if (tcp->closing == FLUSHING) {
        tcp->closing = LINGERING;
        wheel_set(loop_wheel(tcp->loop), &tcp->linger, loop_now_ms(tcp->loop) + LINGER_MS);
    }
}

static void close_with_reset(struct tcp *tcp)
{
    if (tcp->closing == CLOSED)
        return;
    if (tcp->shut || tcp->request || uv_tcp_close_reset(&tcp->handle, cb_closed) != 0) {
        /* libuv refuses after a shutdown: SO_LINGER by hand, then the usual close */
        struct linger zero = {.l_onoff = 1, .l_linger = 0};
        uv_os_fd_t fd;
        if (uv_fileno((uv_handle_t *)&tcp->handle, &fd) == 0)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &zero, sizeof zero);
    }
    close_now(tcp);
}

/* The last bytes before an abort are the peer's as much as those before them. */
static void reset_behind_the_last_bytes(struct tcp *tcp)
{
    bool has_some = tcp->closing == OPEN && tcp->opened && tcp->want_produce &&
                    !tcp->outgoing.count && !tcp->write_broken;
    if (!has_some) {
        close_with_reset(tcp);
        return;
    }
    tcp->closing = RESETTING;
    stop_reading(tcp);
}

static void watch_flush(struct tcp *tcp)
{
    tcp->unsent_bytes = tcp->outgoing.bytes - tcp->writing_bytes +
                        uv_stream_get_write_queue_size((uv_stream_t *)&tcp->handle);
    wheel_set(loop_wheel(tcp->loop), &tcp->linger, loop_now_ms(tcp->loop) + FLUSH_STALL_MS);
}

static void on_linger_expired(struct wheel_entry *entry)
{
    struct tcp *tcp = CONTAINER(entry, struct tcp, linger);
    uint64_t unsent_bytes = tcp->unsent_bytes;
    if (tcp->closing != FLUSHING) {
        close_now(tcp);
        return;
    }
    watch_flush(tcp);
    if (tcp->unsent_bytes == unsent_bytes)
        close_with_reset(tcp); /* what is missing must not look like the end */
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
    start_reading(tcp);
}

static void tcp_want_produce(struct carrier *carrier, uint64_t stream)
{
    struct tcp *tcp = of(carrier);
    (void)stream;
    tcp->want_produce = true;
    if (!tcp->outgoing.count)
        turn_mark(loop_turn(tcp->loop), TURN_FLUSH, &tcp->flush);
}

static void tcp_write(struct carrier *carrier, uint64_t stream, const weir_slice *slices,
                      uint32_t count, uint32_t flags)
{
    struct tcp *tcp = of(carrier);
    (void)stream;
    for (uint32_t i = 0; i < count; i++)
        slice_queue_push(&tcp->outgoing, slices[i]);
    if (flags & WEIR_END)
        tcp->end_wanted = true;
}

static void tcp_grant(struct carrier *carrier, uint64_t stream, size_t bytes)
{
    struct tcp *tcp = of(carrier);
    (void)stream;
    tcp->credit += bytes;
    tcp->starved = false;
    if (bytes && tcp->opened && tcp->closing == OPEN)
        start_reading(tcp);
}

static void tcp_close(struct carrier *carrier, uint32_t how)
{
    struct tcp *tcp = of(carrier);
    if (tcp->closing != OPEN && (how == CARRIER_CLOSE_FLUSH || how == CARRIER_CLOSE_LINGER))
        return;
    if (how == CARRIER_CLOSE_RESET) {
        reset_behind_the_last_bytes(tcp);
    } else if (how == CARRIER_CLOSE_NOW) {
        close_now(tcp);
    } else {
        tcp->closing = FLUSHING;
        tcp->may_linger = how == CARRIER_CLOSE_LINGER;
        watch_flush(tcp);
        start_reading(tcp);
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

static struct tcp *tcp_new(struct loop *loop)
{
    struct tcp *tcp = memory_zeroed(sizeof *tcp);
    tcp->loop = loop;
    tcp->carrier.operations = &tcp_operations;
    mark_init(&tcp->flush, flush);
    wheel_entry_init(&tcp->linger, on_linger_expired);
    uv_tcp_init(loop_uv(loop), &tcp->handle);
    tcp->handle.data = tcp;
    return tcp;
}

static void learn_facts(struct tcp *tcp)
{
    struct carrier_facts *facts = &tcp->carrier.facts;
    int length = sizeof facts->peer;
    uv_tcp_getpeername(&tcp->handle, &facts->peer.any, &length);
    length = sizeof facts->local;
    uv_tcp_getsockname(&tcp->handle, &facts->local.any, &length);
    if (facts->local.any.sa_family == AF_UNIX) {
        *facts =
            (struct carrier_facts){.peer.any.sa_family = AF_UNIX, .local.any.sa_family = AF_UNIX};
        return;
    }
    address_unmap(&facts->peer);
    address_unmap(&facts->local);
    uv_tcp_nodelay(&tcp->handle, 1);
}

struct carrier *tcp_adopt(struct loop *loop, int socket)
{
    struct tcp *tcp = tcp_new(loop);
    if (uv_tcp_open(&tcp->handle, socket)) {
        close(socket);
        close_now(tcp);
        return NULL;
    }
    learn_facts(tcp);
    return &tcp->carrier;
}

/* --- connecting */

struct tcp_connect {
    uv_connect_t request;
    struct tcp *tcp;
    void (*on_connect)(void *user, struct carrier *carrier, int error);
    void *user;
    int error;
    bool cancelled;
};

/* The socket is gone. Failures are told here, so that they are never told from inside the call. */
static void cb_connect_closed(uv_handle_t *handle)
{
    struct tcp *tcp = handle->data;
    struct tcp_connect *connect = tcp->carrier.user;
    if (!connect->cancelled)
        connect->on_connect(connect->user, NULL, connect->error);
    memory_free(connect);
    memory_free(tcp);
}

static void abandon(struct tcp_connect *connect, int error)
{
    connect->error = error;
    connect->tcp->carrier.user = connect;
    if (!uv_is_closing((uv_handle_t *)&connect->tcp->handle))
        uv_close((uv_handle_t *)&connect->tcp->handle, cb_connect_closed);
}

static void cb_connect(uv_connect_t *request, int status)
{
    struct tcp_connect *connect = request->data;
    if (status < 0) {
        abandon(connect, status); /* also UV_ECANCELED: the socket is closing already */
        return;
    }
    struct tcp *tcp = connect->tcp;
    learn_facts(tcp);
    connect->on_connect(connect->user, &tcp->carrier, 0);
    memory_free(connect);
}

struct tcp_connect *tcp_connect(struct loop *loop, const struct address *address,
                                void (*on_connect)(void *user, struct carrier *carrier, int error),
                                void *user)
{
    struct tcp_connect *connect = memory_zeroed(sizeof *connect);
    connect->tcp = tcp_new(loop);
    connect->on_connect = on_connect;
    connect->user = user;
    connect->request.data = connect;
    int rc = uv_tcp_connect(&connect->request, &connect->tcp->handle, &address->any, cb_connect);
    if (rc < 0)
        abandon(connect, rc);
    return connect;
}

void tcp_connect_cancel(struct tcp_connect *connect)
{
    connect->cancelled = true;
    abandon(connect, UV_ECANCELED);
}
