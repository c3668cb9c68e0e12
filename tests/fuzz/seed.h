/* SPDX-License-Identifier: Apache-2.0 */
/* For the programs that write seeds of fuzz targets. */
#ifndef OPTRACE_TESTS_FUZZ_SEED_H
#define OPTRACE_TESTS_FUZZ_SEED_H

#include <stddef.h>

/** Write folder/name anew. Where that cannot be done it is said, and the program ends with 1. */
void seed_write(const char *folder, const char *name, const void *bytes, size_t size);

#endif
