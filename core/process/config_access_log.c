/* core/process/config_access_log.c - the access log's format is compiled when it is read */
#include "core/process/config_access_log.h"

#include "core/base/access_format.h"
#include "core/base/string.h"
#include "core/process/nearest.h"

static void report(const struct tree_node *node, const struct access_mistake *mistake,
                   struct config_errors *errors)
{
    char shown[VALUE_TEXT_BYTES], hint[NEAREST_HINT_BYTES];
    struct nearest nearest = nearest_to(mistake->part);
    if (node->secret) {
        tree_mistake(errors, node, "is no format of the access log");
        return;
    }
    for (uint32_t i = 0; access_known_word(mistake->meant, i); i++)
        nearest_consider(&nearest, access_known_word(mistake->meant, i));
    tree_mistake(errors, node, "\"%s\" %s%s", value_show(mistake->part, shown), mistake->what,
                 nearest_hint(&nearest, hint));
}

void config_access_log(struct access_log_config *log, const struct tree_node *root,
                       struct arena *arena, struct config_errors *errors)
{
    const struct tree_node *section = root ? tree_child(root, "log") : NULL;
    const struct tree_node *access = section ? tree_child(section, "access") : NULL;
    const struct tree_node *node = access ? tree_child(access, "format") : NULL;
    const struct tree_node *file = access ? tree_child(access, "file") : NULL;
    struct access_mistake mistake = {0};
    log->on = access != NULL;
    if (file && string_equal(file->text, WEIR_STRING("-")))
        log->file = NULL; /* standard output */
    if (!log->on || !log->format)
        return;
    log->compiled = access_format_compile(string_of(log->format), arena, &mistake);
    if (!log->compiled)
        report(node, &mistake, errors);
}
