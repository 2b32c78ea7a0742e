/* plugins/acl/plain.c - hosts and paths in the forms in which they are compared */
#include "plugins/acl/plain.h"

#include <arpa/inet.h>
#include <string.h>

/* --- what is encoded */

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that %XX stands for; -1: it is no such three. */
static int encoded(const char *three)
{
    int high = three[0] == '%' ? digit(three[1]) : -1;
    int low = high < 0 ? -1 : digit(three[2]);
    return low < 0 ? -1 : high << 4 | low;
}

/* Until nothing is left to decode: what decoding makes may be the end of another %XX. */
static size_t decode_all(weir_string text, char *to)
{
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        to[length++] = text.bytes[i];
        for (int byte; length >= 3 && (byte = encoded(to + length - 3)) >= 0; length -= 2)
            to[length - 3] = (char)byte;
    }
    return length;
}

/* --- hosts */

static weir_string host_and_port(weir_string authority)
{
    const char *at = authority.length ? memrchr(authority.bytes, '@', authority.length) : NULL;
    if (!at)
        return authority;
    return (weir_string){at + 1, authority.length - (size_t)(at + 1 - authority.bytes)};
}

/* Where the port begins, with its colon; the end when there is none. */
static size_t find_port(weir_string host)
{
    const char *end =
        host.length && host.bytes[0] == '[' ? memchr(host.bytes, ']', host.length) : host.bytes;
    size_t from = end ? (size_t)(end - host.bytes) : host.length;
    const char *colon =
        from < host.length ? memchr(host.bytes + from, ':', host.length - from) : NULL;
    return colon ? (size_t)(colon - host.bytes) : host.length;
}

/* Spelt as inet_ntop() does. */
static size_t spell_address(char *host, size_t length)
{
    struct in6_addr address;
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    host[length] = 0;
    if (inet_pton(AF_INET6, host, &address) != 1)
        return length;
    bool four = !memcmp(&address, mapped, sizeof mapped);
    const uint8_t *bytes = address.s6_addr + (four ? sizeof mapped : 0);
    inet_ntop(four ? AF_INET : AF_INET6, bytes, host, HOST_BYTES);
    return strlen(host);
}

size_t plain_host(weir_string authority, char to[HOST_BYTES])
{
    weir_string host = host_and_port(authority);
    host.length = find_port(host);
    if (host.length >= 2 && host.bytes[0] == '[' && host.bytes[host.length - 1] == ']')
        host = (weir_string){host.bytes + 1, host.length - 2};
    if (host.length >= HOST_BYTES)
        return 0;
    size_t length = decode_all(host, to);
    for (size_t i = 0; i < length; i++)
        if (to[i] >= 'A' && to[i] <= 'Z')
            to[i] |= 0x20;
    while (length && to[length - 1] == '.')
        length--;
    return spell_address(to, length);
}

uint32_t plain_port(weir_string authority)
{
    weir_string host = host_and_port(authority);
    uint32_t port = 0;
    for (size_t i = find_port(host) + 1; i < host.length && port <= 65535; i++) {
        if (host.bytes[i] < '0' || host.bytes[i] > '9')
            return 0;
        port = port * 10 + (uint32_t)(host.bytes[i] - '0');
    }
    return port <= 65535 ? port : 0;
}

/* --- paths */

static weir_string without_query(weir_string path)
{
    for (size_t i = 0; i < path.length; i++)
        if (path.bytes[i] == '?' || path.bytes[i] == '#')
            return (weir_string){path.bytes, i};
    return path;
}

size_t plain_decoded(weir_string path, char *to)
{
    size_t length = 0;
    path = without_query(path);
    for (size_t i = 0; i < path.length; i++) {
        int byte = path.length - i >= 3 ? encoded(path.bytes + i) : -1;
        bool decodes = byte >= 0 && byte != '/' && byte != '\\';
        to[length++] = decodes ? (char)byte : path.bytes[i];
        i += decodes ? 2 : 0;
    }
    return length;
}

static bool is(weir_string segment, const char *text)
{
    return segment.length == strlen(text) && !memcmp(segment.bytes, text, segment.length);
}

static size_t without_last(const char *path, size_t length)
{
    const char *slash = length ? memrchr(path, '/', length) : NULL;
    return slash ? (size_t)(slash - path) : 0;
}

/* The next segment, without parameters; *at moves behind the slash that ends it, or the end. */
static weir_string next_segment(const char *path, size_t length, size_t *at)
{
    size_t end = *at;
    while (end < length && path[end] != '/')
        end++;
    const char *parameters = memchr(path + *at, ';', end - *at);
    size_t segment = parameters ? (size_t)(parameters - path) - *at : end - *at;
    weir_string found = {path + *at, segment};
    *at = end + 1;
    return found;
}

/* In place: what is made is never longer than what was read. */
static size_t resolve(char *path, size_t length)
{
    size_t made = 0, at = 1;
    bool is_directory = true;
    while (at <= length) {
        weir_string segment = next_segment(path, length, &at);
        is_directory = !segment.length || is(segment, ".") || is(segment, "..");
        if (is(segment, ".."))
            made = without_last(path, made);
        if (is_directory)
            continue;
        path[made++] = '/';
        memmove(path + made, segment.bytes, segment.length);
        made += segment.length;
    }
    if (is_directory)
        path[made++] = '/';
    return made;
}

size_t plain_resolved(weir_string path, char *to)
{
    size_t length = decode_all(without_query(path), to);
    const char *end = length ? memchr(to, 0, length) : NULL;
    if (end)
        length = (size_t)(end - to);
    for (size_t i = 0; i < length; i++)
        if (to[i] == '\\')
            to[i] = '/';
    return length && to[0] == '/' ? resolve(to, length) : length;
}
