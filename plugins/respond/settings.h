/* plugins/respond/settings.h - what is written, ready to be answered with */
#ifndef RESPOND_SETTINGS_H
#define RESPOND_SETTINGS_H

#include <stdbool.h>

#include "abi/configuration.h"
#include "plugins/respond/query.h"

enum { FILL_BYTES = 65536 }; /* of bodies that have a size alone; what is longer is streamed */

struct settings {
    struct wanted standard, most;
    bool on_request; /* the query may say otherwise */
    char *body;      /* NULL: `standard.size` bytes of any kind */
    weir_field *fields;
    uint32_t field_count;
    uint32_t piece, every_ms; /* bytes at a time, 0: as many as there is room for; and how often */
};

extern const char settings_schema[];

/* NULL: mistakes were reported. */
struct settings *settings_make(const weir_configuration_host *host, const weir_section *with);
void settings_free(struct settings *settings);

#endif
