/* tests/unit/core/process/config_files_test.c - reading files whole, and finding those of a pattern
 */
#include "core/process/config_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "tests/unit/core/process/scratch.h"

static char mistake[CONFIG_FILE_MISTAKE_BYTES];
static struct config_file file;
static struct config_matches matches;

static int set_up(void **state)
{
    scratch_make();
    return 0;
}

static int tear_down(void **state)
{
    scratch_remove();
    return 0;
}

/* --- reading */

static void check_read(const char *path, size_t most, const void *bytes, size_t length)
{
    if (!config_file_read(path, most, &file, mistake))
        fail_msg("%s %s", path, mistake);
    assert_int_equal(file.length, length);
    assert_memory_equal(file.bytes, bytes, length);
    memory_free(file.bytes);
}

static void test_any_bytes(void **state)
{
    check_read(scratch_write_bytes("a", "x\0y\xff\n", 5), 5, "x\0y\xff\n", 5);
    check_read(scratch_write("b", ""), 0, "", 0);
}

static void test_large_files(void **state)
{
    static char bytes[300000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 + i / 256);
    const char *path = scratch_write_bytes("a", bytes, sizeof bytes);
    check_read(path, sizeof bytes, bytes, sizeof bytes);
    check_read(path, sizeof bytes + 1, bytes, sizeof bytes);
    assert_false(config_file_read(path, sizeof bytes - 1, &file, mistake));
    assert_string_equal(mistake, "is larger than 299999B");
    assert_false(config_file_read("/dev/zero", 64 << 10, &file, mistake));
    assert_string_equal(mistake, "is larger than 64KiB");
}

static void test_a_pipe_is_read_to_its_end(void **state)
{
    int ends[2];
    char name[32];
    assert_int_equal(pipe(ends), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    assert_int_equal(write(ends[1], "a: 1\n", 5), 5);
    assert_int_equal(write(ends[1], "b: 2\n", 5), 5);
    close(ends[1]);
    check_read(name, 100, "a: 1\nb: 2\n", 10);
    close(ends[0]);
}

static void test_two_names_of_one_file(void **state)
{
    const char *first = scratch_write("a", "1"), *second = scratch_path("b");
    assert_int_equal(symlink(first, second), 0);
    check_read(first, 1, "1", 1);
    struct config_file other = file;
    check_read(second, 1, "1", 1);
    assert_true(file.device == other.device && file.inode == other.inode);
    check_read(scratch_write("c", "1"), 1, "1", 1);
    assert_true(file.inode != other.inode);
}

static void test_what_cannot_be_read(void **state)
{
    assert_false(config_file_read(scratch_path("a"), 1, &file, mistake));
    assert_string_equal(mistake, "cannot be read: No such file or directory");
    assert_false(config_file_read("/", 1, &file, mistake));
    assert_string_equal(mistake, "cannot be read: Is a directory");
}

/* --- patterns */

/* The names that match, with spaces between them. */
static void check_matches(const char *pattern, const char *names)
{
    char found[512] = "";
    if (!config_files_match(scratch_path(pattern), &matches, mistake))
        fail_msg("%s %s", pattern, mistake);
    for (uint32_t i = 0; i < matches.count; i++) {
        assert_memory_equal(matches.paths[i], scratch, strlen(scratch));
        strcat(strcat(found, i ? " " : ""), matches.paths[i] + strlen(scratch) + 1);
    }
    assert_string_equal(found, names);
    config_matches_deinit(&matches);
}

static void test_patterns(void **state)
{
    const char *const names[] = {"c.yaml", "a.yaml", "b.yaml", "10.yaml", ".hidden.yaml", "a.yml"};
    scratch_directory("d");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[32];
        scratch_write(names[i], "");
        snprintf(name, sizeof name, "d/%s", names[i]);
        scratch_write(name, "");
    }
    check_matches("*.yaml", "10.yaml a.yaml b.yaml c.yaml");
    check_matches("d/*.yaml", "d/10.yaml d/a.yaml d/b.yaml d/c.yaml");
    check_matches("?.yaml", "a.yaml b.yaml c.yaml");
    check_matches("[ab].y*ml", "a.yaml a.yml b.yaml");
    check_matches(".*.yaml", ".hidden.yaml");
    check_matches("*.json", "");
    check_matches("a.yaml", "a.yaml");
    check_matches("missing.yaml", "missing.yaml"); /* who reads it says so */
}

static void test_brackets_in_a_directory_are_no_pattern(void **state)
{
    scratch_directory("[ab]");
    scratch_write("[ab]/x.yaml", "");
    check_matches("[ab]/*.yaml", "[ab]/x.yaml");
}

static void test_the_directory_where_weir_runs(void **state)
{
    int before = open(".", O_RDONLY);
    scratch_write("a.yaml", "");
    assert_int_equal(chdir(scratch), 0);
    bool fine = config_files_match("*.yaml", &matches, mistake);
    assert_int_equal(fchdir(before), 0);
    close(before);
    assert_true(fine);
    assert_int_equal(matches.count, 1);
    assert_string_equal(matches.paths[0], "a.yaml");
    config_matches_deinit(&matches);
}

static void test_patterns_are_bounded(void **state)
{
    char name[32];
    for (int i = 0; i < CONFIG_FILES_MOST; i++) {
        snprintf(name, sizeof name, "%03d.yaml", i);
        scratch_write(name, "");
    }
    assert_true(config_files_match(scratch_path("*.yaml"), &matches, mistake));
    assert_int_equal(matches.count, CONFIG_FILES_MOST);
    config_matches_deinit(&matches);
    scratch_write("more.yaml", "");
    assert_false(config_files_match(scratch_path("*.yaml"), &matches, mistake));
    assert_string_equal(mistake, "matches more than 256 files");
    assert_int_equal(matches.count, 0);
}

static void test_a_directory_that_is_not_there(void **state)
{
    assert_false(config_files_match(scratch_path("d/*.yaml"), &matches, mistake));
    assert_string_equal(mistake, "cannot be read: No such file or directory");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_any_bytes),
        TEST(test_large_files),
        TEST(test_a_pipe_is_read_to_its_end),
        TEST(test_two_names_of_one_file),
        TEST(test_what_cannot_be_read),
        TEST(test_patterns),
        TEST(test_brackets_in_a_directory_are_no_pattern),
        TEST(test_the_directory_where_weir_runs),
        TEST(test_patterns_are_bounded),
        TEST(test_a_directory_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
