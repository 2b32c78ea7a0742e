/* core/process/config_json_schema.h - the JSON Schema of configuration files, for editors */
#ifndef CORE_PROCESS_CONFIG_JSON_SCHEMA_H
#define CORE_PROCESS_CONFIG_JSON_SCHEMA_H

#include <stdio.h>

/* Made from config_schema; what it allows is a little more than what weir takes, never less, but
 * for !env and !file, which JSON does not have. docs/weir.schema.json is a copy. */
void config_print_json_schema(FILE *stream);

#endif
