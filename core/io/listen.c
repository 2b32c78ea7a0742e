/* core/io/listen.c - listening sockets, and accepting from them
 *
 * Accepting waits with uv_poll and calls accept itself, because libuv's own answers a lack of
 * descriptors by closing who comes; here they wait. */
#include "core/io/listen.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/io/tcp.h"
#include "core/io/uv_loop.h"

enum {
    BACKLOG = 4096,
    ACCEPTS_MOST = 64,   /* in a row, before others have their turn */
    PAUSE_MS = 50,       /* until the next try */
    COMPLAIN_MS = 10000, /* how long there must have been no pause for the next to be logged */
    SOCKET_FLAGS = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK
};
_Static_assert(LISTEN_PATH_BYTES == sizeof((struct sockaddr_un *)0)->sun_path, "a path's size");

/* --- places */

static const weir_string unix_prefix = WEIR_STRING("unix:");

static bool is_unix(const struct listen_place *place)
{
    return place->address.any.sa_family == AF_UNIX;
}

bool listen_place_parse(weir_string text, struct listen_place *place)
{
    *place = (struct listen_place){.mode = 0666};
    if (text.length < unix_prefix.length ||
        memcmp(text.bytes, unix_prefix.bytes, unix_prefix.length) != 0)
        return address_parse(text, &place->address);
    size_t length = text.length - unix_prefix.length;
    if (!length || length >= sizeof place->path || memchr(text.bytes, 0, text.length))
        return false;
    place->address.any.sa_family = AF_UNIX;
    memcpy(place->path, text.bytes + unix_prefix.length, length);
    return true;
}

char *listen_place_format(const struct listen_place *place, char text[LISTEN_TEXT_BYTES])
{
    if (is_unix(place))
        snprintf(text, LISTEN_TEXT_BYTES, "unix:%s", place->path);
    else
        address_format(&place->address, text);
    return text;
}

bool listen_place_equal(const struct listen_place *a, const struct listen_place *b)
{
    if (is_unix(a) || is_unix(b))
        return is_unix(a) && is_unix(b) && !strcmp(a->path, b->path);
    return address_equal(&a->address, &b->address) && a->v6_only == b->v6_only;
}

/* --- making sockets */

static bool set(int socket, int level, int option, int value)
{
    return setsockopt(socket, level, option, &value, sizeof value) == 0;
}

/* The first socket at an address is bound as if it were to be the only one: that proves that nobody
 * else listens there. It shares, with the others of this process, only from then on. */
static int ip_socket(struct listen_place *place, bool first, bool share)
{
    struct address *address = &place->address;
    socklen_t length = sizeof *address;
    int fd = socket(address->any.sa_family, SOCKET_FLAGS, 0);
    bool good = fd >= 0 && set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (good && address->any.sa_family == AF_INET6)
        good = set(fd, IPPROTO_IPV6, IPV6_V6ONLY, place->v6_only);
    if (good && !first)
        good = set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    good = good && bind(fd, &address->any, address_length(address)) == 0;
    if (good && first && share)
        good = set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (good && listen(fd, BACKLOG) == 0 && getsockname(fd, &address->any, &length) == 0)
        return fd;
    int error = errno;
    if (fd >= 0)
        close(fd);
    return -error;
}

static struct sockaddr_un unix_address(const struct listen_place *place)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, place->path, sizeof address.sun_path);
    return address;
}

/* Whether the file is a socket that nobody listens on: what a process leaves that was killed. */
static bool is_stale(const struct sockaddr_un *address)
{
    struct stat status;
    if (lstat(address->sun_path, &status) != 0 || !S_ISSOCK(status.st_mode))
        return false;
    int fd = socket(AF_UNIX, SOCKET_FLAGS, 0);
    bool stale = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
                 errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return stale;
}

/* The file never has more permissions than it is to have: bind() takes the socket's, less the
 * umask's, and chmod() then gives what that took away. */
static bool bind_file(int fd, struct listen_place *place)
{
    struct sockaddr_un address = unix_address(place);
    struct stat status;
    if (is_stale(&address))
        unlink(place->path);
    if (fchmod(fd, place->mode) || bind(fd, (struct sockaddr *)&address, sizeof address))
        return false;
    if (chmod(place->path, place->mode) || lstat(place->path, &status))
        return false;
    place->device = status.st_dev;
    place->inode = status.st_ino;
    place->made = status.st_mtim; /* which no change of owner or mode touches */
    return true;
}

static int unix_socket(struct listen_place *place)
{
    int fd = socket(AF_UNIX, SOCKET_FLAGS, 0);
    if (fd >= 0 && bind_file(fd, place) && listen(fd, BACKLOG) == 0)
        return fd;
    int error = errno;
    if (fd >= 0)
        close(fd);
    return -error;
}

static int next_socket(struct listen_place *place, const int *sockets, uint32_t number, bool share)
{
    if (!is_unix(place))
        return ip_socket(place, number == 0, share);
    if (number == 0)
        return unix_socket(place);
    int fd = fcntl(sockets[0], F_DUPFD_CLOEXEC, 0);
    return fd < 0 ? -errno : fd;
}

int listen_open(struct listen_place *place, int *sockets, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sockets[i] = next_socket(place, sockets, i, count > 1);
        if (sockets[i] >= 0)
            continue;
        int error = sockets[i];
        while (i)
            close(sockets[--i]);
        listen_unlink(place);
        return error;
    }
    return 0;
}

int listen_adopt(int socket, struct listen_place *place)
{
    union {
        struct sockaddr any;
        struct sockaddr_un file;
        struct address address;
    } at = {0};
    socklen_t length = sizeof at, size = sizeof(int);
    int listening = 0, v6_only = 0;
    *place = (struct listen_place){0};
    if (getsockname(socket, &at.any, &length) ||
        getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size))
        return -errno;
    if (!listening)
        return -EINVAL;
    place->address = at.address;
    if (is_unix(place))
        memcpy(place->path, at.file.sun_path, sizeof place->path - 1);
    else if (at.any.sa_family == AF_INET6)
        getsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, &size);
    else if (at.any.sa_family != AF_INET)
        return -EAFNOSUPPORT;
    place->v6_only = v6_only;
    if (fcntl(socket, F_SETFD, FD_CLOEXEC) || fcntl(socket, F_SETFL, O_NONBLOCK))
        return -errno;
    return 0;
}

static bool is_ours(const struct listen_place *place)
{
    struct stat status;
    return is_unix(place) && place->inode && lstat(place->path, &status) == 0 &&
           status.st_dev == place->device && status.st_ino == place->inode &&
           status.st_mtim.tv_sec == place->made.tv_sec &&
           status.st_mtim.tv_nsec == place->made.tv_nsec;
}

int listen_unlink(const struct listen_place *place)
{
    return is_ours(place) && unlink(place->path) ? -errno : 0;
}

int listen_give(const struct listen_place *place, uid_t user, gid_t group)
{
    return is_unix(place) && lchown(place->path, user, group) ? -errno : 0;
}

int listen_permit(const struct listen_place *place, mode_t mode)
{
    return is_unix(place) && chmod(place->path, mode) ? -errno : 0;
}

/* --- accepting */

struct listener {
    uv_poll_t handle;
    struct loop *loop;
    int socket;
    const struct listener_events *events;
    void *user;
    struct wheel_entry pause;
    uint64_t complain_ms; /* not before */
    bool paused;
};

static void cb_readable(uv_poll_t *handle, int status, int events);

static void on_pause_over(struct wheel_entry *entry)
{
    struct listener *listener = CONTAINER(entry, struct listener, pause);
    listener->paused = false;
    uv_poll_start(&listener->handle, UV_READABLE, cb_readable);
}

static void take_pause(struct listener *listener, const char *why)
{
    uint64_t now_ms = loop_now_ms(listener->loop);
    if (now_ms >= listener->complain_ms)
        log_write(LOG_WARNING, "cannot accept connections for a while: %s", why);
    listener->complain_ms = now_ms + COMPLAIN_MS;
    listener->paused = true;
    uv_poll_stop(&listener->handle);
    wheel_set(loop_wheel(listener->loop), &listener->pause, now_ms + PAUSE_MS);
}

static bool is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/* False when there is nobody to accept now. */
static bool accept_one(struct listener *listener)
{
    if (!listener->events->may_accept(listener->user)) {
        take_pause(listener, "as many are open as may be");
        return false;
    }
    int fd = accept4(listener->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        struct carrier *carrier = tcp_adopt(listener->loop, fd);
        if (carrier)
            listener->events->accepted(listener->user, carrier);
        return true;
    }
    int error = errno;
    if (is_shortage(error))
        take_pause(listener, strerror(error));
    return error != EAGAIN && !listener->paused; /* others are errors of that one connection */
}

static void cb_readable(uv_poll_t *handle, int status, int events)
{
    struct listener *listener = handle->data;
    (void)status, (void)events;
    for (int i = 0; i < ACCEPTS_MOST; i++)
        if (!accept_one(listener))
            return;
}

struct listener *listener_open(struct loop *loop, int socket, const struct listener_events *events,
                               void *user)
{
    struct listener *listener = memory_zeroed(sizeof *listener);
    listener->loop = loop;
    listener->socket = socket;
    listener->events = events;
    listener->user = user;
    wheel_entry_init(&listener->pause, on_pause_over);
    if (uv_poll_init(loop_uv(loop), &listener->handle, socket)) {
        close(socket);
        memory_free(listener);
        return NULL;
    }
    listener->handle.data = listener;
    uv_poll_start(&listener->handle, UV_READABLE, cb_readable);
    return listener;
}

static void cb_closed(uv_handle_t *handle)
{
    memory_free(handle->data);
}

void listener_close(struct listener *listener)
{
    for (int i = 0; i < BACKLOG && !listener->paused; i++)
        if (!accept_one(listener))
            break;
    wheel_clear(&listener->pause);
    uv_close((uv_handle_t *)&listener->handle, cb_closed);
    close(listener->socket);
}
