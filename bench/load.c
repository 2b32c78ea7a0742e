/* bench/load.c - sends exactly as many keep-alive requests as asked and checks every answer */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The connections are opened at once and stay open until the input ends, so that what is measured
 * between two lines of output is requests and nothing else: no start, no accept, no close. */

static const char usage[] =
    "usage: load [-c CONNECTIONS] [-l LENGTH] ADDRESS:PORT TARGET\n"
    "Opens CONNECTIONS (1) to ADDRESS:PORT and reads numbers from standard input, one a line.\n"
    "For each it sends that many GET requests for TARGET (/path or http://host/path), one at\n"
    "a time on each connection, and prints a line of JSON when all are answered. Ends with the\n"
    "input. Gives up, with exit code 1, at an answer that isn't 200, whose body isn't LENGTH\n"
    "bytes long (if given) or is cut short, and when nothing arrives for 30 seconds.\n";

enum {
    CONNECTIONS_MAX = 1024,
    REQUEST_MAX = 4096,
    LINES_MAX = 16384,
    BUFFER_SIZE = 256 * 1024,
    STALL_MILLISECONDS = 30000,
};

/* What the next byte of an answer belongs to. IDLE: to nothing, no answer is due. */
enum part { IDLE, HEAD, BODY, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILERS };

struct connection {
    int descriptor;
    enum part part;
    uint64_t left;   /* bytes left of the body or chunk */
    uint64_t length; /* bytes of body received */
    size_t used;
    char lines[LINES_MAX]; /* the head, or one line of a chunked body, as far as it has arrived */
};

static struct connection connections[CONNECTIONS_MAX];
static size_t connection_count = 1;
static char request[REQUEST_MAX];
static size_t request_length;
static bool length_expected;
static uint64_t expected_length;

static struct {
    uint64_t to_send, sent, answered, body_bytes;
} batch;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "load: %s", what);
    if (batch.to_send > 0)
        fprintf(stderr, ", after %" PRIu64 " of %" PRIu64 " answers", batch.answered,
                batch.to_send);
    fputc('\n', stderr);
    exit(1);
}

static void send_request(struct connection *connection)
{
    if (batch.sent == batch.to_send) {
        connection->part = IDLE;
        return;
    }
    batch.sent++;
    connection->part = HEAD;
    connection->used = 0;
    connection->length = 0;
    ssize_t written = write(connection->descriptor, request, request_length);
    if (written < 0)
        fail(strerror(errno));
    if ((size_t)written != request_length)
        fail("the request did not fit into an empty socket");
}

static void answer_complete(struct connection *connection)
{
    if (length_expected && connection->length != expected_length)
        fail("an answer's body has the wrong length");
    batch.answered++;
    batch.body_bytes += connection->length;
    send_request(connection);
}

/* The value of a field in the head, or NULL. The head ends with an empty line. */
static const char *field(const char *head, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line != NULL; line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, name, length) == 0 && line[2 + length] == ':')
            return line + 2 + length + 1 + strspn(line + 2 + length + 1, " \t");
    return NULL;
}

static uint64_t number(const char *text, int base)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, base);
    if (errno != 0 || !isxdigit((unsigned char)*text) ||
        (*end != '\0' && strchr(" \t;\r\n", *end) == NULL))
        fail("a number is missing or malformed");
    return value;
}

static void head_complete(struct connection *connection)
{
    const char *head = connection->lines;
    if (strncmp(head, "HTTP/1.1 200 ", strlen("HTTP/1.1 200 ")) != 0) {
        connection->lines[strcspn(head, "\r")] = '\0';
        fail(head);
    }
    const char *coding = field(head, "transfer-encoding");
    const char *length = field(head, "content-length");
    connection->used = 0;
    if (coding != NULL && strncasecmp(coding, "chunked\r", strlen("chunked\r")) == 0) {
        connection->part = CHUNK_SIZE;
    } else if (length != NULL) {
        connection->part = BODY;
        connection->left = number(length, 10);
        if (connection->left == 0)
            answer_complete(connection);
    } else {
        fail("an answer has neither Content-Length nor a chunked body");
    }
}

/* Line breaks included, the terminator isn't. */
static void line_complete(struct connection *connection)
{
    const char *line = connection->lines;
    connection->used = 0;
    if (connection->part == CHUNK_SIZE) {
        connection->left = number(line, 16);
        connection->part = connection->left > 0 ? CHUNK : TRAILERS;
    } else if (connection->part == CHUNK_END) {
        if (strcmp(line, "\r\n") != 0)
            fail("a chunk does not end where it said");
        connection->part = CHUNK_SIZE;
    } else if (strcmp(line, "\r\n") == 0) {
        answer_complete(connection);
    }
}

static size_t take_line(struct connection *connection, const char *bytes, size_t count)
{
    const char *end = memchr(bytes, '\n', count);
    size_t taken = end != NULL ? (size_t)(end - bytes) + 1 : count;
    if (connection->used + taken >= LINES_MAX)
        fail("a head or line is too long");
    memcpy(connection->lines + connection->used, bytes, taken);
    connection->used += taken;
    connection->lines[connection->used] = '\0';
    if (end == NULL)
        return taken;
    if (connection->part != HEAD)
        line_complete(connection);
    else if (connection->used >= 4 &&
             strcmp(connection->lines + connection->used - 4, "\r\n\r\n") == 0)
        head_complete(connection);
    return taken;
}

static size_t take_body(struct connection *connection, size_t count)
{
    size_t taken = count < connection->left ? count : (size_t)connection->left;
    connection->left -= taken;
    connection->length += taken;
    if (connection->left == 0 && connection->part == CHUNK)
        connection->part = CHUNK_END;
    else if (connection->left == 0)
        answer_complete(connection);
    return taken;
}

static void take(struct connection *connection, const char *bytes, size_t count)
{
    while (count > 0) {
        size_t taken;
        if (connection->part == IDLE)
            fail("bytes arrived that nobody asked for");
        else if (connection->part == BODY || connection->part == CHUNK)
            taken = take_body(connection, count);
        else
            taken = take_line(connection, bytes, count);
        bytes += taken;
        count -= taken;
    }
}

static void receive(struct connection *connection)
{
    static char buffer[BUFFER_SIZE];
    ssize_t count = read(connection->descriptor, buffer, sizeof buffer);
    if (count < 0)
        fail(strerror(errno));
    if (count == 0)
        fail("the connection was closed");
    take(connection, buffer, (size_t)count);
}

static void open_connections(int epoll, const struct sockaddr_in *address)
{
    int on = 1;
    for (size_t i = 0; i < connection_count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[i]};
        int descriptor = socket(AF_INET, SOCK_STREAM, 0);
        if (descriptor < 0 ||
            connect(descriptor, (const struct sockaddr *)address, sizeof *address) ||
            setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) ||
            epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event))
            fail(strerror(errno));
        connections[i].descriptor = descriptor;
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void run_batch(int epoll, uint64_t count)
{
    struct epoll_event events[CONNECTIONS_MAX];
    double start = now();
    batch.to_send = count;
    batch.sent = batch.answered = batch.body_bytes = 0;
    for (size_t i = 0; i < connection_count; i++)
        send_request(&connections[i]);
    while (batch.answered < batch.to_send) {
        int ready = epoll_wait(epoll, events, CONNECTIONS_MAX, STALL_MILLISECONDS);
        if (ready == 0)
            fail("nothing arrived for 30 seconds");
        if (ready < 0 && errno != EINTR)
            fail(strerror(errno));
        for (int i = 0; i < ready; i++)
            receive(events[i].data.ptr);
    }
    printf("{\"requests\": %" PRIu64 ", \"body_bytes\": %" PRIu64 ", \"seconds\": %.6f}\n",
           batch.answered, batch.body_bytes, now() - start);
    fflush(stdout);
}

static void prepare_request(const char *server, const char *target)
{
    const char *host = server;
    size_t host_length = strlen(server);
    if (strncmp(target, "http://", strlen("http://")) == 0) {
        host = target + strlen("http://");
        host_length = strcspn(host, "/");
    }
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %.*s\r\n\r\n", target,
                          (int)host_length, host);
    if (length < 0 || (size_t)length >= sizeof request)
        fail("the target is too long");
    request_length = (size_t)length;
}

static struct sockaddr_in parse_address(const char *server)
{
    char text[INET_ADDRSTRLEN];
    struct sockaddr_in address = {.sin_family = AF_INET};
    size_t length = strcspn(server, ":");
    if (server[length] != ':' || length >= sizeof text)
        fail("the server must be ADDRESS:PORT");
    memcpy(text, server, length);
    text[length] = '\0';
    uint64_t port = number(server + length + 1, 10);
    if (inet_pton(AF_INET, text, &address.sin_addr) != 1 || port == 0 || port > UINT16_MAX)
        fail("the server must be an IPv4 address and a port");
    address.sin_port = htons((uint16_t)port);
    return address;
}

static bool parse_options(int count, char **arguments)
{
    for (int option; (option = getopt(count, arguments, "c:l:")) != -1;) {
        if (option == 'c') {
            connection_count = (size_t)number(optarg, 10);
        } else if (option == 'l') {
            length_expected = true;
            expected_length = number(optarg, 10);
        } else {
            return false;
        }
    }
    return count - optind == 2 && connection_count >= 1 && connection_count <= CONNECTIONS_MAX;
}

int main(int count, char **arguments)
{
    if (!parse_options(count, arguments)) {
        fputs(usage, stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    struct sockaddr_in address = parse_address(arguments[optind]);
    prepare_request(arguments[optind], arguments[optind + 1]);
    int epoll = epoll_create1(0);
    if (epoll < 0)
        fail(strerror(errno));
    open_connections(epoll, &address);
    for (char line[32]; fgets(line, sizeof line, stdin) != NULL;)
        run_batch(epoll, number(line, 10));
    return 0;
}
