/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing an output with the file under tests/golden that says what it should be. */
#ifndef OPTRACE_TESTS_SUPPORT_GOLDEN_H
#define OPTRACE_TESTS_SUPPORT_GOLDEN_H

#include <stddef.h>

/** Fails the test, showing the first line that differs, unless the bytes are those of
 *  tests/golden/NAME. With OPTRACE_GOLDEN_REWRITE=1 it writes the file instead. */
void golden_check(const char *name, const void *bytes, size_t size);

#endif
