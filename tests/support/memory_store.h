/* SPDX-License-Identifier: Apache-2.0 */
/* A session in which memory is taken, given back and lost, for reports on memory. */
#ifndef OPTRACE_TESTS_SUPPORT_MEMORY_STORE_H
#define OPTRACE_TESTS_SUPPORT_MEMORY_STORE_H

#include "schema/store/store.h"

enum { MEMORY_STORE_SESSION = 3, MEMORY_STORE_RUNS = 10 };

/* It begins an hour before those of the small store, so that they stay the last. */
#define MEMORY_STORE_START_NS INT64_C(1769842800000000000)

/**
 * Write session 3 into an open store, of one host thread and cuda:0.
 *
 * On the host, by address: "weights" take 1000 bytes at 1 ms and keep them; in each of ten runs of
 * 10 ms, from 10 ms on, conv takes 500 at 1 ms and gives them back at 5 ms without saying the size,
 * and "cache" takes 16 at 6 ms and keeps them: the first run ends with 1016 bytes, the peak is in
 * the last run with 1000 + 9 * 16 + 500. At 2 ms 300 bytes are given back that nobody saw taken.
 *
 * On cuda:0, without addresses: conv takes 64 at 2 ms of each run and gives them back at 4 ms. A
 * label "decode" covers the first 6 ms of each run, conv from 1 to 5 ms.
 *
 * A counter "Total Allocated" of cuda:0 is 100, 300, 200. A planned chunk of 1000 bytes has f32
 * values of 100 at 0 and 50 at 600. Fails the test when a row cannot be written.
 */
void memory_store_fill(struct store *store);

/** Make a file with it, and with the small store's sessions too. */
void memory_store_make(const char *path);

#endif
