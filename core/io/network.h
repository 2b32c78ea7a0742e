/* core/io/network.h - networks as people write them, and whether an address is in one of them
 *
 * IPv4 addresses mapped into IPv6 (::ffff:192.0.2.1) count as IPv4 everywhere here. */
#ifndef CORE_IO_NETWORK_H
#define CORE_IO_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/weir.h"
#include "core/io/address.h"

enum { NETWORKS_OF_TEXT_MOST = 16 };

struct network {
    uint8_t bytes[16]; /* the first address; of IPv4 as mapped into IPv6 */
    uint8_t prefix;    /* so many bits of it count: of IPv4 at least 96 */
};

struct network_list {
    struct network *networks;
    uint32_t count;
    /* Addresses that lead to an IPv4 address through a translator or relay count as that one too:
     * for lists that forbid. Whoever is allowed must not become so by such an address. */
    bool embedded;
};

/* The words that stand for networks, ended by NULL:
 *   loopback    127.0.0.0/8, ::1, and the unspecified addresses, which lead there too
 *   link-local  169.254.0.0/16, fe80::/10
 *   private     10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7
 *   metadata    where clouds keep what a machine may know about itself */
extern const char *const network_words[];

/* A word, a network such as 10.0.0.0/8, or a single address. NULL and up to NETWORKS_OF_TEXT_MOST
 * networks; or what is wrong with the text, to follow it in a message. */
const char *network_parse(weir_string text, struct network networks[NETWORKS_OF_TEXT_MOST],
                          uint32_t *count);

/* NULL is an empty list. */
bool network_list_contains(const struct network_list *list, const struct address *address);

#endif
