/* core/process/yaml.h - a YAML text becomes a tree
 *
 * One document of mappings, lists and text, which may have one of the tags in tree.h. What YAML has
 * beyond that (anchors and aliases, other tags, keys that are not text, several documents) is
 * refused, and so is a key that is given twice. Bounded: YAML_BYTES_MOST, YAML_NODES_MOST,
 * YAML_MARKS_MOST, TREE_DEPTH_MOST. libfyaml prints nothing. */
#ifndef CORE_PROCESS_YAML_H
#define CORE_PROCESS_YAML_H

#include "abi/weir.h"
#include "core/process/config_errors.h"
#include "core/process/tree.h"

enum { YAML_BYTES_MOST = 4 << 20, YAML_NODES_MOST = 100000, YAML_MARKS_MOST = 250000 };

struct yaml_document;

/* NULL when it cannot be understood. Keys given twice are reported too, but leave a document, so
 * that more mistakes can be found in it. `file` may be NULL; all places borrow it. */
struct yaml_document *yaml_parse(const char *file, weir_string text, struct config_errors *errors);
void yaml_free(struct yaml_document *document); /* NULL is ignored */

/* The document's, until it is freed; NULL: it is empty. */
struct tree_node *yaml_root(struct yaml_document *document);

#endif
