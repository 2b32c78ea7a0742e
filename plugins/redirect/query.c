/* plugins/redirect/query.c - what a rule may ask of a query: "page&lang=en&!preview" */
#include "plugins/redirect/query.h"

#include <string.h>

#include "plugins/redirect/path.h"

enum { PRESENT, EQUAL, ABSENT };
enum { PART_MOST = 1024 };

/* In the pool, followed by the key and the value. */
struct condition {
    uint16_t kind, key_length, value_length;
};

/* The part up to the separator; *rest goes on behind it. */
static weir_string take_part(weir_string *rest, char separator)
{
    const char *end = rest->length ? memchr(rest->bytes, separator, rest->length) : NULL;
    weir_string part = {rest->bytes, end ? (size_t)(end - rest->bytes) : rest->length};
    size_t taken = part.length + (end != NULL);
    rest->bytes += taken;
    rest->length -= taken;
    return part;
}

static const char *compile_part(weir_string part, struct pool *pool)
{
    char normal[3 * PART_MOST];
    bool absent = part.length && part.bytes[0] == '!';
    weir_string value = {part.bytes + absent, part.length - absent};
    weir_string key = take_part(&value, '=');
    bool equal = key.length + absent < part.length;
    if (!key.length)
        return "a condition has no key";
    if (absent && equal)
        return "\"!\" asks for a key that is absent, which then has no value";
    if (part.length > PART_MOST)
        return "a condition is longer than 1024 bytes";
    struct condition condition = {absent ? ABSENT : equal ? EQUAL : PRESENT, 0, 0};
    condition.key_length = (uint16_t)path_normalize(key, normal);
    condition.value_length = (uint16_t)path_normalize(value, normal + condition.key_length);
    pool_add(pool, &condition, sizeof condition);
    pool_add(pool, normal, (size_t)condition.key_length + condition.value_length);
    return NULL;
}

const char *query_compile(weir_string text, struct pool *pool, struct conditions *conditions)
{
    const char *wrong = NULL;
    conditions->offset = pool->length;
    while (!wrong && text.length)
        wrong = compile_part(take_part(&text, '&'), pool);
    conditions->length = pool->length - conditions->offset;
    return wrong;
}

static bool has_pair(weir_string query, weir_string key, const weir_string *value)
{
    while (query.length) {
        weir_string its_value = take_part(&query, '&');
        weir_string its_key = take_part(&its_value, '=');
        if (path_equal(its_key, key) && (!value || path_equal(its_value, *value)))
            return true;
    }
    return false;
}

bool query_holds(const struct conditions *conditions, const struct pool *pool, weir_string query)
{
    const char *at = pool->bytes + conditions->offset, *end = at + conditions->length;
    while (at < end) {
        struct condition condition;
        memcpy(&condition, at, sizeof condition);
        weir_string key = {at + sizeof condition, condition.key_length};
        weir_string value = {key.bytes + key.length, condition.value_length};
        if (has_pair(query, key, condition.kind == EQUAL ? &value : NULL) ==
            (condition.kind == ABSENT))
            return false;
        at = value.bytes + value.length;
    }
    return true;
}
