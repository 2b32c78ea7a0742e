/* core/process/yaml.h - a YAML text as a small tree of our own, with the place of everything in it
 *
 * One document of mappings, lists and text. What YAML has beyond that (anchors and aliases, tags,
 * keys that are not text, several documents) is refused, and so is a key that is given twice.
 * Bounded: YAML_BYTES_MOST, YAML_DEPTH_MOST, YAML_NODES_MOST. libfyaml prints nothing. */
#ifndef CORE_PROCESS_YAML_H
#define CORE_PROCESS_YAML_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/weir.h"
#include "core/process/config_errors.h"

enum {
    YAML_BYTES_MOST = 4 << 20,
    YAML_DEPTH_MOST = 32,
    YAML_NODES_MOST = 100000,
    YAML_PATH_BYTES = 256
};

enum yaml_kind { YAML_EMPTY /* "key:" and nothing */, YAML_TEXT, YAML_LIST, YAML_MAPPING };

struct yaml_place {
    uint32_t line, column; /* in characters, from 1 */
};

struct yaml_node {
    enum yaml_kind kind;
    bool quoted;             /* of text: any style but plain */
    struct yaml_place place; /* where the value begins; its key, or what it is in, when empty */
    weir_string text;        /* of YAML_TEXT: no NUL in it, one after it */
    weir_string key;         /* in a mapping; likewise */
    struct yaml_place key_place;
    uint32_t index; /* among its parent's children */
    uint32_t depth; /* of the root: 0 */
    uint32_t count; /* of children */
    struct yaml_node *parent, *next, *first, *last;
};

struct yaml_document;

/* NULL when it cannot be read or understood. Keys given twice are reported too, but leave a
 * document, so that more mistakes can be found in it. */
struct yaml_document *yaml_load(const char *file, struct config_errors *errors);
struct yaml_document *yaml_parse(weir_string text, struct config_errors *errors);
void yaml_free(struct yaml_document *document); /* NULL is ignored */

const struct yaml_node *yaml_root(const struct yaml_document *document); /* NULL: it is empty */
/* The first value of that key of a mapping, or NULL. */
const struct yaml_node *yaml_child(const struct yaml_node *mapping, const char *key);

/* "listen[0].address"; of the root: "". Cut when longer. Returns `path`. */
const char *yaml_path(const struct yaml_node *node, char path[YAML_PATH_BYTES]);
/* Reports "path: what is wrong" at the value, or at its key. */
void yaml_mistake(struct config_errors *errors, const struct yaml_node *node, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));
void yaml_key_mistake(struct config_errors *errors, const struct yaml_node *node,
                      const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
