/* core/process/plugin_new.c - `weir plugin new`: writes the beginning of a plugin */
#include "core/process/plugin_new.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/string.h"
#include "core/process/process.h"
#include "core/process/templates.h"

enum { NAME_MOST = 64 };

/* What is written, and from what. */
struct part {
    const char *path;              /* in the new directory */
    const char *filter, *protocol; /* the templates */
    mode_t mode;
    bool is_suffix; /* the name stands before the path */
};

static const struct part parts[] = {
    {".c", "filter.c", "protocol.c", 0666, true},
    {"Makefile", "Makefile", "Makefile", 0666, false},
    {"test.py", "filter_test.py", "protocol_test.py", 0777, false},
    {"testing.py", "testing.py", "testing.py", 0666, false},
    {"weir.yaml", "filter.yaml", "protocol.yaml", 0666, false},
    {"README.md", "project.md", "project.md", 0666, false},
    {".gitignore", "gitignore", "gitignore", 0666, false},
};
enum { PARTS = sizeof parts / sizeof *parts };

/* What stands in templates for what this plugin is called. */
struct names {
    char name[NAME_MOST + 1];
    char identifier[NAME_MOST + 1]; /* the name as C and metrics can have it */
};

static bool take_names(struct names *names, const char *name)
{
    static const char digits[] = "0123456789_-", letters[] = "abcdefghijklmnopqrstuvwxyz"
                                                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t length = strlen(name);
    if (!length || length > NAME_MOST || !strchr(letters, *name))
        return false;
    for (size_t i = 0; i <= length; i++) {
        if (!strchr(letters, name[i]) && !strchr(digits, name[i]))
            return false;
        names->name[i] = name[i];
        names->identifier[i] = name[i] == '-' ? '_' : name[i];
    }
    return true;
}

/* What of the text stands for something else; NULL: nothing that begins here. */
static const char *value_of(const struct names *names, const char *text, size_t *length)
{
    const struct {
        weir_string written;
        const char *value;
    } all[] = {{WEIR_STRING("@NAME@"), names->name},
               {WEIR_STRING("@IDENTIFIER@"), names->identifier}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *length = all[i].written.length;
        if (!strncmp(text, all[i].written.bytes, *length))
            return all[i].value;
    }
    return NULL;
}

static void print(const struct names *names, const char *text, FILE *stream)
{
    while (*text) {
        size_t length;
        const char *value = value_of(names, text, &length);
        if (value)
            fputs(value, stream);
        else
            fwrite(text, length = 1 + strcspn(text + 1, "@"), 1, stream);
        text += length;
    }
}

static const char *text_of(const char *name)
{
    const struct template *template = templates;
    while (strcmp(template->name, name) != 0)
        template ++;
    return template->text;
}

static FILE *create(const struct names *names, const char *directory, const struct part *part)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s%s", directory, part->is_suffix ? names->name : "",
             part->path);
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, part->mode);
    return descriptor < 0 ? NULL : fdopen(descriptor, "w");
}

static bool write_part(const struct names *names, const char *directory, const struct part *part,
                       bool protocol)
{
    FILE *stream = create(names, directory, part);
    if (!stream)
        return false;
    print(names, text_of(protocol ? part->protocol : part->filter), stream);
    return fclose(stream) == 0;
}

static bool write_parts(const struct names *names, const char *directory, bool protocol)
{
    bool fine = mkdir(directory, 0777) == 0;
    for (int i = 0; i < PARTS && fine; i++)
        fine = write_part(names, directory, &parts[i], protocol);
    return fine;
}

int plugin_new_write(const char *name, const char *directory, bool protocol)
{
    struct names names;
    if (!take_names(&names, name)) {
        fprintf(stderr, "weir: plugin new: a name is a letter, then letters, digits, - and _, at "
                        "most 64\n");
        return EXIT_USAGE;
    }
    if (!directory)
        directory = names.name;
    if (!write_parts(&names, directory, protocol)) {
        fprintf(stderr, "weir: plugin new: %s: %s\n", directory,
                errno == EEXIST ? "is there already, and stays as it is" : strerror(errno));
        return EXIT_FAILED;
    }
    printf("%s has the %s %s. Next:\n\n    cd %s\n    make test\n", directory,
           protocol ? "protocol" : "filter", name, directory);
    return EXIT_STOPPED;
}
