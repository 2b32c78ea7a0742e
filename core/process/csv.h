/* core/process/csv.h - lines of fields separated by commas become a tree: a list of lists of texts
 *
 * RFC 4180: a field in double quotes may hold commas, line ends and, written twice, quotes. Beyond
 * it lines may end with LF alone, and lines that are empty or begin with # are none. Each field has
 * its line and column. Bounded: CSV_BYTES_MOST, CSV_FIELDS_MOST. */
#ifndef CORE_PROCESS_CSV_H
#define CORE_PROCESS_CSV_H

#include "abi/weir.h"
#include "core/base/memory.h"
#include "core/process/config_errors.h"
#include "core/process/tree.h"

enum { CSV_BYTES_MOST = 8 << 20, CSV_FIELDS_MOST = 200000 };

/* NULL when it cannot be understood, reported. `file` may be NULL; all places borrow it. The tree
 * is the arena's. */
struct tree_node *csv_parse(const char *file, weir_string text, struct arena *arena,
                            struct config_errors *errors);

#endif
