/* core/process/csv.c - lines of fields separated by commas become a tree: a list of lists of texts
 */
#include "core/process/csv.h"

#include <string.h>

struct parser {
    const char *at, *end;
    struct config_place place; /* of `at` */
    struct arena *arena;
    struct config_errors *errors;
    struct tree_node *table;
    uint32_t fields;
    bool failed; /* reported; nothing more is read */
};

static void fail(struct parser *parser, struct config_place place, const char *mistake)
{
    if (!parser->failed)
        config_errors_add(parser->errors, place, "%s", mistake);
    parser->failed = true;
}

static bool at_end(const struct parser *parser)
{
    return parser->at == parser->end;
}

/* Whether a line ends here: LF, or CR LF. */
static bool at_line_end(const struct parser *parser)
{
    const char *at = parser->at;
    return at < parser->end &&
           (*at == '\n' || (*at == '\r' && at + 1 < parser->end && at[1] == '\n'));
}

/* Columns count characters, not the bytes that continue one. */
static void step(struct parser *parser)
{
    unsigned char byte = (unsigned char)*parser->at++;
    if (byte == '\n')
        parser->place = (struct config_place){parser->place.file, parser->place.line + 1, 1};
    else if (parser->at == parser->end || ((unsigned char)*parser->at & 0xc0) != 0x80)
        parser->place.column++;
}

static void end_line(struct parser *parser)
{
    if (!at_end(parser) && *parser->at == '\r')
        step(parser);
    if (!at_end(parser))
        step(parser);
}

static struct tree_node *add_node(struct parser *parser, struct tree_node *parent,
                                  enum tree_kind kind)
{
    struct tree_node *node = arena_allocate(parser->arena, sizeof *node);
    *node = (struct tree_node){.kind = kind, .place = parser->place};
    if (parent)
        tree_append(parent, node);
    if (++parser->fields > CSV_FIELDS_MOST)
        fail(parser, node->place, "too many fields in one file");
    return node;
}

/* At most that many bytes, and the NUL after them. */
static char *room_for(struct parser *parser, const char *stop)
{
    return arena_allocate(parser->arena, (size_t)(stop - parser->at) + 1);
}

static void finish_text(struct tree_node *field, char *text, size_t length)
{
    text[length] = 0;
    field->text = (weir_string){text, length};
}

/* --- fields */

static void read_plain(struct parser *parser, struct tree_node *field)
{
    const char *start = parser->at;
    while (!at_end(parser) && *parser->at != ',' && !at_line_end(parser)) {
        if (*parser->at == '"')
            fail(parser, parser->place, "a quote within a field; put the whole field in quotes");
        if (*parser->at == '\r' || !*parser->at)
            fail(parser, parser->place, "a control character within a field");
        step(parser);
    }
    size_t length = (size_t)(parser->at - start);
    char *text = arena_allocate(parser->arena, length + 1);
    memcpy(text, start, length);
    finish_text(field, text, length);
}

/* Where the quoted field ends, behind what is written twice; NULL: nowhere. */
static const char *find_quote(const char *at, const char *end)
{
    while ((at = memchr(at, '"', (size_t)(end - at))) && at + 1 < end && at[1] == '"')
        at += 2;
    return at;
}

static void read_quoted(struct parser *parser, struct tree_node *field)
{
    field->quoted = true;
    step(parser);
    const char *stop = find_quote(parser->at, parser->end);
    if (!stop) {
        fail(parser, field->place, "a field in quotes does not end");
        return;
    }
    char *text = room_for(parser, stop);
    size_t length = 0;
    while (parser->at < stop) {
        if (!*parser->at)
            fail(parser, parser->place, "a control character within a field");
        if (*parser->at == '"')
            step(parser);
        text[length++] = *parser->at;
        step(parser);
    }
    step(parser);
    finish_text(field, text, length);
    if (!at_end(parser) && *parser->at != ',' && !at_line_end(parser))
        fail(parser, parser->place, "text behind the closing quote; write a quote twice");
}

static void read_field(struct parser *parser, struct tree_node *line)
{
    struct tree_node *field = add_node(parser, line, TREE_TEXT);
    if (!at_end(parser) && *parser->at == '"')
        read_quoted(parser, field);
    else
        read_plain(parser, field);
}

/* --- lines */

static void skip_comment(struct parser *parser)
{
    const char *stop = memchr(parser->at, '\n', (size_t)(parser->end - parser->at));
    parser->place =
        (struct config_place){parser->place.file, parser->place.line + (stop != NULL), 1};
    parser->at = stop ? stop + 1 : parser->end;
}

static void read_fields(struct parser *parser)
{
    struct tree_node *line = add_node(parser, parser->table, TREE_LIST);
    read_field(parser, line);
    while (!parser->failed && !at_end(parser) && *parser->at == ',') {
        step(parser);
        read_field(parser, line);
    }
    end_line(parser);
}

static void read_lines(struct parser *parser)
{
    while (!parser->failed && !at_end(parser)) {
        if (*parser->at == '#')
            skip_comment(parser);
        else if (at_line_end(parser))
            end_line(parser);
        else
            read_fields(parser);
    }
}

/* What some editors write in front of UTF-8. */
static weir_string without_mark(weir_string text)
{
    bool marked = text.length >= 3 && !memcmp(text.bytes, "\xef\xbb\xbf", 3);
    if (marked)
        return (weir_string){text.bytes + 3, text.length - 3};
    return text.length ? text : WEIR_STRING("");
}

struct tree_node *csv_parse(const char *file, weir_string text, struct arena *arena,
                            struct config_errors *errors)
{
    text = without_mark(text);
    struct parser parser = {.at = text.bytes,
                            .end = text.bytes + text.length,
                            .place = {file, 1, 1},
                            .arena = arena,
                            .errors = errors};
    parser.table = add_node(&parser, NULL, TREE_LIST);
    if (text.length > CSV_BYTES_MOST)
        fail(&parser, (struct config_place){.file = file}, "larger than 8 MiB");
    else if (text.length)
        read_lines(&parser);
    return parser.failed ? NULL : parser.table;
}
