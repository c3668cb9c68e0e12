/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation that cannot fail: without memory the daemon says so and ends with EXIT_SYSTEM; what
 * was committed stays, what rings hold is fetched by the next daemon. */
#ifndef OPTRACE_DAEMON_MEMORY_H
#define OPTRACE_DAEMON_MEMORY_H

#include <stddef.h>

/** Zeroed, as calloc(). Large blocks take no memory until they are touched. */
void *memory_zeroed(size_t count, size_t item_bytes) __attribute__((returns_nonnull));

/** As reallocarray(); new items are not zeroed. count > 0. */
void *memory_resized(void *memory, size_t count, size_t item_bytes)
    __attribute__((returns_nonnull));

/** For calls that return 0 or -ENOMEM. */
void memory_must(int rc);

/** Have large blocks go back to the system whenever they are freed. Once, before other threads. */
void memory_return_large(void);

#endif
