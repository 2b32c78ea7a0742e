/* core/base/escape.h - anybody's bytes as a value within a line of text or of JSON
 *
 * What comes out is valid UTF-8 without control characters (line and direction controls of Unicode
 * among them) and cannot end the value that it is in. [any] */
#ifndef CORE_BASE_ESCAPE_H
#define CORE_BASE_ESCAPE_H

#include <stdbool.h>

#include "abi/weir.h"

enum escape_style {
    ESCAPE_QUOTED, /* between quotes: \xHH for each byte of what is not shown as it is */
    ESCAPE_BARE,   /* between spaces: the same for spaces too */
    ESCAPE_JSON    /* between quotes: \" \\ \uHHHH; a byte that is no UTF-8 as the character of that
                      number */
};

/* Writes the value at *at, not beyond `end`, and moves *at behind it. False when it did not fit:
 * what is there ends with a whole character or escape. */
bool escape_put(char **at, const char *end, weir_string value, enum escape_style style);

/* The same for what is usual, and quicker: where it ends when nothing in it needed an escape, it
 * was ASCII and it fitted; otherwise NULL, and what is at `at` means nothing. */
char *escape_copy(char *at, const char *end, weir_string value, enum escape_style style);

/* Valid UTF-8 without control characters but tabs: what may be written as it is. */
bool escape_not_needed(weir_string text);

#endif
