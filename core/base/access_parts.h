/* core/base/access_parts.h - a compiled format: for access_format.c and access_render.c only */
#ifndef CORE_BASE_ACCESS_PARTS_H
#define CORE_BASE_ACCESS_PARTS_H

#include "core/base/access_format.h"
#include "core/base/escape.h"

/* A kind of value. From ACCESS_TEXT on they are of any length: escaped, and cut where the room
 * ends. */
enum access_kind {
    ACCESS_TIME,
    ACCESS_LOCAL_TIME,
    ACCESS_ID,
    ACCESS_STATUS,
    ACCESS_NUMBER,
    ACCESS_MILLISECONDS,
    ACCESS_FLAG,
    ACCESS_TEXT,
    ACCESS_OF_REQUEST, /* a text of the request's head */
    ACCESS_TARGET,
    ACCESS_REQUEST_LINE,
    ACCESS_BY,
    ACCESS_REQUEST_FIELD,
    ACCESS_RESPONSE_FIELD,
    ACCESS_VARIABLE
};

enum {
    ACCESS_PARTS_MOST = 128,
    ACCESS_VALUE_BYTES = 48, /* what a text may take at least, and a number takes at most */
    ACCESS_PADDING = 8 /* texts are copied by words: so much behind them is read and written */
};
_Static_assert(ACCESS_FORMAT_BYTES + ACCESS_PARTS_MOST * ACCESS_VALUE_BYTES + ACCESS_PADDING <
                   ACCESS_LINE_BYTES,
               "whatever the values are, the line has its shape");

/* Some literal text, padded, and the value behind it. */
struct access_part {
    enum access_kind kind;
    enum escape_style style;
    uint32_t offset;  /* in the record, of ACCESS_OF_REQUEST in the head */
    uint32_t behind;  /* bytes that what follows takes at least */
    weir_string name; /* of a head's field, or a variable */
    weir_string before;
};

struct access_format {
    weir_string last; /* literal text, padded */
    uint32_t count;
    struct access_part parts[];
};

#endif
