/* tests/unit/core/process/scratch.h - a directory for the files of one test
 *
 * A test's setup calls scratch_make(), its teardown scratch_remove(). */
#ifndef TESTS_UNIT_CORE_PROCESS_SCRATCH_H
#define TESTS_UNIT_CORE_PROCESS_SCRATCH_H

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[64];

static void scratch_make(void)
{
    strcpy(scratch, "/tmp/weir-test-XXXXXX");
    assert_non_null(mkdtemp(scratch));
}

/* The path of a file there; kept until the call after the next three. */
static const char *scratch_path(const char *name)
{
    static char paths[4][PATH_MAX];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH_MAX, "%s/%s", scratch, name);
    return path;
}

static const char *scratch_write_bytes(const char *name, const void *bytes, size_t size)
{
    const char *path = scratch_path(name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

static const char *scratch_write(const char *name, const char *text)
{
    return scratch_write_bytes(name, text, strlen(text));
}

__attribute__((unused)) static void scratch_directory(const char *name)
{
    assert_int_equal(mkdir(scratch_path(name), 0700), 0);
}

static int scratch_unlink(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static void scratch_remove(void)
{
    assert_int_equal(nftw(scratch, scratch_unlink, 8, FTW_DEPTH | FTW_PHYS), 0);
}

#endif
