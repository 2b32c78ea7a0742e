/* plugins/rate-limit/key.c - whose bucket a request's is: the key of a client, a user or a host */
#include "plugins/rate-limit/key.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>

enum { NAME_BYTES_MOST = 256 };

static void add(struct key *key, const void *bytes, size_t length)
{
    size_t room = sizeof key->bytes - key->length;
    size_t count = length < room ? length : room;
    if (count)
        memcpy(key->bytes + key->length, bytes, count);
    key->length += count;
}

/* What kind of key it is, so that a user named like a client is not that client. */
static void add_kind(struct key *key, char kind)
{
    add(key, &kind, 1);
}

void key_begin(struct key *key, weir_string name)
{
    key->length = 0;
    add(key, name.bytes, name.length < NAME_BYTES_MOST ? name.length : NAME_BYTES_MOST);
    add_kind(key, 0);
}

static void add_ipv6(struct key *key, uint8_t address[16], uint32_t bits)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (!memcmp(address, mapped, sizeof mapped)) {
        add_kind(key, '4');
        add(key, address + 12, 4);
        return;
    }
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t kept = bits > 8 * i ? bits - 8 * i : 0;
        if (kept < 8)
            address[i] &= (uint8_t)(0xff00u >> kept);
    }
    add_kind(key, '6');
    add(key, address, 16);
}

void key_add_client(struct key *key, weir_string address, uint32_t ipv6_bits)
{
    char text[INET6_ADDRSTRLEN] = "";
    uint8_t bytes[16];
    if (address.length && address.length < sizeof text)
        memcpy(text, address.bytes, address.length);
    if (inet_pton(AF_INET, text, bytes) == 1) {
        add_kind(key, '4');
        add(key, bytes, 4);
    } else if (inet_pton(AF_INET6, text, bytes) == 1) {
        add_ipv6(key, bytes, ipv6_bits);
    } else {
        add_kind(key, 'c');
        add(key, address.bytes, address.length);
    }
}

void key_add_user(struct key *key, weir_string user)
{
    add_kind(key, 'u');
    add(key, user.bytes, user.length);
}

/* Brackets hide the colons of an address. */
static weir_string without_port(weir_string authority)
{
    for (size_t i = authority.length; i-- > 0 && authority.bytes[i] != ']';)
        if (authority.bytes[i] == ':')
            return (weir_string){authority.bytes, i};
    return authority;
}

void key_add_host(struct key *key, weir_string authority)
{
    weir_string host = without_port(authority);
    if (host.length && host.bytes[host.length - 1] == '.')
        host.length--;
    add_kind(key, 'h');
    for (size_t i = 0; i < host.length; i++) {
        char character = host.bytes[i];
        if (character >= 'A' && character <= 'Z')
            character = (char)(character + 'a' - 'A');
        add(key, &character, 1);
    }
}
