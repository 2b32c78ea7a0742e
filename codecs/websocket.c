/* codecs/websocket.c - the keys of a WebSocket's handshake in HTTP/1.1 (RFC 6455 4)
 *
 * SHA-1 (FIPS 180-4) is what the handshake is made with; it protects nothing here. */
#include "codecs/websocket.h"

#include <string.h>
#include <sys/random.h>

enum { BLOCK_BYTES = 64, DIGEST_BYTES = 20 };

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

static void expand(const uint8_t *block, uint32_t words[80])
{
    for (int i = 0; i < 16; i++)
        words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                   (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 80; i++)
        words[i] = rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
}

static uint32_t mix(int round, uint32_t b, uint32_t c, uint32_t d)
{
    switch (round / 20) {
    case 0:
        return ((b & c) | (~b & d)) + 0x5a827999u;
    case 1:
        return (b ^ c ^ d) + 0x6ed9eba1u;
    case 2:
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu;
    default:
        return (b ^ c ^ d) + 0xca62c1d6u;
    }
}

static void digest_block(uint32_t state[5], const uint8_t *block)
{
    uint32_t words[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    expand(block, words);
    for (int round = 0; round < 80; round++) {
        uint32_t next = rotate(a, 5) + mix(round, b, c, d) + e + words[round];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

/* Of two blocks, padding included. */
static void digest(const uint8_t blocks[2 * BLOCK_BYTES], uint8_t result[DIGEST_BYTES])
{
    uint32_t state[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
    digest_block(state, blocks);
    digest_block(state, blocks + BLOCK_BYTES);
    for (int i = 0; i < DIGEST_BYTES; i++)
        result[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

static void to_base64(const uint8_t *bytes, size_t count, char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        uint32_t group = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        *text++ = digits[group >> 18];
        *text++ = digits[group >> 12 & 63];
        *text++ = left > 1 ? digits[group >> 6 & 63] : '=';
        *text++ = left > 2 ? digits[group & 63] : '=';
    }
}

void websocket_make_key(char key[WEBSOCKET_KEY_BYTES])
{
    uint8_t random[16] = {0};
    ssize_t rc = getrandom(random, sizeof random, 0); /* as good as the system has it */
    (void)rc;
    to_base64(random, sizeof random, key);
}

void websocket_accept(const char key[WEBSOCKET_KEY_BYTES], char accept[WEBSOCKET_ACCEPT_BYTES])
{
    static const char suffix[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    enum { BYTES = WEBSOCKET_KEY_BYTES + sizeof suffix - 1 };
    uint8_t text[2 * BLOCK_BYTES] = {0}, result[DIGEST_BYTES];
    memcpy(text, key, WEBSOCKET_KEY_BYTES);
    memcpy(text + WEBSOCKET_KEY_BYTES, suffix, sizeof suffix - 1);
    text[BYTES] = 0x80;
    text[sizeof text - 2] = (uint8_t)(BYTES * 8 >> 8); /* its length in bits */
    text[sizeof text - 1] = (uint8_t)(BYTES * 8);
    digest(text, result);
    to_base64(result, sizeof result, accept);
}
