/* core/process/values.h - how single values are written, in the file and on the command line */
#ifndef CORE_PROCESS_VALUES_H
#define CORE_PROCESS_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/weir.h"
#include "core/base/memory.h"

enum {
    WORKERS_MOST = 256,
    LISTENERS_MOST = 64,
    PLUGINS_MOST = 64,
    VALUE_TEXT_BYTES = 96,
    UNIX_PATH_MOST = 107, /* what fits into a socket address */
};

/* Smallest first, ended by one without a name. */
struct value_unit {
    const char *name;
    uint64_t factor;
};

extern const struct value_unit value_plain[];     /* 7 */
extern const struct value_unit value_durations[]; /* in milliseconds: 500ms, 10s, 5m, 1h, 7d */
extern const struct value_unit value_sizes[];     /* in bytes: 512B, 8KiB, 1MiB, 1GiB, 1TiB */
extern const struct value_unit value_rates[];     /* in bytes per second: 512B/s, 8KiB/s */
extern const struct value_unit value_requests[];  /* per hour: 10/h, 100/m, 50/s */

/* Decimal digits and one of the units; what is too large for the type becomes UINT64_MAX. */
bool value_parse(weir_string text, const struct value_unit *units, uint64_t *value);
/* Decimal digits, perhaps with a fraction: 0.5, 20. */
bool value_parse_decimal(weir_string text, double *value);
/* The reverse, in the largest unit that needs no fraction; returns `text`. */
const char *value_format(uint64_t value, const struct value_unit *units,
                         char text[VALUE_TEXT_BYTES]);

/* What is wrong with the text, to follow it in a message; NULL: nothing. */
const char *value_listen_mistake(weir_string text); /* where to listen: ADDRESS:PORT, unix:PATH */
const char *value_admin_mistake(weir_string text);  /* likewise, and not from elsewhere */
const char *value_server_mistake(weir_string text); /* where to connect to: HOST:PORT */
const char *value_name_mistake(weir_string text);   /* what users call their things */
const char *value_path_mistake(weir_string text);
const char *value_network_mistake(weir_string text);
const char *value_host_mistake(weir_string text);         /* of a server: NAME */
const char *value_host_pattern_mistake(weir_string text); /* of a route: NAME, *.NAME, [::1] */
const char *value_path_pattern_mistake(weir_string text); /* of a route: /PATH, /PATH... with a * */
const char *value_method_mistake(weir_string text);
const char *value_account_mistake(weir_string text); /* a user or group */

bool value_is_pem(weir_string text);       /* "-----BEGIN ..." and no path */
bool value_is_unix(weir_string listener);  /* "unix:/run/weir.sock" */
bool value_is_local(weir_string listener); /* only this machine reaches it */

/* Whether two such addresses cannot both be listened on; ports that the system picks differ. */
bool value_same_listener(const char *first, const char *second);

/* The path as it is from where weir runs, when the file in which it is written says it: relative
 * paths begin at that file's directory. `file` may be NULL. The arena's. */
char *value_beside(struct arena *arena, const char *file, weir_string path);

/* Somebody's text as a message may show it: control characters as '?', long text cut. */
const char *value_show(weir_string value, char text[VALUE_TEXT_BYTES]);

#endif
