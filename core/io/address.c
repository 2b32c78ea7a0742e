/* core/io/address.c - a socket address: parse, print, compare */
#include "core/io/address.h"

#include <arpa/inet.h>
#include <string.h>

#include "core/base/string.h"

bool address_from_literal(weir_string host, uint16_t port, struct address *address)
{
    char text[INET6_ADDRSTRLEN];
    if (host.length >= sizeof text)
        return false;
    memcpy(text, host.bytes, host.length);
    text[host.length] = 0;
    memset(address, 0, sizeof *address);
    if (inet_pton(AF_INET, text, &address->v4.sin_addr) == 1)
        address->any.sa_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &address->v6.sin6_addr) == 1)
        address->any.sa_family = AF_INET6;
    else
        return false;
    address_set_port(address, port);
    return true;
}

bool address_parse(weir_string text, struct address *address)
{
    size_t colon = text.length;
    uint64_t port;
    while (colon && text.bytes[colon - 1] != ':')
        colon--;
    if (!colon)
        return false;
    weir_string host = {text.bytes, colon - 1};
    weir_string digits = {text.bytes + colon, text.length - colon};
    bool bracketed = host.length > 2 && host.bytes[0] == '[' && host.bytes[host.length - 1] == ']';
    if (bracketed)
        host = (weir_string){host.bytes + 1, host.length - 2};
    return string_to_number(digits, 65535, &port) &&
           address_from_literal(host, (uint16_t)port, address) &&
           bracketed == (address->any.sa_family == AF_INET6);
}

/* Without printf: it is done for every line of the access log. */
static char *put_v4(char *at, const struct sockaddr_in *v4)
{
    const uint8_t *bytes = (const uint8_t *)&v4->sin_addr;
    for (int i = 0; i < 4; i++) {
        at = string_put_number(at, bytes[i]);
        *at++ = '.';
    }
    return at - 1;
}

static char *put_v6(char *at, const struct sockaddr_in6 *v6)
{
    inet_ntop(AF_INET6, &v6->sin6_addr, at, INET6_ADDRSTRLEN);
    return at + strlen(at);
}

const char *address_format_host(const struct address *address, char text[ADDRESS_TEXT_BYTES])
{
    bool six = address->any.sa_family == AF_INET6;
    *(six ? put_v6(text, &address->v6) : put_v4(text, &address->v4)) = 0;
    return text;
}

const char *address_format(const struct address *address, char text[ADDRESS_TEXT_BYTES])
{
    char *at = text;
    if (address->any.sa_family == AF_UNIX)
        return memcpy(text, "unix:", sizeof "unix:");
    if (address->any.sa_family == AF_INET6) {
        *at++ = '[';
        at = put_v6(at, &address->v6);
        *at++ = ']';
    } else {
        at = put_v4(at, &address->v4);
    }
    *at++ = ':';
    *string_put_number(at, address_port(address)) = 0;
    return text;
}

socklen_t address_length(const struct address *address)
{
    return address->any.sa_family == AF_INET6 ? sizeof address->v6 : sizeof address->v4;
}

uint16_t address_port(const struct address *address)
{
    if (address->any.sa_family == AF_UNIX)
        return 0;
    return ntohs(address->any.sa_family == AF_INET6 ? address->v6.sin6_port : address->v4.sin_port);
}

void address_set_port(struct address *address, uint16_t port)
{
    if (address->any.sa_family == AF_INET6)
        address->v6.sin6_port = htons(port);
    else
        address->v4.sin_port = htons(port);
}

bool address_equal(const struct address *a, const struct address *b)
{
    if (a->any.sa_family != b->any.sa_family || address_port(a) != address_port(b) ||
        a->any.sa_family == AF_UNIX)
        return false;
    if (a->any.sa_family == AF_INET6)
        return !memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof a->v6.sin6_addr);
    return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
}

void address_unmap(struct address *address)
{
    if (address->any.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&address->v6.sin6_addr))
        return;
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = address->v6.sin6_port};
    memcpy(&v4.sin_addr, address->v6.sin6_addr.s6_addr + 12, sizeof v4.sin_addr);
    memset(address, 0, sizeof *address);
    address->v4 = v4;
}

bool address_is_wildcard(const struct address *address)
{
    if (address->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_UNSPECIFIED(&address->v6.sin6_addr);
    return address->any.sa_family == AF_INET && address->v4.sin_addr.s_addr == INADDR_ANY;
}

bool address_is_loopback(const struct address *address)
{
    if (address->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
    return address->any.sa_family == AF_INET && ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
}

struct address address_destination(const struct address *address)
{
    struct address destination = *address;
    address_unmap(&destination);
    if (!address_is_wildcard(&destination))
        return destination;
    if (destination.any.sa_family == AF_INET6)
        destination.v6.sin6_addr = in6addr_loopback;
    else
        destination.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return destination;
}
