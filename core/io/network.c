/* core/io/network.c - networks as people write them, and whether an address is in one of them */
#include "core/io/network.h"

#include <string.h>

#include "core/base/string.h"

enum { BITS = 128, MAPPED_BITS = 96 /* before an IPv4 address */ };

const char *const network_words[] = {"loopback", "link-local", "private", "metadata", NULL};

static const char *const networks_of_words[][NETWORKS_OF_TEXT_MOST] = {
    {"127.0.0.0/8", "::1", "0.0.0.0", "::"},
    {"169.254.0.0/16", "fe80::/10"},
    {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"},
    {
        "169.254.169.254", "fe80::a9fe:a9fe",                               /* most clouds */
        "fd00:ec2::254", "169.254.170.2", "169.254.170.23", "fd00:ec2::23", /* Amazon */
        "168.63.129.16",                                                    /* Azure */
        "fd20:ce::254",                                                     /* Google */
        "100.100.100.200", "fd00:100::100:200",                             /* Alibaba */
        "192.0.0.192", "fd00:c1::a9fe:a9fe",                                /* Oracle */
        "169.254.42.42", "fd00:42::42",                                     /* Scaleway */
        "fd00:a9fe:a9fe::1",                                                /* Linode */
    },
};

/* How IPv6 addresses carry the IPv4 address that they lead to: from that byte on. */
static const struct {
    struct network network;
    uint8_t at;
} embeddings[] = {
    {{{0x00, 0x64, 0xff, 0x9b}, 96}, 12},       /* NAT64: RFC 6052 */
    {{{0x00, 0x64, 0xff, 0x9b, 0, 1}, 48}, 12}, /* NAT64 of a site, RFC 8215: 96 bits as a rule */
    {{{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96}, 12}, /* stateless translation: RFC 2765 */
    {{{0x20, 0x02}, 16}, 2},                          /* 6to4: RFC 3056 */
};

/* --- one network */

static void from_four(const void *four, uint8_t bytes[16])
{
    memset(bytes, 0, 10);
    memset(bytes + 10, 0xff, 2);
    memcpy(bytes + 12, four, 4);
}

static void bytes_of(const struct address *address, uint8_t bytes[16])
{
    if (address->any.sa_family == AF_INET6)
        memcpy(bytes, &address->v6.sin6_addr, 16);
    else
        from_four(&address->v4.sin_addr, bytes);
}

static bool is_mapped(const uint8_t bytes[16])
{
    static const uint8_t start[12] = {[10] = 0xff, [11] = 0xff};
    return !memcmp(bytes, start, sizeof start);
}

/* IPv4 addresses are in no network of IPv6, not even in ::/0. */
static bool is_in(const uint8_t bytes[16], const struct network *network)
{
    uint8_t whole = network->prefix / 8, rest = network->prefix % 8;
    if (network->prefix < MAPPED_BITS && is_mapped(bytes))
        return false;
    return !memcmp(bytes, network->bytes, whole) &&
           (!rest || (bytes[whole] ^ network->bytes[whole]) >> (8 - rest) == 0);
}

/* --- as text */

static bool has_bits_beyond(const struct network *network)
{
    for (unsigned bit = network->prefix; bit < BITS; bit++)
        if (network->bytes[bit / 8] & 0x80 >> bit % 8)
            return true;
    return false;
}

/* A network or a single address. */
static const char *parse_one(weir_string text, struct network *network)
{
    struct address address;
    const char *slash = text.length ? memchr(text.bytes, '/', text.length) : NULL;
    weir_string host = {text.bytes, slash ? (size_t)(slash - text.bytes) : text.length};
    uint64_t prefix;
    if (!address_from_literal(host, 0, &address))
        return "is not a network such as 10.0.0.0/8 or fc00::/7, an address, or one of: loopback, "
               "link-local, private, metadata";
    bool is_four = address.any.sa_family == AF_INET;
    prefix = is_four ? BITS - MAPPED_BITS : BITS;
    if (slash &&
        !string_to_number((weir_string){slash + 1, text.length - host.length - 1}, prefix, &prefix))
        return is_four ? "has no prefix length from 0 to 32 after the /"
                       : "has no prefix length from 0 to 128 after the /";
    bytes_of(&address, network->bytes);
    network->prefix = (uint8_t)(is_four ? prefix + MAPPED_BITS : prefix);
    if (has_bits_beyond(network))
        return "has bits beyond its prefix length; write 10.0.0.0/8, not 10.1.2.3/8";
    return NULL;
}

const char *network_parse(weir_string text, struct network networks[NETWORKS_OF_TEXT_MOST],
                          uint32_t *count)
{
    *count = 0;
    for (uint32_t word = 0; network_words[word]; word++) {
        const char *const *known = networks_of_words[word];
        if (!string_equal(text, string_of(network_words[word])))
            continue;
        while (*count < NETWORKS_OF_TEXT_MOST && known[*count]) {
            parse_one(string_of(known[*count]), &networks[*count]);
            ++*count;
        }
        return NULL;
    }
    const char *mistake = parse_one(text, networks);
    *count = !mistake;
    return mistake;
}

/* --- lists */

static bool contains(const struct network_list *list, const uint8_t bytes[16])
{
    for (uint32_t i = 0; i < list->count; i++)
        if (is_in(bytes, &list->networks[i]))
            return true;
    return false;
}

static bool contains_embedded(const struct network_list *list, const uint8_t bytes[16])
{
    uint8_t four[16];
    for (size_t i = 0; i < sizeof embeddings / sizeof *embeddings; i++) {
        if (!is_in(bytes, &embeddings[i].network))
            continue;
        from_four(bytes + embeddings[i].at, four);
        if (contains(list, four))
            return true;
    }
    return false;
}

bool network_list_contains(const struct network_list *list, const struct address *address)
{
    uint8_t bytes[16];
    if (!list)
        return false;
    bytes_of(address, bytes);
    return contains(list, bytes) || (list->embedded && contains_embedded(list, bytes));
}
