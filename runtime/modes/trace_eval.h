/* SPDX-License-Identifier: Apache-2.0 */
/* --trace-eval: a run step by step, with what each of them made. */
#ifndef OPTRACE_RUNTIME_MODES_TRACE_EVAL_H
#define OPTRACE_RUNTIME_MODES_TRACE_EVAL_H

#include <stdio.h>

#include "base/diag.h"
#include "runtime/session/steps.h"

enum trace_eval_level {
    TRACE_EVAL_OFF,
    TRACE_EVAL_TIMES,  /* the instruction, and how long it took */
    TRACE_EVAL_VALUES, /* also what kinds of numbers its outputs hold, the first and last five of
                          them, and their minimum, maximum, mean and standard deviation */
    TRACE_EVAL_ALL,    /* also every element */
    TRACE_EVAL_LEVELS
};

/** The level that a text names, "0" to "3", or -EINVAL with a sentence that begins with `what`. */
int trace_eval_parse(const char *text, const char *what, struct diag *diag);

/**
 * What is printed of each step:
 *
 *     Run instruction: @17 = Conv[...](...) -> float32, {1,4,8,8}, ...
 *     Time: 0.0081ms, 0.1606ms
 *     Output has normal, zero
 *     Output: 0.5, 0, 1.25, 0, 3, ..., 0, 0, 0.75, 1, 2
 *     Min value: 0, Max value: 9.5, Mean: 0.41, StdDev: 0.77
 *
 * The times are until the step was handed to its queue, and until it was done. Statistics are of
 * the finite elements; the deviation is that of the population. Elements stand in row-major order,
 * whatever the memory's layout is. Views take no time and are not shown.
 */
struct trace_eval {
    enum trace_eval_level level;
    FILE *out;
};
struct step_tool trace_eval_tool(struct trace_eval *trace);

#endif
