/* core/process/config_plugins.c - the plugins of a configuration are loaded when it is */
#include "core/process/config_plugins.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/string.h"
#include "core/plugins/loader.h"
#include "core/plugins/registry.h"
#include "core/process/values.h"

/* --- the process's part */

/* Root's own runtime directory is nothing for whom it may become. */
static const char *const *bases_of_copies(void)
{
    static const char *bases[5];
    uint32_t count = 0;
    const char *own = geteuid() ? getenv("XDG_RUNTIME_DIR") : NULL;
    const char *temporary = getenv("TMPDIR");
    if (own)
        bases[count++] = own;
    bases[count++] = "/run";
    if (temporary)
        bases[count++] = temporary;
    bases[count] = "/tmp";
    return bases;
}

void plugins_start(const weir_host *host)
{
    registry_start(host);
    loader_start(host, bases_of_copies());
}

void plugins_end(void)
{
    loader_end();
    registry_end();
}

/* --- where plugins are */

static bool is_directory(const char *path)
{
    return access(path, X_OK) == 0;
}

const char *plugins_standard_directory(struct arena *arena)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return NULL;
    program[length] = 0;
    *strrchr(program, '/') = 0;
    const char *installed = arena_format(arena, "%s/../lib/weir/plugins", program).bytes;
    return is_directory(installed) ? installed : arena_format(arena, "%s/plugins", program).bytes;
}

/* --- loading them */

static void load_given(struct registry *registry, const struct options *options,
                       struct config_errors *errors)
{
    char mistake[PLUGIN_MISTAKE_BYTES];
    for (uint32_t i = 0; i < options->plugin_count; i++)
        if (!registry_load(registry, options->plugins[i], mistake))
            config_errors_add(errors, (struct config_place){.file = "weir"}, "--plugin %s",
                              mistake);
}

static void load_written(struct config *config, const struct tree_node *node,
                         struct config_errors *errors)
{
    char mistake[PLUGIN_MISTAKE_BYTES];
    const char *path = node->text.bytes;
    if (node->kind != TREE_TEXT || !node->text.length)
        return; /* reported */
    if (!loader_is_name(path))
        path = value_beside(&config->arena, node->place.file, node->text);
    if (!registry_load(config->snapshot.registry, path, mistake))
        tree_mistake(errors, node, "%s", mistake);
}

void config_load_plugins(struct config *config, const struct tree_node *root,
                         const struct options *options, struct config_errors *errors)
{
    const char *directory = config->plugin_directory;
    const struct tree_node *list = root ? tree_child(root, "plugins") : NULL;
    if (!directory)
        directory = plugins_standard_directory(&config->arena);
    config->snapshot.registry = registry_new(directory);
    load_given(config->snapshot.registry, options, errors);
    if (list && list->kind == TREE_LIST)
        for (const struct tree_node *node = list->first; node; node = node->next)
            load_written(config, node, errors);
}
