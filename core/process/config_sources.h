/* core/process/config_sources.h - a configuration file with all that it names, as one tree
 *
 * What it includes is merged: lists are joined, in the order of the files, and so are mappings; of
 * anything else there may be one in all files. !env NAME and !file PATH are replaced by what they
 * stand for. Paths are relative to the file that they are written in. Bounded: SOURCES_MOST files,
 * SOURCE_DEPTH_MOST of them within each other, SOURCES_BYTES_MOST in all. */
#ifndef CORE_PROCESS_CONFIG_SOURCES_H
#define CORE_PROCESS_CONFIG_SOURCES_H

#include "abi/weir.h"
#include "core/process/config_errors.h"
#include "core/process/tree.h"

enum {
    SOURCES_MOST = 256,
    SOURCE_DEPTH_MOST = 8,
    SOURCES_BYTES_MOST = 4 << 20,
    SECRET_BYTES_MOST = 64 << 10 /* of one !file */
};

struct config_sources;

/* NULL when a file cannot be read or understood. Keys given twice are reported too, but leave a
 * tree, so that more mistakes can be found in it. */
struct config_sources *config_sources_load(const char *file, struct config_errors *errors);
/* The same from text that was read already. */
struct config_sources *config_sources_read(weir_string text, struct config_errors *errors);
void config_sources_free(struct config_sources *sources); /* NULL is ignored */

const struct tree_node *config_sources_root(const struct config_sources *sources); /* NULL: empty */

#endif
