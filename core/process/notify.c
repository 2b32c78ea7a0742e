/* core/process/notify.c - tells the service manager how the process is (sd_notify's protocol) */
#include "core/process/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/log.h"

enum { MESSAGE_BYTES = 256 };

/* A path, or a name after '@', which stands for the NUL that begins an abstract name. 0: neither.
 */
static socklen_t parse_target(const char *text, struct sockaddr_un *address)
{
    size_t length = strlen(text);
    if ((text[0] != '/' && text[0] != '@') || length < 2 || length >= sizeof address->sun_path)
        return 0;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path, text, length);
    if (text[0] == '@')
        address->sun_path[0] = 0;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (text[0] == '/'));
}

static void send_message(const char *message)
{
    struct sockaddr_un address;
    const char *target = getenv("NOTIFY_SOCKET");
    if (!target || !*target)
        return;
    socklen_t length = parse_target(target, &address);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (!length || fd < 0 ||
        sendto(fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&address, length) < 0)
        log_write(LOG_WARNING, "cannot notify %s: %s", target,
                  length ? strerror(errno) : "neither a path nor an abstract name");
    if (fd >= 0)
        close(fd);
}

void notify_ready(const char *status)
{
    char message[MESSAGE_BYTES];
    snprintf(message, sizeof message, "READY=1\nSTATUS=%s", status);
    send_message(message);
}

void notify_reloading(uint64_t monotonic_us)
{
    char message[MESSAGE_BYTES];
    snprintf(message, sizeof message, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, monotonic_us);
    send_message(message);
}

void notify_stopping(const char *status)
{
    char message[MESSAGE_BYTES];
    snprintf(message, sizeof message, "STOPPING=1\nSTATUS=%s", status);
    send_message(message);
}
