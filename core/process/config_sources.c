/* core/process/config_sources.c - a configuration file with all that it names, as one tree */
#include "core/process/config_sources.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/process/config_files.h"
#include "core/process/values.h"
#include "core/process/yaml.h"

enum { PLACE_BYTES = 160 };

/* One file that was read. */
struct source {
    uint64_t device, inode;
    struct yaml_document *document;
};

struct config_sources {
    struct config_errors *errors; /* while it is made */
    struct source list[SOURCES_MOST];
    uint32_t count;
    size_t room;            /* bytes that may still be read */
    struct tree_node *root; /* the main file's, into which the others are merged */
    bool failed;            /* reported */
    struct arena arena;     /* names of files and what tags stand for */
    uint64_t first_block[128];
};

static __attribute__((format(printf, 3, 4))) bool
fail(struct config_sources *sources, const struct tree_node *node, const char *format, ...)
{
    char mistake[CONFIG_FILE_MISTAKE_BYTES + VALUE_TEXT_BYTES + 32];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(mistake, sizeof mistake, format, arguments);
    va_end(arguments);
    tree_mistake(sources->errors, node, "%s", mistake);
    sources->failed = true;
    return false;
}

/* --- what tags stand for */

static bool take_environment(struct config_sources *sources, const struct tree_node *node,
                             weir_string *text)
{
    char shown[VALUE_TEXT_BYTES];
    const char *value = getenv(node->text.bytes);
    if (!value)
        return fail(sources, node, "the environment has no variable \"%s\"",
                    value_show(node->text, shown));
    *text = arena_copy(&sources->arena, (weir_string){value, strlen(value) + 1});
    text->length--;
    return true;
}

/* Without the line end that editors put there. */
static weir_string without_line_end(const struct config_file *file)
{
    weir_string text = {file->bytes, file->length};
    if (text.length && text.bytes[text.length - 1] == '\n')
        text.length--;
    if (text.length < file->length && text.length && text.bytes[text.length - 1] == '\r')
        text.length--;
    return text;
}

static bool take_file(struct config_sources *sources, const struct tree_node *node,
                      weir_string *text)
{
    char mistake[CONFIG_FILE_MISTAKE_BYTES], shown[VALUE_TEXT_BYTES];
    struct config_file file;
    const char *path = value_beside(&sources->arena, node->place.file, node->text);
    if (!config_file_read(path, SECRET_BYTES_MOST, &file, mistake))
        return fail(sources, node, "file \"%s\" %s", value_show(node->text, shown), mistake);
    weir_string content = without_line_end(&file);
    bool has_nul = memchr(file.bytes, 0, file.length) != NULL;
    char *copy = arena_allocate(&sources->arena, content.length + 1);
    memcpy(copy, content.bytes, content.length);
    copy[content.length] = 0;
    *text = (weir_string){copy, content.length};
    memory_free(file.bytes);
    return !has_nul || fail(sources, node, "file \"%s\" has a NUL character in it",
                            value_show(node->text, shown));
}

static bool take_tagged(struct config_sources *sources, struct tree_node *node)
{
    weir_string text;
    bool fine = node->tag == TREE_FILE ? take_file(sources, node, &text)
                                       : take_environment(sources, node, &text);
    if (!fine)
        return false;
    if (text.length > sources->room)
        return fail(sources, node, "more than %d MiB in all files", SOURCES_BYTES_MOST >> 20);
    sources->room -= text.length;
    node->text = text;
    node->secret = true;
    return true;
}

/* As deep as trees are. */
static void take_all_tagged(struct config_sources *sources, struct tree_node *node)
{
    if (node->tag != TREE_UNTAGGED)
        take_tagged(sources, node);
    for (struct tree_node *child = node->first; child; child = child->next)
        take_all_tagged(sources, child);
}

/* --- merging: first all children of the roots in one list, then those with the same key */

static void append_children(struct tree_node *into, struct tree_node *from)
{
    for (struct tree_node *child = from->first; child; child = child->next) {
        child->parent = into;
        child->index = into->count++;
    }
    if (into->last)
        into->last->next = from->first;
    else
        into->first = from->first;
    if (from->last)
        into->last = from->last;
    from->first = from->last = NULL;
    from->count = 0;
}

/* Those that have another parent by now, or none. */
static void drop_lost_children(struct tree_node *parent)
{
    struct tree_node *child = parent->first;
    parent->first = parent->last = NULL;
    parent->count = 0;
    for (struct tree_node *next; child; child = next) {
        next = child->next;
        child->next = NULL;
        if (child->parent != parent)
            continue;
        child->index = parent->count++;
        if (parent->last)
            parent->last->next = child;
        else
            parent->first = child;
        parent->last = child;
    }
}

static int compare_keys(const void *a, const void *b)
{
    const struct tree_node *first = *(struct tree_node *const *)a;
    const struct tree_node *second = *(struct tree_node *const *)b;
    int order = strcmp(first->key.bytes, second->key.bytes);
    return order ? order : (first->index > second->index) - (first->index < second->index);
}

static const char *show_place(const struct config_errors *errors, struct config_place place,
                              char text[PLACE_BYTES])
{
    const char *file = place.file ? place.file : errors->file ? errors->file : "line";
    snprintf(text, PLACE_BYTES, "%s:%u:%u", file, place.line, place.column);
    return text;
}

/* Of one file they were reported when it was read. */
static void merge_pair(struct config_sources *sources, struct tree_node *first,
                       struct tree_node *second)
{
    char place[PLACE_BYTES];
    if (second->key_place.file == first->key_place.file)
        return;
    if (first->kind == second->kind && (first->kind == TREE_MAPPING || first->kind == TREE_LIST))
        append_children(first, second);
    else
        tree_key_mistake(sources->errors, second, "is given twice, first at %s",
                         show_place(sources->errors, first->key_place, place));
    second->parent = NULL;
}

/* As deep as trees are; sorted, because comparing each key with each would cost many keys dearly.
 */
static void merge_children(struct config_sources *sources, struct tree_node *mapping)
{
    struct tree_node **sorted = memory_allocate((mapping->count + 1) * sizeof *sorted);
    uint32_t count = 0;
    for (struct tree_node *node = mapping->first; node; node = node->next)
        sorted[count++] = node;
    qsort(sorted, count, sizeof *sorted, compare_keys);
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && string_equal(sorted[i]->key, sorted[next]->key); next++)
            merge_pair(sources, sorted[i], sorted[next]);
        if (next > i + 1 && sorted[i]->kind == TREE_MAPPING)
            merge_children(sources, sorted[i]);
    }
    drop_lost_children(mapping);
    memory_free(sorted);
}

/* --- reading */

static void read_source(struct config_sources *sources, const char *name,
                        const struct config_file *file, uint32_t depth);

static bool was_read(const struct config_sources *sources, const struct config_file *file)
{
    for (uint32_t i = 0; i < sources->count; i++)
        if (sources->list[i].device == file->device && sources->list[i].inode == file->inode)
            return true;
    return false;
}

/* `node`: what includes it. */
static void include_file(struct config_sources *sources, const struct tree_node *node,
                         const char *path, uint32_t depth)
{
    char mistake[CONFIG_FILE_MISTAKE_BYTES], shown[VALUE_TEXT_BYTES];
    struct config_file file;
    weir_string name = arena_copy(&sources->arena, (weir_string){path, strlen(path) + 1});
    value_show(string_of(path), shown);
    if (depth > SOURCE_DEPTH_MOST) {
        fail(sources, node, "includes files more than %d levels deep", SOURCE_DEPTH_MOST);
    } else if (sources->count == SOURCES_MOST) {
        fail(sources, node, "more than %d files are read", SOURCES_MOST);
    } else if (!config_file_read(path, sources->room, &file, mistake)) {
        fail(sources, node, "\"%s\" %s", shown, mistake);
    } else {
        if (was_read(sources, &file))
            fail(sources, node, "\"%s\" is read already; include each file once", shown);
        else
            read_source(sources, name.bytes, &file, depth);
        memory_free(file.bytes);
    }
}

static void include_files(struct config_sources *sources, const struct tree_node *node,
                          uint32_t depth)
{
    char mistake[CONFIG_FILE_MISTAKE_BYTES], shown[VALUE_TEXT_BYTES];
    struct config_matches matches;
    const char *slash = strrchr(node->text.bytes, '/');
    const char *pattern = value_beside(&sources->arena, node->place.file, node->text);
    value_show(node->text, shown);
    if (node->secret) {
        fail(sources, node, "cannot come from !env or !file, because messages name these files");
    } else if (slash && strcspn(node->text.bytes, "*?[") < (size_t)(slash - node->text.bytes)) {
        fail(sources, node, "\"%s\" may have *, ? and [ after its last / only", shown);
    } else if (!config_files_match(pattern, &matches, mistake)) {
        fail(sources, node, "\"%s\" %s", shown, mistake);
    } else {
        for (uint32_t i = 0; i < matches.count && !sources->failed; i++)
            include_file(sources, node, matches.paths[i], depth);
        config_matches_deinit(&matches);
    }
}

static bool is_include(const struct tree_node *node)
{
    return node->kind == TREE_TEXT && string_equal(node->key, WEIR_STRING("include"));
}

/* Puts what is in the root into the main file's. */
static void add_root(struct config_sources *sources, struct tree_node *root)
{
    if (!sources->root)
        sources->root = root;
    else if (root->kind == TREE_MAPPING)
        append_children(sources->root, root);
    else if (root->kind != TREE_EMPTY)
        fail(sources, root, "a file that is included must have keys and values");
}

static void read_source(struct config_sources *sources, const char *name,
                        const struct config_file *file, uint32_t depth)
{
    weir_string text = {file->bytes, file->length};
    struct yaml_document *document = yaml_parse(name, text, sources->errors);
    sources->list[sources->count++] = (struct source){file->device, file->inode, document};
    sources->room -= document ? text.length : 0;
    sources->failed |= !document;
    struct tree_node *root = document ? yaml_root(document) : NULL;
    if (!root)
        return;
    take_all_tagged(sources, root);
    const struct tree_node *first = root->first;
    add_root(sources, root);
    for (; first && !is_include(first); first = first->next)
        ;
    if (first && !sources->failed)
        include_files(sources, first, depth + 1);
}

static void drop_includes(struct tree_node *root)
{
    for (struct tree_node *child = root->first; child; child = child->next)
        if (is_include(child))
            child->parent = NULL;
    drop_lost_children(root);
}

/* --- the whole */

static struct config_sources *new_sources(struct config_errors *errors)
{
    struct config_sources *sources = memory_zeroed(sizeof *sources);
    sources->errors = errors;
    sources->room = SOURCES_BYTES_MOST;
    arena_init(&sources->arena, sources->first_block, sizeof sources->first_block);
    return sources;
}

static struct config_sources *read_main(struct config_sources *sources, const char *name,
                                        const struct config_file *file)
{
    read_source(sources, name, file, 0);
    if (sources->root && sources->root->kind == TREE_MAPPING) {
        drop_includes(sources->root);
        merge_children(sources, sources->root);
    }
    if (!sources->failed)
        return sources;
    config_sources_free(sources);
    return NULL;
}

struct config_sources *config_sources_load(const char *file, struct config_errors *errors)
{
    char mistake[CONFIG_FILE_MISTAKE_BYTES];
    struct config_file content;
    if (!config_file_read(file, SOURCES_BYTES_MOST, &content, mistake)) {
        config_errors_add(errors, (struct config_place){.file = file}, "%s", mistake);
        return NULL;
    }
    struct config_sources *sources = read_main(new_sources(errors), file, &content);
    memory_free(content.bytes);
    return sources;
}

struct config_sources *config_sources_read(weir_string text, struct config_errors *errors)
{
    struct config_file content = {(char *)(uintptr_t)text.bytes, text.length, 0, 0};
    return read_main(new_sources(errors), NULL, &content);
}

void config_sources_free(struct config_sources *sources)
{
    if (!sources)
        return;
    for (uint32_t i = 0; i < sources->count; i++)
        yaml_free(sources->list[i].document);
    arena_deinit(&sources->arena);
    memory_free(sources);
}

const struct tree_node *config_sources_root(const struct config_sources *sources)
{
    return sources->root;
}
