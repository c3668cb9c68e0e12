/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for something to become true, with a deadline that only a broken program reaches. */
#ifndef OPTRACE_TESTS_SUPPORT_WAIT_H
#define OPTRACE_TESTS_SUPPORT_WAIT_H

#include <stdbool.h>

/** Long enough for a loaded machine under a sanitizer; nothing is slower by it when all is well. */
#define WAIT_MS 60000u

/** Ask condition(context) every millisecond until it holds. Returns false at the deadline. */
bool wait_until(bool (*condition)(void *context), void *context, unsigned timeout_ms);

/** Wait until the path exists. */
bool wait_for_path(const char *path, unsigned timeout_ms);

#endif
