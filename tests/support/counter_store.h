/* SPDX-License-Identifier: Apache-2.0 */
/* A session whose spans have readings of CPU counters, for the report on them. */
#ifndef OPTRACE_TESTS_SUPPORT_COUNTER_STORE_H
#define OPTRACE_TESTS_SUPPORT_COUNTER_STORE_H

#include "schema/store/store.h"

enum { COUNTER_STORE_SESSION = 4, COUNTER_STORE_RUNS = 3 };

/**
 * Write session 4 into a store that is there, two hours before those of the small store.
 *
 * Three runs of 10 ms, the first a warm-up. On the thread "main" a label "step" holds "block", and
 * that "conv" (with a phase) and "relu"; on a queue "conv" and "relu" run for themselves; on the
 * thread "helper" "conv" runs without readings, as "relu" on the queue does in the last run.
 *
 * What each execution has of its own, in every run:
 *
 *             page faults  task clock  instructions  cycles    cache misses
 *   step      1            0.1 ms      1,000         2,000     1
 *   block     10           1 ms        10,000        20,000    10
 *   conv      100          3 ms        4,000,000     1,000,000 2,000
 *   relu      0            0.5 ms      200,000       400,000   50
 *
 * The processor's counters are of user space, and were in other hands for 1 ms of each conv on
 * main. Recording a span takes 20 ns, 8 of them within its time; with counters 500 and 10. Fails
 * the test when a row cannot be written.
 */
void counter_store_append(const char *path);

#endif
