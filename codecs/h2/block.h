/* codecs/h2/block.h - the fields of one header block, collected until it is whole
 *
 * Fields are laid out one behind the other as "name: value CR LF", which is how HTTP/1.1 sends
 * them: there they leave as one run. What is beyond the limits is counted and not kept. A block
 * that is not being collected holds nothing. */
#ifndef CODECS_H2_BLOCK_H
#define CODECS_H2_BLOCK_H

#include <stdbool.h>

#include "abi/protocol.h"

struct h2_block {
    weir_buffer *text_owner, *fields_owner; /* NULL: none is being collected */
    char *text;
    weir_field *fields;
    size_t used, room;
    uint32_t count, fields_room;
    size_t bytes; /* of all fields, kept or not, as SETTINGS_MAX_HEADER_LIST_SIZE counts them */
    weir_string method, scheme, authority, path, protocol, status;
    uint32_t crumbs;   /* how many fields were Cookie */
    weir_result error; /* WEIR_OK, or which limit it is beyond */
};

void h2_block_begin(const weir_host *host, struct h2_block *block);
/* A field or pseudo-field. */
void h2_block_add(const weir_host *host, const weir_limits *limits, struct h2_block *block,
                  weir_string name, weir_string value);
/* Cookie came in crumbs: they become one field again (RFC 9113 8.2.3). */
void h2_block_join_cookies(const weir_host *host, struct h2_block *block);
/* The only field of that name, in lower case; NULL: there is none. */
const weir_field *h2_block_find(const struct h2_block *block, weir_string name);
void h2_block_remove(struct h2_block *block, const weir_field *field);
/* More of it comes later: what there is needs no more room than it has meanwhile. */
void h2_block_settle(const weir_host *host, struct h2_block *block);
void h2_block_clear(const weir_host *host, struct h2_block *block);

#endif
