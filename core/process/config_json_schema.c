/* core/process/config_json_schema.c - the JSON Schema of configuration files, for editors
 *
 * Draft 2020-12. Numbers with units are strings there, and plain numbers may be wherever weir takes
 * one for text, such as a port. */
#include "core/process/config_json_schema.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/process/config_keys.h"
#include "core/process/schema.h"
#include "core/process/yaml.h"

struct printer {
    FILE *stream;
    unsigned depth;
    bool first; /* of what is between the innermost braces or brackets */
};

static void print_type(struct printer *printer, const struct schema_type *type);

/* --- JSON */

static void print_text(struct printer *printer, const char *text)
{
    fputc('"', printer->stream);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', printer->stream);
        fputc(*text, printer->stream);
    }
    fputc('"', printer->stream);
}

static void print_next(struct printer *printer)
{
    fprintf(printer->stream, "%s\n%*s", printer->first ? "" : ",", (int)printer->depth * 2, "");
    printer->first = false;
}

static void print_name(struct printer *printer, const char *name)
{
    print_next(printer);
    print_text(printer, name);
    fputs(": ", printer->stream);
}

static void print_member(struct printer *printer, const char *name, const char *text)
{
    print_name(printer, name);
    print_text(printer, text);
}

static void print_bound(struct printer *printer, const char *name, uint64_t bound)
{
    print_name(printer, name);
    fprintf(printer->stream, "%" PRIu64, bound);
}

static void open_brace(struct printer *printer)
{
    fputc('{', printer->stream);
    printer->depth++;
    printer->first = true;
}

static void close_brace(struct printer *printer)
{
    printer->depth--;
    printer->first = true;
    print_next(printer);
    fputc('}', printer->stream);
}

/* --- what holds when a key is absent */

static void print_words(struct printer *printer, const char *const *words)
{
    fputc('[', printer->stream);
    for (size_t i = 0; words[i]; i++) {
        fputs(i ? ", " : "", printer->stream);
        print_text(printer, words[i]);
    }
    fputc(']', printer->stream);
}

static bool is_number(const struct schema_type *type, const struct tree_node *node)
{
    return type->kind == SCHEMA_NUMBER && type->units == value_plain &&
           !(type->word && string_equal(node->text, string_of(type->word)));
}

static const struct schema_type *type_of(const struct schema_type *type,
                                         const struct tree_node *node)
{
    const struct schema_key *key = type->keys;
    while (key && !string_equal(node->key, string_of(key->name)))
        key++;
    return key ? key->type : type->item;
}

static void print_value(struct printer *printer, const struct schema_type *type,
                        const struct tree_node *node)
{
    bool is_list = node->kind == TREE_LIST, is_text = node->kind == TREE_TEXT;
    if (is_text && (is_number(type, node) || type->kind == SCHEMA_FLAG)) {
        fputs(node->text.bytes, printer->stream);
    } else if (is_text) {
        print_text(printer, node->text.bytes);
    } else {
        fputc(is_list ? '[' : '{', printer->stream);
        for (const struct tree_node *child = node->first; child; child = child->next) {
            fputs(child == node->first ? "" : ", ", printer->stream);
            if (!is_list) {
                print_text(printer, child->key.bytes);
                fputs(": ", printer->stream);
            }
            print_value(printer, type_of(type, child), child);
        }
        fputc(is_list ? ']' : '}', printer->stream);
    }
}

static void print_standard(struct printer *printer, const struct schema_key *key)
{
    struct config_errors errors = {0};
    struct yaml_document *document = yaml_parse(NULL, string_of(key->standard), &errors);
    const struct tree_node *root = document ? yaml_root(document) : NULL;
    if (root) {
        print_name(printer, "default");
        print_value(printer, key->type, root);
    }
    yaml_free(document);
    config_errors_deinit(&errors);
}

/* --- kinds of values */

/* "^[0-9]+(ms|s|m|h|d)$" */
static void print_unit_pattern(struct printer *printer, const struct schema_type *type)
{
    print_name(printer, "pattern");
    fputs(type->word ? "\"^([0-9]+(" : "\"^[0-9]+(", printer->stream);
    for (const struct value_unit *unit = type->units; unit->name; unit++)
        fprintf(printer->stream, "%s%s", unit == type->units ? "" : "|", unit->name);
    fputs(type->word ? ")|" : ")", printer->stream);
    fprintf(printer->stream, "%s%s\"", type->word ? type->word : "", type->word ? ")$" : "$");
}

static void print_number(struct printer *printer, const struct schema_type *type)
{
    if (type->units != value_plain) {
        print_member(printer, "type", "string");
        print_unit_pattern(printer, type);
        return;
    }
    if (type->word) {
        print_name(printer, "type");
        fputs("[\"integer\", \"string\"]", printer->stream);
        print_name(printer, "pattern");
        fprintf(printer->stream, "\"^%s$\"", type->word);
    } else {
        print_member(printer, "type", "integer");
    }
    print_bound(printer, "minimum", type->least);
    print_bound(printer, "maximum", type->most);
}

/* Whether weir takes a text that YAML and JSON think a number. */
static bool takes_number(const struct schema_type *type)
{
    uint64_t room[64], block[64];
    struct arena arena;
    weir_string one = WEIR_STRING("100");
    memset(room, 0, sizeof room);
    arena_init(&arena, block, sizeof block);
    bool takes =
        !(type->mistake && type->mistake(one)) && !(type->store && type->store(one, room, &arena));
    arena_deinit(&arena);
    return takes;
}

static void print_text_type(struct printer *printer, const struct schema_type *type)
{
    bool is_one_of = type->words && !type->store;
    print_name(printer, is_one_of ? "enum" : "type");
    if (is_one_of)
        print_words(printer, type->words);
    else
        fputs(takes_number(type) ? "[\"string\", \"integer\"]" : "\"string\"", printer->stream);
}

static void print_items(struct printer *printer, const struct schema_type *type)
{
    print_member(printer, "type", "array");
    print_bound(printer, "minItems", type->least);
    print_bound(printer, "maxItems", type->most);
    print_name(printer, "items");
    open_brace(printer);
    print_type(printer, type->item);
    close_brace(printer);
}

/* Or one of them alone. */
static void print_list(struct printer *printer, const struct schema_type *type)
{
    if (!type->or_one) {
        print_items(printer, type);
        return;
    }
    print_name(printer, "anyOf");
    fputs("[{", printer->stream);
    printer->first = true;
    print_type(printer, type->item);
    fputs("}, {", printer->stream);
    printer->first = true;
    print_items(printer, type);
    fputs("}]", printer->stream);
}

static void print_map(struct printer *printer, const struct schema_type *type)
{
    print_member(printer, "type", "object");
    print_bound(printer, "minProperties", type->least);
    print_bound(printer, "maxProperties", type->most);
    print_name(printer, "additionalProperties");
    open_brace(printer);
    print_type(printer, type->item);
    close_brace(printer);
}

/* --- sections */

static void print_required(struct printer *printer, const struct schema_type *type)
{
    bool first = true;
    for (const struct schema_key *key = type->keys; key->name; key++) {
        if (!key->required)
            continue;
        if (first)
            print_name(printer, "required");
        fputs(first ? "[" : ", ", printer->stream);
        print_text(printer, key->name);
        first = false;
    }
    fputs(first ? "" : "]", printer->stream);
}

static void print_key(struct printer *printer, const struct schema_key *key)
{
    print_name(printer, key->name);
    open_brace(printer);
    print_member(printer, "description", key->help);
    print_type(printer, key->type);
    if (key->standard)
        print_standard(printer, key);
    close_brace(printer);
}

static void print_section(struct printer *printer, const struct schema_type *type)
{
    print_member(printer, "type", "object");
    print_name(printer, "additionalProperties");
    fputs("false", printer->stream);
    print_required(printer, type);
    print_name(printer, "properties");
    open_brace(printer);
    for (const struct schema_key *key = type->keys; key->name; key++)
        print_key(printer, key);
    close_brace(printer);
}

static void print_type(struct printer *printer, const struct schema_type *type)
{
    switch (type->kind) {
    case SCHEMA_NUMBER:
        print_number(printer, type);
        break;
    case SCHEMA_DECIMAL:
        print_member(printer, "type", "number");
        break;
    case SCHEMA_FLAG:
        print_member(printer, "type", "boolean");
        break;
    case SCHEMA_CHOICE:
    case SCHEMA_TEXT:
        print_text_type(printer, type);
        break;
    case SCHEMA_SECTION:
        print_section(printer, type);
        break;
    case SCHEMA_LIST:
        print_list(printer, type);
        break;
    case SCHEMA_MAP:
        print_map(printer, type);
        break;
    case SCHEMA_OPEN: /* a plugin's section */
        print_member(printer, "type", "object");
        break;
    }
}

void config_print_json_schema(FILE *stream)
{
    struct printer printer = {.stream = stream};
    open_brace(&printer);
    print_member(&printer, "$schema", "https://json-schema.org/draft/2020-12/schema");
    print_member(&printer, "title", "The configuration of weir");
    print_section(&printer, &config_schema);
    close_brace(&printer);
    fputc('\n', stream);
}
