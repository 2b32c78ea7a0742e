/* core/process/main.c - the command line decides what to do; nothing else */
#include <stdio.h>

#include "core/base/breadcrumb.h"
#include "core/base/memory.h"
#include "core/base/worker.h"
#include "core/host/checking.h"
#include "core/host/host.h"
#include "core/process/config.h"
#include "core/process/config_json_schema.h"
#include "core/process/config_plugins.h"
#include "core/process/options.h"
#include "core/process/plugin_check.h"
#include "core/process/plugin_new.h"
#include "core/process/process.h"
#include "core/process/remote.h"
#include "core/process/section.h"

static struct snapshot *load(const struct options *options)
{
    struct config_errors errors = {0};
    struct snapshot *snapshot = config_load(options->config_file, options, &errors);
    if (!snapshot)
        config_errors_print(&errors, stderr);
    config_errors_deinit(&errors);
    return snapshot;
}

static int serve(const struct options *options)
{
    struct snapshot *snapshot = load(options);
    return snapshot ? process_serve(options, snapshot, WEIR_VERSION) : EXIT_CONFIGURATION;
}

static int check(const struct options *options)
{
    struct snapshot *snapshot = load(options);
    if (!snapshot)
        return EXIT_CONFIGURATION;
    snapshot_free(snapshot);
    printf("%s: the configuration is valid\n", options->config_file);
    return EXIT_STOPPED;
}

/* The configuration says where the running weir is asked. */
static int ask(const struct options *options, int (*remote)(const char *admin))
{
    struct config_errors errors = {0};
    char *admin = config_load_admin(options->config_file, &errors);
    int status = errors.count ? EXIT_CONFIGURATION : EXIT_FAILED;
    if (admin)
        status = remote(admin);
    else if (errors.count)
        config_errors_print(&errors, stderr);
    else
        fprintf(stderr, "weir: %s has no `admin`, where a running weir is asked\n",
                options->config_file);
    memory_free(admin);
    config_errors_deinit(&errors);
    return status;
}

static int execute(const struct options *options)
{
    switch (options->command) {
    case OPTIONS_HELP:
        options_print_help(stdout);
        return EXIT_STOPPED;
    case OPTIONS_VERSION:
        printf("weir %s\n", WEIR_VERSION);
        return EXIT_STOPPED;
    case OPTIONS_SCHEMA:
        config_print_json_schema(stdout);
        return EXIT_STOPPED;
    case OPTIONS_CHECK:
        return check(options);
    case OPTIONS_RELOAD:
        return ask(options, remote_reload);
    case OPTIONS_STATUS:
        return ask(options, remote_status);
    case OPTIONS_PLUGIN_NEW:
        return plugin_new_write(options->words[0], options->words[1], options->protocol);
    case OPTIONS_PLUGIN_CHECK:
        return plugin_check(options->words, options->word_count);
    case OPTIONS_RUN:
        break;
    }
    return serve(options);
}

int main(int count, char **arguments)
{
    struct options options = {0};
    char mistake[OPTIONS_MISTAKE_BYTES];
    if (!options_parse(count, arguments, &options, mistake)) {
        fprintf(stderr, "weir: %s\n", mistake);
        return EXIT_USAGE;
    }
    thread_is_main = true;
    breadcrumb_watch();
    host_provide("weir.configuration/0", &section_host);
    if (options.check_plugins)
        checking_start();
    plugins_start(host_table(WEIR_VERSION));
    int status = execute(&options);
    plugins_end();
    return status;
}
