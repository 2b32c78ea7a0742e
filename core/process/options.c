/* core/process/options.c - the command line */
#include "core/process/options.h"

#include <stdarg.h>
#include <string.h>

#include "core/base/string.h"
#include "core/process/nearest.h"

struct command;

struct parser {
    char *const *next, *const *end; /* arguments not looked at yet */
    struct options *options;
    const struct command *command; /* NULL: none so far */
    char *mistake;
};

struct option {
    char letter;       /* 0: it has none */
    const char *name;  /* "--listen" */
    const char *value; /* what is to follow it, for messages; NULL: nothing */
    const char *help;
    /* False: there is something wrong with the value, and reported. */
    bool (*take)(struct parser *parser, const struct option *option, const char *value);
};

static __attribute__((format(printf, 2, 3))) bool fail(struct parser *parser, const char *format,
                                                       ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(parser->mistake, OPTIONS_MISTAKE_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

static bool fail_value(struct parser *parser, const struct option *option, const char *value,
                       const char *mistake)
{
    char shown[VALUE_TEXT_BYTES];
    return fail(parser, "%s: \"%s\" %s", option->name, value_show(string_of(value), shown),
                mistake);
}

static bool take_listen(struct parser *parser, const struct option *option, const char *value)
{
    struct options *options = parser->options;
    const char *mistake = value_listen_mistake(string_of(value));
    if (mistake)
        return fail_value(parser, option, value, mistake);
    if (options->listener_count == LISTENERS_MOST)
        return fail(parser, "%s: more than %d addresses", option->name, LISTENERS_MOST);
    for (uint32_t i = 0; i < options->listener_count; i++)
        if (value_same_listener(options->listeners[i], value))
            return fail_value(parser, option, value, "is given twice");
    options->listeners[options->listener_count++] = value;
    return true;
}

static bool take_config(struct parser *parser, const struct option *option, const char *value)
{
    if (parser->options->config_file)
        return fail_value(parser, option, value, "is a second file; only one can be read");
    parser->options->config_file = value;
    return true;
}

static bool take_workers(struct parser *parser, const struct option *option, const char *value)
{
    uint64_t number = 0;
    bool is_auto = !strcmp(value, "auto");
    if (!is_auto &&
        (!value_parse(string_of(value), value_plain, &number) || !number || number > WORKERS_MOST))
        return fail_value(parser, option, value, "is not a number from 1 to 256, or auto");
    parser->options->has_workers = true;
    parser->options->workers = (uint32_t)number;
    return true;
}

static bool take_upstream(struct parser *parser, const struct option *option, const char *value)
{
    const char *mistake = value_server_mistake(string_of(value));
    if (mistake)
        return fail_value(parser, option, value, mistake);
    parser->options->upstream = value;
    return true;
}

static bool take_plugin(struct parser *parser, const struct option *option, const char *value)
{
    struct options *options = parser->options;
    const char *mistake = value_path_mistake(string_of(value));
    if (mistake)
        return fail_value(parser, option, value, mistake);
    if (options->plugin_count == PLUGINS_MOST)
        return fail(parser, "%s: more than %d plugins", option->name, PLUGINS_MOST);
    options->plugins[options->plugin_count++] = value;
    return true;
}

static bool take_check_plugins(struct parser *parser, const struct option *option,
                               const char *value)
{
    parser->options->check_plugins = true;
    return true;
}

static bool take_filter(struct parser *parser, const struct option *option, const char *value)
{
    parser->options->kind_given = true;
    return true;
}

static bool take_protocol(struct parser *parser, const struct option *option, const char *value)
{
    parser->options->kind_given = true;
    parser->options->protocol = true;
    return true;
}

static bool take_open(struct parser *parser, const struct option *option, const char *value)
{
    parser->options->open = true;
    return true;
}

static bool take_version(struct parser *parser, const struct option *option, const char *value)
{
    parser->options->command = OPTIONS_VERSION;
    return true;
}

static bool take_help(struct parser *parser, const struct option *option, const char *value)
{
    parser->options->command = OPTIONS_HELP;
    return true;
}

static const struct option known[] = {
    {'l', "--listen", "ADDR:PORT", "listen there, or at unix:PATH; may be repeated", take_listen},
    {0, "--open", NULL, "let anybody use listeners that others can reach", take_open},
    {'c', "--config", "FILE", "read the configuration from this YAML file", take_config},
    {'w', "--workers", "N", "serve with that many threads; auto: one per CPU", take_workers},
    {'u', "--upstream", "HOST:PORT", "send every request there: a reverse proxy", take_upstream},
    {0, "--plugin", "PATH", "load that plugin, or NAME; may be repeated", take_plugin},
    {0, "--check-plugins", NULL, "tell what plugins do wrong; slower", take_check_plugins},
    {0, "--filter", NULL, "plugin new: a filter, which is the default", take_filter},
    {0, "--protocol", NULL, "plugin new: a protocol", take_protocol},
    {'h', "--help", NULL, "print this and exit", take_help},
    {0, "--version", NULL, "print the version and exit", take_version},
};
enum { KNOWN = sizeof known / sizeof *known };

static bool unknown_option(struct parser *parser, const char *argument)
{
    char shown[VALUE_TEXT_BYTES], hint[NEAREST_HINT_BYTES];
    struct nearest nearest = nearest_to(string_of(argument));
    for (int i = 0; i < KNOWN; i++)
        nearest_consider(&nearest, known[i].name);
    return fail(parser, "unknown option \"%s\"%s", value_show(string_of(argument), shown),
                nearest.best ? nearest_hint(&nearest, hint) : "; see weir --help");
}

/* "-l", "-lVALUE", "--listen" and "--listen=VALUE"; what follows the name, if any, goes to
 * *attached. NULL: none of the known ones. */
static const struct option *find_option(const char *argument, const char **attached)
{
    size_t length = strcspn(argument, "=");
    *attached = argument[length] ? argument + length + 1 : NULL;
    for (int i = 0; i < KNOWN; i++)
        if (string_equal((weir_string){argument, length}, string_of(known[i].name)))
            return &known[i];
    *attached = argument[2] ? argument + 2 : NULL;
    for (int i = 0; i < KNOWN; i++)
        if (argument[1] == known[i].letter)
            return &known[i];
    return NULL;
}

static bool parse_option(struct parser *parser, const char *argument)
{
    const char *value;
    const struct option *option = find_option(argument, &value);
    if (option && value && !option->value && argument[1] == '-')
        return fail(parser, "%s takes no value", option->name);
    if (!option || (value && !option->value))
        return unknown_option(parser, argument);
    if (option->value && !value) {
        if (parser->next == parser->end)
            return fail(parser, "%s needs %s", argument, option->value);
        value = *parser->next++;
    }
    return option->take(parser, option, value);
}

static const struct command {
    const char *name; /* of one word or two */
    enum options_command command;
    const char *operands; /* what follows it, for --help */
    uint32_t words_least, words_most;
    bool needs_file;
    const char *help;
} commands[] = {
    {"check", OPTIONS_CHECK, "-c FILE", 0, 0, true, "say what is wrong with a configuration"},
    {"reload", OPTIONS_RELOAD, "-c FILE", 0, 0, true, "make a running weir read its configuration"},
    {"status", OPTIONS_STATUS, "-c FILE", 0, 0, true, "ask a running weir how it is"},
    {"schema", OPTIONS_SCHEMA, "", 0, 0, false, "print the JSON Schema of configurations"},
    {"plugin new", OPTIONS_PLUGIN_NEW, "NAME [DIR]", 1, 2, false,
     "begin a plugin, in a directory of its own"},
    {"plugin check", OPTIONS_PLUGIN_CHECK, "FILE...", 1, PLUGINS_MOST, false,
     "say what plugins are, or why they are refused"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static bool unknown_command(struct parser *parser, const char *word)
{
    char shown[VALUE_TEXT_BYTES], hint[NEAREST_HINT_BYTES];
    struct nearest nearest = nearest_to(string_of(word));
    if (!strcmp(word, "plugin"))
        return fail(parser, "plugin needs new or check behind it");
    for (int i = 0; i < COMMANDS; i++)
        nearest_consider(&nearest, commands[i].name);
    return fail(parser, "unknown command \"%s\"%s", value_show(string_of(word), shown),
                nearest.best ? nearest_hint(&nearest, hint) : "; a file is given with -c FILE");
}

/* Whether the word, or it and the one behind it, is that command's name. */
static bool names(const struct parser *parser, const char *word, const struct command *command)
{
    size_t length = strlen(word);
    const char *second = parser->next < parser->end ? *parser->next : "";
    if (strncmp(word, command->name, length) != 0)
        return false;
    return command->name[length] == ' ' ? !strcmp(command->name + length + 1, second)
                                        : !command->name[length];
}

static bool take_operand(struct parser *parser, const char *word)
{
    struct options *options = parser->options;
    if (options->word_count == parser->command->words_most)
        return fail(parser, "%s takes %s and no more", parser->command->name,
                    parser->command->operands);
    options->words[options->word_count++] = word;
    return true;
}

/* What --help and --version stand for is not changed by what follows. */
static bool parse_word(struct parser *parser, const char *word)
{
    const struct command *command = commands;
    if (parser->command && parser->command->words_most)
        return take_operand(parser, word);
    while (command < commands + COMMANDS && !names(parser, word, command))
        command++;
    if (command == commands + COMMANDS)
        return unknown_command(parser, word);
    if (parser->command && parser->command != command)
        return fail(parser, "%s and %s are two commands; only one can be done",
                    parser->command->name, command->name);
    if (strchr(command->name, ' '))
        parser->next++;
    parser->command = command;
    if (parser->options->command == OPTIONS_RUN)
        parser->options->command = command->command;
    return true;
}

/* What can be said only once all of it was read. */
static bool check_whole(struct parser *parser)
{
    const struct options *options = parser->options;
    const struct command *command = parser->command;
    if (options->command == OPTIONS_HELP || options->command == OPTIONS_VERSION)
        return true;
    if (options->kind_given && options->command != OPTIONS_PLUGIN_NEW)
        return fail(parser, "--filter and --protocol belong to weir plugin new");
    if (!command)
        return true;
    if (command->needs_file && !options->config_file)
        return fail(parser, "%s needs a configuration: weir %s -c FILE", command->name,
                    command->name);
    if (options->word_count < command->words_least)
        return fail(parser, "%s needs %s", command->name, command->operands);
    return true;
}

bool options_parse(int count, char *const *arguments, struct options *options,
                   char mistake[OPTIONS_MISTAKE_BYTES])
{
    struct parser parser = {.next = arguments + (count > 0),
                            .end = arguments + count,
                            .options = options,
                            .mistake = mistake};
    bool fine = true;
    memset(options, 0, sizeof *options);
    while (fine && parser.next < parser.end) {
        const char *argument = *parser.next++;
        fine = argument[0] == '-' && argument[1] ? parse_option(&parser, argument)
                                                 : parse_word(&parser, argument);
    }
    return fine && check_whole(&parser);
}

void options_print_help(FILE *stream)
{
    fputs("weir: a forward proxy for HTTP/1.1\n"
          "\n"
          "usage: weir [OPTION]...            serve, on 127.0.0.1:3128 by default\n",
          stream);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(stream, "       weir %s %-*s  %s\n", commands[i].name,
                (int)(20 - strlen(commands[i].name)), commands[i].operands, commands[i].help);
    fputs("\n", stream);
    for (int i = 0; i < KNOWN; i++) {
        const struct option *option = &known[i];
        char letter[] = {option->letter ? '-' : ' ', option->letter ? option->letter : ' ',
                         option->letter ? ',' : ' ', 0};
        int width = (int)(22 - strlen(option->name));
        fprintf(stream, "  %s %s %-*s%s\n", letter, option->name, width,
                option->value ? option->value : "", option->help);
    }
    fputs("\nOptions win over the configuration file.\n", stream);
}
