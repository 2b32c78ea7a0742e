/* bench/floor.c - the least a user-space TCP proxy can do: the yardstick for weir's costs */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Each client gets a connection of its own to the one origin, and what arrives on either is written
 * to the other: one read and one write, and nobody looks at the bytes. The sockets block, so a peer
 * that stops reading stops everyone; under a load that reads its answers it never happens, and no
 * proxy that must care about it can be cheaper than one that needn't. */

/* Larger than any segment: on loopback 64 KiB would leave as one full segment and one of 53 bytes,
 * which costs nearly twice the time per byte. */
enum { DESCRIPTORS_MAX = 65536, EVENTS_MAX = 512, BUFFER_SIZE = 256 * 1024 };

struct end {
    int peer;   /* descriptor at the other side of the pair, -1 once closed */
    bool ended; /* nothing more will be read from this side */
};

static struct end ends[DESCRIPTORS_MAX]; /* by descriptor */
static char buffer[BUFFER_SIZE];
static int epoll;

static void fatal(const char *what)
{
    perror(what);
    exit(1);
}

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int listen_on(int port)
{
    struct sockaddr_in address = loopback(port);
    socklen_t length = sizeof address;
    int on = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
        bind(listener, (struct sockaddr *)&address, length) || listen(listener, SOMAXCONN) ||
        getsockname(listener, (struct sockaddr *)&address, &length))
        fatal("listen");
    fprintf(stderr, "listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    return listener;
}

static int connect_to(int port)
{
    struct sockaddr_in address = loopback(port);
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    if (descriptor >= 0 && connect(descriptor, (struct sockaddr *)&address, sizeof address)) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

static void watch(int descriptor)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event))
        fatal("epoll_ctl");
}

static void join(int descriptor, int peer)
{
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ends[descriptor] = (struct end){.peer = peer};
    watch(descriptor);
}

static void accept_client(int listener, int origin_port)
{
    int client = accept4(listener, NULL, NULL, 0);
    if (client < 0)
        return;
    int server = connect_to(origin_port);
    if (server < 0 || client >= DESCRIPTORS_MAX || server >= DESCRIPTORS_MAX) {
        close(client);
        if (server >= 0)
            close(server);
        return;
    }
    join(client, server);
    join(server, client);
}

static void close_pair(int descriptor)
{
    int peer = ends[descriptor].peer;
    ends[descriptor].peer = ends[peer].peer = -1;
    close(descriptor);
    close(peer);
}

/* The other direction may go on: the pair is closed when both have ended. */
static void end_direction(int descriptor)
{
    int peer = ends[descriptor].peer;
    if (ends[peer].ended) {
        close_pair(descriptor);
        return;
    }
    ends[descriptor].ended = true;
    epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, NULL);
    shutdown(peer, SHUT_WR);
}

static bool write_all(int descriptor, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(descriptor, bytes, count);
        if (written < 0)
            return false;
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

static void relay(int descriptor)
{
    int peer = ends[descriptor].peer;
    if (peer < 0)
        return; /* closed earlier in this batch of events */
    ssize_t count = read(descriptor, buffer, sizeof buffer);
    if (count == 0)
        end_direction(descriptor);
    else if (count < 0 || !write_all(peer, buffer, (size_t)count))
        close_pair(descriptor);
}

/* Clients are accepted after the batch: a descriptor closed in it can't come back within it. */
static void serve(int listener, int origin_port)
{
    for (;;) {
        struct epoll_event events[EVENTS_MAX];
        int count = epoll_wait(epoll, events, EVENTS_MAX, -1);
        if (count < 0 && errno != EINTR)
            fatal("epoll_wait");
        bool arrived = false;
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == listener)
                arrived = true;
            else
                relay(events[i].data.fd);
        }
        if (arrived)
            accept_client(listener, origin_port);
    }
}

int main(int count, char **arguments)
{
    if (count != 3) {
        fprintf(stderr, "usage: floor LISTEN_PORT ORIGIN_PORT\n"
                        "Relays on 127.0.0.1; listens on any free port if LISTEN_PORT is 0.\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    epoll = epoll_create1(0);
    if (epoll < 0)
        fatal("epoll_create1");
    int listener = listen_on(atoi(arguments[1]));
    watch(listener);
    serve(listener, atoi(arguments[2]));
}
