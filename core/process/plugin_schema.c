/* core/process/plugin_schema.c - what a plugin says may be written for it becomes a schema_type
 *
 * A schema is itself checked against a schema, the keywords below; each becomes one schema_type. */
#include "core/process/plugin_schema.h"

#include <string.h>

#include "core/base/string.h"
#include "core/process/yaml.h"

enum { ITEMS_MOST = YAML_NODES_MOST };

struct plugin_schema {
    struct yaml_document *document; /* defaults are read from it */
    const struct schema_type *type;
    struct arena arena;
    uint64_t first_block[128];
};

struct builder {
    struct arena *arena;
    struct config_errors *errors;
};

static const struct schema_type *build(const struct builder *builder, const struct tree_node *node);

/* --- the keywords of one schema */

struct texts {
    char **list;
    uint32_t count;
};

struct keywords {
    char *type, *format, *minimum, *maximum, *description;
    const struct tree_node *properties, *additional, *items, *standard;
    struct texts required, words;
    uint64_t items_least, items_most;
    bool or_list;
};

static const char *const type_words[] = {"object", "array",   "string", "integer",
                                         "number", "boolean", NULL};
static const char *const format_words[] = {"duration", "size",   "rate",      "byte-rate", "path",
                                           "network",  "status", "host-port", "name",      NULL};

static const struct schema_type type_type = {.kind = SCHEMA_TEXT, .words = type_words};
static const struct schema_type format_type = {.kind = SCHEMA_TEXT, .words = format_words};
static const struct schema_type text_type = {.kind = SCHEMA_TEXT, .what = "text"};
static const struct schema_type flag_type = {.kind = SCHEMA_FLAG};
static const struct schema_type open_type = {.kind = SCHEMA_OPEN};
static const struct schema_type count_type = {.kind = SCHEMA_NUMBER,
                                              .what = "a whole number",
                                              .units = value_plain,
                                              .most = ITEMS_MOST,
                                              .wide = true};
static const struct schema_type texts_type = {
    .kind = SCHEMA_LIST, .least = 1, .most = 1024, .item = &text_type, .size = sizeof(char *)};

#define KEYWORD(word, of, member)                                                                  \
    {                                                                                              \
        .name = (word), .type = &(of), .offset = offsetof(struct keywords, member)                 \
    }
static const struct schema_key keyword_keys[] = {
    KEYWORD("type", type_type, type),
    KEYWORD("format", format_type, format),
    KEYWORD("minimum", text_type, minimum),
    KEYWORD("maximum", text_type, maximum),
    KEYWORD("description", text_type, description),
    KEYWORD("properties", open_type, properties),
    KEYWORD("additionalProperties", open_type, additional),
    KEYWORD("items", open_type, items),
    KEYWORD("default", open_type, standard),
    KEYWORD("required", texts_type, required),
    KEYWORD("enum", texts_type, words),
    KEYWORD("minItems", count_type, items_least),
    KEYWORD("maxItems", count_type, items_most),
    KEYWORD("orList", flag_type, or_list),
    {0},
};
static const struct schema_type keywords_type = {.kind = SCHEMA_SECTION, .keys = keyword_keys};

/* Which types have which keywords; of others they would mean nothing. */
static const struct {
    const char *keyword, *types;
} homes[] = {
    {"properties", "object"},
    {"additionalProperties", "object"},
    {"required", "object"},
    {"items", "array"},
    {"minItems", "array"},
    {"maxItems", "array"},
    {"enum", "string"},
    {"format", "string integer"},
    {"orList", "string"},
    {"minimum", "integer number string"},
    {"maximum", "integer number string"},
};

static void check_homes(const struct builder *builder, const struct tree_node *node,
                        const char *type)
{
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
        const struct tree_node *keyword = tree_child(node, homes[i].keyword);
        if (keyword && !(type && strstr(homes[i].types, type)))
            tree_key_mistake(builder->errors, keyword, "is for these types only: %s",
                             homes[i].types);
    }
}

static bool is(const char *text, const char *word)
{
    return text && !strcmp(text, word);
}

/* --- numbers */

static void set_bound(const struct builder *builder, const struct tree_node *node,
                      const struct value_unit *units, const char *keyword, uint64_t *bound)
{
    const struct tree_node *value = tree_child(node, keyword);
    if (!value || value->kind != TREE_TEXT || value_parse(value->text, value_plain, bound) ||
        value_parse(value->text, units, bound))
        return;
    tree_mistake(builder->errors, value, "is no whole number, nor written as the format is");
}

static void make_number(const struct builder *builder, const struct tree_node *node,
                        const char *what, const struct value_unit *units, struct schema_type *type)
{
    type->kind = SCHEMA_NUMBER;
    type->what = what;
    type->units = units;
    type->most = INT64_MAX;
    type->wide = true;
    set_bound(builder, node, units, "minimum", &type->least);
    set_bound(builder, node, units, "maximum", &type->most);
}

static void make_integer(const struct builder *builder, const struct tree_node *node,
                         const struct keywords *keywords, struct schema_type *type)
{
    make_number(builder, node, "a whole number", value_plain, type);
    if (is(keywords->format, "status")) {
        type->what = "a status such as 403";
        type->least = type->least > 100 ? type->least : 100;
        type->most = type->most < 599 ? type->most : 599;
    } else if (keywords->format) {
        tree_mistake(builder->errors, tree_child(node, "format"), "is for strings");
    }
}

static void make_decimal(const struct builder *builder, const struct tree_node *node,
                         struct schema_type *type)
{
    make_number(builder, node, "a number such as 0.5", value_plain, type);
    type->kind = SCHEMA_DECIMAL;
}

/* --- strings */

static const struct {
    const char *format, *what;
    const struct value_unit *units;
} number_formats[] = {
    {"duration", "a duration such as 500ms, 10s, 5m or 1h", value_durations},
    {"size", "a size such as 512B, 64KiB or 10MiB", value_sizes},
    {"rate", "a rate such as 10/h, 100/m or 50/s", value_requests},
    {"byte-rate", "a rate such as 100B/s or 1KiB/s", value_rates},
};

static const struct {
    const char *format, *what;
    const char *(*mistake)(weir_string text);
} text_formats[] = {
    {"path", "PATH", value_path_mistake},
    {"network", "a network", value_network_mistake},
    {"host-port", "HOST:PORT", value_server_mistake},
    {"name", "NAME", value_name_mistake},
};

static bool make_number_format(const struct builder *builder, const struct tree_node *node,
                               const char *format, struct schema_type *type)
{
    for (size_t i = 0; i < sizeof number_formats / sizeof *number_formats; i++)
        if (is(format, number_formats[i].format)) {
            make_number(builder, node, number_formats[i].what, number_formats[i].units, type);
            return true;
        }
    return false;
}

static void make_text(const struct keywords *keywords, struct schema_type *type)
{
    type->kind = SCHEMA_TEXT;
    type->what = "text";
    for (size_t i = 0; i < sizeof text_formats / sizeof *text_formats; i++)
        if (is(keywords->format, text_formats[i].format)) {
            type->what = text_formats[i].what;
            type->mistake = text_formats[i].mistake;
            type->is_path = text_formats[i].mistake == value_path_mistake;
        }
}

/* A list for a schema_type: ended by NULL. */
static const char *const *words_of(const struct builder *builder, const struct texts *texts)
{
    if (!texts->count)
        return NULL;
    size_t size = (texts->count + 1) * sizeof(char *);
    const char **words = arena_allocate(builder->arena, size);
    memcpy(words, texts->list, size - sizeof(char *));
    words[texts->count] = NULL;
    return words;
}

static void make_list_of(struct schema_type *list, const struct schema_type *item)
{
    list->kind = SCHEMA_LIST;
    list->item = item;
    list->most = ITEMS_MOST;
}

static void make_string(const struct builder *builder, const struct tree_node *node,
                        const struct keywords *keywords, struct schema_type *type)
{
    struct schema_type *one = type;
    if (keywords->or_list) {
        one = arena_allocate(builder->arena, sizeof *one);
        *one = (struct schema_type){0};
        make_list_of(type, one);
        type->or_one = true;
    }
    if (is(keywords->format, "status")) {
        tree_mistake(builder->errors, tree_child(node, "format"), "is for integers");
    } else if (!make_number_format(builder, node, keywords->format, one)) {
        make_text(keywords, one);
        one->words = words_of(builder, &keywords->words);
        if (keywords->minimum || keywords->maximum)
            tree_mistake(builder->errors, node, "minimum and maximum are for numbers");
    }
}

/* --- arrays and objects */

static void make_array(const struct builder *builder, const struct tree_node *node,
                       const struct keywords *keywords, struct schema_type *type)
{
    make_list_of(type, keywords->items ? build(builder, keywords->items) : &open_type);
    type->least = keywords->items_least;
    if (tree_child(node, "maxItems"))
        type->most = keywords->items_most;
}

static bool is_text(const struct tree_node *node, const char *text)
{
    return node && node->kind == TREE_TEXT && string_equal(node->text, string_of(text));
}

static bool is_required(const struct texts *required, weir_string name)
{
    for (uint32_t i = 0; i < required->count; i++)
        if (string_equal(string_of(required->list[i]), name))
            return true;
    return false;
}

static struct schema_key make_key(const struct builder *builder, const struct tree_node *node,
                                  const struct texts *required)
{
    const struct tree_node *standard = tree_child(node, "default");
    const struct tree_node *help = tree_child(node, "description");
    return (struct schema_key){.name = node->key.bytes,
                               .type = build(builder, node),
                               .required = is_required(required, node->key),
                               .standard_tree = standard,
                               .help = help ? help->text.bytes : ""};
}

static const struct schema_key *make_keys(const struct builder *builder,
                                          const struct tree_node *properties,
                                          const struct texts *required)
{
    uint32_t count = properties && properties->kind == TREE_MAPPING ? properties->count : 0;
    struct schema_key *keys = arena_allocate(builder->arena, (count + 1) * sizeof *keys);
    const struct tree_node *property = count ? properties->first : NULL;
    for (uint32_t i = 0; i < count; i++, property = property->next)
        keys[i] = make_key(builder, property, required);
    keys[count] = (struct schema_key){0};
    if (properties && properties->kind != TREE_MAPPING)
        tree_mistake(builder->errors, properties, "must be an object");
    return keys;
}

static void check_required(const struct builder *builder, const struct tree_node *node,
                           const struct keywords *keywords)
{
    const struct tree_node *list = tree_child(node, "required");
    for (const struct tree_node *name = list ? list->first : NULL; name; name = name->next)
        if (!keywords->properties || !tree_child(keywords->properties, name->text.bytes))
            tree_mistake(builder->errors, name, "is not one of the properties");
}

static const struct schema_type *additional(const struct builder *builder,
                                            const struct tree_node *node)
{
    if (!node || is_text(node, "false"))
        return NULL;
    return is_text(node, "true") ? &open_type : build(builder, node);
}

static void make_object(const struct builder *builder, const struct tree_node *node,
                        const struct keywords *keywords, struct schema_type *type)
{
    type->kind = SCHEMA_SECTION;
    type->keys = make_keys(builder, keywords->properties, &keywords->required);
    type->item = additional(builder, keywords->additional);
    check_required(builder, node, keywords);
}

/* --- any schema */

static void make(const struct builder *builder, const struct tree_node *node,
                 const struct keywords *keywords, struct schema_type *type)
{
    if (is(keywords->type, "object"))
        make_object(builder, node, keywords, type);
    else if (is(keywords->type, "array"))
        make_array(builder, node, keywords, type);
    else if (is(keywords->type, "string"))
        make_string(builder, node, keywords, type);
    else if (is(keywords->type, "integer"))
        make_integer(builder, node, keywords, type);
    else if (is(keywords->type, "number"))
        make_decimal(builder, node, type);
    else
        type->kind = is(keywords->type, "boolean") ? SCHEMA_FLAG : SCHEMA_OPEN;
}

/* As deep as trees are. What has a mistake is open. */
static const struct schema_type *build(const struct builder *builder, const struct tree_node *node)
{
    struct keywords keywords = {0};
    uint32_t before = builder->errors->count;
    struct schema_type *type = arena_allocate(builder->arena, sizeof *type);
    *type = (struct schema_type){.kind = SCHEMA_OPEN};
    schema_read(&keywords_type, node, &keywords, builder->arena, builder->errors);
    if (builder->errors->count == before)
        check_homes(builder, node, keywords.type);
    if (builder->errors->count != before)
        return type;
    make(builder, node, &keywords, type);
    if (keywords.standard && builder->errors->count == before)
        schema_check(type, keywords.standard, builder->errors);
    return type;
}

static const char nothing[] = "{\"type\": \"object\"}";

struct plugin_schema *plugin_schema_parse(const char *text, struct config_errors *errors)
{
    struct plugin_schema *schema = memory_zeroed(sizeof *schema);
    struct builder builder = {&schema->arena, errors};
    uint32_t before = errors->count;
    arena_init(&schema->arena, schema->first_block, sizeof schema->first_block);
    schema->document = yaml_parse(NULL, string_of(text ? text : nothing), errors);
    const struct tree_node *root = schema->document ? yaml_root(schema->document) : NULL;
    if (root)
        schema->type = build(&builder, root);
    else if (errors->count == before)
        config_errors_add(errors, (struct config_place){0}, "is empty");
    if (errors->count == before && schema->type->kind != SCHEMA_SECTION)
        tree_mistake(errors, root, "must be of type object");
    if (errors->count == before)
        return schema;
    plugin_schema_free(schema);
    return NULL;
}

void plugin_schema_free(struct plugin_schema *schema)
{
    if (!schema)
        return;
    yaml_free(schema->document);
    arena_deinit(&schema->arena);
    memory_free(schema);
}

const struct schema_type *plugin_schema_type(const struct plugin_schema *schema)
{
    return schema->type;
}
