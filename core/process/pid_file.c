/* core/process/pid_file.c - the file that says which process this is, and that it is the only one
 */
#include "core/process/pid_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/string.h"

static int file = -1; /* open, and locked, as long as the process runs */
static char *name;

static bool fail(const char *path, const char *why)
{
    log_write(LOG_ERROR, "pid_file %s: %s", path, why);
    if (file >= 0)
        close(file);
    file = -1;
    return false;
}

/* Whether it still is what that name leads to: somebody may have removed it before we locked it. */
static bool is_named(const char *path)
{
    struct stat named, opened;
    return stat(path, &named) == 0 && fstat(file, &opened) == 0 && named.st_ino == opened.st_ino &&
           named.st_dev == opened.st_dev;
}

bool pid_file_write(const char *path)
{
    char text[16];
    int length = snprintf(text, sizeof text, "%d\n", (int)getpid());
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file < 0)
        return fail(path, strerror(errno));
    if (flock(file, LOCK_EX | LOCK_NB) || !is_named(path))
        return fail(path, "belongs to a process that runs");
    if (ftruncate(file, 0) || write(file, text, (size_t)length) != length)
        return fail(path, strerror(errno));
    name = memory_copy_string(string_of(path));
    return true;
}

void pid_file_remove(void)
{
    if (file < 0)
        return;
    bool gone = is_named(name) && unlink(name) == 0;
    if (!gone && ftruncate(file, 0))
        log_write(LOG_WARNING, "pid_file %s: %s", name, strerror(errno));
    close(file);
    file = -1;
    memory_free(name);
}
