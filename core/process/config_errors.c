/* core/process/config_errors.c - the mistakes found in one configuration, all in one run */
#include "core/process/config_errors.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/string.h"

enum { ERROR_TEXT_BYTES = 640 };

static bool is_after(const struct config_error *error, uint32_t line, uint32_t column)
{
    return error->line > line || (error->line == line && error->column > column);
}

static struct config_error *insert(struct config_errors *errors, uint32_t line, uint32_t column)
{
    uint32_t at = errors->kept++;
    for (; at && is_after(&errors->list[at - 1], line, column); at--)
        errors->list[at] = errors->list[at - 1];
    return &errors->list[at];
}

void config_errors_add(struct config_errors *errors, uint32_t line, uint32_t column,
                       const char *format, ...)
{
    if (errors->count++ >= CONFIG_ERRORS_MOST)
        return;
    char text[ERROR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    *insert(errors, line, column) =
        (struct config_error){line, column, memory_copy_string(string_of(text))};
}

void config_errors_print(const struct config_errors *errors, FILE *stream)
{
    const char *file = errors->file ? errors->file : "weir";
    for (uint32_t i = 0; i < errors->kept; i++) {
        const struct config_error *error = &errors->list[i];
        if (error->line)
            fprintf(stream, "%s:%u:%u: %s\n", file, error->line, error->column, error->text);
        else
            fprintf(stream, "%s: %s\n", file, error->text);
    }
    if (errors->count > errors->kept)
        fprintf(stream, "%s: and %u more\n", file, errors->count - errors->kept);
}

void config_errors_deinit(struct config_errors *errors)
{
    for (uint32_t i = 0; i < errors->kept; i++)
        memory_free(errors->list[i].text);
    memset(errors, 0, sizeof *errors);
}
