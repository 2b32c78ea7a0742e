/* tests/fuzz/h1_peer.h - what the fuzz targets of both sides of h1 share
 *
 * Included once, by a target that defines run_anyhow() and compare_runs(): the first two bytes of
 * an input are the seed of everything that happens around the others. */
#ifndef TESTS_FUZZ_H1_PEER_H
#define TESTS_FUZZ_H1_PEER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "codecs/h1/connection.h"
#include "codecs/h1/write.h"
#include "tests/sim/dice.h"

static void check(bool condition, const char *text, int line)
{
    if (condition)
        return;
    fprintf(stderr, "line %d: not so: %s\n", line, text);
    abort();
}

#define CHECK(condition) check(condition, #condition, __LINE__)
#include "tests/unit/codecs/h1/fake_host.h"

static struct dice dice;

/* Where nothing but the contract holds. */
static void run_anyhow(const uint8_t *data, size_t size);
/* However the bytes are cut, the same comes of them. */
static void compare_runs(const uint8_t *data, size_t size);

/* A head that is kept is not whole: each byte more would cost a parse of all of it. */
static void check_kept_head(void)
{
    const struct h1 *h1 = h1_of(&fake.public);
    size_t scanned = 0;
    if (h1->receiving == RECEIVE_HEAD && h1->begun && !fake.closing)
        CHECK(!h1_head_is_whole(h1->rest.bytes, h1->rest.length, &scanned));
}

static bool equal(weir_string a, weir_string b)
{
    return a.length == b.length && (!a.length || !memcmp(a.bytes, b.bytes, a.length));
}

/* Whatever was understood is within these when it is written again. */
static const weir_limits wide_limits = {.size = sizeof wide_limits,
                                        .request_line_bytes = 70000,
                                        .header_bytes = 140000,
                                        .header_fields = H1_FIELDS_MOST};

static void check_same_fields(const weir_head *a, const weir_head *b)
{
    CHECK(a->count == b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        CHECK(equal(a->fields[i].name, b->fields[i].name));
        CHECK(equal(a->fields[i].value, b->fields[i].value));
    }
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return (hash ^ count) * 0x100000001b3u;
}

static uint64_t mix_fields(uint64_t hash, const struct head *head)
{
    for (uint32_t i = 0; head && i < head->count; i++) {
        hash = mix(hash, head->fields[i].name.bytes, head->fields[i].name.length);
        hash = mix(hash, head->fields[i].value.bytes, head->fields[i].value.length);
    }
    return hash;
}

/* A head that is refused before it is whole is refused when it is, if it came in pieces: an end of
 * all heads is put behind. */
static uint8_t *with_an_end(const uint8_t *data, size_t *size)
{
    uint8_t *copy = malloc(*size + 4);
    CHECK(copy);
    memcpy(copy, data, *size);
    memcpy(copy + *size, "\r\n\r\n", 4);
    *size += 4;
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    dice = dice_of(data[0] | (uint64_t)data[1] << 8, 0);
    run_anyhow(data + 2, size - 2);
    size -= 2;
    uint8_t *copy = with_an_end(data + 2, &size);
    compare_runs(copy, size);
    free(copy);
    return 0;
}

#endif
