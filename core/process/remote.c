/* core/process/remote.c - `weir reload` and `weir status`: asks a running weir by its admin
 * listener
 */
#include "core/process/remote.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/string.h"
#include "core/base/text.h"
#include "core/io/listen.h"
#include "core/process/process.h"

enum { PATIENCE_SECONDS = 30, ANSWER_BYTES_MOST = 1 << 20 };

struct answer {
    uint32_t status; /* 0: it was none */
    weir_string body;
    struct text text;
};

static int unreachable(const char *admin, const char *why)
{
    fprintf(stderr, "weir: no weir answers at %s: %s\n", admin, why);
    return EXIT_FAILED;
}

static int connect_to(const struct listen_place *place)
{
    struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    struct sockaddr_un file = {.sun_family = AF_UNIX};
    bool is_unix = place->address.any.sa_family == AF_UNIX;
    memcpy(file.sun_path, place->path, sizeof file.sun_path);
    int fd = socket(place->address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    int rc = is_unix ? connect(fd, (struct sockaddr *)&file, sizeof file)
                     : connect(fd, &place->address.any, address_length(&place->address));
    if (fd < 0 || rc == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Until the other side ends. */
static bool read_all(int fd, struct text *text)
{
    char bytes[4096];
    ssize_t count;
    while ((count = read(fd, bytes, sizeof bytes)) > 0 && text->length < ANSWER_BYTES_MOST)
        text_add(text, (weir_string){bytes, (size_t)count});
    return count == 0;
}

static void parse(struct answer *answer)
{
    static const char version[] = "HTTP/1.1 ";
    const struct text *text = &answer->text;
    size_t start = sizeof version - 1;
    uint64_t status;
    const char *body = text->length ? memmem(text->bytes, text->length, "\r\n\r\n", 4) : NULL;
    if (!body || text->length < start + 3 || memcmp(text->bytes, version, start) != 0 ||
        !string_to_number((weir_string){text->bytes + start, 3}, 599, &status))
        return;
    answer->status = (uint32_t)status;
    answer->body = (weir_string){body + 4, (size_t)(text->bytes + text->length - body) - 4};
}

/* 0, or how the program is to end. */
static int ask(const char *admin, const char *request, struct answer *answer)
{
    struct listen_place place;
    if (!listen_place_parse(string_of(admin), &place))
        return unreachable(admin, "that is no address");
    int fd = connect_to(&place);
    if (fd < 0)
        return unreachable(admin, strerror(errno));
    bool sent = send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request);
    bool received = sent && read_all(fd, &answer->text);
    int error = errno;
    close(fd);
    if (!received)
        return unreachable(admin, strerror(error));
    parse(answer);
    return answer->status ? 0 : unreachable(admin, "what answers there is no weir");
}

#define REQUEST(line) line " HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n\r\n"

static void show(const struct answer *answer, FILE *stream)
{
    fwrite(answer->body.bytes, 1, answer->body.length, stream);
}

int remote_status(const char *admin)
{
    struct answer answer = {0};
    int failed = ask(admin, REQUEST("GET /status"), &answer);
    bool good = !failed && answer.status == 200;
    if (!failed)
        show(&answer, good ? stdout : stderr);
    text_deinit(&answer.text);
    return good ? EXIT_STOPPED : EXIT_FAILED;
}

int remote_reload(const char *admin)
{
    struct answer answer = {0};
    int failed = ask(admin, REQUEST("POST /reload"), &answer);
    bool good = !failed && answer.status == 200;
    if (!failed)
        show(&answer, good ? stdout : stderr);
    int status = answer.status == 422 ? EXIT_CONFIGURATION : EXIT_FAILED;
    text_deinit(&answer.text);
    return good ? EXIT_STOPPED : status;
}
