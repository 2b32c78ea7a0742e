/* core/process/config_files.h - reads the files of a configuration and finds those of a pattern */
#ifndef CORE_PROCESS_CONFIG_FILES_H
#define CORE_PROCESS_CONFIG_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONFIG_FILES_MOST = 256 /* that match one pattern */, CONFIG_FILE_MISTAKE_BYTES = 96 };

struct config_file {
    char *bytes; /* the caller's to free; not ended by NUL */
    size_t length;
    uint64_t device, inode; /* the same for two names of one file */
};

/* Reads it to its end, also a pipe. False: `mistake` says why not, `most` bytes being too few among
 * the reasons. */
bool config_file_read(const char *path, size_t most, struct config_file *file,
                      char mistake[CONFIG_FILE_MISTAKE_BYTES]);

struct config_matches {
    char **paths; /* sorted */
    uint32_t count;
};

/* The files whose names match the pattern's last part, which may have *, ? and [ in it; or the one
 * that a pattern without them names. There may be none. False: `mistake` says why not. */
bool config_files_match(const char *pattern, struct config_matches *matches,
                        char mistake[CONFIG_FILE_MISTAKE_BYTES]);
void config_matches_deinit(struct config_matches *matches);

#endif
