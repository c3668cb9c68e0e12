/* SPDX-License-Identifier: Apache-2.0 */
/* What a compiler is told of code that is to be fast: which way a branch goes, which functions lie together. */
#ifndef OPTRACE_BASE_HINTS_H
#define OPTRACE_BASE_HINTS_H

#define LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define NOINLINE            __attribute__((noinline))
#define COLD                __attribute__((noinline, cold))
#define HOT                 __attribute__((hot)) /* beside others: fewer pages after a rest */

#endif
