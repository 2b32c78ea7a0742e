/* core/process/plugin_schema.h - what a plugin says may be written for it becomes a schema_type
 *
 * The text is JSON, in a subset of JSON Schema that docs/plugins.md describes. */
#ifndef CORE_PROCESS_PLUGIN_SCHEMA_H
#define CORE_PROCESS_PLUGIN_SCHEMA_H

#include "core/process/config_errors.h"
#include "core/process/schema.h"

struct plugin_schema;

/* NULL when it is no such schema: `errors` says why, with lines and columns of the text. A text
 * that is NULL describes an empty section. */
struct plugin_schema *plugin_schema_parse(const char *text, struct config_errors *errors);
void plugin_schema_free(struct plugin_schema *schema); /* NULL is ignored */

/* Always a section. The schema's. */
const struct schema_type *plugin_schema_type(const struct plugin_schema *schema);

#endif
