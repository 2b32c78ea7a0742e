/* core/base/sanitizer.h - whether this is a build with a sanitizer that has an allocator of its own
 */
#ifndef CORE_BASE_SANITIZER_H
#define CORE_BASE_SANITIZER_H

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__ && !defined ADDRESS_SANITIZER
#define ADDRESS_SANITIZER 1
#endif
#if defined __SANITIZE_THREAD__ && !defined THREAD_SANITIZER
#define THREAD_SANITIZER 1
#endif

#endif
