/* codecs/h1/parse.h - bytes to heads and bodies, by llhttp; refuses what could be read in two ways
 *
 * Heads are parsed when they are whole, in one go, so every span points into the same bytes. Only a
 * chunked body keeps parser state between reads. RFC 9112. */
#ifndef CODECS_H1_PARSE_H
#define CODECS_H1_PARSE_H

#include <llhttp.h>
#include <stdbool.h>

#include "abi/protocol.h"

enum { H1_FIELDS_MOST = 256, H1_TARGET_BYTES = 65536 };
enum { H1_EXTENSION_BYTES = 16384 /* of chunk extensions in one body: RFC 9112 7.1.1 */ };

enum h1_framing { H1_NO_BODY, H1_LENGTH, H1_CHUNKED, H1_UNTIL_END, H1_TUNNEL };

enum h1_parsed { H1_MORE, H1_DONE, H1_BROKEN };

struct h1_head {
    weir_head head;  /* borrowed from the bytes and from this struct */
    size_t consumed; /* how long it was */
    enum h1_framing framing;
    bool keep_alive; /* what the peer wants or its version says */
    bool http_10;
    weir_result error; /* of H1_BROKEN */
    weir_field fields[H1_FIELDS_MOST];
};

/* A request or a response head at the start of `bytes`. H1_MORE: not whole yet. The result is this
 * thread's and valid until the next call. `parser` is left where a chunked body begins.
 * no_body: the response is to a HEAD. */
enum h1_parsed h1_parse_request(llhttp_t *parser, const weir_limits *limits, const uint8_t *bytes,
                                size_t count, const struct h1_head **result);
enum h1_parsed h1_parse_response(llhttp_t *parser, const weir_limits *limits, bool no_body,
                                 const uint8_t *bytes, size_t count, const struct h1_head **result);

/* Whether a head (or trailer section) is whole; *scanned is how far was looked before, keep it. */
bool h1_head_is_whole(const uint8_t *bytes, size_t count, size_t *scanned);

/* WEIR_OK, or why a head that has come so far, whole or not, is too large to be read on. */
weir_result h1_head_size_error(const weir_limits *limits, const uint8_t *bytes, size_t count);

/* A chunked body between two reads; extension_bytes begins with 0, parser behind the head. */
struct h1_chunks {
    llhttp_t parser;
    uint32_t extension_bytes;
};

/* The chunked body behind a head. on_data comes for each piece, from inside the call, and must only
 * store it. H1_DONE: the last chunk was read, the trailer section begins at `consumed`. */
enum h1_parsed h1_parse_chunks(struct h1_chunks *chunks, const uint8_t *bytes, size_t count,
                               void (*on_data)(void *user, const uint8_t *bytes, size_t count),
                               void *user, size_t *consumed);
/* The trailer section, when it is whole: fields in *result. *scanned as for h1_head_is_whole(). */
enum h1_parsed h1_parse_trailers(llhttp_t *parser, const weir_limits *limits, const uint8_t *bytes,
                                 size_t count, size_t *scanned, const struct h1_head **result);

#endif
