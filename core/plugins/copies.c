/* core/plugins/copies.c - private copies of plugins' files */
#include "core/plugins/copies.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "core/base/string.h"

#define NAME "weir-plugins-"

static struct {
    const char *const *bases;
    char path[PATH_MAX]; /* "": there is none yet */
    int descriptor;
    uint32_t count; /* copies made, for their names */
} directory;

void copies_start(const char *const *bases)
{
    directory.bases = bases;
}

/* --- the directory */

static bool may_run(int descriptor)
{
    struct statvfs status;
    return fstatvfs(descriptor, &status) == 0 && !(status.f_flag & ST_NOEXEC);
}

/* Only what is named as copies are. Closes the stream. */
static void remove_copies(DIR *stream)
{
    for (struct dirent *entry; (entry = readdir(stream));)
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
            unlinkat(dirfd(stream), entry->d_name, 0);
    closedir(stream);
}

/* A process that lives has the lock. */
static void remove_abandoned(int base, const char *name)
{
    struct stat status;
    int descriptor = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0)
        return;
    bool ours = fstat(descriptor, &status) == 0 && (!geteuid() || status.st_uid == geteuid());
    DIR *stream = ours && flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? fdopendir(descriptor) : NULL;
    if (stream) {
        remove_copies(stream);
        unlinkat(base, name, AT_REMOVEDIR);
    } else {
        close(descriptor);
    }
}

/* Those of processes that could not remove theirs. */
static void clean(const char *base)
{
    DIR *stream = opendir(base);
    if (!stream)
        return;
    for (struct dirent *entry; (entry = readdir(stream));)
        if (!strncmp(entry->d_name, NAME, sizeof NAME - 1))
            remove_abandoned(dirfd(stream), entry->d_name);
    closedir(stream);
}

/* It gets its name when it is locked. */
static bool take(char *made)
{
    int descriptor = open(made, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0 && may_run(descriptor) && flock(descriptor, LOCK_EX | LOCK_NB) == 0 &&
        rename(made, directory.path) == 0) {
        directory.descriptor = descriptor;
        return true;
    }
    if (descriptor >= 0)
        close(descriptor);
    rmdir(made);
    return false;
}

static bool make_in(const char *base)
{
    char made[PATH_MAX];
    int length = snprintf(made, sizeof made, "%s/." NAME "XXXXXX", base);
    if (base[0] != '/' || (size_t)length >= sizeof made || !mkdtemp(made))
        return false;
    snprintf(directory.path, sizeof directory.path, "%s/%s", base, made + strlen(base) + 2);
    if (take(made)) {
        clean(base);
        return true;
    }
    directory.path[0] = 0;
    return false;
}

static bool make_directory(char mistake[PLUGIN_MISTAKE_BYTES])
{
    for (const char *const *base = directory.bases; base && *base && !directory.path[0]; base++)
        make_in(*base);
    if (!directory.path[0])
        snprintf(mistake, PLUGIN_MISTAKE_BYTES,
                 "there is no place for private copies of plugins; let TMPDIR be a directory that "
                 "can be written to and that programs may be run from");
    return directory.path[0];
}

bool copies_give(uid_t user, gid_t group)
{
    return !directory.path[0] || fchown(directory.descriptor, user, group) == 0;
}

void copies_end(void)
{
    if (!directory.path[0])
        return;
    DIR *stream = fdopendir(directory.descriptor);
    if (stream)
        remove_copies(stream);
    rmdir(directory.path);
    directory.path[0] = 0;
}

/* --- one copy */

static bool write_all(int descriptor, weir_string bytes)
{
    while (bytes.length) {
        ssize_t written = write(descriptor, bytes.bytes, bytes.length);
        if (written < 0 && errno != EINTR)
            return false;
        bytes.bytes += written > 0 ? written : 0;
        bytes.length -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

static bool write_copy(const char *path, weir_string bytes)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    bool fine = descriptor >= 0 && write_all(descriptor, bytes);
    int why = errno;
    if (descriptor >= 0)
        close(descriptor);
    errno = why;
    return fine;
}

char *copies_make(const char *name, weir_string bytes, char mistake[PLUGIN_MISTAKE_BYTES])
{
    char path[PATH_MAX + NAME_MAX + 2];
    if (!directory.path[0] && !make_directory(mistake))
        return NULL;
    int before = snprintf(path, sizeof path, "%s/", directory.path);
    snprintf(path + before, NAME_MAX + 1, "%u-%s", ++directory.count, name);
    if (write_copy(path, bytes))
        return memory_copy_string(string_of(path));
    snprintf(mistake, PLUGIN_MISTAKE_BYTES, "its private copy %.200s cannot be written: %s", path,
             strerror(errno));
    return NULL;
}

void copies_remove(const char *path)
{
    unlink(path);
}

static bool reads_the_same(int descriptor, weir_string bytes)
{
    char part[16 << 10];
    ssize_t got;
    while ((got = read(descriptor, part, sizeof part)) > 0) {
        if ((size_t)got > bytes.length || memcmp(part, bytes.bytes, (size_t)got) != 0)
            return false;
        bytes.bytes += got;
        bytes.length -= (size_t)got;
    }
    return got == 0 && !bytes.length;
}

bool copies_same(const char *path, weir_string bytes)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    bool same = descriptor >= 0 && reads_the_same(descriptor, bytes);
    if (descriptor >= 0)
        close(descriptor);
    return same;
}
