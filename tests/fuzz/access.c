/* tests/fuzz/access.c - any format and any values in a record: always one honest line
 *
 * Input: which format, a byte; for a template its length, two bytes, and its text; then times and
 * numbers, eight bytes each; then texts, each with its length in a byte and how often it is
 * repeated in another. Aborts when the line is not one line of UTF-8 of bounded length, when JSON
 * is no JSON object of the members that it should have, or when a value adds a quote or, outside of
 * quotes, a space to the line. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/access_format.h"
#include "core/base/escape.h"
#include "core/base/string.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BARE "{client} {user} {method} {target} {path} {by} {why} {server} {request:X} {response:X}"

enum { BARE_SPACES = 9, JSON_MEMBERS = 22 };

static void must(bool condition)
{
    if (!condition)
        abort();
}

/* --- the record */

struct input {
    const uint8_t *at;
    size_t left;
};

static uint64_t take_number(struct input *input, size_t bytes)
{
    uint64_t number = 0;
    for (; bytes && input->left; bytes--, input->left--)
        number = number << 8 | *input->at++;
    return number;
}

static weir_string take_text(struct input *input, size_t length)
{
    if (length > input->left)
        length = input->left;
    weir_string text = {(const char *)input->at, length};
    input->at += length;
    input->left -= length;
    return text;
}

static weir_string take_value(struct input *input, struct arena *arena)
{
    size_t length = take_number(input, 1), times = take_number(input, 1) % 16;
    weir_string piece = take_text(input, length);
    char *all = arena_allocate(arena, piece.length * times + 1);
    for (size_t i = 0; i < times; i++)
        if (piece.length)
            memcpy(all + i * piece.length, piece.bytes, piece.length);
    return (weir_string){all, piece.length * times};
}

struct facts {
    struct access_record record;
    weir_head request, response;
    weir_field request_fields[2], response_field;
};

static void take_facts(struct input *input, struct arena *arena, struct facts *facts)
{
    struct access_record *record = &facts->record;
    uint64_t *numbers[] = {&record->time_us,       &record->worker,         &record->number,
                           &record->request_bytes, &record->response_bytes, &record->dns_us,
                           &record->connect_us,    &record->first_byte_us,  &record->total_us,
                           &record->attempts};
    weir_string *values[] = {&facts->request.path,
                             &record->client,
                             &record->user,
                             &facts->request.method,
                             &facts->request.scheme,
                             &facts->request.authority,
                             &facts->request.version,
                             &facts->request_fields[0].value,
                             &facts->request_fields[1].value,
                             &facts->response_field.value,
                             &record->server,
                             &record->filter,
                             &record->why};
    uint64_t choices = take_number(input, 1);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = take_number(input, 8);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        *values[i] = take_value(input, arena);
    facts->request_fields[0].name = facts->response_field.name = WEIR_STRING("X");
    facts->request_fields[1].name = choices & 1 ? WEIR_STRING("x") : WEIR_STRING("User-Agent");
    facts->request.fields = facts->request_fields;
    facts->request.count = 2;
    facts->response.fields = &facts->response_field;
    facts->response.count = 1;
    facts->response.status = (uint32_t)choices << 5;
    record->request = &facts->request;
    record->response = choices & 2 ? &facts->response : NULL;
    record->reused = choices & 4;
    record->by = (enum access_by)(choices >> 3 & 3);
}

/* --- what is never allowed */

static size_t count(weir_string text, char c)
{
    size_t found = 0;
    for (size_t i = 0; i < text.length; i++)
        found += text.bytes[i] == c;
    return found;
}

static weir_string render(const struct access_format *format, const struct access_record *record)
{
    static char line[ACCESS_LINE_BYTES];
    static struct access_clock watch;
    size_t length = access_format_render(format, record, &watch, line);
    must(length > 0 && length <= ACCESS_LINE_BYTES && line[length - 1] == '\n');
    weir_string text = {line, length - 1};
    for (size_t i = 0; i < text.length; i++)
        must((unsigned char)line[i] >= 0x20 || line[i] == '\t');
    must(escape_not_needed(text));
    return text;
}

/* --- JSON, as strictly as RFC 8259 has it */

static bool one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

static const char *skip_string(const char *at)
{
    must(*at++ == '"');
    while (*at != '"') {
        must((unsigned char)*at >= 0x20);
        if (*at++ != '\\')
            continue;
        if (*at == 'u')
            for (int i = 1; i <= 4; i++)
                must(one_of(at[i], "0123456789abcdef"));
        must(one_of(*at, "\"\\u"));
        at += *at == 'u' ? 5 : 1;
    }
    return at + 1;
}

static const char *skip_number(const char *at)
{
    must(one_of(*at, "0123456789") && !(at[0] == '0' && one_of(at[1], "0123456789")));
    while (one_of(*at, "0123456789"))
        at++;
    if (*at != '.')
        return at;
    must(one_of(*++at, "0123456789"));
    while (one_of(*at, "0123456789"))
        at++;
    return at;
}

static const char *skip_value(const char *at)
{
    static const char *const words[] = {"null", "true", "false"};
    for (size_t i = 0; i < 3; i++)
        if (!strncmp(at, words[i], strlen(words[i])))
            return at + strlen(words[i]);
    return *at == '"' ? skip_string(at) : skip_number(at);
}

static void must_be_json(weir_string line)
{
    static char text[ACCESS_LINE_BYTES];
    memcpy(text, line.bytes, line.length);
    text[line.length] = 0;
    const char *at = text;
    size_t members = 0;
    do {
        must(one_of(*at++, "{,"));
        at = skip_string(at);
        must(*at++ == ':');
        at = skip_value(at);
        members++;
    } while (*at == ',');
    must(at[0] == '}' && at + 1 == text + line.length && members == JSON_MEMBERS);
}

/* --- one input */

static weir_string choose_format(struct input *input)
{
    static const char *const known[] = {"common", "combined", "json", BARE};
    size_t choice = take_number(input, 1) % 5;
    if (choice < 4)
        return string_of(known[choice]);
    return take_text(input, take_number(input, 2));
}

static void check(weir_string text, const struct access_format *format, const struct facts *facts)
{
    static const weir_head nothing = {.size = sizeof nothing};
    struct access_record empty = {.request = &nothing};
    if (string_equal(text, WEIR_STRING("json"))) {
        must_be_json(render(format, &facts->record));
        return;
    }
    size_t quotes = count(render(format, &empty), '"');
    must(count(render(format, &facts->record), '"') == quotes);
    if (string_equal(text, WEIR_STRING(BARE)))
        must(count(render(format, &facts->record), ' ') == BARE_SPACES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct arena arena;
    uint64_t first_block[8];
    struct access_mistake mistake = {0};
    struct facts facts = {0};
    arena_init(&arena, first_block, sizeof first_block);
    weir_string text = choose_format(&input);
    const struct access_format *format = access_format_compile(text, &arena, &mistake);
    must(!format == (mistake.what != NULL));
    must(format || (mistake.part.bytes >= text.bytes &&
                    mistake.part.bytes + mistake.part.length <= text.bytes + text.length));
    take_facts(&input, &arena, &facts);
    if (format)
        check(text, format, &facts);
    arena_deinit(&arena);
    return 0;
}
