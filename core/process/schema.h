/* core/process/schema.h - what may be written in a configuration, as data; checking and reading it
 *
 * A schema_type says how one kind of value is written, what range it has and how it lies in memory.
 * One description checks the file and fills a struct with it, so the two cannot disagree. What
 * plugins have to say of their sections becomes the same at run time (plugin_schema.h); there is no
 * struct then, and the tree itself is completed with what holds for absent keys.
 *
 * In memory a value is, at its key's offset in the struct of its section:
 *   SCHEMA_NUMBER   uint32_t, or uint64_t of wide ones, in the smallest unit (milliseconds, bytes)
 *   SCHEMA_DECIMAL  double
 *   SCHEMA_FLAG     bool
 *   SCHEMA_CHOICE   uint32_t or an enum: which of `words`
 *   SCHEMA_TEXT     char *, or what its store() makes of it
 *   SCHEMA_SECTION  its keys, at their offsets; the section's own offset is added
 *   SCHEMA_LIST     a pointer to the items, directly followed by uint32_t: how many; or, of those
 *                   that collect, one thing, zeroed first, into which the items' store() puts each
 *   SCHEMA_MAP      likewise; an item is a section whose struct begins with char *, its name
 *   SCHEMA_OPEN     const struct tree_node *: anything, for others to judge */
#ifndef CORE_PROCESS_SCHEMA_H
#define CORE_PROCESS_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/memory.h"
#include "core/process/config_errors.h"
#include "core/process/tree.h"
#include "core/process/values.h"

enum schema_kind {
    SCHEMA_NUMBER,
    SCHEMA_DECIMAL, /* digits, perhaps with a fraction */
    SCHEMA_FLAG,
    SCHEMA_CHOICE,
    SCHEMA_TEXT,
    SCHEMA_SECTION,
    SCHEMA_LIST,
    SCHEMA_MAP,
    SCHEMA_OPEN,
};

struct schema_key;

struct schema_type {
    enum schema_kind kind;
    const char *what; /* of numbers: "a duration such as 10s"; of texts: "HOST:PORT" */
    const struct value_unit *units; /* of numbers */
    uint64_t least, most;           /* of numbers: value; of lists and maps: how many */
    const char *word;               /* of numbers: may be written instead, and stands for 0 */
    bool wide;                      /* of numbers: beyond 32 bits */
    bool is_path;                   /* of texts: relative to the file that they are written in */
    bool or_pem; /* of paths: what the file would hold may be written instead, as PEM */
    /* Of choices, ended by NULL. Of texts: the only ones; with a store(), some of them. */
    const char *const *words;
    const char *(*mistake)(weir_string text); /* of texts and of a map's names; may be NULL */
    /* Of texts (may be NULL): stores what it means, or says what is wrong with it, perhaps in the
     * arena. */
    const char *(*store)(weir_string text, void *into, struct arena *arena);
    const struct schema_type *item; /* of lists and maps; of a section: of unknown keys, or NULL */
    bool or_one;                    /* of lists: an item alone may be written for a list of it */
    bool collects;                  /* of lists */
    size_t size; /* of a list's or map's items in memory, or of what a list collects */
    const struct schema_key *keys; /* of sections, ended by one without a name */
};

struct schema_key {
    const char *name;
    const struct schema_type *type;
    size_t offset;
    const char *standard; /* what holds when the key is absent, as one would write it */
    const struct tree_node *standard_tree; /* likewise, of keys made at run time */
    bool required;
    const char *help; /* one sentence */
};

/* Sets what has a standard, lists of sections and maps aside. */
void schema_set_standards(const struct schema_type *section, void *into, struct arena *arena);
/* Reads the node into `into` and reports all mistakes in it; memory is the arena's. What is wrong
 * or absent is left as it was. */
void schema_read(const struct schema_type *type, const struct tree_node *node, void *into,
                 struct arena *arena, struct config_errors *errors);

/* Only reports the mistakes. */
void schema_check(const struct schema_type *type, const struct tree_node *node,
                  struct config_errors *errors);
/* Of what has no mistake: each node learns its type, absent keys with a standard_tree are there,
 * paths are as they are from where weir runs, and an item that stood for a list is in one. Memory
 * is the arena's. */
void schema_complete(const struct schema_type *type, struct tree_node *node, struct arena *arena);

#endif
