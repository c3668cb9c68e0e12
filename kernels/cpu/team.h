/* SPDX-License-Identifier: Apache-2.0 */
/* Sharing a loop among the calling thread's team. Inside kernels only. */
#ifndef OPTRACE_KERNELS_CPU_TEAM_H
#define OPTRACE_KERNELS_CPU_TEAM_H

#include <stdbool.h>
#include <stdint.h>

/** Does the part [begin, end) of a loop. */
typedef void team_fn(void *argument, int64_t begin, int64_t end);

/** Whether the loops that oneDNN begins on this thread have no barriers, so that the thread may do
 *  the shares of helpers that do not get a CPU. False at first: that is right for all loops. */
void team_free_loops(bool are_free);

/** Run [0, count) on as many threads of kernel_threads() as get at least `grain` each; returns when
 *  all is done. Waking a team costs microseconds: grain is what is worth that. */
void team_for(int64_t count, int64_t grain, team_fn *part, void *argument);

/** Does the part [begin, end) of one step of a loop. */
typedef void team_step_fn(void *argument, int64_t step, int64_t begin, int64_t end);

/** The same `steps` times, where each step sees all of the one before it: a thread has the same part
 *  at each. What a helper that is late does not begin in time the calling thread does. */
void team_steps(int64_t steps, int64_t count, int64_t grain, team_step_fn *part, void *argument);

#endif
