/* core/process/config_files.c - reads the files of a configuration and finds those of a pattern */
#include "core/process/config_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/process/values.h"

enum { FIRST_BYTES = 16 << 10 };

static bool fail(char mistake[CONFIG_FILE_MISTAKE_BYTES])
{
    snprintf(mistake, CONFIG_FILE_MISTAKE_BYTES, "cannot be read: %s", strerror(errno));
    return false;
}

/* --- one file */

/* Not more than one byte too much. False: errno. */
static bool read_all(int descriptor, size_t most, struct config_file *file)
{
    size_t room = 0;
    ssize_t got = 1;
    while (got && file->length <= most) {
        if (file->length == room) {
            room = room ? room * 2 : FIRST_BYTES;
            file->bytes = memory_resize(file->bytes, room);
        }
        size_t wanted = room < most + 1 ? room : most + 1;
        got = read(descriptor, file->bytes + file->length, wanted - file->length);
        if (got < 0 && errno != EINTR)
            return false;
        file->length += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static bool read_descriptor(int descriptor, size_t most, struct config_file *file,
                            char mistake[CONFIG_FILE_MISTAKE_BYTES])
{
    struct stat status;
    char size[VALUE_TEXT_BYTES];
    if (fstat(descriptor, &status) != 0 || !read_all(descriptor, most, file))
        return fail(mistake);
    file->device = status.st_dev;
    file->inode = status.st_ino;
    if (file->length <= most)
        return true;
    snprintf(mistake, CONFIG_FILE_MISTAKE_BYTES, "is larger than %s",
             value_format(most, value_sizes, size));
    return false;
}

bool config_file_read(const char *path, size_t most, struct config_file *file,
                      char mistake[CONFIG_FILE_MISTAKE_BYTES])
{
    *file = (struct config_file){0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return fail(mistake);
    bool fine = read_descriptor(descriptor, most, file, mistake);
    close(descriptor);
    if (!fine)
        memory_free(file->bytes);
    return fine;
}

/* --- patterns */

static bool add_match(struct config_matches *matches, weir_string directory, const char *name,
                      char mistake[CONFIG_FILE_MISTAKE_BYTES])
{
    if (matches->count == CONFIG_FILES_MOST) {
        snprintf(mistake, CONFIG_FILE_MISTAKE_BYTES, "matches more than %d files",
                 CONFIG_FILES_MOST);
        return false;
    }
    size_t size = directory.length + strlen(name) + 1;
    char *path = memory_allocate(size);
    memcpy(path, directory.bytes, directory.length);
    memcpy(path + directory.length, name, size - directory.length);
    if (!matches->paths)
        matches->paths = memory_allocate(CONFIG_FILES_MOST * sizeof *matches->paths);
    matches->paths[matches->count++] = path;
    return true;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Hidden files, and so the directory itself, are only meant when they are written out. */
static bool read_directory(DIR *stream, weir_string directory, const char *pattern,
                           struct config_matches *matches, char mistake[CONFIG_FILE_MISTAKE_BYTES])
{
    bool fine = true;
    for (struct dirent *entry; fine && (entry = readdir(stream));)
        if (!fnmatch(pattern, entry->d_name, FNM_PERIOD))
            fine = add_match(matches, directory, entry->d_name, mistake);
    if (matches->count)
        qsort(matches->paths, matches->count, sizeof *matches->paths, compare_paths);
    return fine;
}

static bool match_directory(weir_string directory, const char *pattern,
                            struct config_matches *matches, char mistake[CONFIG_FILE_MISTAKE_BYTES])
{
    char *path = memory_copy_string(directory.length ? directory : WEIR_STRING("."));
    DIR *stream = opendir(path);
    bool fine =
        stream ? read_directory(stream, directory, pattern, matches, mistake) : fail(mistake);
    if (stream)
        closedir(stream);
    memory_free(path);
    return fine;
}

bool config_files_match(const char *pattern, struct config_matches *matches,
                        char mistake[CONFIG_FILE_MISTAKE_BYTES])
{
    const char *slash = strrchr(pattern, '/');
    weir_string directory = {pattern, slash ? (size_t)(slash + 1 - pattern) : 0};
    const char *last = pattern + directory.length;
    *matches = (struct config_matches){0};
    if (!strpbrk(last, "*?["))
        return add_match(matches, directory, last, mistake);
    bool fine = match_directory(directory, last, matches, mistake);
    if (!fine)
        config_matches_deinit(matches);
    return fine;
}

void config_matches_deinit(struct config_matches *matches)
{
    for (uint32_t i = 0; i < matches->count; i++)
        memory_free(matches->paths[i]);
    memory_free(matches->paths);
    *matches = (struct config_matches){0};
}
