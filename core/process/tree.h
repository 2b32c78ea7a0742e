/* core/process/tree.h - what a configuration says, as a tree, with the place of everything in it
 *
 * Made by yaml.c, never changed afterwards. */
#ifndef CORE_PROCESS_TREE_H
#define CORE_PROCESS_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/weir.h"
#include "core/process/config_errors.h"

enum { TREE_DEPTH_MOST = 32, TREE_PATH_BYTES = 256 };

enum tree_kind { TREE_EMPTY /* "key:" and nothing */, TREE_TEXT, TREE_LIST, TREE_MAPPING };

struct tree_place {
    uint32_t line, column; /* in characters, from 1 */
};

struct tree_node {
    enum tree_kind kind;
    bool quoted;             /* of text: any style but plain */
    struct tree_place place; /* where the value begins; its key, or what it is in, when empty */
    weir_string text;        /* of TREE_TEXT: no NUL in it, one after it */
    weir_string key;         /* in a mapping; likewise */
    struct tree_place key_place;
    uint32_t index; /* among its parent's children */
    uint32_t depth; /* of the root: 0; at most TREE_DEPTH_MOST */
    uint32_t count; /* of children */
    struct tree_node *parent, *next, *first, *last;
};

/* The first value of that key of a mapping, or NULL. */
const struct tree_node *tree_child(const struct tree_node *mapping, const char *key);

/* "listen[0].address"; of the root: "". Cut when longer. Returns `path`. */
const char *tree_path(const struct tree_node *node, char path[TREE_PATH_BYTES]);

/* Reports "path: what is wrong" at the value, or at its key. */
void tree_mistake(struct config_errors *errors, const struct tree_node *node, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));
void tree_key_mistake(struct config_errors *errors, const struct tree_node *node,
                      const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
