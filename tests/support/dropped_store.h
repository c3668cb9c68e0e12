/* SPDX-License-Identifier: Apache-2.0 */
/* A store from which retention has dropped the oldest events. */
#ifndef OPTRACE_TESTS_SUPPORT_DROPPED_STORE_H
#define OPTRACE_TESTS_SUPPORT_DROPPED_STORE_H

#include <stdint.h>

enum { DROPPED_STORE_STEPS = 8 };

/** 2026-03-01 08:00:00 UTC; steps are 20 s apart, each a batch of events of its own. */
#define DROPPED_STORE_START_NS INT64_C(1772352000000000000)
#define DROPPED_STORE_STEP_NS  INT64_C(20000000000)

/**
 * Make a file with four sessions and drop the events of the first `dropped_steps` steps because of
 * their age.
 *
 * Session 1, flat: in each step a run, the first a warm-up, of conv and relu on a queue of cpu:0,
 * launched on a thread; times grow from run to run. Memory is taken and given back in each.
 * Session 2, nested: in each step a run of "outer" with "inner" in it, on a thread.
 * Session 3: "lone" in each step, no runs.
 * Session 4: one run of all steps, of "step" on a thread.
 *
 * Fails the test when a row cannot be written.
 */
void dropped_store_make(const char *path, int dropped_steps);

#endif
