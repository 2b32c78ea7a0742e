/* core/process/schema.c - checks a tree against a description and fills structs with it */
#include "core/process/schema.h"

#include <stdio.h>
#include <string.h>

#include "core/base/string.h"
#include "core/process/nearest.h"

struct reader {
    struct arena *arena;
    struct config_errors *errors;
};

/* `into` may be NULL everywhere: nothing is kept then. */
enum { NAMES_BYTES = 256 };

static void read_value(const struct reader *reader, const struct schema_type *type,
                       const struct tree_node *node, void *into);
static void set_standards(const struct reader *reader, const struct schema_type *type, void *into);

/* Adds one more to a list of names for a message, cut when they are too many. */
static void join(char names[NAMES_BYTES], const char *name)
{
    size_t length = strlen(names);
    snprintf(names + length, NAMES_BYTES - length, "%s%s", length ? ", " : "", name);
}

static void keep(void *into, const void *value, size_t size)
{
    if (into)
        memcpy(into, value, size);
}

static void *place_in(void *into, size_t offset)
{
    return into ? (char *)into + offset : NULL;
}

/* --- numbers */

static const char *or_word(const struct schema_type *type, char text[VALUE_TEXT_BYTES])
{
    text[0] = 0;
    if (type->word)
        snprintf(text, VALUE_TEXT_BYTES, ", or %s", type->word);
    return text;
}

static void no_number(const struct reader *reader, const struct schema_type *type,
                      const struct tree_node *node)
{
    char shown[VALUE_TEXT_BYTES], word[VALUE_TEXT_BYTES];
    tree_mistake(reader->errors, node, "\"%s\" is not %s%s", tree_show(node, shown), type->what,
                 or_word(type, word));
}

static void out_of_range(const struct reader *reader, const struct schema_type *type,
                         const struct tree_node *node)
{
    char shown[VALUE_TEXT_BYTES], least[VALUE_TEXT_BYTES], most[VALUE_TEXT_BYTES];
    char word[VALUE_TEXT_BYTES];
    tree_mistake(reader->errors, node, "%s is out of range; write %s to %s%s",
                 tree_show(node, shown), value_format(type->least, type->units, least),
                 value_format(type->most, type->units, most), or_word(type, word));
}

static void read_number(const struct reader *reader, const struct schema_type *type,
                        const struct tree_node *node, void *into)
{
    uint64_t number = 0;
    bool is_word = type->word && string_equal(node->text, string_of(type->word));
    if (!is_word && !value_parse(node->text, type->units, &number)) {
        no_number(reader, type, node);
    } else if (!is_word && node->quoted && type->units == value_plain) {
        tree_mistake(reader->errors, node, "a number in quotes is text; leave out the quotes");
    } else if (!is_word && (number < type->least || number > type->most)) {
        out_of_range(reader, type, node);
    } else if (type->wide) {
        keep(into, &number, sizeof number);
    } else {
        keep(into, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
    }
}

static void read_decimal(const struct reader *reader, const struct schema_type *type,
                         const struct tree_node *node, void *into)
{
    double number = 0;
    if (!value_parse_decimal(node->text, &number))
        no_number(reader, type, node);
    else if (node->quoted)
        tree_mistake(reader->errors, node, "a number in quotes is text; leave out the quotes");
    else if (number < (double)type->least || number > (double)type->most)
        out_of_range(reader, type, node);
    else
        keep(into, &number, sizeof number);
}

/* --- words and other text */

static void read_flag(const struct reader *reader, const struct schema_type *type,
                      const struct tree_node *node, void *into)
{
    char shown[VALUE_TEXT_BYTES];
    bool flag = string_equal(node->text, WEIR_STRING("true"));
    if (!flag && !string_equal(node->text, WEIR_STRING("false")))
        tree_mistake(reader->errors, node, "\"%s\" is not true or false", tree_show(node, shown));
    else if (node->quoted)
        tree_mistake(reader->errors, node, "%s in quotes is text; leave out the quotes",
                     node->text.bytes);
    else
        keep(into, &flag, sizeof flag);
}

/* The known word that a text is most likely to mean; what is secret means none. */
static struct nearest find_near(const char *const *words, const struct tree_node *node)
{
    struct nearest nearest = nearest_to(node->text);
    for (; words && *words && !node->secret; words++)
        nearest_consider(&nearest, *words);
    return nearest;
}

/* Which of the words it is; -1: none, reported. */
static int find_word(const struct reader *reader, const char *const *words,
                     const struct tree_node *node)
{
    char shown[VALUE_TEXT_BYTES], known[NAMES_BYTES] = "", hint[NEAREST_HINT_BYTES];
    for (int i = 0; words[i]; i++) {
        if (string_equal(node->text, string_of(words[i])))
            return i;
        join(known, words[i]);
    }
    struct nearest nearest = find_near(words, node);
    tree_mistake(reader->errors, node, "\"%s\" is not one of: %s%s", tree_show(node, shown), known,
                 nearest_hint(&nearest, hint));
    return -1;
}

static void read_choice(const struct reader *reader, const struct schema_type *type,
                        const struct tree_node *node, void *into)
{
    int found = find_word(reader, type->words, node);
    if (found >= 0)
        keep(into, &(uint32_t){(uint32_t)found}, sizeof(uint32_t));
}

static void store_text(const struct reader *reader, weir_string text, void *into)
{
    if (!into)
        return;
    char *copy = arena_allocate(reader->arena, text.length + 1);
    memcpy(copy, text.bytes, text.length);
    copy[text.length] = 0;
    keep(into, &copy, sizeof copy);
}

static void store_path(const struct reader *reader, const struct tree_node *node, void *into)
{
    char *path = into ? value_beside(reader->arena, node->place.file, node->text) : NULL;
    keep(into, &path, sizeof path);
}

static void wrong_text(const struct reader *reader, const struct schema_type *type,
                       const struct tree_node *node, const char *mistake)
{
    char shown[VALUE_TEXT_BYTES], hint[NEAREST_HINT_BYTES];
    struct nearest nearest = find_near(type->words, node);
    if (node->secret) /* what is wrong with it could tell a part of it */
        tree_mistake(reader->errors, node, "%s is wrong; it must be %s", tree_show(node, shown),
                     type->what);
    else
        tree_mistake(reader->errors, node, "\"%s\" %s%s", value_show(node->text, shown), mistake,
                     nearest_hint(&nearest, hint));
}

static void read_text(const struct reader *reader, const struct schema_type *type,
                      const struct tree_node *node, void *into)
{
    bool checked = type->mistake && !(type->or_pem && value_is_pem(node->text));
    const char *mistake = checked ? type->mistake(node->text) : NULL;
    if (!mistake && type->store)
        mistake = type->store(node->text, into, reader->arena);
    if (mistake)
        wrong_text(reader, type, node, mistake);
    else if (type->is_path && !(type->or_pem && value_is_pem(node->text)))
        store_path(reader, node, into);
    else if (!type->store && (!type->words || find_word(reader, type->words, node) >= 0))
        store_text(reader, node->text, into);
}

/* --- sections */

static const struct schema_key *find_key(const struct schema_type *type, weir_string name)
{
    for (const struct schema_key *key = type->keys; key->name; key++)
        if (string_equal(name, string_of(key->name)))
            return key;
    return NULL;
}

static const char *list_keys(const struct schema_type *type, char names[NAMES_BYTES])
{
    names[0] = 0;
    for (const struct schema_key *key = type->keys; key->name; key++)
        join(names, key->name);
    return names;
}

/* The section below this one that knows the key, which is then only at the wrong place. */
static const char *find_home(const struct schema_type *type, weir_string name)
{
    for (const struct schema_key *key = type->keys; key->name; key++)
        if (key->type->kind == SCHEMA_SECTION && find_key(key->type, name))
            return key->name;
    return NULL;
}

/* The known key that an unknown one is most likely to mean. */
static struct nearest find_meant(const struct schema_type *type, weir_string name)
{
    struct nearest nearest = nearest_to(name);
    for (const struct schema_key *key = type->keys; key->name; key++)
        nearest_consider(&nearest, key->name);
    return nearest;
}

static void unknown_key(const struct reader *reader, const struct schema_type *type,
                        const struct tree_node *node)
{
    char known[NAMES_BYTES], hint[NEAREST_HINT_BYTES];
    struct nearest nearest = find_meant(type, node->key);
    const char *home = find_home(type, node->key);
    if (home)
        tree_key_mistake(reader->errors, node, "unknown key here; it belongs to \"%s\"", home);
    else if (nearest.best)
        tree_key_mistake(reader->errors, node, "unknown key%s", nearest_hint(&nearest, hint));
    else
        tree_key_mistake(reader->errors, node, "unknown key; known here: %s",
                         type->keys->name ? list_keys(type, known) : "none");
}

/* Also by a mistyped key, which is one mistake and not two. */
static bool is_given(const struct schema_type *type, const struct schema_key *key,
                     const struct tree_node *node)
{
    for (const struct tree_node *child = node->first; child; child = child->next)
        if (find_meant(type, child->key).best == key->name)
            return true;
    return false;
}

static void read_section(const struct reader *reader, const struct schema_type *type,
                         const struct tree_node *node, void *into)
{
    for (const struct tree_node *child = node->first; child; child = child->next) {
        const struct schema_key *key = find_key(type, child->key);
        if (key)
            read_value(reader, key->type, child, place_in(into, key->offset));
        else if (type->item)
            read_value(reader, type->item, child, NULL);
        else
            unknown_key(reader, type, child);
    }
    for (const struct schema_key *key = type->keys; key->name; key++)
        if (key->required && !is_given(type, key, node))
            tree_mistake(reader->errors, node, "\"%s\" is missing", key->name);
}

/* --- lists and maps */

static bool check_count(const struct reader *reader, const struct schema_type *type,
                        const struct tree_node *node)
{
    if (node->count >= type->least && node->count <= type->most)
        return true;
    tree_mistake(reader->errors, node, "has %u entries; it must have %u to %u", node->count,
                 (unsigned)type->least, (unsigned)type->most);
    return false;
}

/* Room for the items, zeroed and stored; or NULL: there are none. */
static char *make_items(const struct reader *reader, const struct schema_type *type,
                        const struct tree_node *node, void *into)
{
    if (!into)
        return NULL;
    if (type->collects)
        return memset(into, 0, type->size);
    if (!node->count)
        return NULL;
    char *items = arena_allocate(reader->arena, node->count * type->size);
    memset(items, 0, node->count * type->size);
    memcpy(into, &items, sizeof items);
    memcpy((char *)into + sizeof items, &node->count, sizeof node->count);
    return items;
}

static void read_list(const struct reader *reader, const struct schema_type *type,
                      const struct tree_node *node, void *into)
{
    if (!check_count(reader, type, node))
        return;
    char *item = make_items(reader, type, node, into);
    for (const struct tree_node *child = node->first; child; child = child->next) {
        set_standards(reader, type->item, item);
        read_value(reader, type->item, child, item);
        item = place_in(item, type->collects ? 0 : type->size);
    }
}

/* An item that stands for a list of it: mistakes are at its own place. */
static void read_list_of_one(const struct reader *reader, const struct schema_type *type,
                             const struct tree_node *node, void *into)
{
    struct tree_node item = *node, list = *node;
    item.next = NULL;
    list.kind = TREE_LIST;
    list.first = list.last = &item;
    list.count = 1;
    read_list(reader, type, &list, into);
}

static void read_map(const struct reader *reader, const struct schema_type *type,
                     const struct tree_node *node, void *into)
{
    if (!check_count(reader, type, node))
        return;
    char *item = make_items(reader, type, node, into);
    for (const struct tree_node *child = node->first; child; child = child->next) {
        set_standards(reader, type->item, item);
        const char *mistake = type->mistake ? type->mistake(child->key) : NULL;
        if (mistake)
            tree_key_mistake(reader->errors, child, "%s", mistake);
        else
            store_text(reader, child->key, item);
        read_value(reader, type->item, child, item);
        item = place_in(item, type->size);
    }
}

/* --- any value */

static const enum tree_kind kind_wanted[] = {
    [SCHEMA_NUMBER] = TREE_TEXT, [SCHEMA_DECIMAL] = TREE_TEXT, [SCHEMA_FLAG] = TREE_TEXT,
    [SCHEMA_CHOICE] = TREE_TEXT, [SCHEMA_TEXT] = TREE_TEXT,    [SCHEMA_SECTION] = TREE_MAPPING,
    [SCHEMA_LIST] = TREE_LIST,   [SCHEMA_MAP] = TREE_MAPPING,
};

static const char *const kind_names[] = {
    [TREE_TEXT] = "a single value",
    [TREE_LIST] = "a list",
    [TREE_MAPPING] = "keys and values",
};

/* "workers:2" */
static bool lacks_space(const struct schema_type *type, weir_string text)
{
    const char *colon = text.length ? memchr(text.bytes, ':', text.length) : NULL;
    return colon && type->kind == SCHEMA_SECTION &&
           find_key(type, (weir_string){text.bytes, (size_t)(colon - text.bytes)});
}

/* What people most often forgot when a value is of another kind than they thought. */
static const char *kind_remedy(const struct schema_type *type, const struct tree_node *node)
{
    if (type->kind == SCHEMA_LIST)
        return "; begin each entry with \"- \"";
    return lacks_space(type, node->text) ? "; put a space after the colon" : "";
}

static void wrong_kind(const struct reader *reader, const struct schema_type *type,
                       const struct tree_node *node)
{
    char names[NAMES_BYTES];
    bool is_section = type->kind == SCHEMA_SECTION;
    enum tree_kind wanted = kind_wanted[type->kind];
    if (node->kind == TREE_EMPTY)
        tree_mistake(reader->errors, node, "has no value; give it one or leave it out");
    else
        tree_mistake(reader->errors, node, "must be %s%s%s%s, not %s%s", kind_names[wanted],
                     is_section ? " (" : "", is_section ? list_keys(type, names) : "",
                     is_section ? ")" : "", kind_names[node->kind], kind_remedy(type, node));
}

static void read_open(const struct tree_node *node, void *into)
{
    keep(into, &node, sizeof node);
}

static void read_value(const struct reader *reader, const struct schema_type *type,
                       const struct tree_node *node, void *into)
{
    static void (*const read[])(const struct reader *reader, const struct schema_type *type,
                                const struct tree_node *node, void *into) = {
        [SCHEMA_NUMBER] = read_number, [SCHEMA_DECIMAL] = read_decimal,
        [SCHEMA_FLAG] = read_flag,     [SCHEMA_CHOICE] = read_choice,
        [SCHEMA_TEXT] = read_text,     [SCHEMA_SECTION] = read_section,
        [SCHEMA_LIST] = read_list,     [SCHEMA_MAP] = read_map,
    };
    if (type->kind == SCHEMA_OPEN)
        read_open(node, into);
    else if (type->or_one && node->kind == kind_wanted[type->item->kind])
        read_list_of_one(reader, type, node, into);
    else if (node->kind == kind_wanted[type->kind])
        read[type->kind](reader, type, node, into);
    else
        wrong_kind(reader, type, node);
}

static void set_standard(const struct reader *reader, const struct schema_type *type,
                         weir_string text, void *into)
{
    read_value(reader, type, &(struct tree_node){.kind = TREE_TEXT, .text = text}, into);
}

/* "[ 1-24, 26-65535 ]", whose items share one place. */
static void set_standard_list(const struct reader *reader, const struct schema_key *key, void *into)
{
    const char *start = key->standard + strspn(key->standard, "[ ");
    weir_string rest = {start, strcspn(start, "]")}, element;
    while (key->type->collects && string_next_element(&rest, &element))
        set_standard(reader, key->type->item, element, into);
}

static void set_standards(const struct reader *reader, const struct schema_type *type, void *into)
{
    if (type->kind != SCHEMA_SECTION || !into)
        return;
    for (const struct schema_key *key = type->keys; key->name; key++) {
        void *value = (char *)into + key->offset;
        if (key->type->kind == SCHEMA_SECTION)
            set_standards(reader, key->type, value);
        else if (key->standard && key->type->kind == SCHEMA_LIST)
            set_standard_list(reader, key, value);
        else if (key->standard)
            set_standard(reader, key->type, string_of(key->standard), value);
    }
}

void schema_set_standards(const struct schema_type *section, void *into, struct arena *arena)
{
    struct config_errors errors = {0};
    set_standards(&(struct reader){arena, &errors}, section, into);
    config_errors_deinit(&errors);
}

void schema_read(const struct schema_type *type, const struct tree_node *node, void *into,
                 struct arena *arena, struct config_errors *errors)
{
    read_value(&(struct reader){arena, errors}, type, node, into);
}

void schema_check(const struct schema_type *type, const struct tree_node *node,
                  struct config_errors *errors)
{
    read_value(&(struct reader){NULL, errors}, type, node, NULL);
}

/* --- completing a tree */

/* As if it stood in that mapping. */
static struct tree_node *copy_standard(const struct tree_node *from, const struct tree_node *parent,
                                       struct arena *arena)
{
    struct tree_node *copy = arena_allocate(arena, sizeof *copy);
    *copy = (struct tree_node){.kind = from->kind,
                               .text = from->text,
                               .key = from->key,
                               .quoted = from->quoted,
                               .standard = true,
                               .place = parent->place,
                               .key_place = parent->place};
    for (const struct tree_node *child = from->first; child; child = child->next)
        tree_append(copy, copy_standard(child, parent, arena));
    return copy;
}

static void add_standards(const struct schema_type *type, struct tree_node *node,
                          struct arena *arena)
{
    for (const struct schema_key *key = type->keys; key->name; key++) {
        if (!key->standard_tree || tree_child(node, key->name))
            continue;
        struct tree_node *copy = copy_standard(key->standard_tree, node, arena);
        copy->key = string_of(key->name);
        tree_append(node, copy);
    }
}

static void complete_section(const struct schema_type *type, struct tree_node *node,
                             struct arena *arena)
{
    add_standards(type, node, arena);
    for (struct tree_node *child = node->first; child; child = child->next) {
        const struct schema_key *key = find_key(type, child->key);
        schema_complete(key ? key->type : type->item, child, arena);
    }
}

static void put_into_list(struct tree_node *node, struct arena *arena)
{
    struct tree_node *item = arena_allocate(arena, sizeof *item);
    *item = *node;
    item->next = NULL;
    item->key = (weir_string){0};
    node->kind = TREE_LIST;
    node->text = (weir_string){0};
    tree_append(node, item);
}

void schema_complete(const struct schema_type *type, struct tree_node *node, struct arena *arena)
{
    node->type = type;
    if (type->or_one && node->kind != TREE_LIST)
        put_into_list(node, arena);
    if (type->kind == SCHEMA_SECTION)
        complete_section(type, node, arena);
    else if (type->is_path)
        node->text = string_of(value_beside(arena, node->place.file, node->text));
    else if (type->kind == SCHEMA_LIST || type->kind == SCHEMA_MAP)
        for (struct tree_node *child = node->first; child; child = child->next)
            schema_complete(type->item, child, arena);
}
