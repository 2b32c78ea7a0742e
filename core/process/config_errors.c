/* core/process/config_errors.c - the mistakes found in one configuration, all in one run */
#include "core/process/config_errors.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/string.h"

enum { ERROR_TEXT_BYTES = 640 };

static bool same_file(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool is_after(const struct config_error *error, struct config_place place)
{
    return error->line > place.line || (error->line == place.line && error->column > place.column);
}

/* Where it belongs: the file that the errors are about first, others as they came. */
static uint32_t find_position(const struct config_errors *errors, struct config_place place)
{
    uint32_t at = 0;
    while (place.file && at < errors->kept && !same_file(errors->list[at].file, place.file))
        at++;
    while (at < errors->kept && same_file(errors->list[at].file, place.file) &&
           !is_after(&errors->list[at], place))
        at++;
    return at;
}

void config_errors_add(struct config_errors *errors, struct config_place place, const char *format,
                       ...)
{
    if (errors->count++ >= CONFIG_ERRORS_MOST)
        return;
    char text[ERROR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (same_file(place.file, errors->file))
        place.file = NULL;
    struct config_error *error = &errors->list[find_position(errors, place)];
    memmove(error + 1, error, (size_t)(errors->list + errors->kept++ - error) * sizeof *error);
    error->file = place.file ? memory_copy_string(string_of(place.file)) : NULL;
    error->line = place.line;
    error->column = place.column;
    error->text = memory_copy_string(string_of(text));
}

void config_errors_print(const struct config_errors *errors, FILE *stream)
{
    const char *main_file = errors->file ? errors->file : "weir";
    for (uint32_t i = 0; i < errors->kept; i++) {
        const struct config_error *error = &errors->list[i];
        const char *file = error->file ? error->file : main_file;
        if (error->line)
            fprintf(stream, "%s:%u:%u: %s\n", file, error->line, error->column, error->text);
        else
            fprintf(stream, "%s: %s\n", file, error->text);
    }
    if (errors->count > errors->kept)
        fprintf(stream, "%s: and %u more\n", main_file, errors->count - errors->kept);
}

void config_errors_deinit(struct config_errors *errors)
{
    for (uint32_t i = 0; i < errors->kept; i++) {
        memory_free(errors->list[i].file);
        memory_free(errors->list[i].text);
    }
    memset(errors, 0, sizeof *errors);
}
