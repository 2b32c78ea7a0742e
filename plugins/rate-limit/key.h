/* plugins/rate-limit/key.h - whose bucket a request's is: the key of a client, a user or a host */
#ifndef PLUGINS_RATE_LIMIT_KEY_H
#define PLUGINS_RATE_LIMIT_KEY_H

#include <stdint.h>

#include "abi/weir.h"

enum { KEY_BYTES_MOST = 1536 };

struct key {
    char bytes[KEY_BYTES_MOST];
    size_t length;
};

/* All keys of one limit begin with its name. What is longer than the room there is gets cut: names
 * of hosts are at most 255 bytes long, of users 1024. */
void key_begin(struct key *key, weir_string name);
/* An address as text. IPv6 counts as far as its first so many bits; IPv4 within IPv6 is IPv4. What
 * is no address is a key as it is. */
void key_add_client(struct key *key, weir_string address, uint32_t ipv6_bits);
void key_add_user(struct key *key, weir_string user);
/* HOST or HOST:PORT: without the port, without regard to case and to a dot at the end. */
void key_add_host(struct key *key, weir_string authority);

static inline weir_string key_string(const struct key *key)
{
    return (weir_string){key->bytes, key->length};
}

#endif
