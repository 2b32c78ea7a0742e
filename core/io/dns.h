/* core/io/dns.h - names to addresses: asynchronous, cached by time to live, one query in flight a name
 *
 * c-ares asks the servers of resolv.conf and honours /etc/hosts; NSS is not used. The cache is
 * bounded and belongs to one worker; failures are kept for 5 s. */
#ifndef CORE_IO_DNS_H
#define CORE_IO_DNS_H

#include <stdint.h>

#include "core/io/address.h"
#include "core/io/loop.h"

struct dns;
struct dns_query;

enum { DNS_ADDRESSES_MOST = 16 };

struct dns_answer {
    uint32_t count; /* 0: no such name, no address of that family, or no answer */
    struct address addresses[DNS_ADDRESSES_MOST]; /* port 0 */
};

struct dns *dns_new(struct loop *loop);
void dns_free(struct dns *dns); /* after all queries ended or were cancelled */

/* family: AF_INET or AF_INET6. When the cache has the answer it is copied to *answer and NULL is
 * returned. Otherwise on_answer() comes exactly once, later, never from inside this call, unless
 * cancelled; the handle is gone after it. The host is a name, at most 255 bytes, no literal. */
struct dns_query *dns_resolve(struct dns *dns, weir_string host, int family,
                              struct dns_answer *answer,
                              void (*on_answer)(void *user, const struct dns_answer *answer),
                              void *user);
void dns_cancel(struct dns_query *query);

#endif
