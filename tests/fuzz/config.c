/* tests/fuzz/config.c - any bytes as configuration files: a snapshot or mistakes, never both
 *
 * The input is the file main, then others behind lines "=== NAME". The functions here take the
 * place of core/process/config_files.c, so that no input reads a file of this machine. Aborts when
 * the snapshot and the mistakes disagree, or a mistake has no place in its file. */
#include "core/process/config_files.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/memory.h"
#include "core/base/string.h"
#include "core/process/config.h"
#include "core/process/values.h"

enum { FILES_MOST = 16, NAME_BYTES = 32 };

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input_file {
    char name[NAME_BYTES];
    weir_string text;
};

static struct input_file files[FILES_MOST];
static uint32_t file_count;

static const struct input_file *find_file(const char *name)
{
    for (uint32_t i = 0; i < file_count; i++)
        if (!strcmp(files[i].name, name))
            return &files[i];
    return NULL;
}

/* --- what the product takes for files */

static bool fail(char mistake[CONFIG_FILE_MISTAKE_BYTES])
{
    strcpy(mistake, "cannot be read");
    return false;
}

bool config_file_read(const char *path, size_t most, struct config_file *file,
                      char mistake[CONFIG_FILE_MISTAKE_BYTES])
{
    const struct input_file *found = find_file(path);
    if (!found || found->text.length > most)
        return fail(mistake);
    *file = (struct config_file){memory_copy_string(found->text), found->text.length, 1,
                                 (uint64_t)(found - files)};
    return true;
}

bool config_files_match(const char *pattern, struct config_matches *matches,
                        char mistake[CONFIG_FILE_MISTAKE_BYTES])
{
    *matches = (struct config_matches){memory_allocate(FILES_MOST * sizeof *matches->paths), 0};
    for (uint32_t i = 0; i < file_count; i++)
        if (!fnmatch(pattern, files[i].name, FNM_PERIOD))
            matches->paths[matches->count++] = memory_copy_string(string_of(files[i].name));
    if (matches->count)
        return true;
    config_matches_deinit(matches);
    return fail(mistake);
}

void config_matches_deinit(struct config_matches *matches)
{
    while (matches->count)
        memory_free(matches->paths[--matches->count]);
    memory_free(matches->paths);
}

/* --- input */

static weir_string skip(weir_string text, size_t bytes)
{
    return (weir_string){text.bytes + bytes, text.length - bytes};
}

/* The next file is what is before the mark, or all there is. */
static weir_string take_text(weir_string rest, weir_string mark)
{
    const char *end = file_count + 1 < FILES_MOST && rest.length
                          ? memmem(rest.bytes, rest.length, mark.bytes, mark.length)
                          : NULL;
    size_t length = end ? (size_t)(end - rest.bytes) : rest.length;
    files[file_count++].text = (weir_string){rest.bytes, length};
    return skip(rest, end ? length + mark.length : length);
}

static weir_string take_name(weir_string rest, char name[NAME_BYTES])
{
    size_t length = 0;
    while (length < rest.length && length + 1 < NAME_BYTES && rest.bytes[length] != '\n') {
        name[length] = rest.bytes[length];
        length++;
    }
    name[length] = 0;
    return skip(rest, length);
}

static void split(weir_string input)
{
    weir_string mark = WEIR_STRING("\n=== ");
    strcpy(files[0].name, "main");
    file_count = 0;
    input = take_text(input, mark);
    while (input.length) {
        input = take_name(input, files[file_count].name);
        input = take_text(input, mark);
    }
}

/* --- what must hold */

static void check_place(const struct config_error *error)
{
    const struct input_file *file = find_file(error->file ? error->file : "main");
    uint32_t lines = 1;
    if (!file) {
        if (!error->file || strcmp(error->file, "weir") != 0)
            abort();
        return;
    }
    for (size_t i = 0; i < file->text.length; i++)
        lines += file->text.bytes[i] == '\n' || file->text.bytes[i] == '\r';
    /* What is missing at the end is missing after it: on the next line, or at most two on. */
    if (!error->line || error->line > lines + 1 || !error->column ||
        error->column > file->text.length + 2)
        abort();
}

static void check_order(const struct config_error *before, const struct config_error *error)
{
    bool same =
        !before->file == !error->file && (!error->file || !strcmp(before->file, error->file));
    if ((same && before->line > error->line) || (before->file && !error->file))
        abort();
}

static void check_snapshot(const struct snapshot *snapshot)
{
    if (!snapshot->workers || !snapshot->listener_count || !snapshot->limits.header_bytes)
        abort();
    for (uint32_t i = 0; i < snapshot->listener_count; i++) {
        const struct listener_config *listener = &snapshot->listeners[i];
        weir_string address = string_of(listener->address);
        if (value_listen_mistake(address) || listener->mode > 0777)
            abort();
        if (!value_is_local(address) && !listener->open == !listener->allow_clients)
            abort(); /* an open proxy by accident, or two answers */
    }
    for (uint32_t i = 0; i < snapshot->upstream_count; i++)
        if (!snapshot->upstreams[i].name || !snapshot->upstreams[i].count)
            abort();
    if (snapshot->upstream_count && !snapshot->fixed_upstream)
        abort();
    if (!snapshot->access_log.format || !snapshot->access_log.sample ||
        (snapshot->access_log.on && !snapshot->access_log.compiled))
        abort();
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    setenv("ONE", "1", 1);
    setenv("ADDRESS", "127.0.0.1:1", 1);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config_errors errors = {0};
    struct options options = {0};
    split((weir_string){(const char *)data, size});
    struct snapshot *snapshot = config_load("main", &options, &errors);
    if (!snapshot != (errors.count > 0))
        abort();
    if (snapshot)
        check_snapshot(snapshot);
    for (uint32_t i = 0; i < errors.kept; i++) {
        check_place(&errors.list[i]);
        if (i)
            check_order(&errors.list[i - 1], &errors.list[i]);
    }
    config_errors_deinit(&errors);
    snapshot_free(snapshot);
    return 0;
}
