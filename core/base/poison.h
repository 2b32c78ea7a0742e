/* core/base/poison.h - memory that is kept for reuse, and that nobody may touch until then
 *
 * AddressSanitizer is told, so that it sees a use after the end here as it does behind free().
 * Nothing in builds without it. */
#ifndef CORE_BASE_POISON_H
#define CORE_BASE_POISON_H

#include "core/base/sanitizer.h"

#ifdef ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#define POISON(memory, bytes) ASAN_POISON_MEMORY_REGION(memory, bytes)
#define UNPOISON(memory, bytes) ASAN_UNPOISON_MEMORY_REGION(memory, bytes)
#else
#define POISON(memory, bytes) ((void)0)
#define UNPOISON(memory, bytes) ((void)0)
#endif

#endif
