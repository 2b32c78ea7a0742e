/* core/process/options.h - the command line */
#ifndef CORE_PROCESS_OPTIONS_H
#define CORE_PROCESS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/process/values.h"

enum { OPTIONS_MISTAKE_BYTES = 256 };

enum options_command {
    OPTIONS_RUN,
    OPTIONS_CHECK,      /* load the configuration, say what is wrong with it, and end */
    OPTIONS_SCHEMA,     /* print the JSON Schema of configurations and end */
    OPTIONS_RELOAD,     /* tell the weir whose configuration it is to read it again */
    OPTIONS_STATUS,     /* ask the weir whose configuration it is how it is */
    OPTIONS_PLUGIN_NEW, /* write the beginning of a plugin: words are NAME and perhaps DIRECTORY */
    OPTIONS_PLUGIN_CHECK, /* say what the plugins are that the words name */
    OPTIONS_VERSION,
    OPTIONS_HELP,
};

/* Texts are borrowed from the arguments. */
struct options {
    enum options_command command;
    const char *config_file; /* NULL: none */
    const char *listeners[LISTENERS_MOST];
    uint32_t listener_count; /* 0: as configured */
    bool has_workers;
    uint32_t workers;                  /* 0: one per CPU */
    const char *plugins[PLUGINS_MOST]; /* paths, or names in the plugin directory */
    uint32_t plugin_count;
    const char *upstream;            /* "host:port"; NULL: as configured */
    const char *words[PLUGINS_MOST]; /* what follows a command that takes words */
    uint32_t word_count;
    bool check_plugins;        /* tell what plugins do wrong */
    bool protocol, kind_given; /* plugin new: --protocol; that or --filter */
    bool open;                 /* listeners that do not say who may use them are for anybody */
};

/* Everything given is checked here. False: `mistake` is one line that says what is wrong. */
bool options_parse(int count, char *const *arguments, struct options *options,
                   char mistake[OPTIONS_MISTAKE_BYTES]);
void options_print_help(FILE *stream);

#endif
