/* core/base/keyed_hash.h - a hash of bytes that nobody outside of the process can predict
 *
 * SipHash-1-3 (Aumasson, Bernstein 2012) with a key that is random for each process: who chooses
 * the bytes cannot choose where they go in a table. [any] */
#ifndef CORE_BASE_KEYED_HASH_H
#define CORE_BASE_KEYED_HASH_H

#include "abi/weir.h"

uint64_t keyed_hash(weir_string bytes);

/* The same with a key of the caller's. */
uint64_t keyed_hash_with(weir_string bytes, uint64_t key0, uint64_t key1);

#endif
