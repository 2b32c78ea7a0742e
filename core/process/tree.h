/* core/process/tree.h - what a configuration says, as a tree, with the place of everything in it
 *
 * Made by yaml.c, completed by config_sources.c, never changed afterwards. */
#ifndef CORE_PROCESS_TREE_H
#define CORE_PROCESS_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/weir.h"
#include "core/process/config_errors.h"
#include "core/process/values.h"

enum { TREE_DEPTH_MOST = 32, TREE_PATH_BYTES = 256 };

enum tree_kind { TREE_EMPTY /* "key:" and nothing */, TREE_TEXT, TREE_LIST, TREE_MAPPING };

/* Texts that stand for another one, until config_sources.c has put it in their place. */
enum tree_tag { TREE_UNTAGGED, TREE_ENVIRONMENT /* !env NAME */, TREE_FILE /* !file PATH */ };

struct schema_type; /* schema.h */

struct tree_node {
    enum tree_kind kind;
    enum tree_tag tag;
    bool quoted;               /* of text: any style but plain */
    bool secret;               /* of text: it had a tag, so no message may show it */
    bool standard;             /* nobody wrote it: it holds because its key is absent */
    const struct schema_type *type; /* of a plugin's section: what its schema says it is */
    struct config_place place; /* where the value begins; its key, or what it is in, when empty */
    weir_string text;          /* of TREE_TEXT: no NUL in it, one after it */
    weir_string key;           /* in a mapping; likewise */
    struct config_place key_place;
    uint32_t index; /* among its parent's children */
    uint32_t depth; /* of the root: 0; at most TREE_DEPTH_MOST */
    uint32_t count; /* of children */
    struct tree_node *parent, *next, *first, *last;
};

/* The node becomes the last of a list's or mapping's. */
void tree_append(struct tree_node *parent, struct tree_node *node);

/* The first value of that key of a mapping, or NULL. */
const struct tree_node *tree_child(const struct tree_node *mapping, const char *key);

/* The node's text as a message may show it: *** when it is secret. Returns `text`. */
const char *tree_show(const struct tree_node *node, char text[VALUE_TEXT_BYTES]);

/* "listen[0].address"; of the root: "". Cut when longer. Returns `path`. */
const char *tree_path(const struct tree_node *node, char path[TREE_PATH_BYTES]);

/* Reports "path: what is wrong" at the value, or at its key. */
void tree_mistake(struct config_errors *errors, const struct tree_node *node, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));
void tree_key_mistake(struct config_errors *errors, const struct tree_node *node,
                      const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
