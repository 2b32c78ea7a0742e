/* plugins/auth-basic/digest.c - what stands for a name and a secret, and tells neither */
#include "plugins/auth-basic/digest.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

struct state {
    uint64_t v[4];
    uint64_t word;  /* bytes that are not mixed in yet, */
    uint64_t count; /* behind so many in all */
};

static uint64_t rotate(uint64_t word, int by)
{
    return word << by | word >> (64 - by);
}

static void mix(uint64_t v[4], int rounds)
{
    while (rounds--) {
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
}

static void take_word(struct state *state)
{
    state->v[3] ^= state->word;
    mix(state->v, 2);
    state->v[0] ^= state->word;
    state->word = 0;
}

static void take(struct state *state, weir_string bytes)
{
    for (size_t i = 0; i < bytes.length; i++) {
        state->word |= (uint64_t)(uint8_t)bytes.bytes[i] << 8 * (state->count & 7);
        if ((++state->count & 7) == 0)
            take_word(state);
    }
}

static uint64_t finish(struct state *state, int word)
{
    state->v[word ? 1 : 2] ^= word ? 0xdd : 0xee;
    mix(state->v, 4);
    return state->v[0] ^ state->v[1] ^ state->v[2] ^ state->v[3];
}

struct digest digest_with(const uint64_t key[2], const weir_string *parts, uint32_t count)
{
    struct state state = {.v = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d ^ 0xee,
                                key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573}};
    for (uint32_t i = 0; i < count; i++)
        take(&state, parts[i]);
    state.word |= state.count << 56;
    take_word(&state);
    struct digest digest;
    for (int i = 0; i < 2; i++)
        digest.words[i] = finish(&state, i);
    return digest;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t process_key[2];

static void make_key(void)
{
    if (getrandom(process_key, sizeof process_key, 0) != (ssize_t)sizeof process_key)
        abort(); /* a guessable key would be worse */
}

struct digest digest_of(weir_string name, weir_string secret)
{
    uint64_t length = name.length;
    weir_string parts[] = {{(const char *)&length, sizeof length}, name, secret};
    pthread_once(&once, make_key);
    return digest_with(process_key, parts, 3);
}

bool digest_equal(struct digest one, struct digest other)
{
    return ((one.words[0] ^ other.words[0]) | (one.words[1] ^ other.words[1])) == 0;
}
