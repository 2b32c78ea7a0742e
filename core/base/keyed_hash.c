/* core/base/keyed_hash.c - a hash of bytes that nobody outside of the process can predict */
#include "core/base/keyed_hash.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static struct {
    pthread_once_t once;
    uint64_t words[2];
} key = {.once = PTHREAD_ONCE_INIT};

static void make_key(void)
{
    if (getrandom(key.words, sizeof key.words, 0) != (ssize_t)sizeof key.words)
        abort(); /* a kernel without it is none that weir runs on */
}

static uint64_t rotate(uint64_t word, int by)
{
    return word << by | word >> (64 - by);
}

static void mix(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

static void take(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    mix(v);
    v[0] ^= word;
}

static uint64_t read_word(const char *bytes, size_t count) /* little-endian, at most 8 */
{
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++)
        word |= (uint64_t)(uint8_t)bytes[i] << 8 * i;
    return word;
}

uint64_t keyed_hash_with(weir_string bytes, uint64_t key0, uint64_t key1)
{
    uint64_t v[4] = {key0 ^ 0x736f6d6570736575, key1 ^ 0x646f72616e646f6d,
                     key0 ^ 0x6c7967656e657261, key1 ^ 0x7465646279746573};
    size_t whole = bytes.length & ~(size_t)7;
    for (size_t i = 0; i < whole; i += 8)
        take(v, read_word(bytes.bytes + i, 8));
    take(v, read_word(bytes.bytes + whole, bytes.length - whole) | (uint64_t)bytes.length << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        mix(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t keyed_hash(weir_string bytes)
{
    pthread_once(&key.once, make_key);
    return keyed_hash_with(bytes, key.words[0], key.words[1]);
}
