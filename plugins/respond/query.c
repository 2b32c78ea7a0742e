/* plugins/respond/query.c - what a request may say of its answer */
#include "plugins/respond/query.h"

#include <string.h>

static bool read_number(weir_string text, uint64_t most, uint64_t *number)
{
    uint64_t value = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9' || value > most)
            return false;
        value = value * 10 + (uint64_t)(text.bytes[i] - '0');
    }
    *number = value;
    return text.length > 0 && value <= most;
}

/* The part up to the separator; *text is what follows it. */
static weir_string cut(weir_string *text, char separator)
{
    const char *end = text->length ? memchr(text->bytes, separator, text->length) : NULL;
    weir_string part = {text->bytes, end ? (size_t)(end - text->bytes) : text->length};
    size_t taken = end ? part.length + 1 : part.length;
    *text = (weir_string){text->bytes + taken, text->length - taken};
    return part;
}

static bool is(weir_string text, const char *word)
{
    return text.length == strlen(word) && !memcmp(text.bytes, word, text.length);
}

bool query_read(weir_string path, struct wanted limits, struct wanted *wanted)
{
    bool fine = true;
    for (cut(&path, '?'); path.length && fine;) {
        weir_string value = cut(&path, '&'), key = cut(&value, '=');
        if (is(key, "status"))
            fine = read_number(value, limits.status, &wanted->status) && wanted->status >= 200;
        else if (is(key, "size"))
            fine = read_number(value, limits.size, &wanted->size);
        else if (is(key, "delay"))
            fine = read_number(value, limits.delay_ms, &wanted->delay_ms);
    }
    return fine;
}
