/* plugins/redirect/target.h - where a rule leads to, and the Location that comes of it
 *
 * Whatever the client sent, the Location is a valid field value, and leads to the host that the
 * rule names: one that is a path begins with one slash, and what the client sent gets into a host
 * only where the rule's own domain follows it. */
#ifndef REDIRECT_TARGET_H
#define REDIRECT_TARGET_H

#include "plugins/redirect/pattern.h"
#include "plugins/redirect/pool.h"

enum { TARGET_MOST = 4096, LOCATION_MOST = 8192 };

/* What becomes of the query that came. */
enum { QUERY_KEEP = 0, QUERY_DROP = 1, QUERY_REPLACE = 2 };

/* Compiled: captures are two bytes. Its query begins at `query`, its fragment at `fragment`. */
struct target {
    uint32_t offset;
    uint16_t length, query, fragment;
    uint8_t query_policy;
    uint8_t is_path;
};

/* `text`: a path, or a URI with "://"; with a pattern also $1, ${1}, ${name}; $$ is one "$". NULL,
 * or what is wrong; policy left as it is. */
const char *target_compile(weir_string text, const pcre2_code *pattern, struct pool *pool,
                           struct target *target);

/* What a Location is made of beside the target. All as it came from the client. */
struct target_source {
    weir_string path, query;
    bool path_is_normal;  /* offsets of groups need no translation */
    const size_t *groups; /* of a pattern, as offsets in the normal form of path; NULL: none */
    weir_string tail;     /* that follows the target's path, joined by one slash */
};

/* Writes it and says how long it is; 0: it may not be made, or is longer than LOCATION_MOST. */
size_t target_write(const struct target *target, const struct pool *pool,
                    const struct target_source *source, char *location);

#endif
