/* core/process/yaml.c - a YAML text as a small tree of our own, with the place of everything in it
 *
 * libfyaml's events build the tree. Its document builder is not used: with events every bound is
 * checked before the next one is read, aliases are never followed, and nothing here recurses. */
#include "core/process/yaml.h"

#include <libfyaml.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/string.h"

enum { MISTAKE_BYTES = 256, REASON_BYTES = 160 };

struct yaml_document {
    struct tree_node *root;
    struct arena arena;
    uint64_t first_block[256];
};

struct builder {
    struct yaml_document *document;
    struct config_errors *errors;
    const char *file;
    weir_string text;
    struct tree_node *current; /* the mapping or list that is open; NULL: none */
    weir_string key;           /* of the value that comes next in `current`, once has_key */
    struct config_place key_place;
    bool has_key;
    uint32_t nodes, documents;
    bool failed; /* reported; nothing more is read or reported */
};

/* --- mistakes in the text itself */

static __attribute__((format(printf, 3, 4))) bool
fail(struct builder *builder, struct config_place place, const char *format, ...)
{
    char mistake[MISTAKE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(mistake, sizeof mistake, format, arguments);
    va_end(arguments);
    place.file = builder->file;
    if (!builder->failed)
        config_errors_add(builder->errors, place, "%s", mistake);
    builder->failed = true;
    return false;
}

static weir_string line_of(weir_string text, uint32_t number)
{
    const char *start = text.bytes, *end = text.bytes + text.length, *stop;
    while (--number && (stop = memchr(start, '\n', (size_t)(end - start))))
        start = stop + 1;
    stop = memchr(start, '\n', (size_t)(end - start));
    return (weir_string){start, (size_t)((stop ? stop : end) - start)};
}

static size_t indent_of(weir_string line)
{
    size_t indent = 0;
    while (indent < line.length && line.bytes[indent] == ' ')
        indent++;
    return indent;
}

/* What people most often meant by a line that is no YAML, or not the YAML they thought. */
static const char *remedy(weir_string line)
{
    size_t indent = indent_of(line);
    if (indent < line.length && line.bytes[indent] == '\t')
        return "; indent with spaces, not with tabs";
    if (memmem(line.bytes, line.length, "]:", 2))
        return "; put an address that begins with [ in quotes";
    return "";
}

static void not_yaml(struct builder *builder, struct config_place place, const char *reason)
{
    weir_string line = line_of(builder->text, place.line);
    if (strstr(reason, "multiline plain key")) {
        /* The place is that of a value which the next line was taken into. */
        line = line_of(builder->text, place.line + 1);
        place = (struct config_place){NULL, place.line + 1, (uint32_t)indent_of(line) + 1};
    }
    const char *hint = remedy(line);
    if (!*hint && (strstr(reason, "multiline") || strstr(reason, "indent")))
        hint = "; check how far this line is indented";
    fail(builder, place, "not valid YAML: %s%s", reason, hint);
}

/* libfyaml hands over its message in pieces: "name:line:column: error: reason", then the source. */
static void on_diagnostic(struct fy_diag *diagnostic, void *user, const char *bytes, size_t length)
{
    static const char mark[] = ": error: ";
    char line[REASON_BYTES];
    unsigned row, column;
    snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line), bytes);
    line[strcspn(line, "\n")] = 0;
    char *reason = strstr(line, mark), *at = reason;
    if (!reason)
        return;
    for (int colons = 0; at > line && colons < 2; colons += *at == ':')
        at--;
    if (sscanf(at, ":%u:%u", &row, &column) == 2 && row && column)
        not_yaml(user, (struct config_place){NULL, row, column}, reason + sizeof mark - 1);
}

/* The length of the UTF-8 character that begins there; 0: it is none, or a control character. */
static size_t character_length(const unsigned char *at, size_t left)
{
    if (at[0] < 0x80)
        return at[0] == '\t' || at[0] == '\n' || at[0] == '\r' || (at[0] >= 0x20 && at[0] < 0x7f);
    size_t length = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};
    uint32_t character = at[0] & (0xffu >> (length + 1));
    if (at[0] < 0xc2 || at[0] > 0xf4 || left < length)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        character = character << 6 | (at[i] & 0x3fu);
    }
    bool surrogate = character >= 0xd800 && character < 0xe000;
    return character >= least[length] && character < 0x110000 && !surrogate ? length : 0;
}

static bool is_mark(unsigned char byte)
{
    return byte == '[' || byte == ']' || byte == '{' || byte == '}' || byte == ',' || byte == ':';
}

/* libfyaml takes some other bytes for the end of a value, and it may read a whole list or mapping,
 * at some hundred bytes of memory for each mark in it, before it reports that one begins. */
static bool check_characters(struct builder *builder)
{
    const unsigned char *at = (const unsigned char *)builder->text.bytes;
    const unsigned char *end = at + builder->text.length;
    struct config_place place = {NULL, 1, 1};
    uint32_t marks = 0;
    while (at < end) {
        size_t length = character_length(at, (size_t)(end - at));
        if (!length)
            return fail(builder, place, "byte 0x%02x is not text; the file must be UTF-8", *at);
        marks += is_mark(*at);
        if (marks > YAML_MARKS_MOST)
            return fail(builder, place,
                        "more than %d of the characters [ ] { } , and :", YAML_MARKS_MOST);
        place = *at == '\n' ? (struct config_place){NULL, place.line + 1, 1}
                            : (struct config_place){NULL, place.line, place.column + 1};
        at += length;
    }
    return true;
}

/* --- from events to the tree */

/* libfyaml's mark of a quoted text, an anchor or an alias is behind its first character. */
static bool place_of_mark(const struct builder *builder, const struct fy_mark *mark,
                          struct config_place *place)
{
    if (!mark || mark->line < 0 || mark->column < 0)
        return false;
    size_t at = mark->input_pos;
    bool behind = mark->column && at && at <= builder->text.length &&
                  memchr("'\"&*", builder->text.bytes[at - 1], 4);
    *place = (struct config_place){builder->file, (uint32_t)mark->line + 1,
                                   (uint32_t)mark->column + !behind};
    return true;
}

/* "key:" and nothing; libfyaml 0.7 makes no token of it, 0.8 one of no characters. */
static bool is_empty(struct fy_event *event)
{
    size_t length = 0;
    if (event->type != FYET_SCALAR || !event->scalar.value)
        return event->type == FYET_SCALAR;
    if (fy_token_scalar_style(event->scalar.value) != FYSS_PLAIN)
        return false;
    fy_token_get_text(event->scalar.value, &length);
    return !length;
}

/* Where an event is; of an empty value: its key, or what it is in. */
static struct config_place place_of_event(const struct builder *builder, struct fy_event *event)
{
    struct config_place place = {builder->file, 1, 1};
    if (!is_empty(event) && place_of_mark(builder, fy_event_start_mark(event), &place))
        return place;
    if (builder->has_key)
        return builder->key_place;
    return builder->current ? builder->current->place : place;
}

static struct config_place place_of_token(const struct builder *builder, struct fy_token *token)
{
    struct config_place place = {builder->file, 1, 1};
    place_of_mark(builder, fy_token_start_mark(token), &place);
    return place;
}

/* libfyaml (0.7.12, 0.8) gets many '' in a row wrong, and leaks memory then. */
static bool has_many_quotes(const struct builder *builder, struct fy_token *token)
{
    const struct fy_mark *start = fy_token_start_mark(token), *end = fy_token_end_mark(token);
    if (fy_token_scalar_style(token) != FYSS_SINGLE_QUOTED || !start || !end ||
        start->input_pos > end->input_pos || end->input_pos > builder->text.length)
        return false;
    const char *bytes = builder->text.bytes + start->input_pos;
    return memmem(bytes, end->input_pos - start->input_pos, "''''''", 6) != NULL;
}

/* The text between double quotes may hold any character, also the one that ends a C string. */
static bool copy_text(struct builder *builder, struct fy_event *event, weir_string *text)
{
    struct fy_token *token = event->scalar.value;
    size_t length = 0;
    if (token && has_many_quotes(builder, token))
        return fail(builder, place_of_event(builder, event),
                    "too many ' in a row; put the text in double quotes");
    const char *bytes = token ? fy_token_get_text(token, &length) : NULL;
    if (!bytes)
        length = 0; /* also an empty block of text */
    if (length && memchr(bytes, 0, length))
        return fail(builder, place_of_event(builder, event), "text with a NUL character in it");
    char *copy = arena_allocate(&builder->document->arena, length + 1);
    if (length)
        memcpy(copy, bytes, length);
    copy[length] = 0;
    *text = (weir_string){copy, length};
    return true;
}

static struct config_place first_of(struct config_place a, struct config_place b)
{
    return a.line < b.line || (a.line == b.line && a.column < b.column) ? a : b;
}

/* libfyaml sees that [a: b] has a mapping in it only at the colon. */
static bool take_key(struct builder *builder, struct fy_event *event)
{
    struct config_place place = place_of_event(builder, event);
    if (event->type != FYET_SCALAR || is_empty(event))
        return fail(builder, place, "a key must be text%s",
                    remedy(line_of(builder->text, place.line)));
    builder->has_key = copy_text(builder, event, &builder->key);
    builder->key_place = place;
    if (!builder->current->count)
        builder->current->place = first_of(place, builder->current->place);
    return builder->has_key;
}

static void append(struct builder *builder, struct tree_node *node)
{
    struct tree_node *parent = builder->current;
    if (!parent) {
        builder->document->root = node;
        return;
    }
    tree_append(parent, node);
}

static struct tree_node *add_node(struct builder *builder, struct fy_event *event,
                                  enum tree_kind kind)
{
    struct tree_node *node = arena_allocate(&builder->document->arena, sizeof *node);
    *node = (struct tree_node){.kind = kind, .place = place_of_event(builder, event)};
    if (builder->has_key) {
        node->key = builder->key;
        node->key_place = builder->key_place;
    }
    append(builder, node);
    builder->has_key = false;
    if (++builder->nodes > YAML_NODES_MOST)
        fail(builder, node->place, "more than %d values in one file", YAML_NODES_MOST);
    if (node->depth > TREE_DEPTH_MOST)
        fail(builder, node->place, "nested deeper than %d levels", TREE_DEPTH_MOST);
    return node;
}

static const char *const tag_names[] = {[TREE_ENVIRONMENT] = "!env", [TREE_FILE] = "!file"};

static enum tree_tag find_tag(struct fy_token *token)
{
    size_t length = 0;
    const char *bytes = token ? fy_token_get_text(token, &length) : NULL;
    for (enum tree_tag tag = TREE_ENVIRONMENT; bytes && tag <= TREE_FILE; tag++)
        if (string_equal((weir_string){bytes, length}, string_of(tag_names[tag])))
            return tag;
    return TREE_UNTAGGED;
}

/* A tagged text is where its tag is, and never empty: its name is missing then. */
static void on_scalar(struct builder *builder, struct fy_event *event)
{
    weir_string text;
    struct fy_token *tag = fy_event_get_tag_token(event);
    bool empty = is_empty(event);
    if (!copy_text(builder, event, &text))
        return;
    struct tree_node *node = add_node(builder, event, empty && !tag ? TREE_EMPTY : TREE_TEXT);
    node->text = text;
    node->quoted = !empty && !tag && fy_token_scalar_style(event->scalar.value) != FYSS_PLAIN;
    node->tag = find_tag(tag);
    if (tag)
        node->place = place_of_token(builder, tag);
}

static int compare_keys(const void *a, const void *b)
{
    const struct tree_node *first = *(struct tree_node *const *)a;
    const struct tree_node *second = *(struct tree_node *const *)b;
    int order = strcmp(first->key.bytes, second->key.bytes);
    return order ? order : (first->index > second->index) - (first->index < second->index);
}

/* Sorted first: comparing each with each would cost a mapping of a hundred thousand keys dearly. */
static void check_keys(struct builder *builder, const struct tree_node *mapping)
{
    struct tree_node **sorted = memory_allocate((mapping->count + 1) * sizeof *sorted);
    uint32_t count = 0;
    for (struct tree_node *node = mapping->first; node; node = node->next)
        sorted[count++] = node;
    qsort(sorted, count, sizeof *sorted, compare_keys);
    for (uint32_t i = 1, first = 0; i < count; i++) {
        if (!string_equal(sorted[i]->key, sorted[first]->key))
            first = i;
        else
            tree_key_mistake(builder->errors, sorted[i], "is given twice, first on line %u",
                             sorted[first]->key_place.line);
    }
    memory_free(sorted);
}

static void close_node(struct builder *builder)
{
    if (builder->current->kind == TREE_MAPPING)
        check_keys(builder, builder->current);
    builder->current = builder->current->parent;
}

static bool is_key(const struct builder *builder)
{
    return builder->current && builder->current->kind == TREE_MAPPING && !builder->has_key;
}

/* Refuses what configuration has no use for. */
static bool check_extras(struct builder *builder, struct fy_event *event)
{
    struct fy_token *tag = fy_event_get_tag_token(event);
    struct fy_token *anchor =
        event->type == FYET_ALIAS ? event->alias.anchor : fy_event_get_anchor_token(event);
    if (anchor)
        return fail(builder, place_of_token(builder, anchor),
                    "anchors and aliases are not supported; write the value out");
    if (tag && find_tag(tag) == TREE_UNTAGGED)
        return fail(builder, place_of_token(builder, tag),
                    "a word that begins with ! must be !env or !file; put other text in quotes");
    if (tag && (event->type != FYET_SCALAR || is_key(builder)))
        return fail(builder, place_of_token(builder, tag),
                    "only a value can come from !env or !file, no key, list or mapping");
    return true;
}

static void on_value(struct builder *builder, struct fy_event *event)
{
    if (!check_extras(builder, event))
        return;
    if (is_key(builder))
        take_key(builder, event);
    else if (event->type == FYET_SCALAR)
        on_scalar(builder, event);
    else
        builder->current =
            add_node(builder, event, event->type == FYET_MAPPING_START ? TREE_MAPPING : TREE_LIST);
}

static void on_event(struct builder *builder, struct fy_event *event)
{
    switch (event->type) {
    case FYET_DOCUMENT_START:
        if (builder->documents++)
            fail(builder, place_of_event(builder, event), "a second document begins here");
        break;
    case FYET_SCALAR:
    case FYET_ALIAS:
    case FYET_SEQUENCE_START:
    case FYET_MAPPING_START:
        on_value(builder, event);
        break;
    case FYET_SEQUENCE_END:
    case FYET_MAPPING_END:
        close_node(builder);
        break;
    default:
        break;
    }
}

static void read_events(struct builder *builder, struct fy_parser *parser)
{
    struct fy_event *event = NULL;
    if (fy_parser_set_string(parser, builder->text.bytes, builder->text.length) == 0)
        while (!builder->failed && (event = fy_parser_parse(parser))) {
            on_event(builder, event);
            fy_parser_event_free(parser, event);
        }
    if (builder->failed || !fy_parser_get_stream_error(parser))
        return;
    fail(builder, (struct config_place){NULL, 1, 1}, "not valid YAML");
}

static void build(struct builder *builder)
{
    struct fy_diag_cfg output = {
        .output_fn = on_diagnostic, .user = builder, .level = FYET_ERROR, .module_mask = ~0u};
    struct fy_diag *diagnostics = fy_diag_create(&output);
    struct fy_parse_cfg configuration = {.flags = FYPCF_DEFAULT_PARSE, .diag = diagnostics};
    struct fy_parser *parser = diagnostics ? fy_parser_create(&configuration) : NULL;
    if (parser)
        read_events(builder, parser);
    else
        fail(builder, (struct config_place){0}, "libfyaml does not start");
    fy_parser_destroy(parser);
    fy_diag_destroy(diagnostics);
}

struct tree_node *yaml_root(struct yaml_document *document)
{
    return document->root;
}

struct yaml_document *yaml_parse(const char *file, weir_string text, struct config_errors *errors)
{
    struct yaml_document *document = memory_zeroed(sizeof *document);
    struct builder builder = {.document = document, .errors = errors, .file = file, .text = text};
    arena_init(&document->arena, document->first_block, sizeof document->first_block);
    if (text.length > YAML_BYTES_MOST)
        fail(&builder, (struct config_place){0}, "larger than %d MiB", YAML_BYTES_MOST >> 20);
    else if (text.length && check_characters(&builder))
        build(&builder);
    if (!builder.failed)
        return document;
    yaml_free(document);
    return NULL;
}

void yaml_free(struct yaml_document *document)
{
    if (!document)
        return;
    arena_deinit(&document->arena);
    memory_free(document);
}
