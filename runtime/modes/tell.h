/* SPDX-License-Identifier: Apache-2.0 */
/* What options on memory and on the order of work have done, as lines on standard error: for timing
 * runs and --verify. */
#ifndef OPTRACE_RUNTIME_MODES_TELL_H
#define OPTRACE_RUNTIME_MODES_TELL_H

#include "runtime/modes/sanity.h"
#include "runtime/session/session.h"

/** How many parameters stay in the model's files. */
void run_tell_sharing(const struct graph *graph);

/** is_stepwise: dumps have the operators handed over one by one all the same. */
void run_tell_recorded(const struct exec *exec, bool frees_graph, bool is_stepwise);

/** The check of a run found nothing. */
void run_tell_sanity(enum sanity_choice choice, const struct sanity_result *result);

/** What runs do not need goes back to the system; how much that is where is_told. */
void run_free_graph(struct session *session, bool is_told);

/** Where a run computes, and what it copies; nothing without a device. */
void run_tell_device(const struct exec *exec, uint32_t asked_streams);

/** That sizes in runs would have been others than were inferred, where they would. */
void run_tell_resized(const struct exec *exec);

/** What times of a device are by, where runs were observed on one. */
void run_tell_times(const struct exec *exec);

#endif
