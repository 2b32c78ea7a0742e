/* plugins/auth-basic/digest.h - what stands for a name and a secret, and tells neither
 *
 * SipHash-2-4 of 128 bits (Aumasson, Bernstein 2012) with a key that is random for each process:
 * who does not know the key can neither make two with the same digest nor try secrets against one.
 */
#ifndef PLUGINS_AUTH_BASIC_DIGEST_H
#define PLUGINS_AUTH_BASIC_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/weir.h"

struct digest {
    uint64_t words[2];
};

/* [any] Of both, with the place where the name ends. */
struct digest digest_of(weir_string name, weir_string secret);
/* Takes the same time for all. */
bool digest_equal(struct digest one, struct digest other);

/* SipHash itself, with a key of the caller's. */
struct digest digest_with(const uint64_t key[2], const weir_string *parts, uint32_t count);

#endif
