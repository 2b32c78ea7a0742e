/* plugins/socks5/message.c - what a client says before its tunnel: RFC 1928, RFC 1929 */
#include "plugins/socks5/message.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { VERSION = 5, PASSWORD_VERSION = 1 };
enum { METHOD_NONE = 0, METHOD_PASSWORD = 2 };
enum { COMMAND_CONNECT = 1 };
enum { ADDRESS_IPV4 = 1, ADDRESS_NAME = 3, ADDRESS_IPV6 = 4 };
enum { IPV4_BYTES = 4, IPV6_BYTES = 16, PORT_BYTES = 2, NAME_MOST = 253 };

enum socks5_parsed socks5_parse_greeting(const uint8_t *bytes, size_t count,
                                         struct socks5_greeting *greeting)
{
    *greeting = (struct socks5_greeting){0};
    if (count > 0 && bytes[0] != VERSION)
        return SOCKS5_BROKEN;
    if (count < 2 || count < 2u + bytes[1])
        return SOCKS5_MORE;
    greeting->consumed = 2u + bytes[1];
    greeting->none = memchr(bytes + 2, METHOD_NONE, bytes[1]) != NULL;
    greeting->password = memchr(bytes + 2, METHOD_PASSWORD, bytes[1]) != NULL;
    return SOCKS5_DONE;
}

enum socks5_parsed socks5_parse_credentials(const uint8_t *bytes, size_t count,
                                            struct socks5_credentials *credentials)
{
    *credentials = (struct socks5_credentials){0};
    if (count > 0 && bytes[0] != PASSWORD_VERSION)
        return SOCKS5_BROKEN;
    if (count < 2 || count < 3u + bytes[1])
        return SOCKS5_MORE;
    const uint8_t *secret = bytes + 2 + bytes[1] + 1;
    size_t length = secret[-1];
    if (count < (size_t)(secret - bytes) + length)
        return SOCKS5_MORE;
    credentials->consumed = (size_t)(secret - bytes) + length;
    credentials->name = (weir_string){(const char *)bytes + 2, bytes[1]};
    credentials->secret = (weir_string){(const char *)secret, length};
    return SOCKS5_DONE;
}

/* --- requests */

static void write_address(struct socks5_request *request, int family, const void *address,
                          unsigned port)
{
    char text[INET6_ADDRSTRLEN];
    inet_ntop(family, address, text, sizeof text);
    snprintf(request->authority, sizeof request->authority,
             family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
}

/* What the names of hosts are made of; nothing that could be read as another part of a target. */
static bool is_name(const char *text, size_t length)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "-._";
    size_t most = length && text[length - 1] == '.' ? NAME_MOST + 1 : NAME_MOST;
    return length && length <= most && strspn(text, allowed) == length;
}

/* An IPv6 address, with or without the brackets that it has in other places. */
static bool is_ipv6(const char *text, size_t length, struct in6_addr *address)
{
    char inner[INET6_ADDRSTRLEN] = "";
    bool bracketed = length > 2 && text[0] == '[' && text[length - 1] == ']';
    if (!bracketed)
        return inet_pton(AF_INET6, text, address) == 1;
    if (length - 2 < sizeof inner)
        memcpy(inner, text + 1, length - 2);
    return inet_pton(AF_INET6, inner, address) == 1;
}

/* False: it is no name of a host. */
static bool write_name(struct socks5_request *request, const uint8_t *bytes, size_t length,
                       unsigned port)
{
    char name[256] = "";
    struct in_addr ipv4;
    struct in6_addr ipv6;
    memcpy(name, bytes, length);
    if (memchr(name, 0, length))
        return false;
    if (inet_pton(AF_INET, name, &ipv4) == 1)
        write_address(request, AF_INET, &ipv4, port);
    else if (is_ipv6(name, length, &ipv6))
        write_address(request, AF_INET6, &ipv6, port);
    else if (is_name(name, length))
        snprintf(request->authority, sizeof request->authority, "%s:%u", name, port);
    else
        return false;
    return true;
}

/* How many bytes of address there are behind its type; the length of a name belongs to it. */
static size_t address_bytes(const uint8_t *bytes, size_t count)
{
    if (bytes[3] == ADDRESS_IPV4)
        return IPV4_BYTES;
    if (bytes[3] == ADDRESS_IPV6)
        return IPV6_BYTES;
    return count > 4 ? 1u + bytes[4] : 1;
}

static bool write_authority(struct socks5_request *request, const uint8_t *bytes, size_t length)
{
    unsigned port = (unsigned)bytes[4 + length] << 8 | bytes[5 + length];
    if (bytes[3] == ADDRESS_NAME)
        return write_name(request, bytes + 5, length - 1, port);
    write_address(request, bytes[3] == ADDRESS_IPV6 ? AF_INET6 : AF_INET, bytes + 4, port);
    return true;
}

/* What its first bytes say already; REPLY_SUCCEEDED: nothing is wrong with them. */
static enum socks5_reply judge(const uint8_t *bytes, size_t count)
{
    if (count > 0 && bytes[0] != VERSION)
        return REPLY_FAILURE;
    if (count > 1 && bytes[1] != COMMAND_CONNECT)
        return REPLY_COMMAND_UNSUPPORTED;
    if (count > 3 && bytes[3] != ADDRESS_IPV4 && bytes[3] != ADDRESS_NAME &&
        bytes[3] != ADDRESS_IPV6)
        return REPLY_ADDRESS_UNSUPPORTED;
    return REPLY_SUCCEEDED;
}

enum socks5_parsed socks5_parse_request(const uint8_t *bytes, size_t count,
                                        struct socks5_request *request)
{
    request->consumed = 0;
    request->reply = judge(bytes, count);
    if (request->reply != REPLY_SUCCEEDED)
        return SOCKS5_BROKEN;
    size_t length = count > 3 ? address_bytes(bytes, count) : 0;
    if (!length || count < 4 + length + PORT_BYTES)
        return SOCKS5_MORE;
    request->consumed = 4 + length + PORT_BYTES;
    if (write_authority(request, bytes, length))
        return SOCKS5_DONE;
    request->reply = REPLY_FAILURE;
    return SOCKS5_BROKEN;
}
