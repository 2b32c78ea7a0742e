/* abi/configuration.h - what users write for a plugin, and how its instances come and go
 *
 * Each `use:` of a filter in the configuration makes one instance: of all listeners, of one
 * listener, or of one route. A reload makes new ones; those before live on until the last exchange
 * that began with them is over. */
#ifndef WEIR_CONFIGURATION_H
#define WEIR_CONFIGURATION_H

#include "weir.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A part of a configuration, with the place where it is written: a text, a list or a mapping. Host
 * memory, valid while make() runs. */
typedef struct weir_section weir_section;
enum {
    WEIR_SECTION_EMPTY = 0,
    WEIR_SECTION_TEXT = 1,
    WEIR_SECTION_LIST = 2,
    WEIR_SECTION_MAPPING = 3
};

typedef struct weir_worker weir_worker; /* one thread with its loop */

/* Instances of a filter. Every function may be NULL. */
typedef struct weir_life {
    uint32_t size;
    /* What `with:` may hold, as JSON text in a subset of JSON Schema; docs/plugins.md has the
     * subset. The host checks it, says file, line and hint of every mistake, and fills in defaults
     * before make() is called. NULL: nothing may be written. */
    const char *schema;
    /* [main] *instance is constant afterwards. Less than 0 refuses the configuration; say why with
     * mistake(). `with` is a mapping, empty when nothing was written. */
    weir_result (*make)(const weir_section *with, void **instance);
    void (*free)(void *instance); /* [main] after the last exchange that it served has closed */
    /* [worker] What this instance has on this worker alone; changed without locks. Less than 0
     * refuses the configuration. */
    weir_result (*worker_make)(const void *instance, weir_worker *worker, void **worker_state);
    void (*worker_free)(const void *instance, void *worker_state); /* [worker] */
} weir_life;

/* Where an instance is used. */
enum { WEIR_SCOPE_ALL = 0, WEIR_SCOPE_LISTENER = 1, WEIR_SCOPE_ROUTE = 2 };

/* Networks as people write them: 10.0.0.0/8, 2001:db8::/32, 192.0.2.1, loopback, private. */
typedef struct weir_networks weir_networks;

/* query("weir.configuration/0"). [main] and only inside make(), but where it says otherwise. A path
 * is keys and indexes, "limits.rate" or "rules[3].from"; "" is the section itself. `section` NULL
 * is treated as an empty one everywhere. */
typedef struct weir_configuration_host {
    uint32_t size;
    uint32_t (*kind)(const weir_section *section); /* WEIR_SECTION_* */
    const weir_section *(*find)(const weir_section *section,
                                const char *path);                          /* NULL: not there */
    uint32_t (*count)(const weir_section *section);                         /* of its parts */
    const weir_section *(*at)(const weir_section *section, uint32_t index); /* NULL: no more */
    weir_string (*key)(const weir_section *section); /* in the mapping that it is a part of */
    /* Empty when it is none; NUL-terminated. A path of the schema's is as it is from where weir
     * runs. */
    weir_string (*text)(const weir_section *section);
    /* A number as the schema's format says: plain, or in the format's smallest unit (milliseconds,
     * bytes, bytes per second, requests per hour). 0 when it is none. */
    uint64_t (*number)(const weir_section *section);
    uint32_t (*flag)(const weir_section *section); /* true: 1 */
    uint32_t (*line)(const weir_section *section); /* in its file; 0: a default */
    /* Reports a mistake as file:line:column: why. make() returns less than 0 afterwards. */
    void (*mistake)(const weir_section *section, weir_string why);
    /* WEIR_SCOPE_*, and the instance of the same filter one scope up; NULL: it is not used there.
     */
    uint32_t (*scope)(const weir_section *with);
    const void *(*parent)(const weir_section *with);
    /* The file that the section's text names, relative to the file that it is written in. False (0)
     * when it cannot be read or is larger than `most` bytes: reported as a mistake already. The
     * bytes are the host's, until make() returns. */
    uint32_t (*file)(const weir_section *section, size_t most, weir_string *bytes);
    /* That file as YAML or JSON: its tree, in which mistake() names the lines of that file. NULL:
     * reported as a mistake already. */
    const weir_section *(*tree)(const weir_section *section);
    /* That file as lines of fields separated by commas (RFC 4180, lines beginning with # dropped):
     * a list of lists of texts. */
    const weir_section *(*table)(const weir_section *section);
    /* The section's texts as networks, or one text: yours, networks_free() them. NULL: reported as
     * a mistake already. `forbids`: an address that leads to a listed one through a translator or
     * relay counts as that one too. */
    weir_networks *(*networks)(const weir_section *section, uint32_t forbids);
    void (*networks_free)(weir_networks *networks); /* [any] NULL is ignored */
    /* [any] An address as text ("192.0.2.1", "2001:db8::1"); 0: it is not in them, or no address.
     */
    uint32_t (*networks_contain)(const weir_networks *networks, weir_string address);
    /* Where in the configuration it is written, "listen[0].filters[1].with": the same in the next
     * one, unless lists before it have changed. Cut when longer than 255 bytes. */
    weir_string (*path)(const weir_section *section);
} weir_configuration_host;

#ifdef __cplusplus
}
#endif
#endif
