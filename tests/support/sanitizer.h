/* SPDX-License-Identifier: Apache-2.0 */
/** HAS_ADDRESS_SANITIZER is 1 where it is built in, else 0. gcc says it with a macro, clang with a feature. */
#ifndef OPTRACE_TESTS_SUPPORT_SANITIZER_H
#define OPTRACE_TESTS_SUPPORT_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER 1
#endif
#endif

#if !defined(HAS_ADDRESS_SANITIZER)
#define HAS_ADDRESS_SANITIZER 0
#endif

#endif
