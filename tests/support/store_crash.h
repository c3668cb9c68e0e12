/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dying and failing at a chosen write: every pwrite() of SQLite in this process is counted, and at
 * the chosen one a part of the bytes is written and the process killed, or an error returned. It
 * stays in the process.
 */
#ifndef OPTRACE_TESTS_SUPPORT_STORE_CRASH_H
#define OPTRACE_TESTS_SUPPORT_STORE_CRASH_H

#include <stdint.h>

/** From now on count SQLite's writes. The one of number `write_number`, from 1, writes a random
 * part of its bytes and kills the process; 0: none does. */
void store_crash_at_write(uint64_t write_number, uint64_t seed);

/** From now on SQLite's writes to files whose name ends with `suffix` return this errno, after a
 * part of the bytes was written; 0: they succeed again. */
void store_crash_fail_writes(int error, const char *suffix);

/** Writes counted so far. */
uint64_t store_crash_write_count(void);

#endif
