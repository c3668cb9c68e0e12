/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios side by side: where they wait for time to pass, they do it together.
 *
 *     int main(void)
 *     {
 *         const struct CMUnitTest tests[] = {...};
 *
 *         return AT_ONCE_RUN(tests, 4);
 *     }
 *
 * Each runs in a process of its own, which is forked, and must share no file with the others. What
 * they print follows in whole when each has ended. Longest first: it decides how long all take.
 */
#ifndef OPTRACE_TESTS_SUPPORT_AT_ONCE_H
#define OPTRACE_TESTS_SUPPORT_AT_ONCE_H

#include <stddef.h>

#include "tests/support/check.h"

/** Run them, so many at a time. Returns how many failed, or ended otherwise than by themselves. */
int at_once_run(const struct CMUnitTest *tests, size_t count, size_t processes);

#define AT_ONCE_RUN(tests, processes)                                                              \
    at_once_run(tests, sizeof(tests) / sizeof((tests)[0]), processes)

#endif
