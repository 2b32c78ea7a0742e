/* core/host/retired.c - memory that nobody may look at any more, so that it shows when somebody
 * does
 */
#include "core/host/retired.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/memory.h"

enum {
    KEPT = 512,
    KEPT_BYTES_MOST = 65536 /* of one; larger ones are freed at once */
};

static bool at_once; /* the allocator is a sanitizer's */
static _Thread_local void *kept[KEPT];
static _Thread_local uint32_t next;

void retired_start(void)
{
    at_once = dlsym(RTLD_DEFAULT, "__asan_init") != NULL;
}

void retire(void *memory, void *from, size_t bytes)
{
    memset(from, RETIRED_PATTERN, bytes);
    if (at_once || bytes > KEPT_BYTES_MOST) {
        memory_free(memory);
        return;
    }
    memory_free(kept[next]);
    kept[next] = memory;
    next = (next + 1) % KEPT;
}

void retired_free(void)
{
    for (uint32_t i = 0; i < KEPT; i++) {
        memory_free(kept[i]);
        kept[i] = NULL;
    }
}
