/* core/host/retired.h - memory that nobody may look at any more, so that it shows when somebody
 * does
 *
 * With a sanitizer it is freed at once, and looking is reported. Without one it is filled with a
 * pattern and kept a while: freed at once, the next copy of the same text would take its place and
 * make a stale view look right. [worker] Of each thread its own. */
#ifndef CORE_HOST_RETIRED_H
#define CORE_HOST_RETIRED_H

#include <stddef.h>

enum { RETIRED_PATTERN = 0xdb };

/* [main] Once: looks for a sanitizer, of this build or loaded with a plugin's. */
void retired_start(void);
/* Takes `memory`, of memory_allocate(); `bytes` of it from `from` on get the pattern. */
void retire(void *memory, void *from, size_t bytes);
void retired_free(void); /* what this thread still keeps */

#endif
