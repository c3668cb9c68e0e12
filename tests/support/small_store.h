/* SPDX-License-Identifier: Apache-2.0 */
/* A store with a bit of everything that a report on ops has to mind. */
#ifndef OPTRACE_TESTS_SUPPORT_SMALL_STORE_H
#define OPTRACE_TESTS_SUPPORT_SMALL_STORE_H

#include "schema/store/store.h"

/* Its sessions begin here and ten minutes later, ns since 1970: 2026-01-31 08:00:00 UTC. */
#define SMALL_STORE_START_NS  INT64_C(1769846400000000000)
#define SMALL_STORE_SECOND_NS (SMALL_STORE_START_NS + INT64_C(600000000000))

/**
 * Write two sessions into an open store.
 *
 * Session 1, hello: no runs, one host thread; "outer" takes 10 ms, 4 of them in "inner", three
 * times; a label "phase one" around all.
 *
 * Session 2, load_and_run of resnet: a host thread and a queue of cpu:0; runs 1 (a warm-up, twice
 * as slow), 2, 3 of 10, 10 and 12 ms, and 4, which never ended; per run conv takes 6 ms on the
 * queue (1 ms until its first kernel) and relu 2 ms (in run 3 conv 8 ms), on the host 0.5 and 0.25
 * ms; a "load" before any run; 42 events lost; relu was running when the program died.
 *
 * Fails the test when a row cannot be written.
 */
void small_store_fill(struct store *store);

/** Make it as a file. */
void small_store_make(const char *path);

#endif
