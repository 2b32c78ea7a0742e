/* core/process/config_errors.h - the mistakes found in one configuration, all in one run
 *
 * Zeroed memory is an empty list. Kept file by file and sorted by place; those after the first
 * CONFIG_ERRORS_MOST found are only counted. */
#ifndef CORE_PROCESS_CONFIG_ERRORS_H
#define CORE_PROCESS_CONFIG_ERRORS_H

#include <stdint.h>
#include <stdio.h>

enum { CONFIG_ERRORS_MOST = 20 };

struct config_place {
    const char *file;      /* borrowed; NULL: the one that the errors are about */
    uint32_t line, column; /* in characters, from 1; 0: the file as a whole */
};

struct config_error {
    char *file; /* NULL: the one that the errors are about */
    uint32_t line, column;
    char *text; /* "listen[0].address: what is wrong; what to write" */
};

struct config_errors {
    const char *file; /* borrowed; NULL: there is none */
    uint32_t count;   /* all that were found */
    uint32_t kept;
    struct config_error list[CONFIG_ERRORS_MOST];
};

void config_errors_add(struct config_errors *errors, struct config_place place, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));
/* One line each, "file:line:column: text", and how many more there are. */
void config_errors_print(const struct config_errors *errors, FILE *stream);
void config_errors_deinit(struct config_errors *errors);

#endif
