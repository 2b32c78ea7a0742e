/* core/base/poison.h - memory that is kept for reuse, and that nobody may touch until then
 *
 * AddressSanitizer is told, so that it sees a use after the end here as it does behind free().
 * Nothing in builds without it. */
#ifndef CORE_BASE_POISON_H
#define CORE_BASE_POISON_H

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define POISON_SEEN 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__ && !defined POISON_SEEN
#define POISON_SEEN 1
#endif

#ifdef POISON_SEEN
#include <sanitizer/asan_interface.h>
#define POISON(memory, bytes) ASAN_POISON_MEMORY_REGION(memory, bytes)
#define UNPOISON(memory, bytes) ASAN_UNPOISON_MEMORY_REGION(memory, bytes)
#else
#define POISON(memory, bytes) ((void)0)
#define UNPOISON(memory, bytes) ((void)0)
#endif

#endif
