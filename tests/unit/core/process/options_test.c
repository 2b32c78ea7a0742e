/* tests/unit/core/process/options_test.c - every way to write the command line, right and wrong */
#include "core/process/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARGUMENTS_MOST = 80 };

static struct options options;
static char mistake[OPTIONS_MISTAKE_BYTES];
static char line_copy[1024];
static char program[] = "weir";

/* "weir" and the words of the line, which are kept until the next call. */
static bool parse(const char *line)
{
    char *arguments[ARGUMENTS_MOST] = {program};
    int count = 1;
    snprintf(line_copy, sizeof line_copy, "%s", line);
    for (char *word = strtok(line_copy, " "); word; word = strtok(NULL, " "))
        arguments[count++] = word;
    strcpy(mistake, "none");
    memset(&options, 0xff, sizeof options);
    return options_parse(count, arguments, &options, mistake);
}

static void test_nothing(void **state)
{
    assert_true(parse(""));
    assert_int_equal(options.command, OPTIONS_RUN);
    assert_null(options.config_file);
    assert_null(options.upstream);
    assert_int_equal(options.listener_count, 0);
    assert_false(options.has_workers);
    assert_false(options.open);
    char *const none[] = {NULL}; /* a program may be started without even its name */
    assert_true(options_parse(0, none, &options, mistake));
    assert_int_equal(options.command, OPTIONS_RUN);
}

static void test_everything(void **state)
{
    assert_true(parse("-l 127.0.0.1:0 -c a.yaml -w 3 -u app:80 --listen [::1]:8080"));
    assert_int_equal(options.command, OPTIONS_RUN);
    assert_int_equal(options.listener_count, 2);
    assert_string_equal(options.listeners[0], "127.0.0.1:0");
    assert_string_equal(options.listeners[1], "[::1]:8080");
    assert_string_equal(options.config_file, "a.yaml");
    assert_true(options.has_workers);
    assert_int_equal(options.workers, 3);
    assert_string_equal(options.upstream, "app:80");
}

static void test_ways_to_give_a_value(void **state)
{
    const char *const lines[] = {"-c FILE", "-cFILE", "--config FILE", "--config=FILE"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_true(parse(lines[i]));
        assert_string_equal(options.config_file, "FILE");
    }
    assert_true(parse("--config=a=b"));
    assert_string_equal(options.config_file, "a=b");
    assert_true(parse("-w auto"));
    assert_true(options.has_workers);
    assert_int_equal(options.workers, 0);
    assert_true(parse("--workers=256"));
    assert_int_equal(options.workers, 256);
    assert_true(parse("-w 2 -w 4")); /* a wrapper's caller may say it again */
    assert_int_equal(options.workers, 4);
    assert_true(parse("--upstream=[::1]:80"));
    assert_string_equal(options.upstream, "[::1]:80");
}

static void test_commands(void **state)
{
    assert_true(parse("check -c a.yaml"));
    assert_int_equal(options.command, OPTIONS_CHECK);
    assert_true(parse("-c a.yaml check"));
    assert_int_equal(options.command, OPTIONS_CHECK);
    assert_true(parse("--version"));
    assert_int_equal(options.command, OPTIONS_VERSION);
    assert_true(parse("--help"));
    assert_int_equal(options.command, OPTIONS_HELP);
    assert_true(parse("-h"));
    assert_int_equal(options.command, OPTIONS_HELP);
    assert_true(parse("check --help"));
    assert_int_equal(options.command, OPTIONS_HELP);
    assert_true(parse("--help check"));
    assert_int_equal(options.command, OPTIONS_HELP);
    assert_true(parse("schema"));
    assert_int_equal(options.command, OPTIONS_SCHEMA);
    assert_true(parse("reload -c a.yaml"));
    assert_int_equal(options.command, OPTIONS_RELOAD);
    assert_string_equal(options.config_file, "a.yaml");
    assert_true(parse("-c a.yaml status"));
    assert_int_equal(options.command, OPTIONS_STATUS);
    assert_true(parse("check check -c a.yaml"));
    assert_int_equal(options.command, OPTIONS_CHECK);
    assert_true(parse("--version reload"));
    assert_int_equal(options.command, OPTIONS_VERSION);
}

static void test_listeners_that_others_can_reach(void **state)
{
    assert_true(parse("-l 0.0.0.0:3128"));
    assert_false(options.open);
    assert_true(parse("-l 0.0.0.0:3128 --open"));
    assert_true(options.open);
    assert_true(parse("-l unix:/run/weir.sock"));
    assert_string_equal(options.listeners[0], "unix:/run/weir.sock");
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *line, *says;
    } wrong[] = {
        {"--lisen 127.0.0.1:1", "unknown option \"--lisen\"; did you mean \"--listen\"?"},
        {"--Workers 2", "unknown option \"--Workers\"; did you mean \"--workers\"?"},
        {"--ver", "unknown option \"--ver\"; did you mean \"--version\"?"},
        {"-help", "unknown option \"-help\"; did you mean \"--help\"?"},
        {"--help=yes", "--help takes no value"},
        {"--nonsense", "unknown option \"--nonsense\"; see weir --help"},
        {"-x", "unknown option \"-x\"; see weir --help"},
        {"--", "unknown option \"--\"; see weir --help"},
        {"-L 127.0.0.1:1", "unknown option \"-L\"; see weir --help"},
        {"-l", "-l needs ADDR:PORT"},
        {"--config", "--config needs FILE"},
        {"-w 1 -u", "-u needs HOST:PORT"},
        {"-l 127.0.0.1", "--listen: \"127.0.0.1\" has no port; write for example 127.0.0.1:3128"},
        {"-l localhost:1", "--listen: \"localhost:1\" is a name, not an IP address; write for "
                           "example 127.0.0.1:3128"},
        {"-l 127.0.0.1:1 -l 127.0.0.1:1", "--listen: \"127.0.0.1:1\" is given twice"},
        {"-w 0", "--workers: \"0\" is not a number from 1 to 256, or auto"},
        {"-w 257", "--workers: \"257\" is not a number from 1 to 256, or auto"},
        {"-w 18446744073709551617",
         "--workers: \"18446744073709551617\" is not a number from 1 to 256, or auto"},
        {"-w 2x", "--workers: \"2x\" is not a number from 1 to 256, or auto"},
        {"-w -1", "--workers: \"-1\" is not a number from 1 to 256, or auto"},
        {"-u app", "--upstream: \"app\" has no port; write for example 127.0.0.1:9000"},
        {"-u http://app:80", "--upstream: \"http://app:80\" is a URL; write only the host and the "
                             "port, such as 127.0.0.1:9000"},
        {"-c a -c b", "--config: \"b\" is a second file; only one can be read"},
        {"chekc -c a", "unknown command \"chekc\"; did you mean \"check\"?"},
        {"weir.yaml", "unknown command \"weir.yaml\"; a file is given with -c FILE"},
        {"-", "unknown command \"-\"; a file is given with -c FILE"},
        {"check", "check needs a configuration: weir check -c FILE"},
        {"reload", "reload needs a configuration: weir reload -c FILE"},
        {"status", "status needs a configuration: weir status -c FILE"},
        {"relaod -c a", "unknown command \"relaod\"; did you mean \"reload\"?"},
        {"check -c a status", "check and status are two commands; only one can be done"},
        {"--open=yes", "--open takes no value"},
        {"-l unix:weir.sock",
         "--listen: \"unix:weir.sock\" has no absolute path; write for example "
         "unix:/run/weir.sock"},
        {"-l unix:/a -l unix:/a", "--listen: \"unix:/a\" is given twice"},
        {"-x --help", "unknown option \"-x\"; see weir --help"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (parse(wrong[i].line))
            fail_msg("\"%s\" is taken for right", wrong[i].line);
        assert_string_equal(mistake, wrong[i].says);
    }
}

static void test_no_more_listeners_than_there_is_room(void **state)
{
    char arguments_text[LISTENERS_MOST + 1][32], *arguments[LISTENERS_MOST + 2] = {program};
    for (int i = 0; i <= LISTENERS_MOST; i++) {
        snprintf(arguments_text[i], sizeof arguments_text[i], "-l127.0.0.1:%d", 1000 + i);
        arguments[i + 1] = arguments_text[i];
    }
    assert_true(options_parse(LISTENERS_MOST + 1, arguments, &options, mistake));
    assert_int_equal(options.listener_count, LISTENERS_MOST);
    assert_false(options_parse(LISTENERS_MOST + 2, arguments, &options, mistake));
    assert_string_equal(mistake, "--listen: more than 64 addresses");
}

static void test_a_long_argument_makes_a_short_mistake(void **state)
{
    static char huge[100000];
    memset(huge, 'x', sizeof huge - 1);
    char listen[] = "-l", upstream[] = "-u";
    char *const forms[][3] = {{program, huge}, {program, listen, huge}, {program, upstream, huge}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        assert_false(options_parse(forms[i][2] ? 3 : 2, forms[i], &options, mistake));
        assert_non_null(strstr(mistake, "xxx...\""));
    }
}

static void test_help_names_all(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    options_print_help(stream);
    fclose(stream);
    const char *const words[] = {"-l, --listen ADDR:PORT",
                                 "-c, --config FILE",
                                 "-w, --workers N",
                                 "-u, --upstream HOST:PORT",
                                 "-h, --help",
                                 "--version",
                                 "check -c FILE",
                                 "reload -c FILE",
                                 "status -c FILE",
                                 "weir schema",
                                 "--open",
                                 "127.0.0.1:3128"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(text, words[i]))
            fail_msg("the help lacks \"%s\"", words[i]);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 0, 80);
    free(text);
}

static void test_plugin_commands(void **state)
{
    assert_true(parse("plugin new trace"));
    assert_int_equal(options.command, OPTIONS_PLUGIN_NEW);
    assert_int_equal(options.word_count, 1);
    assert_string_equal(options.words[0], "trace");
    assert_null(options.words[1]);
    assert_false(options.protocol);
    assert_true(parse("plugin new --protocol line there"));
    assert_string_equal(options.words[0], "line");
    assert_string_equal(options.words[1], "there");
    assert_true(options.protocol);
    assert_true(parse("plugin new trace --filter"));
    assert_false(options.protocol);
    assert_true(parse("plugin check check plugin new")); /* files may be called anything */
    assert_int_equal(options.command, OPTIONS_PLUGIN_CHECK);
    assert_int_equal(options.word_count, 3);
    assert_true(parse("plugin new --help"));
    assert_int_equal(options.command, OPTIONS_HELP);
}

static void test_plugin_mistakes(void **state)
{
    assert_false(parse("plugin"));
    assert_string_equal(mistake, "plugin needs new or check behind it");
    assert_false(parse("plugin old"));
    assert_string_equal(mistake, "plugin needs new or check behind it");
    assert_false(parse("plugin new"));
    assert_string_equal(mistake, "plugin new needs NAME [DIR]");
    assert_false(parse("plugin new a b c"));
    assert_string_equal(mistake, "plugin new takes NAME [DIR] and no more");
    assert_false(parse("plugin check"));
    assert_string_equal(mistake, "plugin check needs FILE...");
    assert_false(parse("--protocol"));
    assert_false(parse("plugin check a.so --filter"));
    assert_string_equal(mistake, "--filter and --protocol belong to weir plugin new");
    assert_false(parse("new"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_everything),
        cmocka_unit_test(test_ways_to_give_a_value),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_listeners_that_others_can_reach),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_no_more_listeners_than_there_is_room),
        cmocka_unit_test(test_a_long_argument_makes_a_short_mistake),
        cmocka_unit_test(test_help_names_all),
        cmocka_unit_test(test_plugin_commands),
        cmocka_unit_test(test_plugin_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
