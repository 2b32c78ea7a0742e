/* bench/tls_clients.c - clients that shake hands, ask once, and are idle then
 *
 * usage: tls_clients PORT COUNT GROUP    GROUP: what is agreed, X25519 or X25519MLKEM768
 *
 * Says "ready" when all have their answer, and ends with its standard input. */
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int socket_ = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(socket_, (struct sockaddr *)&address, sizeof address) == 0)
        return socket_;
    close(socket_);
    return -1;
}

/* Whether weir itself answers, which is all that it is asked for. */
static bool ask(SSL *ssl)
{
    static const char request[] = "OPTIONS * HTTP/1.1\r\nHost: weir\r\nMax-Forwards: 0\r\n\r\n";
    char answer[4096];
    int written = SSL_write(ssl, request, sizeof request - 1);
    int length = written > 0 ? SSL_read(ssl, answer, sizeof answer - 1) : 0;
    return length > 12 && !memcmp(answer, "HTTP/1.1 2", 10);
}

static bool begin(SSL_CTX *context, int port, const char *group)
{
    SSL *ssl = SSL_new(context);
    int connected = connect_to(port);
    if (connected < 0 || SSL_set_fd(ssl, connected) != 1 || SSL_connect(ssl) != 1)
        return false;
    const char *agreed = SSL_get0_group_name(ssl);
    return agreed && !strcasecmp(agreed, group) && ask(ssl);
}

static bool begin_all(SSL_CTX *context, char **words)
{
    int count = atoi(words[2]);
    if (SSL_CTX_set1_groups_list(context, words[3]) != 1)
        return false;
    for (int i = 0; i < count; i++)
        if (!begin(context, atoi(words[1]), words[3]))
            return false;
    return true;
}

int main(int count, char **words)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (count != 4 || !begin_all(context, words)) {
        fprintf(stderr, "usage: tls_clients PORT COUNT GROUP; or one of them got no answer\n");
        return 1;
    }
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0; /* the kernel closes what is open */
}
