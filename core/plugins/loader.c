/* core/plugins/loader.c - from a plugin's file to its struct plugin */
#include "core/plugins/loader.h"

#include <stdio.h>

struct plugin *loader_open(const char *path_or_name, const char *directory,
                           const struct registry *registry, char mistake[PLUGIN_MISTAKE_BYTES])
{
    (void)directory, (void)registry;
    snprintf(mistake, PLUGIN_MISTAKE_BYTES, "there is no plugin \"%s\"", path_or_name);
    return NULL;
}
