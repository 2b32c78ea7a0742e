/* core/io/dns.h - names to addresses: asynchronous, cached by time to live
 *
 * c-ares asks the servers of resolv.conf, read again when it changes; one query is in flight a
 * name. A name that is in /etc/hosts is answered from there alone, for both families (CARES_HOSTS
 * in the environment names another file). localhost and the names below it are the loopback
 * addresses (RFC 6761). NSS is not used. The cache is bounded and belongs to one worker; failures
 * are kept for 5 s. A query is over within 10 s whatever the servers do. All functions on the
 * loop's thread.
 */
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
    struct address addresses[DNS_ADDRESSES_MOST]; /* in the server's order, port 0 */
};

struct dns *dns_new(struct loop *loop);
/* Drops the queries that still wait: no call, their handles are gone. Not from inside on_answer().
 * Its sockets finish closing in the loop: call it before loop_run() returns. */
void dns_free(struct dns *dns);

/* Asks these servers instead of resolv.conf's, at most 8: "127.0.0.1, [::1]:5353". At any time:
 * what is in flight ends without an answer. WEIR_INVALID: the list is wrong, nothing changes. */
weir_result dns_set_servers(struct dns *dns, weir_string servers);

/* family: AF_INET or AF_INET6. What is known at once (from the cache, the hosts file, or that the
 * name is impossible: empty, longer than 255 bytes, a NUL in it, a literal) is copied to *answer
 * and NULL is returned. Otherwise on_answer() comes exactly once, later, never from inside this
 * call, unless cancelled; the handle is gone after it. The host is copied. */
struct dns_query *dns_resolve(struct dns *dns, weir_string host, int family,
                              struct dns_answer *answer,
                              void (*on_answer)(void *user, const struct dns_answer *answer),
                              void *user);
/* At any time, also from inside another query's on_answer(). The answer still fills the cache. */
void dns_cancel(struct dns_query *query);

#endif
