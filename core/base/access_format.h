/* core/base/access_format.h - the access log's formats: a text becomes parts, a record a line
 *
 * A format is "common", "combined", "json", or a template: text with {fields}, where {{ and }} are
 * braces. Whatever a peer sent is escaped, so that a line is always one line of valid UTF-8 and no
 * value can pretend to be another: in templates (common and combined are two) control characters,
 * quotes, backslashes and bytes that are no UTF-8 become \xHH, and outside of quotes spaces too; in
 * JSON they become what JSON has for them, bytes that are no UTF-8 the character of that number.
 * What is missing is - in templates and null in JSON. Pure functions; [any]. */
#ifndef CORE_BASE_ACCESS_FORMAT_H
#define CORE_BASE_ACCESS_FORMAT_H

#include "core/base/access_record.h"
#include "core/base/memory.h"

enum {
    ACCESS_LINE_BYTES = 16384, /* the longest line; values that do not fit end in [cut] */
    ACCESS_FORMAT_BYTES = 4096 /* the longest template */
};

struct access_format; /* immutable */

/* What an unknown word may have been meant to be. */
enum access_meant { ACCESS_MEANT_NOTHING, ACCESS_MEANT_FIELD, ACCESS_MEANT_FORMAT };

/* What is wrong with a format. */
struct access_mistake {
    const char *what; /* to follow `part` in a message */
    weir_string part; /* of the text */
    enum access_meant meant;
};

/* NULL when the text is no format: *mistake says why. Memory comes from the arena. */
const struct access_format *access_format_compile(weir_string text, struct arena *arena,
                                                  struct access_mistake *mistake);
/* The words of that kind, NULL behind the last. Beside the fields that have a name there are those
 * of heads, {request:NAME} and {response:NAME}, and {variable:NAME}. */
const char *access_known_word(enum access_meant meant, uint32_t index);

/* What one thread remembers of the clock, so that no calendar is asked for every line. Zeroed to
 * begin with. */
struct access_day {
    int64_t number; /* days since 1970, of what `text` says */
    uint32_t length;
    char text[16];
};
struct access_clock {
    struct access_day utc, local;
    int64_t quarter; /* quarters of an hour since 1970, of what `offset` says */
    int64_t offset;  /* seconds, local time minus UTC */
};

/* Writes the line with its line end; `line` has room for ACCESS_LINE_BYTES. Returns its length. */
size_t access_format_render(const struct access_format *format, const struct access_record *record,
                            struct access_clock *clock, char *line);

#endif
