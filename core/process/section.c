/* core/process/section.c - a part of a configuration as plugins read it: abi/configuration.h */
#include "core/process/section.h"

#include <string.h>

#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/process/config_files.h"
#include "core/process/csv.h"
#include "core/process/networks.h"
#include "core/process/schema.h"
#include "core/process/yaml.h"

enum { FILES_MOST = 256 };

/* What one make() reads. */
struct visit {
    struct config_errors *errors;
    uint32_t scope;
    const void *parent;
    const struct tree_node *last; /* what at() found: the next one is often behind it, or behind
                                     what it is in */
    struct yaml_document *documents[FILES_MOST];
    char *files[FILES_MOST];
    uint32_t document_count, file_count;
    struct arena arena; /* names of files, and tables */
    uint64_t first_block[128];
};

/* Of the main thread while a make() runs there; to others it is not there. */
static _Thread_local struct visit *visit;

void section_begin(struct config_errors *errors, uint32_t scope, const void *parent)
{
    visit = memory_zeroed(sizeof *visit);
    visit->errors = errors;
    visit->scope = scope;
    visit->parent = parent;
    arena_init(&visit->arena, visit->first_block, sizeof visit->first_block);
}

void section_end(void)
{
    for (uint32_t i = 0; i < visit->document_count; i++)
        yaml_free(visit->documents[i]);
    for (uint32_t i = 0; i < visit->file_count; i++)
        memory_free(visit->files[i]);
    arena_deinit(&visit->arena);
    memory_free(visit);
    visit = NULL;
}

const weir_section *section_of(const struct tree_node *node)
{
    return (const weir_section *)node;
}

/* NULL: an empty one. */
static const struct tree_node *node_of(const weir_section *section)
{
    return visit ? (const struct tree_node *)section : NULL;
}

static bool is_text(const struct tree_node *node)
{
    return node && node->kind == TREE_TEXT;
}

/* --- where things are */

static uint32_t host_kind(const weir_section *section)
{
    const struct tree_node *node = node_of(section);
    static const uint32_t kinds[] = {[TREE_EMPTY] = WEIR_SECTION_EMPTY,
                                     [TREE_TEXT] = WEIR_SECTION_TEXT,
                                     [TREE_LIST] = WEIR_SECTION_LIST,
                                     [TREE_MAPPING] = WEIR_SECTION_MAPPING};
    return node ? kinds[node->kind] : WEIR_SECTION_EMPTY;
}

static uint32_t host_count(const weir_section *section)
{
    const struct tree_node *node = node_of(section);
    return node ? node->count : 0;
}

static const struct tree_node *child_at(const struct tree_node *node, uint32_t index)
{
    const struct tree_node *child = node->first, *last = visit->last;
    while (last && last->parent != node)
        last = last->parent;
    if (last && last->index <= index)
        child = last;
    while (child && child->index < index)
        child = child->next;
    if (child)
        visit->last = child;
    return child;
}

static const weir_section *host_at(const weir_section *section, uint32_t index)
{
    const struct tree_node *node = node_of(section);
    return node && index < node->count ? section_of(child_at(node, index)) : NULL;
}

/* "[3]" at the beginning of `path`, which then begins behind it. */
static const struct tree_node *step_into_list(const struct tree_node *node, const char **path)
{
    size_t length = strcspn(*path, "]");
    uint64_t index;
    weir_string digits = {*path + 1, length ? length - 1 : 0};
    if (node->kind != TREE_LIST || (*path)[length] != ']' ||
        !string_to_number(digits, UINT32_MAX, &index) || index >= node->count)
        return NULL;
    *path += length + 1;
    return child_at(node, (uint32_t)index);
}

static const struct tree_node *step_into_mapping(const struct tree_node *node, const char **path)
{
    weir_string key = {*path, strcspn(*path, ".[")};
    const struct tree_node *child = node->kind == TREE_MAPPING ? node->first : NULL;
    while (child && !string_equal(child->key, key))
        child = child->next;
    *path += key.length;
    return child;
}

static const weir_section *host_find(const weir_section *section, const char *path)
{
    const struct tree_node *node = node_of(section);
    while (node && *path) {
        if (*path == '[')
            node = step_into_list(node, &path);
        else
            node = step_into_mapping(node, &path);
        if (*path == '.')
            path++;
    }
    return section_of(node);
}

/* --- what they say */

static weir_string host_key(const weir_section *section)
{
    const struct tree_node *node = node_of(section);
    return node && node->key.length ? node->key : WEIR_STRING("");
}

static weir_string host_text(const weir_section *section)
{
    const struct tree_node *node = node_of(section);
    return is_text(node) && node->text.length ? node->text : WEIR_STRING("");
}

static uint64_t host_number(const weir_section *section)
{
    const struct tree_node *node = node_of(section);
    uint64_t number = 0;
    double decimal;
    if (!is_text(node))
        return 0;
    const struct value_unit *units =
        node->type && node->type->units ? node->type->units : value_plain;
    if (!value_parse(node->text, units, &number) && value_parse_decimal(node->text, &decimal))
        value_parse((weir_string){node->text.bytes, strcspn(node->text.bytes, ".")}, value_plain,
                    &number);
    return number;
}

static uint32_t host_flag(const weir_section *section)
{
    const struct tree_node *node = node_of(section);
    return is_text(node) && !node->quoted && string_equal(node->text, WEIR_STRING("true"));
}

static uint32_t host_line(const weir_section *section)
{
    const struct tree_node *node = node_of(section);
    return node && !node->standard ? node->place.line : 0;
}

static void host_mistake(const weir_section *section, weir_string why)
{
    const struct tree_node *node = node_of(section);
    if (node)
        tree_mistake(visit->errors, node, "%.*s", (int)why.length, why.bytes);
    else if (visit)
        config_errors_add(visit->errors, (struct config_place){0}, "%.*s", (int)why.length,
                          why.bytes);
}

static uint32_t host_scope(const weir_section *with)
{
    (void)with;
    return visit ? visit->scope : WEIR_SCOPE_ALL;
}

static const void *host_parent(const weir_section *with)
{
    (void)with;
    return visit ? visit->parent : NULL;
}

/* --- files that they name */

static weir_string host_path(const weir_section *section)
{
    const struct tree_node *node = node_of(section);
    char path[TREE_PATH_BYTES];
    return node ? arena_copy(&visit->arena, string_of(tree_path(node, path)))
                : (weir_string){"", 0};
}

/* Kept until make() has returned. A path of the schema's is as it is from where weir runs. */
static const char *path_of(const struct tree_node *node)
{
    if (node->type && node->type->is_path)
        return arena_copy(&visit->arena, (weir_string){node->text.bytes, node->text.length + 1})
            .bytes;
    return value_beside(&visit->arena, node->place.file, node->text);
}

static bool fail(const struct tree_node *node, const char *mistake)
{
    char shown[VALUE_TEXT_BYTES];
    tree_mistake(visit->errors, node, "file \"%s\" %s", tree_show(node, shown), mistake);
    return false;
}

static bool read_file(const struct tree_node *node, const char *path, size_t most,
                      weir_string *bytes)
{
    char mistake[CONFIG_FILE_MISTAKE_BYTES];
    struct config_file file;
    if (visit->file_count == FILES_MOST)
        return fail(node, "is one file too many");
    if (!config_file_read(path, most, &file, mistake))
        return fail(node, mistake);
    visit->files[visit->file_count++] = file.bytes;
    *bytes = (weir_string){file.bytes, file.length};
    return true;
}

/* The mistakes of what is no text, and so names no file. */
static const struct tree_node *naming_node(const weir_section *section)
{
    const struct tree_node *node = node_of(section);
    if (is_text(node) && node->text.length)
        return node;
    if (visit)
        host_mistake(section, WEIR_STRING("names no file"));
    return NULL;
}

static uint32_t host_file(const weir_section *section, size_t most, weir_string *bytes)
{
    const struct tree_node *node = naming_node(section);
    return node && read_file(node, path_of(node), most, bytes);
}

static const weir_section *host_tree(const weir_section *section)
{
    const struct tree_node *node = naming_node(section);
    const char *path = node ? path_of(node) : NULL;
    weir_string text;
    if (!node || !read_file(node, path, YAML_BYTES_MOST, &text))
        return NULL;
    struct yaml_document *document = yaml_parse(path, text, visit->errors);
    visit->documents[visit->document_count] = document;
    visit->document_count += document != NULL;
    if (document && !yaml_root(document))
        fail(node, "is empty");
    return document ? section_of(yaml_root(document)) : NULL;
}

static const weir_section *host_table(const weir_section *section)
{
    const struct tree_node *node = naming_node(section);
    const char *path = node ? path_of(node) : NULL;
    weir_string text;
    if (!node || !read_file(node, path, CSV_BYTES_MOST, &text))
        return NULL;
    return section_of(csv_parse(path, text, &visit->arena, visit->errors));
}

/* --- networks */

static weir_networks *host_networks(const weir_section *section, uint32_t forbids)
{
    const struct tree_node *node = node_of(section);
    return visit ? networks_read(node, forbids != 0, visit->errors) : NULL;
}

const weir_configuration_host section_host = {
    .size = sizeof section_host,
    .kind = host_kind,
    .find = host_find,
    .count = host_count,
    .at = host_at,
    .key = host_key,
    .text = host_text,
    .number = host_number,
    .flag = host_flag,
    .line = host_line,
    .mistake = host_mistake,
    .scope = host_scope,
    .parent = host_parent,
    .file = host_file,
    .tree = host_tree,
    .table = host_table,
    .networks = host_networks,
    .networks_free = networks_free,
    .networks_contain = networks_contain,
    .path = host_path,
};
