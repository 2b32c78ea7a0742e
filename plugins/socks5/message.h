/* plugins/socks5/message.h - what a client says before its tunnel: RFC 1928, RFC 1929
 *
 * Pure functions of the bytes there are so far: however a message is cut, it is understood in the
 * same way. What is found points into the bytes, but for the authority. */
#ifndef PLUGINS_SOCKS5_MESSAGE_H
#define PLUGINS_SOCKS5_MESSAGE_H

#include <stdbool.h>

#include "abi/weir.h"

enum socks5_parsed { SOCKS5_MORE, SOCKS5_DONE, SOCKS5_BROKEN };

/* RFC 1928 6. */
enum socks5_reply {
    REPLY_SUCCEEDED = 0,
    REPLY_FAILURE = 1,
    REPLY_NOT_ALLOWED = 2,
    REPLY_NETWORK_UNREACHABLE = 3,
    REPLY_HOST_UNREACHABLE = 4,
    REPLY_REFUSED = 5,
    REPLY_EXPIRED = 6,
    REPLY_COMMAND_UNSUPPORTED = 7,
    REPLY_ADDRESS_UNSUPPORTED = 8
};

struct socks5_greeting {
    size_t consumed;
    bool none, password; /* which methods of authentication the client offers */
};

struct socks5_credentials {
    size_t consumed;
    weir_string name, secret; /* either may be empty: whoever judges them decides */
};

struct socks5_request {
    size_t consumed;
    enum socks5_reply reply; /* of a broken one: what to answer */
    char authority[272];     /* "host:port" with a NUL; an IPv6 address in brackets */
};

enum socks5_parsed socks5_parse_greeting(const uint8_t *bytes, size_t count,
                                         struct socks5_greeting *greeting);
enum socks5_parsed socks5_parse_credentials(const uint8_t *bytes, size_t count,
                                            struct socks5_credentials *credentials);
/* CONNECT alone is understood. */
enum socks5_parsed socks5_parse_request(const uint8_t *bytes, size_t count,
                                        struct socks5_request *request);

#endif
