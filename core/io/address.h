/* core/io/address.h - a socket address: parse, print, compare
 *
 * Of a unix socket only the family is kept: its clients have no name, and where weir listens is
 * core/io/listen.h's. It is printed as "unix:", has port 0 and equals no other. */
#ifndef CORE_IO_ADDRESS_H
#define CORE_IO_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "abi/weir.h"

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
};

enum { ADDRESS_TEXT_BYTES = 64 };

/* A literal without brackets ("127.0.0.1", "::1"); false when it is a name or nonsense. */
bool address_from_literal(weir_string host, uint16_t port, struct address *address);
/* "127.0.0.1:3128", "[::1]:3128"; port 0 is allowed: the system picks. False when it is not that.
 */
bool address_parse(weir_string text, struct address *address);
/* The reverse; returns `text`. */
const char *address_format(const struct address *address, char text[ADDRESS_TEXT_BYTES]);
/* The address alone, of IPv4 or IPv6: "127.0.0.1", "::1"; returns `text`. */
const char *address_format_host(const struct address *address, char text[ADDRESS_TEXT_BYTES]);
socklen_t address_length(const struct address *address);
uint16_t address_port(const struct address *address);
void address_set_port(struct address *address, uint16_t port);
bool address_equal(const struct address *a, const struct address *b); /* with the port */
/* 0.0.0.0, ::; and 127.0.0.0/8, ::1. */
bool address_is_wildcard(const struct address *address);
bool address_is_loopback(const struct address *address);
/* ::ffff:192.0.2.1, as IPv4 looks like on a socket for both, becomes 192.0.2.1. */
void address_unmap(struct address *address);
/* Where connecting to it leads: a mapped address is the IPv4 one, a wildcard the machine itself. */
struct address address_destination(const struct address *address);

#endif
